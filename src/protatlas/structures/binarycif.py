"""BinaryCIF: a reader of the categories that are asked for, and a writer.

The encodings are those of the specification, version 0.3.0 (https://github.com/molstar/BinaryCIF, read 2026-12-01;
doi:10.1371/journal.pcbi.1008247): a chain of steps that a column of values went through, undone from the last one back.
"""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]
Table = Mapping[str, Sequence[str]]
Values = Sequence[str] | Ints | Floats

VERSION = "0.3.0"
TYPES = {1: "<i1", 2: "<i2", 3: "<i4", 4: "<u1", 5: "<u2", 6: "<u4", 32: "<f4", 33: "<f8"}
INT8, INT32, UINT8 = 1, 3, 4
# Three decimals are what PDB and mmCIF files have.
DECIMALS = 1_000
NOT_APPLICABLE, UNKNOWN = ".", "?"
MASKED = {1: NOT_APPLICABLE, 2: UNKNOWN}
MAX_VALUES = 50_000_000
"""Values in a column that is unpacked: more than the atoms of the largest structure, and no more than memory holds."""


class BadBinaryCif(ValueError):
    """Bytes that are no BinaryCIF file."""


def read_binary_cif(content: bytes, categories: Collection[str]) -> tuple[str, dict[str, Table]]:
    """Name of the first data block, and its tables of the named categories: item to values as mmCIF has them.

    Values that are not applicable are `.`, unknown ones `?`.

    Raises
    ------
    BadBinaryCif
        If the bytes are no BinaryCIF file, or break its rules.
    """
    try:
        block = msgpack.unpackb(content)["dataBlocks"][0]
        found = {category["name"].removeprefix("_"): category for category in block["categories"]}
        tables = {name: _table(found[name]) for name in categories if name in found}
        return str(block["header"]), tables
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadBinaryCif(f"{type(error).__name__}: {error}") from error
    except msgpack.UnpackException as error:
        raise BadBinaryCif("its msgpack is damaged") from error


def write_binary_cif(name: str, tables: Mapping[str, Mapping[str, Values]], *, encoder: str = "protatlas") -> bytes:
    """Bytes of a file with one data block.

    Parameters
    ----------
    tables
        Values of each item of each category: text, integers, or numbers of which three decimals are kept. The texts `.`
        and `?` are written as not applicable and unknown.
    """
    categories = [
        {
            "name": f"_{category}",
            "rowCount": len(next(iter(table.values()))),
            "columns": [{"name": item, **_column(values)} for item, values in table.items()],
        }
        for category, table in tables.items()
    ]
    blocks = [{"header": name, "categories": categories}]
    packed: bytes = msgpack.packb({"version": VERSION, "encoder": encoder, "dataBlocks": blocks})
    return packed


def _table(category: Mapping[str, Any]) -> Table:
    table = {column["name"]: _texts(column) for column in category["columns"]}
    if any(len(values) != category["rowCount"] for values in table.values()):
        raise ValueError(f"a column of {category['name']} has another length than its category")
    return table


def _texts(column: Mapping[str, Any]) -> list[str]:
    """Values of a column as text; floats have the fewest digits that tell them apart."""
    values = _decoded(column["data"])
    texts: list[str] = values if isinstance(values, list) else values.astype(str).tolist()
    if column.get("mask"):
        for row, kind in enumerate(_decoded(column["mask"]).tolist()):
            if kind:
                texts[row] = MASKED[kind]
    return texts


def _decoded(data: Mapping[str, Any]) -> Any:
    """Values behind encoded data: an array, or a list of texts."""
    values: Any = data["data"]
    for step in reversed(data["encoding"]):
        if step["kind"] not in DECODERS:
            raise ValueError(f"the encoding {step['kind']} is not known")
        values = DECODERS[step["kind"]](values, step)
    return values


def _byte_array(data: bytes, step: Mapping[str, Any]) -> Numbers:
    return np.frombuffer(data, TYPES[step["type"]])


def _fixed_point(values: Numbers, step: Mapping[str, Any]) -> Numbers:
    numbers: Numbers = values / step["factor"]
    return numbers


def _interval(values: Numbers, step: Mapping[str, Any]) -> Numbers:
    numbers: Numbers = step["min"] + values * ((step["max"] - step["min"]) / (step["numSteps"] - 1))
    return numbers


def _run_length(values: Numbers, step: Mapping[str, Any]) -> Ints:
    counts = values[1::2].astype(np.int64)
    if counts.min(initial=0) < 0 or not 0 <= step["srcSize"] == counts.sum() <= MAX_VALUES:
        raise ValueError("the runs do not have the length that is stated")
    return np.repeat(values[::2].astype(np.int64), counts)


def _delta(values: Numbers, step: Mapping[str, Any]) -> Ints:
    return np.cumsum(values, dtype=np.int64) + int(step["origin"])


