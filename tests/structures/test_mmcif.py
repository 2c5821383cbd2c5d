import gemmi
import pytest

from protatlas.structures.mmcif import Residue, read_table, write_chain

ATOMS = [(1.0, 2.0, 3.0), (2.25, 2.0, -3.0), (3.0, 2.5, 0.0), (4.0, 2.0, 0.126)]


def chain(states: str, first: int = 1) -> bytes:
    residues = [Residue(number, "H", ATOMS, state=state) for number, state in enumerate(states, first)]
    return write_chain("x", "PDB 1ABC chain A, a 'quoted' title", residues)


def test_gemmi_reads_the_written_atoms_and_numbers() -> None:
    document = gemmi.cif.read_string(chain("---", first=7).decode("ascii"))
    model = gemmi.make_structure_from_block(document.sole_block())[0]
    assert [(residue.name, residue.seqid.num) for residue in model["A"]] == [("HIS", 7), ("HIS", 8), ("HIS", 9)]
    assert [atom.name for atom in model["A"][0]] == ["N", "CA", "C", "O"]
    assert model["A"][0][3].pos.tolist() == pytest.approx([4.0, 2.0, 0.13])


def test_own_reader_agrees_with_gemmi_on_every_atom() -> None:
    text = chain("HHHHEEE-").decode("ascii")
    table = gemmi.cif.read_string(text).sole_block().find_mmcif_category("_atom_site.")
    assert [list(row.values()) for row in read_table(text, "atom_site")] == [list(row) for row in table]


def test_helices_and_strands_end_where_the_state_changes() -> None:
    text = chain("-HHHGG-EEE-").decode("ascii")
    helices = read_table(text, "struct_conf")
    strands = read_table(text, "struct_sheet_range")
    assert [(row["beg_auth_seq_id"], row["end_auth_seq_id"]) for row in helices] == [("2", "6")]
    assert [(row["beg_auth_seq_id"], row["end_auth_seq_id"]) for row in strands] == [("8", "10")]


def test_a_gap_in_the_numbers_ends_a_helix() -> None:
    residues = [Residue(number, "A", ATOMS, state="H") for number in (1, 2, 3, 9, 10)]
    rows = read_table(write_chain("x", "t", residues).decode("ascii"), "struct_conf")
    assert [(row["beg_auth_seq_id"], row["end_auth_seq_id"]) for row in rows] == [("1", "3"), ("9", "10")]


def test_quotes_semicolons_comments_and_pairs_are_read() -> None:
    text = "data_x\n# note\n_a.one 'it's here'\n_a.two\n;line 1\nline 2\n;\nloop_\n_b.k\n_b.v\n1 \"_x\"\n2 loop_y\n"
    assert read_table(text, "a") == [{"one": "it's here", "two": "line 1\nline 2"}]
    assert read_table(text, "b") == [{"k": "1", "v": "_x"}, {"k": "2", "v": "loop_y"}]
    assert read_table(text, "c") == []
