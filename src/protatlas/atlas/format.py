"""Layout of an atlas on disk: file names, manifest and the checks that opening does.

`NAME.atlas/` holds `manifest.json`, `store/` (shards of Qdrant Edge), `tables/*.parquet`, `sequences.fasta`,
`structures.zip` where structures were given, `restricted.txt` where entries are, and `report.json` of the ingest.
"""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from protatlas.errors import AtlasDamaged
from protatlas.records import Record
from protatlas.structures.report import coordinate_files

FORMAT_VERSION = 3
MANIFEST = "manifest.json"
STORE = "store"
TABLES = "tables"
SEQUENCES = "sequences.fasta"
STRUCTURES = "structures.zip"
REPORT = "report.json"
RESTRICTED = "restricted.txt"
REBUILD = "Copy it again from where it is whole, or build it again."


class Source(Record):
    """A file that an atlas was built from: its name, SHA-256 and, where the builder was told, licence and citation."""

    name: str
    role: str
    sha256: str
    licence: str | None = None
    attribution: str | None = None


class FileRecord(Record):
    """Size and SHA-256 of a file of the atlas."""

    bytes: int
    sha256: str


class Manifest(Record):
    """What an atlas is: format, origin, models and counts.

    `with_domains` is null where domains were not looked for; `domain_families` counts the Pfam families that were
    looked for, null where that is not known; `unknown_taxa` counts proteins with a taxon id and no lineage. `files` has
    every other file of the atlas, by its path in it.
    """

    format_version: int
    protatlas_version: str
    name: str
    built: datetime
    proteins: int
    clusters: int
    residues: int
    with_domains: int | None
    domain_families: int | None
    with_lineage: int
    unknown_taxa: int
    structures: int
    encoder: str
    features: str
    embedding_width: int
    feature_count: int
    clustering: Literal["features", "identity"]
    sources: tuple[Source, ...]
    files: dict[str, FileRecord]

    @property
    def domain_note(self) -> str:
        """What an absent domain means in this atlas."""
        if self.with_domains is None:
            return "This atlas was built without domains: whether a protein has any is unknown."
        families = "an unstated number of" if self.domain_families is None else f"{self.domain_families:,}"
        return f"Domains were looked for with {families} Pfam families; absent ones may belong to others."

    @property
    def version(self) -> str:
        """Version of this atlas: the date and time of its build, UTC."""
        return self.built.strftime("%Y-%m-%dT%H:%M:%SZ")


def sha256_of(path: Path) -> str:
    """Lowercase hex SHA-256 of a file, read in blocks; of a folder that of its files' list, as by `sha256sum`."""
    if path.is_dir():
        files = [(file, sha256_of(path / file)) for file in coordinate_files(path)]
        return hashlib.sha256("".join(f"{digest}  {file}\n" for file, digest in files).encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checksums(atlas: Path) -> dict[str, FileRecord]:
    """Size and SHA-256 of every file of an atlas but its manifest, by path."""
    paths = sorted(path for path in atlas.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {
        path.relative_to(atlas).as_posix(): FileRecord(bytes=path.stat().st_size, sha256=sha256_of(path))
        for path in paths
    }


def verify(atlas: Path, manifest: Manifest) -> None:
    """Check every file of an atlas against its checksum.

    Raises
    ------
    AtlasDamaged
        If a file is missing or not as it was written; the message names it.
    """
    _check_sizes(atlas, manifest)
    for name, record in manifest.files.items():
        if sha256_of(atlas / name) != record.sha256:
            raise AtlasDamaged(str(atlas), f"{name} is not as it was written", REBUILD)


def _check_sizes(atlas: Path, manifest: Manifest, *, store: bool = True) -> None:
    for name, record in manifest.files.items():
        if not store and name.startswith(f"{STORE}/"):
            continue
        path = atlas / name
        if not path.is_file():
            raise AtlasDamaged(str(atlas), f"{name} is missing", REBUILD)
        if path.stat().st_size != record.bytes:
            problem = f"{name} has {path.stat().st_size:,} bytes instead of {record.bytes:,}"
            raise AtlasDamaged(str(atlas), problem, REBUILD)


def write_manifest(atlas: Path, manifest: Manifest) -> None:
    """Write the manifest; a directory without one is not an atlas, so this comes last."""
    (atlas / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(atlas: Path, *, store: bool = True) -> Manifest:
    """Manifest of the atlas at a path; without its `store`, the files of that may be missing.

    Raises
    ------
    AtlasDamaged
        If there is no manifest, it cannot be read, its format is another, or a file is missing or has another size.
    """
    path = atlas / MANIFEST
    if not path.is_file():
        raise AtlasDamaged(str(atlas), f"it has no {MANIFEST}", "Build it with `protatlas build FASTA -o PATH`.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        version = found["format_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise AtlasDamaged(str(atlas), f"{MANIFEST} is not a manifest", "Build the atlas again.") from error
    if version != FORMAT_VERSION:
        raise AtlasDamaged(
            str(atlas),
            f"its format is {version!r} and this protatlas reads {FORMAT_VERSION}",
            "Install the protatlas that built it, or build it again.",
        )
    try:
        manifest = Manifest.model_validate(found)
    except ValidationError as error:
        fields = ", ".join(str(problem["loc"][0]) for problem in error.errors() if problem["loc"])
        raise AtlasDamaged(str(atlas), f"{MANIFEST} has bad fields: {fields}", "Build the atlas again.") from error
    _check_sizes(atlas, manifest, store=store)
    return manifest
