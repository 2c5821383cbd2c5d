"""The stage that stores structures: from a folder of coordinate files to the archive of the atlas."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from protatlas.atlas.format import STRUCTURES
from protatlas.atlas.ingest import PROTEINS
from protatlas.atlas.scratch import Scratch
from protatlas.structures.collecting import (
    Choice,
    Offer,
    read_offers,
    write_archive,
)
from protatlas.structures.coordinates import StructureArchive
from protatlas.structures.report import StructureFile, StructureReport, coordinate_files

STAGE = "structures"
FILES = 100
"""Coordinate files in a chunk: a few seconds of reading to lose."""


def store_structures(
    scratch: Scratch, chunks: int, folder: Path, *, base: Path | None, progress: Callable[[int, int], None]
) -> StructureReport:
    """Write the archive of the best structure of each protein into the scratch folder; the account of the files.

    Parameters
    ----------
    base
        Archive of the atlas that is added to; its structures stay where no file has a better one.
    progress
        Told how many of how many files were read.
    """
    target = scratch.folder / STRUCTURES
    if report := scratch.marked(STAGE):
        return StructureReport.model_validate_json(report)
    files = coordinate_files(folder)
    count = -(-len(files) // FILES)

    def read(number: int) -> None:
        found = [read_offers(folder, file) for file in files[number * FILES : (number + 1) * FILES]]
        scratch.write_lines(STAGE, number, [line for of in found for line in _lines(of)])

    progress(0, len(files))
    scratch.for_each(STAGE, count, read, lambda done: progress(min(done * FILES, len(files)), len(files)))
    archive = StructureArchive(base) if base else None
    choice = Choice(lambda: _offers(scratch, count), archive)
    choice.choose(lambda: scratch.each_protein(PROTEINS, chunks))
    write_archive(choice, folder, target, progress=lambda _: progress(len(files), len(files)))
    report_of = choice.report(list(_unreadable(scratch, count)))
    scratch.mark(STAGE, report_of.model_dump_json())
    return report_of


OFFER, BAD = "+", "-"


def _lines(found: list[Offer] | StructureFile) -> list[str]:
    if isinstance(found, StructureFile):
        return [BAD + json.dumps(found.model_dump())]
    return [OFFER + json.dumps(offer.model_dump()) for offer in found]


def _told(scratch: Scratch, count: int, sign: str) -> Iterator[str]:
    for number in range(count):
        for line in scratch.lines(STAGE, number) or ():
            if line.startswith(sign):
                yield line[1:]


def _offers(scratch: Scratch, count: int) -> Iterator[Offer]:
    return (Offer.model_validate_json(line) for line in _told(scratch, count, OFFER))


def _unreadable(scratch: Scratch, count: int) -> Iterator[StructureFile]:
    return (StructureFile.model_validate_json(line) for line in _told(scratch, count, BAD))
