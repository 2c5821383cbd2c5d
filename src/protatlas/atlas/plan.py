"""What an atlas is to be built from, and how a builder tells how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from protatlas.atlas.format import Source, sha256_of


class Terms(NamedTuple):
    """Licence and attribution of a source."""

    licence: str
    attribution: str


@dataclass(frozen=True)
class BuildPlan:
    """What to build an atlas from.

    `domains`, `go` and `lineages` are tables (`protatlas.atlas.annotations`); `pfam` is an HMM file to find domains
    with instead; `domain_families` is the number of families that the table of domains was searched with, where it is
    known; `structures` is a folder of coordinate files (`protatlas.structures.collecting`) or an archive of them
    (`StructureArchive`); `secondary` is a list of secondary accessions;
    `terms` holds what is known of the terms of a source, by its role; `strict` refuses the first record with a problem;
    `taxonomy` looks up the lineages of taxon ids; `clusters` are by features or by sequence identity; `update` adds the
    files to the atlas at the output; `restricted` is a list of what the atlas does not show (`Restrictions`).
    """

    fasta: tuple[Path, ...]
    output: Path
    name: str
    domains: Path | None = None
    domain_families: int | None = None
    pfam: Path | None = None
    go: Path | None = None
    lineages: Path | None = None
    structures: Path | None = None
    secondary: Path | None = None
    restricted: Path | None = None
    terms: Mapping[str, Terms] = field(default_factory=dict)
    taxonomy: bool = False
    clusters: Literal["features", "identity"] = "features"
    overwrite: bool = False
    update: bool = False
    strict: bool = False

    @property
    def has_domains(self) -> bool:
        """Whether domains are looked for or given."""
        return bool(self.domains or self.pfam)

    def sources(self) -> tuple[Source, ...]:
        """Every input file with its role and SHA-256."""
        roles = [("sequences", path) for path in self.fasta]
        roles += [
            (role, getattr(self, role)) for role in ("domains", "pfam", "go", "lineages", "structures", "secondary")
        ]
        return tuple(
            Source(
                name=path.name or path.resolve().name,
                role=role,
                sha256=sha256_of(path),
                licence=self.terms[role].licence if role in self.terms else None,
                attribution=self.terms[role].attribution if role in self.terms else None,
            )
            for role, path in roles
            if path is not None
        )


class Progress(Protocol):
    """Told how far a stage is: `done` of `total` proteins; null while their number is not known."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Take note."""
