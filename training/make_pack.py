"""Make the embedded model pack from packages. One command, see README.md; every step is kept in the work folder."""

import argparse
import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import fit_encoder
import fit_sae
import labels
import numpy as np
import prepare
from concepts import Concept, go_concept
from pairs import align, read_pairs
from ranking import ranking_scores
from swissprot import read_go, read_go_names

from protatlas.engines.encoders import Encoder, file_hash, open_encoder
from protatlas.engines.features import TABLE, FeatureSet, open_features
from protatlas.records import Feature

SEED = 20_140_122
ENCODER_STEPS = 6_000
SAE_ACTIVE, SAE_PROTEINS, SAE_STEPS = 3, 5_000, 1_500
DEV_FAMILIES = 250
RANKING = {"dense": 0.0, "sparse": 1.0, "shortlist": 300, "alignment": 0.5, "half_bits": 30.0}
"""Chosen on the development families; features alone make the shortlist, so that a large atlas answers fast."""
REFERENCE = 40_000
ACTIVE_THRESHOLD, PROFILE_SIZE = 0.5, 300
LICENCE = (
    "Weights and labels: Apache-2.0; made from Swiss-Prot (UniProt, CC BY 4.0), Pfam and InterPro (CC0), GO (CC BY 4.0)"
)


def fit_network(proteins: dict[str, str], work: Path, steps: int) -> dict[str, np.ndarray]:
    """Arrays of the encoder's weight file, from the alignments of the proteins with each other."""
    kept = work / "encoder.npz"
    if not kept.exists():
        pairs = read_pairs(proteins, align(proteins, work))
        print(f"{len(pairs.hits)} proteins have {sum(map(len, pairs.hits.values()))} alignments", flush=True)
        network = fit_encoder.train(pairs, steps=steps, seed=SEED, checkpoint=work / "network.pt")
        np.savez(kept, **network.arrays())
    with np.load(kept) as arrays:
        return dict(arrays)


def write_weights(pack: Path, part: str, arrays: dict[str, np.ndarray], name: str) -> dict[str, str]:
    """Write a weight file; its manifest entry, whose id ends with the first 12 digits of the SHA-256."""
    pack.mkdir(parents=True, exist_ok=True)
    path = pack / f"{part}.npz"
    np.savez(path, **arrays)
    digest = file_hash(path)
    return {"id": f"{name}-{digest[:12]}", "file": path.name, "sha256": digest}


