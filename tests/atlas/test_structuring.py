"""`protatlas build --structures FOLDER`: files of all formats become the structures of the proteins that they fit."""

import json
from pathlib import Path
from zipfile import ZipFile

import gemmi
import numpy as np
import pytest

from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.ingest import PROTEINS
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.reader import Atlas
from protatlas.atlas.scratch import Scratch
from protatlas.atlas.starter import starter_files
from protatlas.atlas.structuring import store_structures
from protatlas.errors import InvalidInput
from protatlas.headers import parse_header
from protatlas.records import StoredStructure, protein_hash
from protatlas.structures.coordinates import Structure, StructureArchive
from protatlas.structures.report import StructureReport
from protatlas.tools.structures import StructureAnswer, StructureArguments, show_protein_structure
from tests.known_proteins import HBA, HBB, UBIQUITIN
from tests.structures import coordinate_files as files

XRAY = {"_entry.id": "2HHB", "_exptl.method": "X-RAY DIFFRACTION"}
ALPHAFOLD = {"_struct.title": "ALPHAFOLD MONOMER V2.0 PREDICTION FOR HEMOGLOBIN SUBUNIT ALPHA (P69905)"}
ESMFOLD = {"_struct.title": "ESMFOLD V1 PREDICTION FOR INPUT"}


def _starter(sequence: str) -> Structure:
    structure = StructureArchive(starter_files() / "structures.zip").load(protein_hash(sequence))
    assert structure is not None
    return structure


def _hba(name: str = "A", *, shift: int = -1) -> gemmi.Chain:
    """Chain of 2HHB, residues 1 to 141 as in the PDB, where the initiator methionine is not counted."""
    return files.chain_of(_starter(HBA), name, shift=shift)


def _model(said: dict[str, str], values: list[float]) -> gemmi.Structure:
    """The chain as if it were predicted, with these values in its B-factor column, over and over."""
    chain = _hba()
    for at, residue in enumerate(chain):
        for atom in residue:
            atom.b_iso = values[at % len(values)]
    return files.assembled([chain], said)


def _store(folder: Path, *proteins: str) -> tuple[StructureArchive, StructureReport]:
    """Archive of the files of `folder/in` for proteins, haemoglobin by default, and the account of the files."""
    scratch = Scratch(folder / "scratch")
    scratch.folder.mkdir()
    of = [parse_header(f"p{row}").protein(one, header="p") for row, one in enumerate(proteins or (HBA, HBB))]
    scratch.write_proteins(PROTEINS, 0, of)
    report = store_structures(scratch, 1, folder / "in", base=None, progress=lambda *_: None)
    return StructureArchive(scratch.folder / "structures.zip"), report


def _build(models: App, folder: Path, *proteins: str, update: bool = False) -> tuple[Atlas, StructureReport]:
    """Atlas with the files of `folder/in`, built whole."""
    fasta = folder / "proteins.fasta"
    records = [f">p{row}\n{sequence}\n" for row, sequence in enumerate(proteins or (HBA, HBB))]
    fasta.write_text("".join(records), encoding="utf-8")
    plan = BuildPlan(fasta=(fasta,), output=folder / "own.atlas", name="own", structures=folder / "in", update=update)
    _, report = build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    assert report.structures is not None
    return Atlas.open(plan.output), report.structures


def _stored(archive: StructureArchive, sequence: str) -> Structure:
    structure = archive.load(protein_hash(sequence))
    assert structure is not None
    return structure


def _shown(atlas: Atlas, sequence: str) -> Structure:
    structure = atlas.structure(protein_hash(sequence))
    assert structure is not None
    return structure


