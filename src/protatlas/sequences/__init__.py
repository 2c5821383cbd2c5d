"""Sequences: FASTA files and pasted text become residues.

`files` opens what people have, `fasta` finds the records in it, `residues` turns letters into a protein or says why
they are none.
"""

from protatlas.sequences.fasta import Entry, IngestReport, NoProteins, Skipped, read_fasta
from protatlas.sequences.files import read_text
from protatlas.sequences.residues import clean_nucleotides, clean_sequence

__all__ = [
    "Entry",
    "IngestReport",
    "NoProteins",
    "Skipped",
    "clean_nucleotides",
    "clean_sequence",
    "read_fasta",
    "read_text",
]
