"""NCBI's BLAST URL API on a real socket: pages like its own, a queue, reports, and notes on who is impolite."""

import io
import json
import zipfile
from collections.abc import Sequence
from typing import Any

from tests.fakes.web_service import Asked, Canned, Clock, FakeService
from tests.known_proteins import UBIQUITIN

NEDD8 = "MLIKVKTLTGKEIEIDIEPTDKVERIKERVEEKEGIPPQQQRLIYSGKQMNDEKTAADYKILGGSVLHLVLALRGG"
"""Human NEDD8 (UniProt Q15843, residues 1-76), which aligns with ubiquitin without a gap."""
MAINTENANCE = b"<!DOCTYPE html><html><body><h1>The service is temporarily unavailable</h1></body></html>"
REFUSED = """<!DOCTYPE html>
<html><head><title>NCBI Blast</title></head><body>
<ul class="msg"><li class="error"><p class="error">{message}</p></li></ul>
<!--QBlastInfoBegin
    RID =
    RTOE =
QBlastInfoEnd
-->
</body></html>
"""
BEGUN = """<!DOCTYPE html>
<html><head><title>NCBI Blast</title></head><body>
<!--QBlastInfoBegin
    RID = {rid}
    RTOE = {estimate}
QBlastInfoEnd
-->
</body></html>
"""
STATE = """<html><body>
<!--
QBlastInfoBegin
\tStatus={status}
{more}QBlastInfoEnd
-->
<p>Request {rid}</p></body></html>
"""


def tree(query: str, subjects: Sequence[tuple[str, str]], *, message: str | None = None) -> dict[str, Any]:
    """Report of a search in the JSON2 format, with subjects of the length of the query."""
    search: dict[str, Any] = {
        "query_id": "Query_1",
        "query_len": len(query),
        "hits": [_hit(number, query, *subject) for number, subject in enumerate(subjects, start=1)],
        "stat": {"db_num": 573_661, "db_len": 207_922_125, "hsp_len": 48, "eff_space": 3_000_000_000},
    }
    if message is not None:
        search["message"] = message
    return {
        "program": "blastp",
        "version": "BLASTP 2.17.0+",
        "search_target": {"db": "swissprot"},
        "params": {"matrix": "BLOSUM62", "expect": 10, "gap_open": 11, "gap_extend": 1, "filter": "F", "cbs": 2},
        "results": {"search": search},
    }


def _hit(number: int, query: str, accession: str, subject: str) -> dict[str, Any]:
    midline = "".join(a if a == b else " " for a, b in zip(query, subject, strict=True))
    identical = len(query) - midline.count(" ")
    hsp = {
        "num": 1,
        "bit_score": 2.0 * identical,
        "score": 5 * identical,
        "evalue": 10.0 ** -(identical / 2),
        "identity": identical,
        "positive": identical,
        "query_from": 1,
        "query_to": len(query),
        "hit_from": 1,
        "hit_to": len(subject),
        "align_len": len(query),
        "gaps": 0,
        "qseq": query,
        "hseq": subject,
        "midline": midline,
    }
    description = {"id": f"sp|{accession}|", "accession": accession, "title": "a protein", "taxid": 9606}
    return {"num": number, "description": [description], "len": len(subject), "hsps": [hsp]}


def zipped(*documents: object, rid: str = "ABCDEFGH016") -> bytes:
    """The JSON2 format as a ZIP: a list of files and one file a query."""
    names = [f"{rid}_{number}.json" for number in range(1, len(documents) + 1)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{rid}.json", json.dumps({"BlastJSON": [{"File": name} for name in names]}))
        for name, document in zip(names, documents, strict=True):
            archive.writestr(name, json.dumps(document))
    return packed.getvalue()


class FakeNcbi(FakeService):
    """NCBI. `waits` polls find a search waiting; `subjects` are its hits; `impolite` lists breaches of the rules.

    `states` and `reports` are answered to polls and fetches before the usual ones.
    """

    def __init__(self, clock: Clock, *, waits: int = 1, estimate: int = 18) -> None:
        super().__init__(clock)
        self.waits = waits
        self.estimate = estimate
        self.subjects: list[tuple[str, str]] = [("P0CG48", UBIQUITIN), ("Q15843", NEDD8)]
        self.message: str | None = None
        self.impolite: list[str] = []
        self.searches: dict[str, dict[str, str]] = {}
        self.states: list[Canned] = []
        self.reports: list[Canned] = []
        self.polls: dict[str, list[float]] = {}

    def forget(self) -> None:
        """Lose all searches, as NCBI does after 36 hours."""
        self.searches.clear()

    def answer(self, asked: Asked) -> Canned:
        self._judge(asked)
        form = asked.form
        if asked.path != "/Blast.cgi":
            return Canned(b"<html>not found</html>", status=404)
        if form.get("CMD") == "Put":
            return Canned(self._put(form).encode())
        rid = form.get("RID", "")
        if form.get("FORMAT_OBJECT") == "SearchInfo":
            usual = Canned(self._state(rid, asked.at).encode())
            return self.states.pop(0) if self.states else usual
        return self.reports.pop(0) if self.reports else self._report(rid)

    def _judge(self, asked: Asked) -> None:
        for name in ("tool", "email"):
            if not asked.form.get(name):
                self.impolite.append(f"no {name}")
        if len(self.asked) > 1 and asked.at - self.asked[-2].at < 10:
            self.impolite.append("two contacts within 10 s")

    def _put(self, form: dict[str, str]) -> str:
        query = form.get("QUERY", "")
        if not query:
            return REFUSED.format(
                message="Message ID#32 Error: Query contains no data: Query contains no sequence data"
            )
        rid = f"{len(self.searches):08d}016"
        self.searches[rid] = form
        return BEGUN.format(rid=rid, estimate=self.estimate)

    def _state(self, rid: str, at: float) -> str:
        polls = self.polls.setdefault(rid, [])
        if polls and at - polls[-1] < 60:
            self.impolite.append(f"two polls of {rid} within 60 s")
        polls.append(at)
        if rid not in self.searches:
            return STATE.format(status="UNKNOWN", more="", rid=rid)
        if len(polls) <= self.waits:
            return STATE.format(status="WAITING", more="", rid=rid)
        found = "yes" if self.subjects else "no"
        return STATE.format(status="READY", more=f"\tThereAreHits={found}\n", rid=rid)

    def _report(self, rid: str) -> Canned:
        if rid not in self.searches:
            return Canned(STATE.format(status="UNKNOWN", more="", rid=rid).encode())
        if len(self.polls.get(rid, [])) <= self.waits:
            return Canned(STATE.format(status="WAITING", more="", rid=rid).encode())
        report = tree(self.searches[rid]["QUERY"], self.subjects, message=self.message)
        return Canned(json.dumps({"BlastOutput2": [{"report": report}]}).encode(), media_type="application/json")
