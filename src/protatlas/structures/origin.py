"""Where coordinates come from, and so what their B-factor column is: pLDDT, temperature factors, or in doubt.

Files do not say what the column holds. An experimental method means temperature factors. A model is taken to have pLDDT
where it says so (`_ma_qa_metric` of ModelCIF, https://mmcif.wwpdb.org/dictionaries/mmcif_ma.dic) or was made by a
program that is known to write it there. What is left is in doubt, and in doubt there is no pLDDT.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from protatlas.records import StructureKind

# Programs whose files have pLDDT in the B-factor column, by what their files and databases write of them. AlphaFold and
# ColabFold write 0 to 100, ESMFold 0 to 100 or 0 to 1.
PROGRAMS = {
    "ColabFold": r"colabfold()",
    "AlphaFold": r"alpha-?fold([23]?)|(?<![a-z])af-[a-z0-9]+-f\d+",
    "ESMFold": r"esm-?fold(2?)",
}
THEORETICAL = "THEORETICAL MODEL"
_VERSION = r"(?: \w+)? (v[\d.]+)"


class Metric(NamedTuple):
    """A row of `_ma_qa_metric`: what a model says of its quality, with the value for all of it where there is one."""

    name: str
    mode: str
    value: float | None

    @property
    def is_plddt(self) -> bool:
        """Whether it is pLDDT, on whichever scale."""
        return "plddt" in self.name.lower()


class Statements(NamedTuple):
    """What a file says of its origin: experimental methods, texts that may name a program, metrics of quality."""

    methods: Sequence[str]
    texts: Sequence[str]
    metrics: Sequence[Metric]


class Origin(NamedTuple):
    """Kind of coordinates, with the method, or with the program and pTM (0 to 1), where the file states them.

    `doubt` says why the B-factor column is not read as pLDDT, null where it is or is known to be something else.
    """

    kind: StructureKind
    method: str | None = None
    model: str | None = None
    ptm: float | None = None
    doubt: str | None = None


def origin_of(said: Statements) -> Origin:
    """Origin by what a file states."""
    methods = [method for method in dict.fromkeys(said.methods) if THEORETICAL not in method.upper()]
    if methods:
        return Origin("experimental", method="; ".join(methods))
    model = _program(said.texts)
    local = [metric for metric in said.metrics if metric.mode == "local"]
    is_model = bool(model or said.metrics or said.methods)
    if local and not any(metric.is_plddt for metric in local):
        doubt = f"it states {local[0].name} of its residues, not pLDDT"
    elif is_model and not (model or local):
        doubt = "it is a model that neither states pLDDT nor a program known to write it"
    elif not is_model:
        doubt = "it states neither an experimental method nor a program such as AlphaFold or ESMFold"
    else:
        doubt = None
    return Origin("predicted" if is_model else "unknown", model=model, ptm=_ptm(said.metrics), doubt=doubt)


def _program(texts: Sequence[str]) -> str | None:
    """Program that the first telling text names, with its version where that is stated beside it."""
    for text in texts:
        for program, pattern in PROGRAMS.items():
            if found := re.search(pattern, text, re.IGNORECASE):
                version = re.match(_VERSION, text[found.end() :], re.IGNORECASE)
                name = f"{program}{found[1] or ''}"
                return f"{name} {version[1].lower()}" if version else name
    return None


def _ptm(metrics: Sequence[Metric]) -> float | None:
    values = [metric.value for metric in metrics if metric.name.lower() == "ptm" and metric.mode == "global"]
    return next((value for value in values if value is not None and 0 <= value <= 1), None)


def plddt_factor(values: Sequence[float]) -> tuple[float | None, str | None]:
    """Factor that brings the B-factors of a whole file to pLDDT of 0 to 100, or null and why they are no pLDDT."""
    least, most = min(values), max(values)
    if not 0 <= least <= most <= 100:
        return None, f"its B-factors from {least:g} to {most:g} are not on the scale of pLDDT"
    if most == 0 or (least == most and len(values) > 1):
        return None, f"its B-factors are all {least:g}"
    if most <= 1:
        return 100.0, None
    # No model of AlphaFold or ESMFold is so bad all over; neither is it a share.
    if most < 10:
        return None, f"its B-factors from {least:g} to {most:g} are on neither scale of pLDDT"
    return 1.0, None
