"""From a folder of coordinate files to the archive of an atlas: the best structure of each protein.

Two passes over the files. The first reads what chains there are (`read_offers`), without their coordinates; the chains
are then laid on the proteins (`Choice`); the second reads the files that were chosen and writes their coordinates
(`write_archive`). What comes out does not depend on the order of files or proteins.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from protatlas.errors import InvalidInput
from protatlas.records import Protein, Record, StoredStructure, StructureKind, protein_hash
from protatlas.structures.coordinates import INDEX, StructureArchive
from protatlas.structures.files import BadCoordinates, Chain, CoordinateFile, b_factor, read_coordinates
from protatlas.structures.matching import ChainIndex, Fit, Stretch, fit, places_on_protein, whole
from protatlas.structures.report import StructureFile, StructureReport
from protatlas.structures.writing import Placed, write_structure

KINDS: tuple[StructureKind, ...] = ("experimental", "predicted", "unknown")
LEVEL = 6
EPOCH = (1980, 1, 1, 0, 0, 0)


class Offer(Record):
    """A chain of a file: `places` are the runs (0-based start and length) of its sequence that have coordinates."""

    file: str
    entry: str
    chain: str
    number: int
    kind: StructureKind
    sequence: str
    places: tuple[tuple[int, int], ...]
    mean_plddt: float | None
    doubt: str | None

    def all_places(self) -> list[int]:
        """Places with coordinates, ascending."""
        return [at for start, length in self.places for at in range(start, start + length)]


class _Claim(NamedTuple):
    """What a protein may get; the least is the best. The chain is null for what the older archive has."""

    kind: int
    equal_in_experiment: int
    plddt: float
    equal: int
    entry: str
    chain_name: str
    file: str
    number: int
    stretches: tuple[Stretch, ...]


def read_offers(folder: Path, file: str) -> list[Offer] | StructureFile:
    """Protein chains of a file, or why there are none."""
    try:
        read = read_coordinates(folder / file, name=file)
    except BadCoordinates as error:
        return StructureFile(file=file, reason=str(error))
    return [_offer(file, read, number) for number in range(len(read.chains))]


def _offer(file: str, read: CoordinateFile, number: int) -> Offer:
    chain = read.chains[number]
    return Offer(
        file=file,
        entry=read.entry,
        chain=chain.name,
        number=number,
        kind=read.origin.kind,
        sequence=chain.sequence,
        places=tuple(_runs(chain.places)),
        mean_plddt=_mean_plddt(chain, range(len(chain.residues)), read.plddt_factor),
        doubt=read.origin.doubt,
    )


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, group in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        run = [place for _, place in group]
        yield run[0], len(run)


def _mean_plddt(chain: Chain, indices: Iterable[int], factor: float | None) -> float | None:
    """Mean pLDDT of residues, 0 to 1."""
    if factor is None:
        return None
    values = [b_factor(chain.residues[index]) * factor for index in indices]
    return round(sum(values) / len(values) / 100, 4)


class Choice:
    """The best structure of each protein, among the chains of files and what an older archive has.

    Parameters
    ----------
    offers
        Gives the chains of all files anew at each call, so that none need stay in memory.
    base
        Archive of the atlas that is added to.
    """

    def __init__(self, offers: Callable[[], Iterable[Offer]], base: StructureArchive | None = None) -> None:
        self._offers, self._base = offers, base
        self._best: dict[str, _Claim] = {}
        self._fitting: set[str] = set()
        self.sequences: dict[str, str] = {}
        for key, record in sorted(base.records.items()) if base else ():
            self._best[key] = _stored_claim(record)

    def choose(self, proteins: Callable[[], Iterable[Protein]]) -> None:
        """Lay the chains on the proteins, which are given anew at each call: whole chains first, then their parts."""
        matched = self._match_whole(proteins())
        partial: dict[str, list[Offer]] = defaultdict(list)
        for offer in self._offers():
            if offer.kind != "predicted" or protein_hash(offer.sequence) not in matched:
                partial[offer.sequence].append(offer)
        if partial:
            self._match_parts(partial, proteins())

    def _match_whole(self, proteins: Iterable[Protein]) -> set[str]:
        best: dict[str, _Claim] = {}
        files: dict[str, set[str]] = defaultdict(set)
        for offer in self._offers():
            key = protein_hash(offer.sequence)
            stretches = whole(offer.sequence)
            claim = _claim(offer, fit(offer.sequence, offer.sequence, stretches, offer.all_places()), stretches)
            best[key] = min(claim, best.get(key, claim))
            files[key].add(offer.file)
        matched = set()
        for protein in proteins:
            if protein.key in best:
                self._consider(protein, best[protein.key])
                self._fitting |= files[protein.key]
                matched.add(protein.key)
        return matched

    def _match_parts(self, partial: Mapping[str, list[Offer]], proteins: Iterable[Protein]) -> None:
        chains = sorted(partial)
        index = ChainIndex(chains)
        for protein in proteins:
            for number, stretches in index.matches(protein.sequence):
                for offer in partial[chains[number]]:
                    places = offer.all_places()
                    found = fit(protein.sequence, offer.sequence, stretches, places)
                    if found.is_accepted(len(places)):
                        self._fitting.add(offer.file)
                        self._consider(protein, _claim(offer, found, stretches))

    def _consider(self, protein: Protein, claim: _Claim) -> None:
        self._best[protein.key] = best = min(claim, self._best.get(protein.key, claim))
        if best is claim:
            self.sequences[protein.key] = protein.sequence

    @property
    def chosen(self) -> dict[str, _Claim]:
        """The chain of each protein whose structure comes from a file."""
        return {key: claim for key, claim in self._best.items() if claim.file}

    @property
    def kept(self) -> list[str]:
        """Proteins whose structure is that of the older archive."""
        return sorted(key for key, claim in self._best.items() if not claim.file)

    def kept_file(self, key: str) -> tuple[StoredStructure, str, bytes]:
        """Record, name and bytes of the structure of such a protein."""
        assert self._base is not None  # only it fills `kept`
        return self._base.records[key], *self._base.raw(key)

    def report(self, unreadable: Sequence[StructureFile]) -> StructureReport:
        """Account of the files."""
        used = {claim.file for claim in self.chosen.values()}
        unmatched, doubtful = [], []
        files = surpassed = 0
        for file, offers in groupby(self._offers(), key=lambda offer: offer.file):
            files += 1
            chains = list(offers)
            if file not in self._fitting:
                unmatched.append(StructureFile(file=file, reason=_unmatched(chains)))
            elif file not in used:
                surpassed += 1
            if file in self._fitting and (doubt := chains[0].doubt):
                doubtful.append(StructureFile(file=file, reason=doubt))
        return StructureReport(
            files=files + len(unreadable),
            used=len(used),
            surpassed=surpassed,
            proteins=len(self._best),
            kept=len(self.kept),
            unmatched=tuple(unmatched),
            unreadable=tuple(unreadable),
            without_plddt=tuple(doubtful),
        )


def _claim(offer: Offer, found: Fit, stretches: tuple[Stretch, ...]) -> _Claim:
    return _Claim(
        kind=KINDS.index(offer.kind),
        equal_in_experiment=-found.equal if offer.kind == "experimental" else 0,
        plddt=-(offer.mean_plddt or 0.0),
        equal=-found.equal,
        entry=offer.entry,
        chain_name=offer.chain,
        file=offer.file,
        number=offer.number,
        stretches=stretches,
    )


def _stored_claim(record: StoredStructure) -> _Claim:
    equal = round(record.identity * record.residues)
    is_experiment = record.kind == "experimental"
    return _Claim(
        kind=KINDS.index(record.kind),
        equal_in_experiment=-equal if is_experiment else 0,
        plddt=-(record.mean_plddt or 0.0),
        equal=-equal,
        entry=record.entry,
        chain_name=record.chain,
        file="",
        number=-1,
        stretches=(),
    )


def _unmatched(chains: Sequence[Offer]) -> str:
    told = [f"{chain.chain} of {sum(length for _, length in chain.places)} residues" for chain in chains[:5]]
    more = f" and {len(chains) - 5} more" if len(chains) > 5 else ""
    return f"no chain fits a protein of the atlas: {', '.join(told)}{more}"


def write_archive(choice: Choice, folder: Path, target: Path, *, progress: Callable[[int], None]) -> None:
    """Write what was chosen as an archive.

    Parameters
    ----------
    progress
        Told the number of proteins that were written.

    Raises
    ------
    InvalidInput
        If a file was changed or removed since it was read first.
    """
    by_file = sorted(choice.chosen.items(), key=lambda item: (item[1].file, item[1].number, item[0]))
    records: list[StoredStructure] = []
    with ZipFile(target, "w", ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for file, claims in groupby(by_file, key=lambda item: item[1].file):
            read = _read_again(folder, file)
            for key, claim in claims:
                record, content = _written(read, claim, key, choice.sequences[key])
                _add(archive, f"{key}.bcif", content)
                records.append(record)
            progress(len(records))
        for key in choice.kept:
            record, name, content = choice.kept_file(key)
            _add(archive, name, content)
            records.append(record)
        _add(archive, INDEX, _index(sorted(records, key=lambda record: record.protein_hash)))


def _read_again(folder: Path, file: str) -> CoordinateFile:
    try:
        return read_coordinates(folder / file, name=file)
    except BadCoordinates as error:
        expected = "files that stay as they are during the build; run it again"
        raise InvalidInput("structures", f"{file} was changed meanwhile: {error}", expected) from error


def _written(read: CoordinateFile, claim: _Claim, key: str, sequence: str) -> tuple[StoredStructure, bytes]:
    """Record and BinaryCIF of a chain as the structure of a protein."""
    chain = read.chains[claim.number]
    on_protein = list(places_on_protein(claim.stretches, chain.places))
    indices = [index for index, _ in on_protein]
    residues = [Placed(at + 1, chain.residues[index], chain.states[index]) for index, at in on_protein]
    record = StoredStructure(
        protein_hash=key,
        entry=read.entry,
        chain=chain.name,
        kind=read.origin.kind,
        method=read.origin.method,
        first=residues[0].number,
        last=residues[-1].number,
        residues=len(residues),
        identity=round(fit(sequence, chain.sequence, claim.stretches, chain.places).identity, 4),
        mean_plddt=_mean_plddt(chain, indices, read.plddt_factor),
        ptm=read.origin.ptm if len(read.chains) == 1 else None,
        model=read.origin.model,
    )
    title = f"{read.entry} chain {chain.name}, residues numbered as in the protein"
    return record, write_structure(key, title, residues, factor=read.plddt_factor)


def _add(archive: ZipFile, name: str, content: bytes) -> None:
    """Add a file under a fixed date, so that the same input makes the same bytes."""
    entry = ZipInfo(name, date_time=EPOCH)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content, compresslevel=LEVEL)


def _index(records: Sequence[StoredStructure]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(StoredStructure.model_fields), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(record.model_dump() for record in records)
    return buffer.getvalue().encode("utf-8")
