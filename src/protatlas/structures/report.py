"""Which files a folder of coordinates has, and what became of them."""

from pathlib import Path

from protatlas.records import Record


class StructureFile(Record):
    """A file, by its path in the folder, and a reason."""

    file: str
    reason: str


class StructureReport(Record):
    """What became of every coordinate file.

    `files` = `used` + `surpassed` + unmatched + unreadable: of a used file a chain is stored, a surpassed one fits
    proteins that have better structures. `without_plddt` names files whose chains fit and whose B-factors are neither
    pLDDT nor those of an experiment, as far as can be told. `proteins` have a structure, `kept` of them that of the
    older atlas.
    """

    files: int
    used: int
    surpassed: int
    proteins: int
    kept: int
    unmatched: tuple[StructureFile, ...]
    unreadable: tuple[StructureFile, ...]
    without_plddt: tuple[StructureFile, ...]


def coordinate_files(folder: Path) -> list[str]:
    """Paths of the files below a folder, relative to it and sorted; hidden ones are left out."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts))
