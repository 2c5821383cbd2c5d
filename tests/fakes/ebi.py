"""EMBL-EBI's Job Dispatcher for BLAST on a real socket: ids, states, lists of results and reports of its own form."""

import json
from typing import Any

from tests.fakes.ncbi import NEDD8
from tests.fakes.web_service import Asked, Canned, Clock, FakeService
from tests.known_proteins import UBIQUITIN

BASE = "/Tools/services/rest/ncbiblast"
TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<types>{types}</types>
"""
REQUIRED = ("email", "program", "stype", "sequence", "database")


def error(text: str) -> bytes:
    """An error of the service."""
    return f'<?xml version="1.0"?><error><description>{text}</description></error>'.encode()


def output(query: str, subjects: list[tuple[str, str]]) -> dict[str, Any]:
    """Report of a search in EBI's form, with subjects of the length of the query."""
    return {
        "program": "blastp",
        "version": "BLASTP 2.16.0+",
        "command": "blastp -db &quot;uniprotkb_swissprot&quot;",
        "query_def": "EMBOSS_001",
        "query_stype": "protein",
        "query_len": len(query),
        "db_count": 1,
        "db_num": 573_661,
        "db_len": 207_922_125,
        "dbs": [{"name": "uniprotkb_swissprot", "stype": "protein", "created": "2026-10-07T02:09:00+00:00"}],
        "alignments": 10,
        "scores": 10,
        "expect_upper": 10.0,
        "filter": "F",
        "gap_extend": 1.0,
        "gap_open": 11.0,
        "matrix": "BLOSUM62",
        "hits": [_hit(number, query, *subject) for number, subject in enumerate(subjects, start=1)],
    }


def _hit(number: int, query: str, accession: str, subject: str) -> dict[str, Any]:
    midline = "".join(a if a == b else " " for a, b in zip(query, subject, strict=True))
    identical = len(query) - midline.count(" ")
    return {
        "hit_num": number,
        "hit_def": f"SP:{accession} A protein OS=Homo sapiens OX=9606",
        "hit_db": "SP",
        "hit_id": "NAME_HUMAN",
        "hit_acc": accession,
        "hit_desc": "A protein OS=Homo sapiens OX=9606",
        "hit_os": "Homo sapiens",
        "hit_uni_de": "A protein",
        "hit_uni_os": "Homo sapiens",
        "hit_uni_ox": "9606",
        "hit_len": len(subject),
        "hit_hsps": [
            {
                "hsp_num": 1,
                "hsp_score": 5 * identical,
                "hsp_bit_score": 2.0 * identical,
                "hsp_expect": 10.0 ** -(identical / 2),
                "hsp_align_len": len(query),
                "hsp_identity": round(100 * identical / len(query), 1),
                "hsp_positive": round(100 * identical / len(query), 1),
                "hsp_gaps": 0,
                "hsp_query_from": 1,
                "hsp_query_to": len(query),
                "hsp_hit_from": 1,
                "hsp_hit_to": len(subject),
                "hsp_qseq": query,
                "hsp_mseq": midline,
                "hsp_hseq": subject,
            }
        ],
    }


class FakeEbi(FakeService):
    """EBI. `waits` polls find a search in the queue; `subjects` are its hits; `types` its kinds of results."""

    def __init__(self, clock: Clock, *, waits: int = 1) -> None:
        super().__init__(clock)
        self.waits = waits
        self.ends_as = "FINISHED"
        self.types = ["out", "json", "ids"]
        self.subjects: list[tuple[str, str]] = [("P0CG48", UBIQUITIN), ("Q15843", NEDD8)]
        self.searches: dict[str, dict[str, str]] = {}
        self.polls: dict[str, int] = {}

    def forget(self) -> None:
        """Lose all searches, as EBI does after seven days."""
        self.searches.clear()

    def answer(self, asked: Asked) -> Canned:
        command, _, rest = asked.path.removeprefix(f"{BASE}/").partition("/")
        if command == "run":
            return self._run(asked.form)
        job = rest.partition("/")[0]
        if command == "status":
            return Canned(self._status(job).encode(), media_type="text/plain")
        if job not in self.searches:
            return Canned(error("Job not found"), status=404, media_type="application/xml")
        if command == "resulttypes":
            if self.polls.get(job, 0) <= self.waits:
                return Canned(error("The job is still running"), status=400, media_type="application/xml")
            types = "".join(f"<type><identifier>{kind}</identifier></type>" for kind in self.types)
            return Canned(TYPES.format(types=types).encode(), media_type="application/xml")
        report = output(self.searches[job]["sequence"], self.subjects)
        return Canned(json.dumps(report).encode(), media_type="application/json")

    def _run(self, form: dict[str, str]) -> Canned:
        if missing := [name for name in REQUIRED if not form.get(name)]:
            return Canned(error(f"Missing parameter: {missing[0]}"), status=400, media_type="application/xml")
        job = f"ncbiblast-R20261201-1600{len(self.searches):02d}-0001-1234567-p1m"
        self.searches[job] = form
        return Canned(job.encode(), media_type="text/plain")

    def _status(self, job: str) -> str:
        if job not in self.searches:
            return "NOT_FOUND"
        self.polls[job] = self.polls.get(job, 0) + 1
        return "QUEUED" if self.polls[job] <= self.waits else self.ends_as