def _integer_packing(values: Numbers, step: Mapping[str, Any]) -> Ints:
    """Integers as sums: a value at the limit of its type goes on in the next one."""
    limits = np.iinfo(_packed_type(step["byteCount"], unsigned=step["isUnsigned"]))
    goes_on = values == limits.max
    if not step["isUnsigned"]:
        goes_on |= values == limits.min
    ends = np.flatnonzero(~goes_on)
    sums = np.cumsum(values, dtype=np.int64)[ends]
    return np.diff(sums, prepend=0)


def _string_array(data: bytes, step: Mapping[str, Any]) -> list[str]:
    text, offsets = step["stringData"], _decoded({"data": step["offsets"], "encoding": step["offsetEncoding"]}).tolist()
    texts = [text[start:end] for start, end in itertools.pairwise(offsets)]
    indices = _decoded({"data": data, "encoding": step["dataEncoding"]}).tolist()
    return [texts[index] if index >= 0 else "" for index in indices]


DECODERS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "ByteArray": _byte_array,
    "FixedPoint": _fixed_point,
    "IntervalQuantization": _interval,
    "RunLength": _run_length,
    "Delta": _delta,
    "IntegerPacking": _integer_packing,
    "StringArray": _string_array,
}


def _column(values: Values) -> dict[str, Any]:
    if isinstance(values, np.ndarray):
        return {"data": _numbers(values), "mask": None}
    kinds = np.array([1 if text == NOT_APPLICABLE else 2 if text == UNKNOWN else 0 for text in values], np.int64)
    texts = ["" if kind else text for text, kind in zip(values, kinds.tolist(), strict=True)]
    return {"data": _strings(texts), "mask": _runs(kinds) if kinds.any() else None}


def _numbers(values: Numbers) -> dict[str, Any]:
    if np.issubdtype(values.dtype, np.integer):
        return _deltas(values.astype(np.int64), [])
    fixed = np.rint(values * DECIMALS).astype(np.int64)
    return _deltas(fixed, [{"kind": "FixedPoint", "factor": DECIMALS, "srcType": 33}])


def _deltas(values: Ints, before: list[dict[str, Any]]) -> dict[str, Any]:
    origin = int(values[0]) if len(values) else 0
    step = {"kind": "Delta", "origin": origin, "srcType": INT32}
    return _packed(np.diff(values, prepend=origin), [*before, step])


def _runs(values: Ints) -> dict[str, Any]:
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(values) else np.empty(0, np.int64)
    pairs = np.column_stack([values[starts], np.diff(starts, append=len(values))]).reshape(-1)
    step = {"kind": "RunLength", "srcType": INT32, "srcSize": len(values)}
    return _packed(pairs, [step])


def _strings(texts: Sequence[str]) -> dict[str, Any]:
    distinct = list(dict.fromkeys(texts))
    number = {text: at for at, text in enumerate(distinct)}
    indices = _runs(np.array([number[text] for text in texts], np.int64))
    offsets = _deltas(np.cumsum([0, *(len(text) for text in distinct)], dtype=np.int64), [])
    step = {
        "kind": "StringArray",
        "dataEncoding": indices["encoding"],
        "stringData": "".join(distinct),
        "offsetEncoding": offsets["encoding"],
        "offsets": offsets["data"],
    }
    return {"data": indices["data"], "encoding": [step]}


def _packed(values: Ints, before: list[dict[str, Any]]) -> dict[str, Any]:
    """Integers in bytes of the width that takes the least room."""
    unsigned = bool(values.min(initial=0) >= 0)
    width = min((1, 2, 4), key=lambda width: width * int(_pieces(values, width, unsigned=unsigned).sum()))
    if width == 4:
        return {"data": values.astype("<i4").tobytes(), "encoding": [*before, {"kind": "ByteArray", "type": INT32}]}
    packing = {"kind": "IntegerPacking", "byteCount": width, "isUnsigned": unsigned, "srcSize": len(values)}
    kind = (UINT8 if unsigned else INT8) + width - 1
    data = _split(values, width, unsigned=unsigned).astype(TYPES[kind]).tobytes()
    return {"data": data, "encoding": [*before, packing, {"kind": "ByteArray", "type": kind}]}


def _packed_type(width: int, *, unsigned: bool) -> str:
    return f"<{'u' if unsigned else 'i'}{width}"


def _limits(values: Ints, width: int, *, unsigned: bool) -> Ints:
    """Limit of the type on the side of each value."""
    bounds = np.iinfo(_packed_type(width, unsigned=unsigned))
    return np.where(values < 0, bounds.min, bounds.max) if not unsigned else np.full(len(values), bounds.max)


def _pieces(values: Ints, width: int, *, unsigned: bool) -> Ints:
    """Number of packed integers that each value takes."""
    if width == 4:
        return np.ones(len(values), np.int64)
    return values // _limits(values, width, unsigned=unsigned) + 1


def _split(values: Ints, width: int, *, unsigned: bool) -> Ints:
    limits, pieces = _limits(values, width, unsigned=unsigned), _pieces(values, width, unsigned=unsigned)
    split = np.repeat(limits, pieces)
    split[np.cumsum(pieces) - 1] = values - (pieces - 1) * limits
    return split