@pytest.mark.parametrize("name", files.WRITERS)
@pytest.mark.parametrize("stated", [True, False])
def test_a_file_of_any_format_gives_each_of_its_chains_to_its_protein(tmp_path: Path, name: str, stated: bool) -> None:
    chains = [_hba(), files.chain_of(_starter(HBB), "B", shift=-1)]
    structure = files.assembled(chains, XRAY, sequences=[HBA[1:], HBB[1:]] if stated else [])
    files.put(tmp_path / "in", name, files.WRITERS[name](structure))

    archive, report = _store(tmp_path)

    for sequence, chain in ((HBA, "A"), (HBB, "B")):
        found, source = _stored(archive, sequence), _starter(sequence)
        assert found.record == StoredStructure(
            protein_hash=protein_hash(sequence),
            entry="2HHB",
            chain=chain,
            kind="experimental",
            method="X-RAY DIFFRACTION",
            first=2,
            last=len(sequence),
            residues=len(sequence) - 1,
            identity=1.0,
        )
        expected, got = files.positions(source), files.positions(found)
        assert got.keys() == expected.keys()
        assert max(np.abs(np.subtract(got[at], expected[at])).max() for at in got) <= 0.001
        assert found.residues == source.residues
        assert found.b_factors == pytest.approx(source.b_factors)
    assert len(archive.records) == 2
    assert (report.files, report.used, report.proteins) == (1, 1, 2)


def test_what_is_stored_is_binarycif_that_another_reader_understands(tmp_path: Path) -> None:
    files.put(tmp_path / "in", "2hhb.pdb", files.pdb(files.assembled([_hba()], XRAY)))

    archive, _ = _store(tmp_path)

    with ZipFile(archive.path) as content:
        assert sorted(content.namelist()) == [f"{protein_hash(HBA)}.bcif", "index.tsv"]
        read = files.positions_by_ihm(content.read(f"{protein_hash(HBA)}.bcif"))
    expected = files.positions(_starter(HBA))
    assert read.keys() == expected.keys()
    assert max(np.abs(np.subtract(read[at], expected[at])).max() for at in read) <= 0.001


def test_a_structure_from_a_file_is_shown_as_any_other(models: App, tmp_path: Path) -> None:
    files.put(tmp_path / "in", "AF-P69905-F1-model_v4.bcif", files.bcif(_model({}, [95.5, 80.0])))
    atlas, _ = _build(models, tmp_path)
    app = App()
    app.open(atlas.path)
    arguments = {"sequence": HBA, "view_options": {"color_by": "confidence"}}

    reply = show_protein_structure(app, StructureArguments.model_validate(arguments))

    app.close()
    assert isinstance(reply.answer, StructureAnswer)
    assert (reply.answer.preview_status, len(reply.images)) == ("ready", 1)
    assert reply.answer.mean_plddt == pytest.approx(0.878, abs=0.001)
    assert (reply.answer.descriptor.source.model, reply.answer.warnings) == ("AlphaFold", ())


@pytest.mark.parametrize(
    ("name", "said", "values", "mean", "model"),
    [
        ("a.pdb", ALPHAFOLD, [90.0, 70.0], 80.0, "AlphaFold v2.0"),
        ("a.pdb", ESMFOLD, [0.9, 0.7], 80.0, "ESMFold v1"),
        ("a.pdb", ESMFOLD, [90.0, 70.0], 80.0, "ESMFold v1"),
        ("a.pdb", ALPHAFOLD, [99.0, 0.9], 50.3, "AlphaFold v2.0"),
        ("esmfold/model.pdb", {}, [0.9, 0.7], 80.0, "ESMFold"),
        ("x_unrelaxed_rank_001_alphafold2_ptm_model_3.pdb", {}, [90.0, 70.0], 80.0, "AlphaFold2"),
    ],
)
def test_plddt_is_told_by_the_program_and_its_scale_by_the_whole_file(
    tmp_path: Path, name: str, said: dict[str, str], values: list[float], mean: float, model: str
) -> None:
    files.put(tmp_path / "in", name, files.pdb(_model(said, values)))

    archive, report = _store(tmp_path)

    found = _stored(archive, HBA)
    assert (found.record.kind, found.record.model) == ("predicted", model)
    assert found.record.mean_plddt == pytest.approx(mean / 100, abs=0.001)
    assert np.mean(list(found.b_factors.values())) == pytest.approx(mean, abs=0.1)
    assert found.has_confidence
    assert not report.without_plddt


