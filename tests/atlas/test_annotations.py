from pathlib import Path

import pytest

from protatlas.atlas.annotations import read_domains, read_go
from protatlas.errors import InvalidInput

COLUMNS = "accession\tpfam_accession\tname\tdescription\tstart\tend\tscore\n"


def test_domains_are_read_in_order_of_their_start_without_versions(tmp_path: Path) -> None:
    table = tmp_path / "domains.tsv"
    rows = "P1\tPF00002.7\tb\tsecond\t50\t90\t20.5\nP1\tPF00001\ta\tfirst\t1\t40\t10\n"
    table.write_text(COLUMNS + rows, encoding="utf-8")

    domains = read_domains(table)

    assert [(domain.accession, domain.start, domain.end) for domain in domains["P1"]] == [
        ("PF00001", 1, 40),
        ("PF00002", 50, 90),
    ]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    table = tmp_path / "go.tsv"
    table.write_text("accession\tgo_id\nP1\tGO:0005344\n", encoding="utf-8")

    with pytest.raises(InvalidInput, match="go_name"):
        read_go(table)


def test_a_malformed_row_is_refused_by_name(tmp_path: Path) -> None:
    table = tmp_path / "domains.tsv"
    table.write_text(COLUMNS + "P1\tPF00001\ta\tfirst\tone\t40\t10\n", encoding="utf-8")

    with pytest.raises(InvalidInput, match="'one'"):
        read_domains(table)
