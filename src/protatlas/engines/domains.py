"""Domains: which Pfam families a protein holds, by HMMER at the families' gathering thresholds."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from pyhmmer import hmmsearch
from pyhmmer.easel import Alphabet, DigitalSequenceBlock, TextSequence
from pyhmmer.plan7 import HMM, HMMFile, TopHits

from protatlas.errors import DependencyUnavailable
from protatlas.records import Domain

BATCH = 5_000
"""Sequences that share one pass over the families: setting up a family costs about as much as 50 sequences."""
MAX_TARGET = 100_000
"""Longest sequence that HMMER's pipeline compares (HMMER 3 user's guide)."""


class DomainScanner:
    """Finds the families of an HMM file in sequences.

    A domain counts when its sequence and its own score reach the family's gathering thresholds, as in Pfam
    (doi:10.1093/nar/gkaa913). Domains may overlap; they are not resolved by clan.

    Parameters
    ----------
    hmm_path
        HMM file, text or pressed (`.h3m`), with gathering thresholds.
    cpus
        Threads; 0 for all cores.

    Raises
    ------
    DependencyUnavailable
        The file is missing, is no HMM file, or a family of it has no gathering threshold.
    """

    def __init__(self, hmm_path: str | Path, *, cpus: int = 1) -> None:
        self._alphabet: Alphabet = Alphabet.amino()
        self._cpus = cpus
        self._families = _families(Path(hmm_path))

    @property
    def families(self) -> int:
        """Number of families."""
        return len(self._families)

    def scan(self, sequences: Iterable[tuple[str, str]]) -> Iterator[tuple[str, tuple[Domain, ...]]]:
        """Key and domains of each sequence, in its order; domains by start, none is an empty tuple.

        Positions are envelopes, 1-based and inclusive; scores are bits. Sequences over `MAX_TARGET` residues have none.
        """
        remaining = iter(sequences)
        while batch := list(islice(remaining, BATCH)):
            yield from self._scan_batch(batch)

    def _scan_batch(self, batch: Sequence[tuple[str, str]]) -> Iterator[tuple[str, tuple[Domain, ...]]]:
        block = DigitalSequenceBlock(self._alphabet)
        for number, (_, sequence) in enumerate(batch):
            if 0 < len(sequence) <= MAX_TARGET:
                block.append(TextSequence(name=str(number), sequence=sequence).digitize(self._alphabet))
        domains: list[list[Domain]] = [[] for _ in batch]
        for hits in hmmsearch(self._families, block, cpus=self._cpus, bit_cutoffs="gathering"):
            for number, domain in _domains(hits):
                domains[number].append(domain)
        for (key, _), found in zip(batch, domains, strict=True):
            yield key, tuple(sorted(found, key=lambda domain: (domain.start, domain.end, domain.accession)))


def _families(path: Path) -> "list[HMM[Alphabet]]":
    if not path.is_file():
        raise DependencyUnavailable(f"The file of Pfam families {path}", "Give the path of a Pfam HMM file.")
    try:
        with HMMFile(path) as file:
            families = list(file)
    except (ValueError, EOFError, OSError) as error:
        raise DependencyUnavailable(
            f"A readable HMM file at {path}", "Download it again; it is cut or no HMM file."
        ) from error
    missing = [family.name for family in families if family.cutoffs.gathering is None]
    if missing or not families:
        named = ", ".join(missing[:3]) or "no family at all"
        raise DependencyUnavailable(
            f"A gathering threshold in {path} ({named})", "Give a file of Pfam-A, whose families all have one."
        )
    return families


def _domains(hits: "TopHits[HMM[Alphabet]]") -> Iterator[tuple[int, Domain]]:
    """Number of the sequence within its batch, and domain, for each domain of one family."""
    family = hits.query
    accession = (family.accession or family.name).partition(".")[0]
    for hit in hits.reported:
        for domain in hit.domains.reported:
            yield (
                int(hit.name),
                Domain(
                    accession=accession,
                    name=family.name,
                    description=family.description or "",
                    start=domain.env_from,
                    end=domain.env_to,
                    score=domain.score,
                ),
            )
