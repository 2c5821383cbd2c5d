"""The tables of data/starter agree with each other and with facts known from elsewhere."""

import csv
import gzip
import importlib
import re
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from types import ModuleType

import pytest

from protatlas.atlas.taxonomy import read_lineages, read_taxon_ids
from tests.known_proteins import UBIQUITIN

ROOT = Path(__file__).parents[1]
STARTER = ROOT / "data" / "starter"
INSULIN_CHAINS = ("FVNQHLCGSHLVEALYLVCGERGFFYTPKT", "GIVEQCCTSICSLYQLENYCN")


def table(name: str) -> list[dict[str, str]]:
    with gzip.open(STARTER / name, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def records() -> Iterator[tuple[str, str]]:
    text = gzip.decompress((STARTER / "proteins.fasta.gz").read_bytes()).decode("utf-8")
    for record in text.removeprefix(">").split("\n>"):
        header, _, lines = record.partition("\n")
        yield header, lines.replace("\n", "")


@pytest.fixture(scope="module")
def headers() -> dict[str, str]:
    return {header.split("|")[1]: header for header, _ in records()}


@pytest.fixture(scope="module")
def sequences() -> dict[str, str]:
    return {header.split("|")[1]: sequence for header, sequence in records()}


@pytest.fixture(scope="module")
def domains() -> list[dict[str, str]]:
    return table("domains.tsv.gz")


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module(name)


def test_all_20000_entries_and_the_known_proteins_are_there(headers: dict[str, str]) -> None:
    curated = [header for header in headers.values() if " OX=" in header]
    assert len(headers) - len(curated) == 20_000
    assert len(curated) >= 200


def test_every_header_is_one_of_uniprot(headers: dict[str, str]) -> None:
    header = re.compile(r"(sp|tr)\|[A-Z0-9]{6,10}\|[A-Z0-9]+_[A-Z0-9]{1,5} \S.* OS=\S.*")
    assert [text for text in headers.values() if not header.fullmatch(text)] == []


def test_sequences_hold_residue_letters_only(sequences: dict[str, str]) -> None:
    assert set().union(*sequences.values()) <= set("ACDEFGHIKLMNPQRSTVWYXBZUO")


@pytest.mark.parametrize(
    ("accession", "length", "start"),
    [
        ("P69905", 142, "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF"),
        ("P68871", 147, "MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLS"),
        ("P42212", 238, "MSKGEELFTGVVPILVELDGDVNGHKFSVSGEGEGDATYGKLTLKFICTTGKLPVPWPTLVTTFSYG"),
        ("P01308", 110, "MALWMRLLPLLALLALWGPDPAAA"),
        ("P04637", 393, "MEEPQSDPSVEPPLSQETFSDLWKLLPENN"),
        ("P37840", 140, "MDVFMKGLSKAKEGVVAAAEKTKQGVAEAAGKTKEGVLYVG"),
        ("P62805", 103, "MSGRGKGGKGLGKGGAKRHRKVLRDNIQGITKPAIRRLARRGGVKRISGL"),
        ("Q99ZW2", 1368, "MDKKYSIGLDIGTNSVGWAVITDEYKVPSKKFKVLGNTDRHSIKKNLIGALLFDSGETAE"),
    ],
)
def test_known_proteins_have_their_sequence(sequences: dict[str, str], accession: str, length: int, start: str) -> None:
    assert len(sequences[accession]) == length
    assert sequences[accession].startswith(start)


def test_polyubiquitin_c_is_nine_ubiquitins_and_a_valine(sequences: dict[str, str]) -> None:
    assert sequences["P0CG48"] == 9 * UBIQUITIN + "V"


def test_insulin_holds_both_chains(sequences: dict[str, str]) -> None:
    assert all(chain in sequences["P01308"] for chain in INSULIN_CHAINS)


def test_every_go_term_has_a_name_and_a_protein(sequences: dict[str, str]) -> None:
    rows = table("go.tsv.gz")
    assert {row["accession"] for row in rows} <= sequences.keys()
    assert all(re.fullmatch(r"GO:\d{7}", row["go_id"]) and row["go_name"] for row in rows)


def test_haemoglobin_transports_oxygen() -> None:
    terms = {row["go_id"]: row["go_name"] for row in table("go.tsv.gz") if row["accession"] == "P69905"}
    assert terms["GO:0015671"] == "oxygen transport"


def test_every_organism_of_a_header_has_a_row(headers: dict[str, str]) -> None:
    organisms = {re.split(r" (?:OX|GN|PE)=", header.partition(" OS=")[2])[0] for header in headers.values()}
    assert organisms == {row["organism_name"] for row in table("taxa.tsv.gz")}


def test_only_exact_names_have_a_taxon_id_and_unresolved_ones_no_lineage() -> None:
    rows = table("taxa.tsv.gz")
    assert {row["match"] for row in rows} == {"exact", "species", "genus", "none"}
    assert all(bool(row["taxon_id"]) == (row["match"] == "exact") for row in rows)
    assert all(bool(row["lineage"]) == (row["match"] != "none") for row in rows if not row["taxon_id"])


def test_stated_taxon_ids_equal_those_of_the_table(headers: dict[str, str]) -> None:
    stated = dict(re.findall(r" OS=(.+?) OX=(\d+)", "\n".join(headers.values())))
    ids = read_taxon_ids(STARTER / "taxa.tsv.gz")
    assert {organism: ids[organism] for organism in stated} == {name: int(ox) for name, ox in stated.items()}


@pytest.mark.parametrize(
    ("organism", "taxon_id", "members"),
    [
        ("Homo sapiens", 9606, {"Eukaryota", "Metazoa", "Chordata", "Mammalia", "Primates", "Homo"}),
        ("Escherichia coli (strain K12)", 83333, {"Bacteria", "Enterobacteriaceae", "Escherichia coli"}),
        ("Arabidopsis thaliana", 3702, {"Viridiplantae", "Streptophyta", "Brassicaceae"}),
        ("Mycobacterium tuberculosis (strain ATCC 25618 / H37Rv)", 83332, {"Bacteria", "Mycobacterium"}),
        ("Bacillus subtilis (strain 168)", 224308, {"Bacteria", "Bacillus", "Bacillus subtilis"}),
        ("Oryza sativa subsp. japonica", 39947, {"Viridiplantae", "Oryza sativa"}),
    ],
)
def test_known_organisms_have_their_place(organism: str, taxon_id: int, members: set[str]) -> None:
    path = STARTER / "taxa.tsv.gz"
    assert read_taxon_ids(path)[organism] == taxon_id
    assert members <= {taxon.name for taxon in read_lineages(path)[organism]}


def test_lineages_that_share_a_taxon_share_all_above_it() -> None:
    above: dict[int, tuple[int, ...]] = {}
    for lineage in read_lineages(STARTER / "taxa.tsv.gz").values():
        ids = tuple(taxon.taxon_id for taxon in lineage)
        for depth, taxon_id in enumerate(ids):
            assert above.setdefault(taxon_id, ids[:depth]) == ids[:depth]


def test_no_phage_has_the_lineage_of_its_host() -> None:
    lineages = read_lineages(STARTER / "taxa.tsv.gz")
    hosts = {name: lineage[0].name for name, lineage in lineages.items() if re.search(r"phage\b|virus", name)}
    assert len(hosts) > 100
    assert set(hosts.values()) == {"Viruses"}


def test_domains_lie_within_the_sequence_that_they_name(
    domains: list[dict[str, str]], sequences: dict[str, str]
) -> None:
    keys = {accession: md5(sequence.encode("ascii")).hexdigest() for accession, sequence in sequences.items()}
    for row in domains:
        assert row["protein_hash"] == keys[row["accession"]]
        assert 1 <= int(row["start"]) <= int(row["end"]) <= len(sequences[row["accession"]])
        assert re.fullmatch(r"PF\d{5}", row["pfam_accession"])
        assert row["name"]


@pytest.mark.parametrize(
    ("accession", "family"),
    [("P17612", "PF00069"), ("P0A7G6", "PF00154"), ("P08684", "PF00067"), ("P0A6Y8", "PF00012")],
)
def test_known_proteins_have_their_family(domains: list[dict[str, str]], accession: str, family: str) -> None:
    assert family in {row["pfam_accession"] for row in domains if row["accession"] == accession}


def test_tables_are_small_and_carry_no_time() -> None:
    files = sorted(STARTER.glob("*.gz"))
    assert sum(file.stat().st_size for file in files) <= 10_000_000
    assert all(file.read_bytes()[4:8] == bytes(4) for file in files)


def test_related_families_compete_and_nested_domains_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("zstandard")
    module = script("starter_domains", monkeypatch)
    hit = module.DomainHit
    kinase = hit("PF00069", "Pkinase", "", 44, 298, 250.0, 1e-70)
    tyrosine_kinase = hit("PF07714", "PK_Tyr_Ser-Thr", "", 46, 290, 120.0, 1e-30)
    dehydrogenase = hit("PF00478", "IMPDH", "", 10, 480, 500.0, 1e-150)
    inserted = hit("PF00571", "CBS", "", 110, 165, 40.0, 1e-10)
    assert module.keep_best([tyrosine_kinase, kinase]) == [kinase]
    assert module.keep_best([inserted, dehydrogenase]) == [dehydrogenase, inserted]


def test_readme_names_every_package_by_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    packages = script("starter_packages", monkeypatch).PACKAGES
    assert [package.name for package in packages if f"`{package.name}` {package.version}" not in readme] == []
    assert [package.name for package in packages if package.sha256 not in readme] == []
