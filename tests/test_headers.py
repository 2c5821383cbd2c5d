"""What headers say, and how accessions are told apart and spelt."""

import pytest

from protatlas.accessions import identify_accession, parse_accession
from protatlas.headers import header_identifiers, parse_header
from tests.known_proteins import UBIQUITIN


def test_uniprot_header_gives_names_and_taxon() -> None:
    header = parse_header(
        "sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens (Human) OX=9606 GN=HBA1 PE=1 SV=2"
    )
    assert header.identifiers == ("P69905", "sp|P69905|HBA_HUMAN", "HBA_HUMAN")
    assert (header.protein_name, header.gene) == ("Hemoglobin subunit alpha", "HBA1")
    assert (header.organism, header.organism_id) == ("Homo sapiens (Human)", 9606)
    assert (header.source, header.reviewed) == ("uniprotkb", True)


@pytest.mark.parametrize(
    ("header", "accession", "source", "name", "organism"),
    [
        ("tr|A0A1V0QD85|X_Y Kinase OS=A b PE=4 SV=1", "A0A1V0QD85", "uniprotkb", "Kinase", "A b"),
        ("gi|100000001|ref|NP_900001.1| a protein [A b]", "NP_900001.1", "ncbi", "a protein", "A b"),
        ("gnl|extdb|pgaptmp_000002 MFS transporter [A]", "pgaptmp_000002", "user", "MFS transporter", "A"),
        ("lcl|seq_17 my construct", "seq_17", "user", "my construct", None),
        ("WP_900000002.1\ttab separated", "WP_900000002.1", "ncbi", "tab separated", None),
        ("NP_1234567.1 kinase [Escherichia coli [K12]]", "NP_1234567.1", "ncbi", "kinase", "Escherichia coli [K12]"),
        ("MGYP000261684433 PL=10 UP=0 CR=1", "MGYP000261684433", "mgy", None, None),
        ("UPI000000001F status=active", "UPI000000001F", "uniparc", None, None),
        ("UniRef90_P69905 Globin n=2 Tax=A b TaxID=9606", "UniRef90_P69905", "uniref", "Globin", "A b"),
        ("1A3N_1|Chains A, C|Globin alpha|A b (9606)", "1A3N_1", "pdb", "Globin alpha", "A b"),
        ("contig_7_1 # 12 # 242 # 1 # ID=7_1;partial=00", "contig_7_1", "user", None, None),
        ("plate3|well|A01", "plate3|well|A01", "user", None, None),
        ("tr|LOCAL0001|MYPROT_X", "LOCAL0001", "user", None, None),
        ("123456789 my own number", "123456789", "user", "my own number", None),
        (
            "639590277 NP_414543 fused kinase [Escherichia coli]",
            "639590277",
            "img_m",
            "fused kinase",
            "Escherichia coli",
        ),
        ("Ga0102924_10000011 kinase [soil]", "Ga0102924_10000011", "img_m", "kinase", "soil"),
        (
            "sp|P0CG48.3|UBC_HUMAN RecName: Full=Polyubiquitin-C; AltName: X [A b]",
            "P0CG48",
            "uniprotkb",
            "Polyubiquitin-C",
            "A b",
        ),
        (
            "AFDB:AF-P69905-F1 Globin UA=P69905 UI=HBA_HUMAN OS=A b OX=9606 GN=HBA1",
            "P69905",
            "uniprotkb",
            "Globin",
            "A b",
        ),
        (
            "ENSP00000369497.3 pep chromosome:GRCh38:13:1:2:1 gene:ENSG00000139618.19 transcript:ENST00000380152.8 "
            "gene_symbol:BRCA2 description:DNA repair associated [Source:HGNC Symbol;Acc:HGNC:1101]",
            "ENSP00000369497.3",
            "user",
            "DNA repair associated",
            None,
        ),
        ("STRG.1.1 gene=STRG.1 CDS=1-300", "STRG.1.1", "user", None, None),
        ("FBpp0070000 type=protein; name=Nep3-PA; species=Dmel;", "FBpp0070000", "user", None, "Dmel"),
        ("101m_A mol:protein length:154  MYOGLOBIN", "101m_A", "pdb", "MYOGLOBIN", None),
        ("pdb|1A3N|A Chain A, HEMOGLOBIN [Homo sapiens]", "1A3N_A", "pdb", "Chain A, HEMOGLOBIN", "Homo sapiens"),
        ("ENA|CAA12345|CAA12345.1 my enzyme", "CAA12345.1", "ncbi", "my enzyme", None),
        (
            "fig|83333.1.peg.1 thrL   [Escherichia coli | 83333.1]",
            "fig|83333.1.peg.1",
            "user",
            "thrL",
            "Escherichia coli",
        ),
        (
            "lcl|X_cds_NP_1.1_1 [gene=thrL] [protein=leader peptide] [protein_id=NP_414542.1]",
            "X_cds_NP_1.1_1",
            "user",
            "leader peptide",
            None,
        ),
        ("x1 3-oxoacyl-[acyl-carrier-protein]", "x1", "user", "3-oxoacyl-[acyl-carrier-protein]", None),
        (
            "TRINITY_DN1_c0_g1_i1.p1 TRINITY_DN1_c0_g1~~x  ORF type:complete len:123 (+)",
            "TRINITY_DN1_c0_g1_i1.p1",
            "user",
            None,
            None,
        ),
        ("1234_5 # 2 # 181 # 1 # ID=1_5", "1234_5", "user", None, None),
    ],
)
def test_headers_of_many_origins(
    header: str, accession: str, source: str, name: str | None, organism: str | None
) -> None:
    parsed = parse_header(header)
    found = (parsed.accession, parsed.source, parsed.protein_name, parsed.organism)
    assert found == (accession, source, name, organism)
    assert header.split()[0] in parsed.identifiers
    assert header_identifiers(header) == parsed.identifiers