@pytest.mark.parametrize(
    ("said", "values", "kind", "reason"),
    [
        ({}, [90.0, 70.0], "unknown", "neither an experimental method nor a program"),
        (ALPHAFOLD, [150.0, 70.0], "predicted", "from 70 to 150 are not on the scale"),
        (ALPHAFOLD, [-3.0, 70.0], "predicted", "from -3 to 70 are not on the scale"),
        (ALPHAFOLD, [0.0], "predicted", "all 0"),
        (ALPHAFOLD, [50.0], "predicted", "all 50"),
        (ALPHAFOLD, [1.0, 1.7], "predicted", "neither scale"),
        ({"_exptl.method": "THEORETICAL MODEL"}, [0.9, 0.7], "predicted", "nor a program known to write it"),
        ({"_exptl.method": "X-RAY DIFFRACTION"} | ALPHAFOLD, [0.9, 0.7], "experimental", None),
        ({"_exptl.method": "SOLUTION NMR"}, [0.0], "experimental", None),
    ],
)
def test_b_factors_that_may_be_something_else_are_no_plddt(
    tmp_path: Path, said: dict[str, str], values: list[float], kind: str, reason: str | None
) -> None:
    files.put(tmp_path / "in", "x.pdb", files.pdb(_model(said, values)))

    archive, report = _store(tmp_path)

    found = _stored(archive, HBA)
    assert (found.record.kind, found.record.mean_plddt, found.has_confidence) == (kind, None, False)
    doubts = [file.reason for file in report.without_plddt]
    assert len(doubts) == (reason is not None)
    assert all(reason in doubt for doubt in doubts if reason)


@pytest.mark.parametrize("write", [lambda block: block.as_string().encode(), files.bcif_of])
def test_modelcif_states_what_its_column_is_and_its_ptm(tmp_path: Path, write: object) -> None:
    for folder, metric in (("plddt", "pLDDT"), ("other", "QMEANDisCo")):
        block = files.cif_block(_model({"_entry.id": "ma-1"}, [0.9, 0.7]))
        rows = {"id": ["1", "2", "3"], "mode": ["local", "global", "global"], "name": [metric, metric, "pTM"]}
        block.set_mmcif_category("_ma_qa_metric.", rows | {"type": [metric, metric, "pTM"]})
        block.set_mmcif_category("_ma_qa_metric_global.", {"metric_id": ["2", "3"], "metric_value": ["0.8", "0.71"]})
        files.put(tmp_path / folder / "in", "model.cif", write(block))  # type: ignore[operator]  # parametrised

    archive, _ = _store(tmp_path / "plddt")
    other, report = _store(tmp_path / "other")

    assert _stored(archive, HBA).record.mean_plddt == pytest.approx(0.8, abs=0.002)
    assert _stored(archive, HBA).record.ptm == 0.71
    assert _stored(other, HBA).record.mean_plddt is None
    assert "QMEANDisCo" in report.without_plddt[0].reason


def _cut(structure: gemmi.Structure, first: int, last: int) -> gemmi.Structure:
    """Without the residues of some numbers."""
    chain = structure[0][0]
    for at in range(len(chain) - 1, -1, -1):
        if first <= (chain[at].seqid.num or 0) <= last:
            del chain[at]
    return structure


