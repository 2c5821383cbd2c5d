"""BLAST at NCBI by its URL API (https://blast.ncbi.nlm.nih.gov/doc/blast-help/urlapi.html, read 2026-11).

CMD=Put begins a search and answers with a page that has its request id (RID) in a comment; CMD=Get gives its state
(FORMAT_OBJECT=SearchInfo) or its report. Every page comes with status 200, whatever it says.
"""

import html
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from protatlas.errors import DependencyUnavailable, Indeterminate, InvalidInput, ProtatlasError
from protatlas.json2 import read_json2
from protatlas.reports import SEARCHES_PROTEINS, Origin, Report
from protatlas.services.etiquette import Etiquette, Pace
from protatlas.services.http import MAX_BYTES, TIMEOUT_S, TOOL, Border, Identity, Reply, as_json
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

URL = "https://blast.ncbi.nlm.nih.gov/Blast.cgi"
EMAIL_SETTING = "PROTATLAS_NCBI_EMAIL"
NAME = "NCBI"
PACE = Pace(NAME, contact_gap_s=10.0, poll_gap_s=60.0, searches_a_day=100, searches_by_day=50)
"""Usage guidelines of NCBI's DeveloperInfo page, read 2026-11: a contact in 10 s, a poll of one RID in a minute; more
than 50 searches at night or on weekends, more than 100 in 24 hours are slowed down or blocked."""
KEPT = "36 hours"
"""Life of a RID (NCBI knowledge base, KA-05438)."""
RID = re.compile(r"[A-Z0-9]{8,16}")
FETCHES = 2
"""Times that a report is fetched before it is given up: about half of the broken ones are whole the second time
(virtool #510, biopython #3342)."""
LIMIT_SIGNS = ("CPU usage limit", "SIGXCPU", "Process size limit", "SIGXFSZ")
NO_HITS = "No hits found"
MESSAGE_LENGTH = 300
MOLECULES = {
    "swissprot": PROTEIN,
    "nr": PROTEIN,
    "refseq_protein": PROTEIN,
    "refseq_select": PROTEIN,
    "pdb": PROTEIN,
    "pdbaa": PROTEIN,
    "landmark": PROTEIN,
    "env_nr": PROTEIN,
    "core_nt": NUCLEOTIDE,
    "nt": NUCLEOTIDE,
    "refseq_rna": NUCLEOTIDE,
    "refseq_genomes": NUCLEOTIDE,
    "pdbnt": NUCLEOTIDE,
    "est": NUCLEOTIDE,
    "wgs": NUCLEOTIDE,
}
"""What NCBI's databases hold (its web form, read 2026-11); names that are not here are sent as they are."""
AMBIGUOUS = ("pdb", "refseq_select")
"""Names that NCBI uses for both."""
SHORT_PROTEIN = {
    "EXPECT": "200000",
    "WORD_SIZE": "2",
    "MATRIX": "PAM30",
    "GAPCOSTS": "9 1",
    "FILTER": "F",
    "COMPOSITION_BASED_STATISTICS": "0",
}
"""For peptides up to 30 residues (URL API notes, node 93, and the task `blastp-short` of BLAST+)."""
SHORT_NUCLEOTIDE = {"EXPECT": "1000", "WORD_SIZE": "7", "FILTER": "F"}
"""For blastn (task `blastn-short`); NCBI's own SHORT_QUERY_ADJUST sets blastn wrongly."""

_BLOCK = re.compile(r"QBlastInfoBegin(.*?)QBlastInfoEnd", re.DOTALL)
_ERRORS = (
    re.compile(r'<p class="error"[^>]*>(.*?)</p>', re.DOTALL),
    re.compile(r'<div class="error msInf"[^>]*>(.*?)</div>', re.DOTALL),
    re.compile(r"(Message ID#\d+ Error:[^<]*)"),
)


