import gemmi
import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protatlas.structures.binarycif import BadBinaryCif, read_binary_cif, write_binary_cif
from protatlas.structures.coordinates import Structure
from tests.structures.coordinate_files import bcif_of

# Values at and beyond the limits of packed integers.
EDGES = [0, 1, -1, 127, 128, 255, 256, 510, -127, -128, -129, -256, 32_767, 65_535, 131_070, -32_768, -65_537, 2**30]


@given(st.lists(st.integers(-(2**29), 2**29) | st.sampled_from(EDGES), min_size=1))
def test_integers_come_back_as_they_were(values: list[int]) -> None:
    content = write_binary_cif("x", {"a": {"i": np.array(values, np.int64)}})
    assert read_binary_cif(content, ["a"]) == ("x", {"a": {"i": [str(value) for value in values]}})


@given(st.lists(st.integers(-(10**7), 10**7), min_size=1))
def test_coordinates_come_back_to_the_last_of_three_decimals(thousandths: list[int]) -> None:
    content = write_binary_cif("x", {"a": {"x": np.array(thousandths) / 1000}})
    read = read_binary_cif(content, ["a"])[1]["a"]["x"]
    assert [round(float(value) * 1000) for value in read] == thousandths


@given(st.lists(st.text() | st.sampled_from([".", "?", "", "CA", "O5'"]), min_size=1))
def test_texts_come_back_with_what_is_unknown(values: list[str]) -> None:
    content = write_binary_cif("x", {"a": {"t": values}})
    assert read_binary_cif(content, ["a"])[1]["a"]["t"] == values


def test_what_another_program_wrote_is_read_as_its_text(haemoglobin: Structure) -> None:
    block = gemmi.cif.read_string(haemoglobin.content.decode("ascii")).sole_block()
    name, tables = read_binary_cif(bcif_of(block), ["atom_site", "struct_conf", "absent"])
    assert name == block.name
    assert set(tables) == {"atom_site", "struct_conf"}
    for category, table in tables.items():
        expected = block.get_mmcif_category(f"_{category}.", raw=True)
        assert {item.lower() for item in table} == {item.lower() for item in expected}
        for item, values in expected.items():
            same = [
                read == value or float(read) == float(value) for read, value in zip(table[item], values, strict=True)
            ]
            assert all(same), item


def test_quantised_numbers_are_read_by_the_formula_of_the_specification() -> None:
    step = {"kind": "IntervalQuantization", "min": 1, "max": 2, "numSteps": 3, "srcType": 32}
    data = {"data": b"\x00\x02\x01", "encoding": [step, {"kind": "ByteArray", "type": 4}]}
    column = {"name": "q", "data": data, "mask": None}
    category = {"name": "_a", "rowCount": 3, "columns": [column]}
    content = msgpack.packb({"dataBlocks": [{"header": "x", "categories": [category]}]})
    assert read_binary_cif(content, ["a"])[1]["a"]["q"] == ["1.0", "2.0", "1.5"]


def test_damaged_files_are_refused_and_never_crash(haemoglobin: Structure) -> None:
    block = gemmi.cif.read_string(haemoglobin.content.decode("ascii")).sole_block()
    content = bcif_of(block)
    damaged = np.random.default_rng(7)
    for _ in range(300):
        copy = bytearray(content)
        for at in damaged.integers(0, len(copy), 5):
            copy[at] = damaged.integers(256)
        try:
            read_binary_cif(bytes(copy), ["atom_site"])
        except BadBinaryCif:
            continue
    for size in range(0, len(content) - 1, 997):
        with pytest.raises(BadBinaryCif):
            read_binary_cif(content[:size], ["atom_site"])


@pytest.mark.parametrize("content", [b"", b"no msgpack", msgpack.packb([1]), msgpack.packb({"dataBlocks": []})])
def test_what_is_no_binarycif_is_refused(content: bytes) -> None:
    with pytest.raises(BadBinaryCif):
        read_binary_cif(content, ["atom_site"])


def test_a_run_that_would_fill_the_memory_is_refused() -> None:
    runs = np.array([7, 2**31 - 1], "<i4").tobytes()
    steps = [{"kind": "RunLength", "srcType": 3, "srcSize": 2**31 - 1}, {"kind": "ByteArray", "type": 3}]
    column = {"name": "r", "data": {"data": runs, "encoding": steps}, "mask": None}
    category = {"name": "_a", "rowCount": 2**31 - 1, "columns": [column]}
    content = msgpack.packb({"dataBlocks": [{"header": "x", "categories": [category]}]})
    with pytest.raises(BadBinaryCif):
        read_binary_cif(content, ["a"])
