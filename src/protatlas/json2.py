"""The JSON2 format of BLAST (`-outfmt 15`, `FORMAT_TYPE=JSON2_S`) read into a report.

The format is described by NCBI's BLAST+ manual, appendix on output formats (NBK279684); fields that it leaves out in
some programs are optional here, numbers are checked, and a tree that is not whole is refused.
"""

from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from protatlas.reports import Database, Hit, Hsp, Origin, Program, Report


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Hsp(_Lenient):
    bit_score: float
    score: float | None = None
    evalue: float
    identity: int
    positive: int | None = None
    query_from: int
    query_to: int
    hit_from: int
    hit_to: int
    query_frame: int | None = None
    hit_frame: int | None = None
    align_len: Annotated[int, Field(gt=0)]
    gaps: int = 0
    qseq: str = ""
    hseq: str = ""
    midline: str = ""

    def hsp(self) -> Hsp:
        return Hsp(
            bit_score=self.bit_score,
            score=self.score,
            evalue=self.evalue,
            query_start=self.query_from,
            query_end=self.query_to,
            subject_start=self.hit_from,
            subject_end=self.hit_to,
            columns=self.align_len,
            identical=self.identity,
            positive=self.positive,
            gaps=self.gaps,
            query_frame=self.query_frame,
            subject_frame=self.hit_frame,
            query_text=self.qseq,
            match_text=self.midline,
            subject_text=self.hseq,
        )


class _Description(_Lenient):
    id: str = ""
    accession: str
    title: str = ""
    taxid: int | None = None
    sciname: str | None = None


class _Hit(_Lenient):
    description: Annotated[list[_Description], Field(min_length=1)]
    len: int
    hsps: Annotated[list[_Hsp], Field(min_length=1)]

    def hit(self) -> Hit:
        first, hsps = self.description[0], tuple(hsp.hsp() for hsp in self.hsps)
        return Hit(
            key=first.accession,
            accession=first.accession,
            title=first.title,
            organism=first.sciname or None,
            taxid=first.taxid or None,
            length=self.len,
            bit_score=hsps[0].bit_score,
            evalue=min(hsp.evalue for hsp in hsps),
            hsps=hsps,
        )


class _Search(_Lenient):
    query_len: int
    hits: list[_Hit]
    message: str | None = None
    stat: dict[str, float | int | None]


class _Results(_Lenient):
    search: _Search


class _Target(_Lenient):
    db: str


class _Report(_Lenient):
    program: str
    version: str
    search_target: _Target
    params: dict[str, str | int | float | bool | None] = {}
    results: _Results


def read_json2(tree: object, *, date: str | None = None, origin: Origin | None = None) -> Report | None:
    """Report of the tree under `report` of JSON2, its total not known; None where it is not one, or is not whole.

    `date` is that of the database, which the tree does not state.
    """
    try:
        found = _Report.model_validate(tree)
    except ValidationError:
        return None
    search, program = found.results.search, found.program.lower()
    if program not in get_args(Program):
        return None
    statistics = {name: float(value) for name, value in search.stat.items() if value is not None}
    stated = Database(
        name=found.search_target.db,
        date=date,
        sequences=_whole(statistics.pop("db_num", None)),
        residues=_whole(statistics.pop("db_len", None)),
    )
    fields: dict[str, Any] = {"program": program, "statistics": statistics, "origin": origin}
    return Report(
        engine=found.version,
        database=stated,
        query_length=search.query_len,
        hits=tuple(hit.hit() for hit in search.hits),
        total=None,
        settings=tuple(f"{name} = {value}" for name, value in found.params.items() if value is not None),
        message=search.message,
        **fields,
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