def test_the_best_structure_of_a_protein_wins_whatever_the_names_of_the_files(tmp_path: Path) -> None:
    xray = files.assembled([_hba()], XRAY)
    shorter = _cut(files.assembled([_hba()], {"_entry.id": "1AAA", "_exptl.method": "X-RAY DIFFRACTION"}), 50, 52)
    twin = files.assembled([_hba()], {"_entry.id": "1ZZZ", "_exptl.method": "SOLUTION NMR"})
    low, high = _model(ALPHAFOLD, [70.0, 71.0]), _model(ESMFOLD, [0.90, 0.91])
    for turn, order in enumerate(([twin, xray, shorter, high, low], [low, high, shorter, xray, twin])):
        folder = tmp_path / f"all{turn}"
        for at, structure in enumerate(order):
            files.put(folder / "in", f"{at}.pdb", files.pdb(structure))
        archive, report = _store(folder)
        assert _stored(archive, HBA).record.entry == "1ZZZ"
        assert (report.used, report.surpassed) == (1, 4)
        folder = tmp_path / f"predicted{turn}"
        for at, structure in enumerate(of for of in order if of in (low, high)):
            files.put(folder / "in", f"{at}.pdb", files.pdb(structure))
        archive, _ = _store(folder)
        assert _stored(archive, HBA).record.model == "ESMFold v1"


@pytest.mark.parametrize("shift", [-1, 1_000])
def test_missing_residues_tags_and_fusion_partners_leave_the_numbers_right(tmp_path: Path, shift: int) -> None:
    chain = _cut(files.assembled([_hba(shift=shift)], XRAY), 40 + shift, 55 + shift)[0][0]
    for at in range(60):
        chain[at].seqid.num = at + shift  # numbers that say nothing of the gap
    for at in range(60, len(chain)):
        chain[at].seqid.num = at + 500 + shift
    tag = files.chain_of(_starter(UBIQUITIN), "A", shift=-200 + shift)
    for at, residue in enumerate(tag):
        chain.add_residue(residue, at)
    files.put(tmp_path / "in", "x.cif", files.cif(files.assembled([chain], XRAY)))

    archive, _ = _store(tmp_path, HBA, UBIQUITIN)

    expected = {at: place for at, place in files.positions(_starter(HBA)).items() if not 40 <= at[0] <= 55}
    assert files.positions(_stored(archive, HBA)) == expected
    assert _stored(archive, HBA).record.residues == 125
    assert _stored(archive, UBIQUITIN).record.residues == 76


def test_a_few_other_residues_are_counted_and_many_are_another_protein(tmp_path: Path) -> None:
    single = HBA[:70] + "W" + HBA[71:]
    far = "".join("W" if at % 8 == 0 else letter for at, letter in enumerate(HBA))
    files.put(tmp_path / "in", "x.pdb", files.pdb(files.assembled([_hba()], XRAY)))

    archive, _ = _store(tmp_path, single, far)

    assert _stored(archive, single).record.identity == pytest.approx(140 / 141, abs=1e-4)
    assert archive.load(protein_hash(far)) is None


def test_selenomethionine_is_stored_as_methionine(tmp_path: Path) -> None:
    chain = _hba()
    methionine = next(residue for residue in chain if residue.name == "MET")
    methionine.name = "MSE"
    sulphur = methionine["SD"][0]
    sulphur.name, sulphur.element = "SE", gemmi.Element("Se")
    files.put(tmp_path / "in", "x.cif", files.cif(files.assembled([chain], XRAY)))

    archive, _ = _store(tmp_path)

    assert _stored(archive, HBA).residues == _starter(HBA).residues
    assert files.positions(_stored(archive, HBA)).keys() == files.positions(_starter(HBA)).keys()


@pytest.mark.parametrize("value", ["?", "nan", "1e9"])
def test_a_residue_whose_coordinates_are_no_numbers_is_left_out(tmp_path: Path, value: str) -> None:
    block = files.cif_block(files.assembled([_hba()], XRAY))
    column = block.find_values("_atom_site.Cartn_y")
    column[0] = value
    files.put(tmp_path / "in", "x.cif", block.as_string().encode())

    archive, _ = _store(tmp_path)

    assert _stored(archive, HBA).record.residues == 140
    assert _stored(archive, HBA).record.first == 3