class NcbiBlast:
    """The five programs at NCBI. Nothing can be cancelled there.

    Parameters
    ----------
    identity
        Whom NCBI may write to.
    etiquette
        The record of contacts that all processes share.
    url
        Address of the URL API, or of a mirror of it.
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
        """Begin a search; its RID.

        Raises
        ------
        InvalidInput
            The query makes no sense, or NCBI refuses it; NCBI's own words are quoted.
        RateLimited
            The daily limit is reached, or others wait already.
        Indeterminate
            It was sent and no answer came.
        ServiceUnavailable
            NCBI answers with something else than a RID.
        """
        refuse_senseless(query, {name: held for name, held in MOLECULES.items() if name not in AMBIGUOUS})
        key = self._etiquette.begin_search(PACE)
        try:
            reply = self._border.post("", self._form(query))
            rid, wait_s = self._began(reply)
        except Indeterminate:
            raise
        except ProtatlasError:
            self._etiquette.drop_search(key)
            raise
        self._etiquette.name_search(key, rid, first_poll_s=min(max(wait_s, PACE.contact_gap_s), PACE.poll_gap_s))
        return rid

    def poll(self, rid: str) -> RemoteState:
        """State of a search; NCBI is asked for one RID once a minute at most.

        Raises
        ------
        SearchFailed, SearchLost
            The search is over without a result.
        ServiceUnavailable, RateLimited
            NCBI did not say; the search may still run.
        """
        _refuse_foreign(rid)
        with about(rid):
            if (wait_s := self._etiquette.claim_poll(PACE, self._border.host, rid)) > 0:
                return RemoteState(phase="running", ask_again_s=wait_s)
            reply = self._border.get_once("", self._get(rid, FORMAT_OBJECT="SearchInfo"))
            return self._state(rid, reply)

    def fetch(self, rid: str) -> Report:
        """Report of a finished search; a broken one is fetched twice.

        Raises
        ------
        SearchFailed
            The search was stopped at a limit of NCBI.
        SearchLost, SearchRunningThere
            There is no report, or not yet.
        ServiceUnavailable
            What came is no whole report.
        """
        _refuse_foreign(rid)
        with about(rid):
            for _ in range(FETCHES):
                reply = self._border.get("", self._get(rid, FORMAT_TYPE="JSON2_S"))
                report = self._report(rid, reply)
                if report is not None:
                    return report
            raise self._border.not_an_answer(reply, "a whole report")

    def cancel(self, rid: str) -> bool:
        """False: the URL API at NCBI has no command for it."""
        _refuse_foreign(rid)
        return False

    def _form(self, query: RemoteQuery) -> dict[str, str]:
        database = query.database or ("swissprot" if query.program in SEARCHES_PROTEINS else "core_nt")
        form = {"CMD": "Put", "PROGRAM": query.program, "DATABASE": database, "QUERY": query.sequence}
        form |= {"HITLIST_SIZE": str(query.limit), "FORMAT_TYPE": "JSON2_S"}
        if query.is_short and query.program == "blastp":
            form |= SHORT_PROTEIN
        elif query.is_short and query.program == "blastn":
            form |= SHORT_NUCLEOTIDE
        elif query.is_megablast:
            form |= {"MEGABLAST": "on"}
        if query.max_evalue is not None:
            form["EXPECT"] = f"{query.max_evalue:g}"
        return form | self._contact()

    def _get(self, rid: str, **more: str) -> dict[str, str]:
        return {"CMD": "Get", "RID": rid} | more | self._contact()

    def _contact(self) -> dict[str, str]:
        return {"tool": TOOL, "email": self._identity.email}

    def _began(self, reply: Reply) -> tuple[str, float]:
        """RID and estimated seconds of a search that begins."""
        if reply.status != 200:
            raise DependencyUnavailable(NAME, f"It refuses the form of the request (status {reply.status}).")
        block = _block(reply.text)
        rid = block.get("RID", "")
        if RID.fullmatch(rid):
            estimate = block.get("RTOE", "")
            return rid, float(estimate) if estimate.isdecimal() else 0.0
        if message := _message(reply.text):
            raise InvalidInput("sequence", f"NCBI refuses the search: {message}", "a query that NCBI takes")
        raise self._border.not_an_answer(reply, "a request id")

    def _state(self, rid: str, reply: Reply) -> RemoteState:
        block = _block(reply.text)
        status = block.get("Status", "").upper()
        if status == "WAITING":
            return RemoteState(phase="running", ask_again_s=PACE.poll_gap_s)
        if status == "READY":
            has_hits = {"yes": True, "no": False}.get(block.get("ThereAreHits", "").lower())
            self._etiquette.end_search(PACE, rid, has_hits=has_hits)
            return RemoteState(phase="finished")
        self._refuse_ended(rid, status, reply)
        raise self._border.not_an_answer(reply, "the state of a search")

    def _refuse_ended(self, rid: str, status: str, reply: Reply) -> None:
        """Refuse the two states in which a search has ended without a result."""
        if status not in ("UNKNOWN", "FAILED"):
            return
        self._etiquette.end_search(PACE, rid)
        if status == "UNKNOWN":
            raise SearchLost(NAME, rid, KEPT)
        raise SearchFailed(
            NAME,
            rid,
            f"NCBI gave up on it{_quoted(_message(reply.text))}.",
            "Search a smaller database or with a shorter query.",
        )

    def _report(self, rid: str, reply: Reply) -> Report | None:
        """Report in an answer; None where it is broken."""
        if reply.is_page:
            status = _block(reply.text).get("Status", "").upper()
            if status == "WAITING":
                raise SearchRunningThere(NAME, rid, PACE.poll_gap_s)
            self._refuse_ended(rid, status, reply)
        trees = list(_trees(reply.body))
        if len(trees) != 1:
            return None
        tree = trees[0]
        self._refuse_stopped(rid, tree)
        report = read_json2(
            tree, origin=Origin(service=NAME, search=rid, address=self._border.address, retrieved_at=reply.at)
        )
        if report is not None and not report.hits and self._etiquette.has_hits(PACE, rid):
            return None  # SearchInfo said that there are hits
        return report

    def _refuse_stopped(self, rid: str, tree: object) -> None:
        """Refuse a report whose message says that the search did not run to its end: no hits does not mean none."""
        message = _plain(_dig(tree, "results", "search", "message"))
        if any(sign in message for sign in LIMIT_SIGNS):
            raise SearchFailed(
                NAME,
                rid,
                f"NCBI stopped it at a limit{_quoted(message)}; its report does not mean that there are no hits.",
                "Search a smaller database (swissprot, refseq_protein), with a shorter query or for fewer hits.",
            )
        if message and message.strip(" .") != NO_HITS and not _dig(tree, "results", "search", "hits"):
            raise SearchFailed(NAME, rid, f"NCBI reports an error{_quoted(message)}.", "Change the query or database.")


def _refuse_foreign(rid: str) -> None:
    if not RID.fullmatch(rid):
        raise InvalidInput("rid", f"{rid[:40]!r} is no request id of NCBI", "8 to 16 capitals and digits")


def _block(text: str) -> dict[str, str]:
    """Values of the QBlastInfo comment, line by line: an empty one must not take that of the next line."""
    found = _BLOCK.search(text)
    lines = found[1].splitlines() if found else []
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _message(text: str) -> str:
    """What a page says went wrong, as plain text; empty where it says nothing."""
    found = next((match[1] for pattern in _ERRORS if (match := pattern.search(text))), "")
    return _plain(found)


def _plain(text: object) -> str:
    """One line without mark-up, of bounded length."""
    words = html.unescape(re.sub(r"<[^>]*>", " ", text)).split() if isinstance(text, str) else []
    return " ".join(words)[:MESSAGE_LENGTH]


def _quoted(message: str) -> str:
    return f" (it says: {message})" if message else ""


def _dig(tree: object, *names: str) -> object:
    for name in names:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _trees(body: bytes) -> Iterator[object]:
    """Report trees of a JSON2 document, single (JSON2_S) or zipped with a list of its files (JSON2)."""
    documents = _unzipped(body) if body.startswith(b"PK") else [as_json(body)]
    for document in documents:
        outputs: Any = _dig(document, "BlastOutput2")
        for output in outputs if isinstance(outputs, list) else [outputs]:
            if (report := _dig(output, "report")) is not None:
                yield report


def _unzipped(body: bytes) -> list[object]:
    """JSON documents of a ZIP; none where it is broken, or would not fit into memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                return []
            return [as_json(archive.read(entry)) for entry in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return []
