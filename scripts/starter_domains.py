"""Pfam domains of the starter proteins, by hmmscan of pyhmmer at the gathering thresholds of each family."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyhmmer
import zstandard
from pyhmmer.easel import AA, Alphabet, DigitalSequence, TextSequence
from pyhmmer.plan7 import HMM, HMMFile, OptimizedProfileBlock, Pipeline, TopHits

GECCO_MODELS = "gecco/hmmer/Pfam.h3m"
CHAMOIS_MODELS = "chamois/domains/Pfam38.0.hmm.zst"
OVERLAP = 0.5
CHUNK = 200


class DomainHit(NamedTuple):
    """A Pfam family on a sequence: envelope `start` to `end` (1-based, inclusive), bit score, independent E-value."""

    accession: str
    name: str
    description: str
    start: int
    end: int
    score: float
    evalue: float


def read_models(gecco: Path, chamois: Path, scratch: Path) -> "list[HMM[AA]]":
    """Pfam models of both packages by accession; where both have a family, the newer of chamois (Pfam 38) stays."""
    plain = scratch / "Pfam38.0.hmm"
    if not plain.exists():
        with (chamois / CHAMOIS_MODELS).open("rb") as packed, plain.open("wb") as unpacked:
            zstandard.ZstdDecompressor().copy_stream(packed, unpacked)
    models: dict[str, HMM[AA]] = {}
    for path in (gecco / GECCO_MODELS, plain):
        with HMMFile(path, alphabet=Alphabet.amino()) as file:
            models |= {_accession(model): model for model in file}
    return [models[accession] for accession in sorted(models)]


def scan_sequences(sequences: dict[str, str], models: "list[HMM[AA]]", cache: Path) -> dict[str, list[DomainHit]]:
    """Domains of each sequence by protein key; every chunk is appended to `cache`, so that a killed run goes on.

    E-values count the models as the search space, hence a protein's domains do not depend on the other proteins.
    """
    found = _read_cache(cache)
    missing = sorted(set(sequences) - set(found))
    profiles = _profiles(models) if missing else None
    with cache.open("a", encoding="utf-8") as file:
        for first in range(0, len(missing), CHUNK):
            keys = missing[first : first + CHUNK]
            assert profiles is not None
            for key, hits in _scan({key: sequences[key] for key in keys}, profiles, models):
                found[key] = hits
                file.write(json.dumps([key, hits]) + "\n")
            file.flush()
            print(f"domains: {first + len(keys):,} of {len(missing):,} sequences")
    return {key: found[key] for key in sequences}


def keep_best(hits: Iterable[DomainHit]) -> list[DomainHit]:
    """Hits without those that share more than half of both envelopes with a better one, in order of position.

    The share is taken of the longer of the two envelopes: related families on one stretch compete, a domain that is
    inserted into another (CBS in IMP dehydrogenase) stays beside it.
    """
    kept: list[DomainHit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.accession, hit.start)):
        if all(_overlap(hit, better) <= OVERLAP for better in kept):
            kept.append(hit)
    return sorted(kept, key=lambda hit: (hit.start, hit.end, hit.accession))


def _overlap(one: DomainHit, other: DomainHit) -> float:
    shared = min(one.end, other.end) - max(one.start, other.start) + 1
    return max(shared, 0) / (1 + max(one.end - one.start, other.end - other.start))


def _accession(model: "HMM[AA]") -> str:
    return str(model.accession).split(".")[0]


def _profiles(models: "list[HMM[AA]]") -> "OptimizedProfileBlock[AA]":
    alphabet = Alphabet.amino()
    background = pyhmmer.plan7.Background(alphabet)
    return OptimizedProfileBlock(alphabet, [model.to_profile(background).to_optimized() for model in models])


def _scan(
    sequences: dict[str, str], profiles: "OptimizedProfileBlock[AA]", models: "list[HMM[AA]]"
) -> Iterator[tuple[str, list[DomainHit]]]:
    alphabet = Alphabet.amino()
    names = {_accession(model): (str(model.name), str(model.description)) for model in models}
    pipeline = Pipeline(alphabet, bit_cutoffs="gathering", Z=len(models), domZ=len(models))
    for key, sequence in sequences.items():
        digital = TextSequence(name=key, sequence=sequence).digitize(alphabet)
        yield key, list(_hits(pipeline.scan_seq(digital, profiles), names))
        pipeline.clear()


def _hits(top: "TopHits[DigitalSequence[AA]]", names: dict[str, tuple[str, str]]) -> Iterator[DomainHit]:
    for hit in top.included:
        accession = str(hit.accession).split(".")[0]
        for domain in hit.domains.included:
            score, evalue = round(domain.score, 1), float(f"{domain.i_evalue:.2g}")
            yield DomainHit(accession, *names[accession], domain.env_from, domain.env_to, score, evalue)


def _read_cache(cache: Path) -> dict[str, list[DomainHit]]:
    if not cache.exists():
        return {}
    lines = (json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines() if line.endswith("]"))
    return {key: [DomainHit(*hit) for hit in hits] for key, hits in lines}