def test_bad_and_foreign_files_are_named_and_stop_nothing(models: App, tmp_path: Path) -> None:
    whole = files.bcif(files.assembled([_hba()], XRAY))
    put = {
        "good.bcif": whole,
        "cut.bcif": whole[: len(whole) // 2],
        "cut.pdb.gz": files.WRITERS["x.ent.gz"](files.assembled([_hba()], XRAY))[:500],
        "empty.pdb": b"",
        "notes.txt": b"to do",
        "deep/er/ubiquitin.pdb": files.pdb(files.assembled([files.chain_of(_starter(UBIQUITIN), "Q")], XRAY)),
        ".hidden": b"not looked at",
        "broken.cif": b"data_x\nloop_\n_atom_site.id\n_atom_site.Cartn_x\n1\n",
    }
    for name, content in put.items():
        files.put(tmp_path / "in", name, content)

    atlas, report = _build(models, tmp_path)

    assert {file.file for file in report.unreadable} == set(put) - {"good.bcif", "deep/er/ubiquitin.pdb", ".hidden"}
    assert [file.file for file in report.unmatched] == ["deep/er/ubiquitin.pdb"]
    assert "Q of 76 residues" in report.unmatched[0].reason
    assert (report.files, report.used, report.proteins) == (7, 1, 1)
    told = json.loads((atlas.path / "report.json").read_text(encoding="utf-8"))["structures"]
    assert told == report.model_dump(mode="json")


def test_a_folder_without_structures_gives_an_atlas_without(models: App, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    atlas, report = _build(models, tmp_path)

    assert (atlas.manifest.structures, report.files) == (0, 0)


def test_a_file_that_is_no_archive_is_refused_before_the_build(models: App, tmp_path: Path) -> None:
    files.put(tmp_path, "in", b"no zip")

    with pytest.raises(InvalidInput, match="is no archive of structures"):
        _build(models, tmp_path)


def test_an_update_keeps_what_is_better_and_takes_what_is_new(models: App, tmp_path: Path) -> None:
    files.put(tmp_path / "in", "hba.pdb", files.pdb(files.assembled([_hba()], XRAY)))
    first, _ = _build(models, tmp_path)
    kept = _shown(first, HBA)
    first.close()
    (tmp_path / "in" / "hba.pdb").unlink()
    files.put(tmp_path / "in", "worse.pdb", files.pdb(_model(ALPHAFOLD, [90.0, 70.0])))
    files.put(tmp_path / "in", "ubq.pdb", files.pdb(files.assembled([files.chain_of(_starter(UBIQUITIN), "A")], XRAY)))

    atlas, report = _build(models, tmp_path, UBIQUITIN, update=True)

    assert (_shown(atlas, HBA).record, _shown(atlas, HBA).content) == (kept.record, kept.content)
    assert _shown(atlas, UBIQUITIN).record.residues == 76
    assert (report.proteins, report.kept, report.surpassed) == (2, 1, 1)


class _KilledError(Exception):
    """Stands for a kill in the middle of a stage."""


def test_a_build_killed_among_the_structures_goes_on(models: App, tmp_path: Path) -> None:
    files.put(tmp_path / "in", "hba.pdb", files.pdb(files.assembled([_hba()], XRAY)))
    fasta = files.put(tmp_path, "proteins.fasta", f">p0\n{HBA}\n>p1\n{HBB}\n".encode())
    plan = BuildPlan(fasta=(fasta,), output=tmp_path / "own.atlas", name="own", structures=tmp_path / "in")

    def kill(stage: str, done: int, total: int | None) -> None:
        if stage == "structures" and done == total:
            raise _KilledError

    with pytest.raises(_KilledError):
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=kill)
    atlas, report = _build(models, tmp_path)

    assert _shown(atlas, HBA).record.entry == "2HHB"
    assert (report.files, report.used) == (1, 1)
