"""What an atlas is to be built from, and how a builder tells how far it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from protatlas.atlas.format import Source, sha256_of


@dataclass(frozen=True)
class BuildPlan:
    """What to build an atlas from.

    `domains`, `go` and `lineages` are tables (`protatlas.atlas.annotations`); `pfam` is an HMM file to find domains
    with instead; `domain_families` is the number of families that the table of domains was searched with, where it is
    known; `structures` is an archive of coordinates (`StructureArchive`).
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
    licence: str | None = None
    attribution: str | None = None
    overwrite: bool = False

    def sources(self) -> tuple[Source, ...]:
        """Every input file with its role and SHA-256."""
        roles = [("sequences", path) for path in self.fasta]
        roles += [(role, getattr(self, role)) for role in ("domains", "pfam", "go", "lineages", "structures")]
        return tuple(
            Source(
                name=path.name,
                role=role,
                sha256=sha256_of(path),
                licence=self.licence,
                attribution=self.attribution,
            )
            for role, path in roles
            if path is not None
        )


class Progress(Protocol):
    """Told how far a stage is: `done` of `total` proteins."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note."""
