"""BLAST at EMBL-EBI by its Job Dispatcher (https://www.ebi.ac.uk/jdispatcher/docs/webservices, read 2026-11).

POST /run begins a search and answers with its id; /status/ID is one word, /resulttypes/ID a list in XML, and
/result/ID/json a report in EBI's own form, which becomes a tree of BLAST's JSON2 format here.
"""

import html
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from protatlas.errors import DependencyUnavailable, Indeterminate, InvalidInput, ProtatlasError
from protatlas.json2 import read_json2
from protatlas.reports import SEARCHES_PROTEINS, Origin, Report
from protatlas.services.etiquette import Etiquette, Pace
from protatlas.services.http import BAD_REQUEST, MAX_BYTES, TIMEOUT_S, Border, Identity, Reply, as_json
from protatlas.services.remote import (
    NUCLEOTIDE,
    PROTEIN,
    RemoteQuery,
    RemoteState,
    SearchFailed,
    SearchLost,
    SearchRunningThere,
    about,
    refuse_senseless,
)

URL = "https://www.ebi.ac.uk/Tools/services/rest/ncbiblast"
EMAIL_SETTING = "PROTATLAS_EBI_EMAIL"
NAME = "EMBL-EBI"
PACE = Pace(NAME, contact_gap_s=1.0, poll_gap_s=5.0, open_searches=30)
"""No more than 30 searches at a time (EBI's page on the service, read 2026-11); its own clients poll every 3 s."""
KEPT = "seven days"
JOB = re.compile(r"ncbiblast-[A-Za-z0-9-]{8,100}")
FETCHES = 2
EVALUES = ("1e-200", "1e-100", "1e-50", "1e-10", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1.0", "10", "100", "1000")
COUNTS = (5, 10, 20, 50, 100, 150, 200, 250, 500, 750, 1000)
"""Values that the parameters `exp`, and `scores` and `alignments` take (/parameterdetails)."""
MESSAGE_LENGTH = 300
MOLECULES = {
    "uniprotkb_swissprot": PROTEIN,
    "uniprotkb": PROTEIN,
    "uniprotkb_trembl": PROTEIN,
    "uniprotkb_reference_proteomes": PROTEIN,
    "uniref100": PROTEIN,
    "uniref90": PROTEIN,
    "uniref50": PROTEIN,
    "uniparc": PROTEIN,
    "pdb": PROTEIN,
    "afdb": PROTEIN,
    "em_rel": NUCLEOTIDE,
}
"""What EBI's databases hold; names that are not here are sent as they are."""
SAME = {"swissprot": "uniprotkb_swissprot"}
"""Databases that both services have, under EBI's name."""
SHORT_PROTEIN = {"exp": "1000", "matrix": "PAM30", "gapopen": "9", "gapext": "1", "filter": "F", "compstats": "F"}
"""For peptides up to 30 residues, as `blastp-short` of BLAST+; EBI takes no word size for it."""

_DESCRIPTION = re.compile(r"<description>(.*?)</description>", re.DOTALL)
_TYPES = re.compile(r"<identifier>\s*([\w.-]+)\s*</identifier>")


class EbiBlast:
    """The five programs at EMBL-EBI. Nothing can be cancelled there.

    Parameters
    ----------
    identity
        Whom EBI may write to.
    etiquette
        The record of contacts that all processes share.
    url
        Address of the service, or of a mirror of it.
    """

    def __init__(
        self,
        identity: Identity,
        etiquette: Etiquette,
        *,
        url: str = URL,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._etiquette = etiquette
        self._identity = identity
        self._border = Border(
            url, PACE, identity=identity, etiquette=etiquette, timeout_s=timeout_s, max_bytes=max_bytes
        )

    def close(self) -> None:
        """Close the connections."""
        self._border.close()

    def submit(self, query: RemoteQuery) -> str:
        """Begin a search; its id.

        Raises
        ------
        InvalidInput
            The query makes no sense, or EBI refuses it; EBI's own words are quoted.
        RateLimited
            Thirty searches run already, or others wait.
        Indeterminate
            It was sent and no answer came.
        ServiceUnavailable
            EBI answers with something else than an id.
        """
        refuse_senseless(query, MOLECULES)
        key = self._etiquette.begin_search(PACE)
        try:
            reply = self._border.post("/run", self._form(query))
            job = self._began(reply)
        except Indeterminate:
            raise
        except ProtatlasError:
            self._etiquette.drop_search(key)
            raise
        self._etiquette.name_search(key, job, first_poll_s=PACE.poll_gap_s)
        return job

    def poll(self, job: str) -> RemoteState:
        """State of a search; EBI is asked for one every five seconds at most.

        Raises
        ------
        SearchFailed, SearchLost
            The search is over without a result.
        ServiceUnavailable, RateLimited
            EBI did not say; the search may still run.
        """
        _refuse_foreign(job)
        with about(job):
            if (wait_s := self._etiquette.claim_poll(PACE, self._border.host, job)) > 0:
                return RemoteState(phase="running", ask_again_s=wait_s)
            return self._state(job, self._border.get_once(f"/status/{job}"))

    def fetch(self, job: str) -> Report:
        """Report of a finished search; a broken one is fetched twice.

        Raises
        ------
        SearchFailed, SearchRunningThere
            The search has no report, or none yet.
        ServiceUnavailable
            What came is no whole report.
        """
        _refuse_foreign(job)
        with about(job):
            self._refuse_without_json(job)
            for _ in range(FETCHES):
                reply = self._border.get(f"/result/{job}/json")
                report = self._report(job, reply)
                if report is not None:
                    return report
            raise self._border.not_an_answer(reply, "a whole report")

    def cancel(self, job: str) -> bool:
        """False: the Job Dispatcher has no command for it."""
        _refuse_foreign(job)
        return False

    def _form(self, query: RemoteQuery) -> dict[str, str]:
        database = query.database or ("uniprotkb_swissprot" if query.program in SEARCHES_PROTEINS else "em_rel")
        count = str(next((count for count in COUNTS if count >= query.limit), COUNTS[-1]))
        form = {
            "email": self._identity.email,
            "program": query.program,
            "stype": "protein" if query.molecule == PROTEIN else "dna",
            "sequence": query.sequence,
            "database": SAME.get(database.lower(), database),
            "scores": count,
            "alignments": count,
        }
        if query.program == "blastn":
            form["task"] = "megablast" if query.is_megablast else "blastn"
        if query.is_short and query.program == "blastp":
            form |= SHORT_PROTEIN
        if query.max_evalue is not None:
            asked = query.max_evalue
            form["exp"] = next((value for value in EVALUES if float(value) >= asked), EVALUES[-1])
        return form

    def _began(self, reply: Reply) -> str:
        if reply.status == BAD_REQUEST:
            raise InvalidInput(
                "sequence", f"EBI refuses the search: {_description(reply) or 'without a reason'}", "a query it takes"
            )
        job = reply.text.strip()
        if not JOB.fullmatch(job):
            raise self._border.not_an_answer(reply, "the id of a search")
        return job

    def _state(self, job: str, reply: Reply) -> RemoteState:
        status = reply.text.strip()
        if status in ("QUEUED", "PENDING", "RUNNING"):
            return RemoteState(phase="running", ask_again_s=PACE.poll_gap_s)
        if status == "FINISHED":
            self._etiquette.end_search(PACE, job)
            return RemoteState(phase="finished")
        if status == "NOT_FOUND":
            self._etiquette.end_search(PACE, job)
            raise SearchLost(NAME, job, KEPT)
        if status in ("FAILURE", "FAILED"):
            self._etiquette.end_search(PACE, job)
            raise SearchFailed(NAME, job, "EBI gave up on it.", "Search a smaller database or with a shorter query.")
        raise self._border.not_an_answer(reply, "the state of a search")

    def _refuse_without_json(self, job: str) -> None:
        """Refuse a search whose results are not there yet, or have no report that can be read."""
        reply = self._border.get(f"/resulttypes/{job}")
        if reply.status == BAD_REQUEST:
            raise SearchRunningThere(NAME, job, PACE.poll_gap_s)
        types = _TYPES.findall(reply.text)
        if not types:
            raise self._border.not_an_answer(reply, "a list of results")
        if "json" not in types:
            raise SearchFailed(
                NAME, job, f"It has no report, only: {', '.join(types)[:MESSAGE_LENGTH]}.", "Change the query."
            )

    def _report(self, job: str, reply: Reply) -> Report | None:
        """Report in an answer; None where it is broken."""
        if reply.status == BAD_REQUEST:
            raise DependencyUnavailable(f"The report of {job} at {NAME}", f"EBI says: {_description(reply)}", rid=job)
        try:
            found = _Output.model_validate(as_json(reply.body))
        except ValidationError:
            return None
        return read_json2(
            json2_tree(found),
            date=next((base.created for base in found.dbs if base.created), None),
            origin=Origin(service=NAME, search=job, address=self._border.address, retrieved_at=reply.at),
        )


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Hsp(_Answer):
    hsp_num: int
    hsp_score: float
    hsp_bit_score: float
    hsp_expect: float
    hsp_query_from: int
    hsp_query_to: int
    hsp_hit_from: int
    hsp_hit_to: int
    hsp_qseq: str
    hsp_mseq: str
    hsp_hseq: str


class _Hit(_Answer):
    hit_num: int
    hit_db: str = ""
    hit_id: str = ""
    hit_acc: str
    hit_desc: str = ""
    hit_uni_de: str | None = None
    hit_uni_os: str | None = None
    hit_uni_ox: str | None = None
    hit_os: str | None = None
    hit_len: int
    hit_hsps: list[_Hsp]


class _Database(_Answer):
    name: str
    created: str | None = None


class _Output(_Answer):
    """EBI's report (its sss_json_schema, read 2026-12); `hits` must be there, also when it is empty."""

    program: str
    version: str
    query_def: str = ""
    query_len: int
    db_num: int
    db_len: int
    dbs: list[_Database]
    expect_upper: float | None = None
    filter: str | None = None
    gap_open: float | None = None
    gap_extend: float | None = None
    matrix: str | None = None
    hits: list[_Hit]


def json2_tree(found: _Output) -> dict[str, Any]:
    """EBI's report as a tree of BLAST's JSON2 format.

    Identical and positive columns are counted in the middle line: EBI states rounded percentages of them.
    """
    params: Mapping[str, Any] = {
        "matrix": found.matrix,
        "expect": found.expect_upper,
        "gap_open": found.gap_open,
        "gap_extend": found.gap_extend,
        "filter": found.filter,
    }
    return {
        "program": found.program,
        "version": found.version,
        "search_target": {"db": " ".join(base.name for base in found.dbs)},
        "params": {name: value for name, value in params.items() if value is not None},
        "results": {
            "search": {
                "query_id": "Query_1",
                "query_title": found.query_def,
                "query_len": found.query_len,
                "hits": [_json2_hit(hit) for hit in found.hits],
                "stat": {"db_num": found.db_num, "db_len": found.db_len},
            }
        },
    }


def _json2_hit(hit: _Hit) -> dict[str, Any]:
    taxid = hit.hit_uni_ox or ""
    description = {
        "id": hit.hit_id,
        "accession": hit.hit_acc,
        "title": hit.hit_uni_de or hit.hit_desc,
        "sciname": hit.hit_uni_os or hit.hit_os,
        "taxid": int(taxid) if taxid.isdecimal() else None,
    }
    return {
        "num": hit.hit_num,
        "description": [{name: value for name, value in description.items() if value is not None}],
        "len": hit.hit_len,
        "hsps": [_json2_hsp(hsp) for hsp in hit.hit_hsps],
    }


def _json2_hsp(hsp: _Hsp) -> dict[str, Any]:
    midline = hsp.hsp_mseq
    return {
        "num": hsp.hsp_num,
        "bit_score": hsp.hsp_bit_score,
        "score": hsp.hsp_score,
        "evalue": hsp.hsp_expect,
        "identity": sum(column.isalpha() or column == "|" for column in midline),
        "positive": sum(not column.isspace() for column in midline),
        "query_from": hsp.hsp_query_from,
        "query_to": hsp.hsp_query_to,
        "hit_from": hsp.hsp_hit_from,
        "hit_to": hsp.hsp_hit_to,
        "align_len": len(hsp.hsp_qseq),
        "gaps": hsp.hsp_qseq.count("-") + hsp.hsp_hseq.count("-"),
        "qseq": hsp.hsp_qseq,
        "hseq": hsp.hsp_hseq,
        "midline": midline,
    }


def _refuse_foreign(job: str) -> None:
    if not JOB.fullmatch(job):
        raise InvalidInput("rid", f"{job[:40]!r} is no search id of EBI", "an id such as ncbiblast-R20261201-...-p1m")


def _description(reply: Reply) -> str:
    """What an error of EBI says, as one line of bounded length."""
    found = _DESCRIPTION.search(reply.text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found[1])).split())[:MESSAGE_LENGTH] if found else ""