def fit_features(encoder: Encoder, sequences: list[str], work: Path) -> dict[str, np.ndarray]:
    """Weights of the sparse autoencoder on the residues of the sequences."""
    kept = work / "sae.npz"
    if not kept.exists():
        rows = np.concatenate([encoder.encode(s).residues[:: 1 + len(s) // 400] for s in sequences])
        weights = fit_sae.train(rows, active=SAE_ACTIVE, steps=SAE_STEPS, seed=SEED, checkpoint=work / "sae.pt")
        np.savez(kept, **weights)
    with np.load(kept) as arrays:
        return dict(arrays)


def sae_arrays(weights: dict[str, np.ndarray], size: int) -> dict[str, np.ndarray]:
    """Arrays of the SAE's weight file: `w_enc` as int8 with one scale a feature; idf and maximum are filled later."""
    scale = np.abs(weights["w_enc"]).max(axis=0) / 127
    whole = np.round(weights["w_enc"] / scale).astype(np.int8)
    ones = np.ones(size, dtype=np.float32)
    rest = {name: weights[name].astype(np.float32) for name in ("b_enc", "b_dec", "threshold")}
    return {
        "w_enc": whole,
        "scale": scale.astype(np.float32),
        **rest,
        "idf": ones,
        "maximum": ones,
    }


def activate(
    encoder: Encoder, features: FeatureSet, sequences: list[str], work: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Activations of each protein, int16 and float16 of shape (L, most features of a residue in all proteins)."""
    kept = work / "activations.npz"
    if not kept.exists():
        found = [features.sae.activate(encoder.encode(sequence).residues) for sequence in sequences]
        width = max(one.values.shape[1] for one in found)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for one in found for part in one]
        indices = np.concatenate([part.astype(np.int16) for part in padded[::2]])
        np.savez(kept, indices=indices, values=np.concatenate([part.astype(np.float16) for part in padded[1::2]]))
    with np.load(kept) as arrays:
        indices, values = arrays["indices"], arrays["values"]
    ends = np.cumsum([len(sequence) for sequence in sequences])[:-1]
    return list(zip(np.split(indices, ends), np.split(values, ends), strict=True))


def pool(activations: list[tuple[np.ndarray, np.ndarray]], size: int) -> np.ndarray:
    """Maximum of each feature on each protein, float32 (proteins, size)."""
    pooled = np.zeros((len(activations), size), dtype=np.float32)
    for row, (indices, values) in zip(pooled, activations, strict=True):
        np.maximum.at(row, indices.ravel(), values.ravel().astype(np.float32))
    return pooled


def go_terms(go: dict[str, set[str]], names: dict[str, str]) -> dict[str, Concept]:
    """Molecular functions that 30 or more reference proteins have, and at most a tenth of them."""
    counts = Counter(term for terms in go.values() for term in terms)
    functions = {t for t in counts if any(w in names.get(t, "") for w in ("activity", "binding"))}
    return {t: go_concept(t, names[t]) for t in sorted(functions) if 30 <= counts[t] <= len(go) / 10}


def family_concepts(interpro: Path, hmms: Path) -> dict[str, Concept]:
    """Concept of each Pfam family, named by InterPro where it has an entry, else by the HMM's description."""
    words = {h.accession.split(".")[0]: (h.description or h.name) for h in prepare.read_hmms(hmms)}
    kinds: dict[str, str] = {}
    for entry in json.loads(interpro.read_text(encoding="utf-8")):
        for member in set(entry["members"]) & words.keys():
            words[member], kinds[member] = entry["name"], entry["type"]
    sites = {"active_site": "Catalytic function", "binding_site": "Ligand-binding site", "repeat": "Structural motif"}
    sites["ptm"] = "Post-translational modification"
    return {key: Concept(key, name, sites.get(kinds.get(key, ""), "Domain")) for key, name in words.items()}


def development(rows: list[list[str]], proteins: dict[str, str]) -> dict[str, list[str]]:
    """Families that choose the ranking: 5 to 12 proteins each, with one family over 60 % of at most 500 residues."""
    owners: dict[str, set[str]] = {}
    for row in rows:
        owners.setdefault(row[0], set()).add(row[1])
    covered = {r[0] for r in rows if r[0] in proteins and int(r[4]) - int(r[3]) >= 0.6 * len(proteins[r[0]])}
    members: dict[str, list[str]] = {}
    for name in prepare.by_hash(covered):
        if len(owners[name]) == 1 and len(proteins[name]) <= 500:
            members.setdefault(next(iter(owners[name])), []).append(name)
    return {family: names[:12] for family, names in members.items() if len(names) >= 5}


def write_manifest(pack: Path, **parts: object) -> None:
    """Write the manifest of the pack, sorted and indented."""
    text = json.dumps({"format": 1, "kind": "convolution", "licence": LICENCE, **parts}, indent=2, sort_keys=True)
    (pack / "manifest.json").write_text(text + "\n", encoding="utf-8")


def write_table(pack: Path, rows: list[dict[str, object]]) -> None:
    """Write the feature table: a JSON line for each feature, gzipped without a time."""
    lines = "".join(Feature.model_validate(row).model_dump_json() + "\n" for row in rows)
    (pack / TABLE).write_bytes(gzip.compress(lines.encode(), compresslevel=9, mtime=0))


def make(args: argparse.Namespace) -> None:
    """All steps, in order."""
    work, pack = args.work, args.pack
    held_out = set(args.held_out.read_text(encoding="ascii").split())
    clear = prepare.clear_proteins(args.swissprot, args.hmms, held_out, work)
    clusters = prepare.quarter_clusters(work)
    everything = {name: sequence for name, sequence in clear.items() if name in clusters}
    known = {hmm.accession.split(".")[0] for hmm in prepare.read_hmms(args.hmms)}
    chosen = set(prepare.by_hash(known - held_out)[:DEV_FAMILIES])
    rows = prepare.scan_proteins(clear, work, "development", prepare.read_hmms(args.hmms, chosen))
    families = development(rows, everything)
    touched = {clusters[row[0]] for row in rows if row[0] in everything}
    proteins = {name: s for name, s in everything.items() if clusters[name] not in touched}
    print(f"{len(everything)} proteins, {len(proteins)} to fit, {len(families)} development families", flush=True)
    arrays = fit_network(proteins, work, args.steps)
    entries: dict[str, object] = {"encoder": write_weights(pack, "encoder", arrays, "protatlas-convolution")}
    rules: dict[str, float] = {
        **RANKING,
        "active_threshold": ACTIVE_THRESHOLD,
        "profile_size": PROFILE_SIZE,
    }
    made = {
        "made": datetime.now(tz=UTC).date().isoformat(),
        "method": "training/README.md",
        "training_proteins": len(proteins),
    }
    write_manifest(pack, **entries, ranking=rules, **made)
    encoder = open_encoder(pack)
    first = dict(list(clear.items())[:REFERENCE])
    rows = [
        row
        for row in prepare.scan_proteins(first, work, "reference", prepare.read_hmms(args.hmms))
        if row[0] in proteins
    ]
    names = [name for name in first if name in proteins]
    sequences = [proteins[name] for name in names]
    weights = fit_features(encoder, list(proteins.values())[-SAE_PROTEINS:], work)
    arrays = sae_arrays(weights, fit_sae.SIZE)
    described = {"encoder_id": encoder.id, "reference": len(names)}
    entries["sae"] = {**write_weights(pack, "sae", arrays, "protatlas-sae"), **described}
    write_manifest(pack, **entries, ranking=rules, **made)
    activations = activate(encoder, open_features(pack), sequences, work)
    pooled = pool(activations, fit_sae.SIZE)
    arrays["maximum"] = pooled.max(axis=0)
    arrays["idf"] = np.log10(len(names) / (1 + (pooled > 0).sum(axis=0))).astype(np.float32)
    entries["sae"] = {**write_weights(pack, "sae", arrays, "protatlas-sae"), **described}
    write_manifest(pack, **entries, ranking=rules, **made)
    made["development"] = f"{len(families)} families, AUC, P@1, P@k: {ranking_scores(families, everything, pack)}"
    write_manifest(pack, **entries, ranking=rules, **made)
    concepts = family_concepts(args.interpro, args.hmms)
    domains: dict[str, list[tuple[Concept, int, int]]] = {}
    for name, family, _, start, end in rows:
        domains.setdefault(name, []).append((concepts[family], int(start) - 1, int(end)))
    go = read_go(args.swissprot, set(names))
    functions = go_terms(go, read_go_names(args.swissprot))
    reference = labels.Reference(
        names, sequences, activations, domains, go, functions, arrays["maximum"], pooled, arrays["idf"]
    )
    write_table(pack, labels.rows(reference, weights["w_dec"], list(functions)))


def main() -> None:
    """Read the arguments and make the pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--swissprot", type=Path, required=True, help="dataset_201401 of Debian's metastudent-data")
    parser.add_argument("--hmms", type=Path, required=True, help="gecco/hmmer/Pfam.h3m of PyPI's gecco")
    parser.add_argument("--interpro", type=Path, required=True, help="gecco/interpro/interpro.json of the same")
    parser.add_argument("--held-out", type=Path, required=True, help="Pfam accessions that nothing may be fitted on")
    parser.add_argument("--work", type=Path, default=Path("training/scratch"))
    parser.add_argument("--pack", type=Path, default=Path("src/protatlas/engines/packs/default"))
    parser.add_argument(
        "--steps", type=int, default=ENCODER_STEPS, help="steps of the encoder; 0 keeps random weights, as a control"
    )
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    make(args)


if __name__ == "__main__":
    main()