@pytest.mark.parametrize(
    ("header", "identifiers"),
    [
        ("NP_000549.1 hemoglobin [Homo sapiens]", {"NP_000549.1", "NP_000549"}),
        ("MGYP261684433", {"MGYP261684433", "MGYP000261684433"}),
        ("lcl|X_1 [protein_id=NP_414542.1]", {"X_1", "NP_414542.1", "NP_414542"}),
        ("639590277 b0001 leader peptide [Escherichia coli]", {"639590277", "b0001"}),
        ("AFDB:AF-P69905-F1 Globin UA=P69905 UI=HBA_HUMAN OS=A b", {"P69905", "AF-P69905-F1", "HBA_HUMAN"}),
        ("WP_1.1 kinase [A]\x01NP_2.1 kinase [B]", {"WP_1.1", "NP_2.1"}),
        ("WP_000000001.1 kinase [A] >NP_000002.1 kinase [B]", {"WP_000000001.1", "NP_000002.1", "NP_000002"}),
        ("pir||S12345 kinase", {"S12345", "pir||S12345"}),
        ("101m_A mol:protein length:154  MYOGLOBIN", {"101m_A", "101M_A"}),
    ],
)
def test_every_name_in_a_header_leads_to_the_record(header: str, identifiers: set[str]) -> None:
    assert identifiers <= set(header_identifiers(header))
    assert parse_header(header).identifiers == header_identifiers(header)


def test_a_gene_and_taxon_are_read_where_they_are_stated() -> None:
    ensembl = "ENSP1.1 pep chromosome:X:1:2 gene:ENSG1.1 gene_symbol:BRCA2 description:repair [Source:X;Acc:1]"
    assert parse_header(ensembl).gene == "BRCA2"
    assert parse_header("rna-1 gene=LOC1 CDS=1-9").gene == "LOC1"
    assert parse_header("x [gene=thrL] [protein=leader]").gene == "thrL"
    assert (
        parse_header("UniRef50_Q9K794 Putative protein n=2 Tax=Halalkalibacterium TaxID=2893056").organism_id == 2893056
    )


def test_chains_of_a_pdb_header_lead_to_it() -> None:
    parsed = parse_header("4HHB_1|Chains A[auth C], B|Hemoglobin|Homo sapiens (9606)")
    assert parsed.identifiers == ("4HHB_1", "4HHB_1|Chains", "4HHB_C", "4HHB_B")
    assert parsed.organism_id == 9606


@pytest.mark.parametrize(
    ("text", "database", "usual"),
    [
        ("p69905", "UniProt", "P69905"),
        ("P04637-2", "UniProt", "P04637-2"),
        ("A0A1V0QD85.3", "UniProt", "A0A1V0QD85"),
        ("upi000000001f", "UniParc", "UPI000000001F"),
        ("  MGYP000261684433\n", "MGnify", "MGYP000261684433"),
        ("mgyp261684433", "MGnify", "MGYP000261684433"),
        ("NP_000549.1", "RefSeq", "NP_000549.1"),
        ("639590277", "IMG", "639590277"),
        ("1a3n_A", "PDB", "1A3N_A"),
        ("uniref90_p69905", "UniRef", "UniRef90_P69905"),
        ("sp|P69905|HBA_HUMAN", "UniProt", "P69905"),
        ("UniProtKB:P69905", "UniProt", "P69905"),
        ("ref|NP_000549.1|", "RefSeq", "NP_000549.1"),
        ("PDB_00001ABC_a", "PDB", "pdb_00001abc_a"),
        ("Ga0102924_10000011", "IMG", "Ga0102924_10000011"),
        ("CAA12345.1", "GenBank", "CAA12345.1"),
    ],
)
def test_accessions_are_told_apart_and_spelt_as_usual(text: str, database: str, usual: str) -> None:
    assert identify_accession(text) == (database, usual)


@pytest.mark.parametrize("text", ["", "haemoglobin", "P6990", "MGYP", "UPI123", "1234_5", "12345678", UBIQUITIN])
def test_other_text_is_no_accession(text: str) -> None:
    assert identify_accession(text) is None


def test_the_version_of_an_accession_stands_apart() -> None:
    parsed = parse_accession("np_000549.12")
    assert parsed is not None
    assert (parsed.base, parsed.version, parsed.spelling) == ("NP_000549", "12", "NP_000549.12")
