"""Residues: pasted text and the lines of a record become one protein in one-letter codes, or a reason why not.

Residues are upper-case one-letter codes; all 26 letters are legal, since B, J, O, U, X and Z are codes too (IUPAC-IUB
1983, doi:10.1111/j.1432-1033.1984.tb07877.x; NCBI BLAST help, read 2026-11). Positions in messages are 1-based and
count residues, never blanks or header letters.
"""

import re
import unicodedata

from protatlas.accessions import identify_accession
from protatlas.errors import InvalidInput

THREE_LETTER_CODES = (
    {"ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "CYS": "C", "GLN": "Q", "GLU": "E", "GLY": "G", "HIS": "H"}
    | {"ILE": "I", "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F", "PRO": "P", "SER": "S", "THR": "T", "TRP": "W"}
    | {"TYR": "Y", "VAL": "V", "SEC": "U", "PYL": "O", "ASX": "B", "GLX": "Z", "XLE": "J", "XAA": "X", "MSE": "M"}
)
"""Three-letter residue codes of IUPAC (same source as above), and MSE (selenomethionine) of PDB files."""

UNCOMMON_RESIDUES = "BJOUXZ"
BASES = "ACGTU"
NEVER_NUCLEOTIDE = "LEIPFQJOXZ"
"""Letters that are no IUPAC nucleotide code, the most frequent residues first."""
NUCLEOTIDE_CODES = frozenset("ACGTNRYSWKMBDHV")
"""Of IUPAC, without U."""
MIN_NUCLEOTIDE_LENGTH = 12
"""Below it a peptide of A, C, G, T and N alone is left alone: 12 such residues in a row have odds of 1e-7 at the
residue frequencies of Swiss-Prot."""
MIN_NUCLEOTIDE_SHARE = 0.9
MAX_WORD_LENGTH = 50
"""Shorter text with O or U and another uncommon code is taken for words: such peptides are not known."""

NUCLEOTIDE = "a nucleotide sequence"
STOP_NOTE = "the final stop '*' was dropped"
GAP_NOTE = "gap characters were dropped; positions count residues"
INVISIBLE_NOTE = "invisible characters were dropped"
NUMBER_NOTE = "position numbers were dropped"
MASK_NOTE = "lower-case residues (a soft mask) were read as upper case"

_TRIPLETS = re.compile(r"(?:[A-Z][a-z]{2}[\s-]*){3,}")
_GAPS = str.maketrans("", "", "-.")
_PIR_HEADER = re.compile(r"(?:P1|F1|D[LC]|R[LC]|N[13]|XX);(.*)")


class UnreadableError(ValueError):
    """Text that is no protein sequence: what was found, what was expected."""

    def __init__(self, found: str, expected: str = "one protein sequence in one-letter codes") -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected


def clean_sequence(
    text: str, argument: str = "sequence", *, max_length: int | None = None
) -> tuple[str, tuple[str, ...]]:
    """Residues of pasted text, and notes on what was dropped or is uncommon in it.

    Takes one-letter codes in any case, a FASTA record, or a numbered GenBank block; blanks, lone numbers, gaps, a final
    `*` and invisible characters are dropped.

    Parameters
    ----------
    text
        What the caller passed.
    argument
        Its name, for the message.
    max_length
        Most residues allowed; None for no limit.

    Raises
    ------
    InvalidInput
        No residues, several records, other characters than letters, three-letter codes, nucleotides, an accession,
        words, a `*` inside, or too long (then with fields `actual_length` and `max_length`).
    """
    try:
        body = _body(text)
        sequence, notes = residues_of(body)
        _refuse_words(sequence, text)
    except UnreadableError as error:
        raise InvalidInput(argument, error.found, error.expected) from error
    if max_length is not None and len(sequence) > max_length:
        found, expected = f"{len(sequence):,} residues", f"at most {max_length:,}; pass one domain of it"
        raise InvalidInput(argument, found, expected, actual_length=len(sequence), max_length=max_length)
    return sequence, notes


def _body(text: str) -> str:
    """Sequence lines of pasted text: without the header of its one FASTA record and the frame of a GenBank block."""
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith(">")]
    if len(headers) > 1 or (headers and headers[0] > 0):
        found = f"{len(headers) + (headers[0] > 0)} FASTA records"
        raise UnreadableError(found, "one record; send one call for each")
    if headers and (pir := pir_parts(lines[0].lstrip()[1:].strip(), "\n".join(lines[1:]))):
        return pir[1]
    body = [line for line in lines[len(headers) :] if line.strip() != "//"]
    if body and body[0].strip().upper() == "ORIGIN" and len(body) > 1:
        body = body[1:]
    if headers and not "".join(body).strip():
        raise UnreadableError("a FASTA header without a sequence after it", "a line break between header and residues")
    if len(body) == 1 and (known := identify_accession(body[0])):
        raise UnreadableError(f"the accession {known[1]} ({known[0]})", "its sequence; look the accession up first")
    return "\n".join(body)


def pir_parts(header: str, text: str) -> tuple[str, str] | None:
    """Header and sequence of a PIR record (`>P1;ID`, a line of description, residues and `*`), null for others."""
    code = _PIR_HEADER.fullmatch(header)
    title, _, residues = text.lstrip("\r").partition("\n")
    if not code or not residues.rstrip().endswith("*") or (title.strip().isalpha() and title.strip().isupper()):
        return None
    return f"{code[1].strip()} {title.strip()}".strip(), residues


def residues_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Upper-case residues of text without headers, and notes on what was changed or is uncommon.

    Raises
    ------
    UnreadableError
        The text is no protein sequence.
    """
    residues, notes = text.replace("\n", ""), list[str]()
    if not (residues.isascii() and residues.isalpha()):
        residues, notes = _without_layout(text)
        _refuse_other_characters(residues)
    if is_soft_masked(residues):
        notes.append(MASK_NOTE)
    residues = residues.upper()
    _refuse_three_letter_codes(text, residues)
    if _is_nucleotide(residues):
        found = f"{NUCLEOTIDE} of {len(residues)} letters, not a protein"
        raise UnreadableError(found, "a protein; translate it first, or send it to blast_sequence with program blastx")
    uncommon = [letter for letter in UNCOMMON_RESIDUES if letter in residues]
    if uncommon:
        notes.append(f"uncommon residue codes are kept in place: {', '.join(uncommon)}")
    return residues, tuple(notes)


def is_soft_masked(residues: str) -> bool:
    """Whether some letters are in lower case and others not."""
    return not (residues.isupper() or residues.islower())


def _without_layout(text: str) -> tuple[str, list[str]]:
    """Text without comments, blanks, lone numbers, gaps, invisible characters and final stops; notes for all of them
    but the blanks.
    """
    visible = text if text.isascii() else "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    lines = [line.split() for line in visible.splitlines() if not line.startswith(";")]
    numbers = [word for words in lines for word in words if _is_number(word)]
    gapped = "".join(word for words in lines for word in words if not _is_number(word))
    whole = gapped.translate(_GAPS)
    kept = whole.rstrip("*")
    notes = [NUMBER_NOTE, *_numbering_notes(lines)] if numbers else []
    if len(visible) < len(text):
        notes.append(INVISIBLE_NOTE)
    if len(whole) < len(gapped):
        notes.append(GAP_NOTE)
    if len(kept) < len(whole):
        notes.append(STOP_NOTE)
    return kept, notes


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _numbering_notes(lines: list[list[str]]) -> list[str]:
    """The first place where a number before residues is not that of the next residue."""
    count = 0
    for words in lines:
        residues = sum(len(word) for word in words if not _is_number(word))
        if residues and _is_number(words[0]) and int(words[0]) != count + 1:
            return [f"the numbering says {words[0]} at residue {count + 1}; positions here count residues from 1"]
        count += residues
    return []


def _refuse_other_characters(residues: str) -> None:
    if not residues:
        raise UnreadableError("no residues")
    if odd := re.search(r"[^A-Za-z]", residues):
        position = odd.start() + 1
        if odd[0] == "*":
            raise UnreadableError(f"a stop '*' within the sequence, at position {position}", "one open reading frame")
        name = "" if odd[0].isascii() else f" ({unicodedata.name(odd[0], 'without a name')})"
        raise UnreadableError(f"the character {odd[0]!r}{name} at position {position}", "one-letter residue codes")


def _refuse_three_letter_codes(text: str, residues: str) -> None:
    if residues[:3] not in THREE_LETTER_CODES:
        return
    words = [residues[start : start + 3] for start in range(0, len(residues), 3)]
    if len(words) < 3 or any(word not in THREE_LETTER_CODES for word in words):
        return
    is_spelled = _TRIPLETS.fullmatch(text.strip()) or all(len(word) == 3 for word in re.split(r"[\s-]+", text.strip()))
    if is_spelled or (len(words) >= 5 and len(set(words)) >= 3):
        found = f"three-letter codes ({' '.join(words[:3])} ...)"
        raise UnreadableError(found, f"one-letter codes, here {''.join(THREE_LETTER_CODES[word] for word in words)}")


def _is_nucleotide(sequence: str) -> bool:
    """Whether residues read as DNA or RNA: three different bases or more, and hardly anything but bases."""
    if len(sequence) < MIN_NUCLEOTIDE_LENGTH or any(letter in sequence for letter in NEVER_NUCLEOTIDE):
        return False
    counts = [sequence.count(base) for base in BASES]
    share = (sum(counts) + sequence.count("N")) / len(sequence)
    return share >= MIN_NUCLEOTIDE_SHARE and sum(count > 0 for count in counts) >= 3


def _refuse_words(sequence: str, text: str) -> None:
    """Refuse `hemoglobin` and the like, whose letters are all residue codes."""
    uncommon = {letter for letter in UNCOMMON_RESIDUES if letter in sequence}
    if len(sequence) < MAX_WORD_LENGTH and len(uncommon) > 1 and uncommon & {"O", "U"}:
        found = f"{text.strip()!r}, which reads as words"
        raise UnreadableError(found, "residues; find a protein by name with esm_atlas_search_uniprot")


def clean_nucleotides(
    text: str, argument: str = "sequence", *, max_length: int | None = None
) -> tuple[str, tuple[str, ...]]:
    """Nucleotides of pasted text in IUPAC codes, upper case, U as T, and notes on what was dropped.

    Takes and drops what `clean_sequence` does.

    Raises
    ------
    InvalidInput
        No letters, several records, letters that are no nucleotide code, a protein, or too long.
    """
    try:
        letters, notes = _without_layout(_body(text))
        _refuse_other_characters(letters)
        letters = letters.upper().replace("U", "T")
        if odd := next((letter for letter in letters if letter not in NUCLEOTIDE_CODES), None):
            found = f"the letter {odd} at position {letters.index(odd) + 1}, which is no nucleotide"
            raise UnreadableError(found, "one nucleotide sequence; send a protein to blastp or tblastn")
        if not _is_nucleotide(letters) and len(letters) >= MIN_NUCLEOTIDE_LENGTH:
            raise UnreadableError("letters that are mostly no bases", "one nucleotide sequence in A, C, G, T and N")
    except UnreadableError as error:
        expected = "one nucleotide sequence" if "residue" in error.expected else error.expected
        raise InvalidInput(argument, error.found.replace("residues", "letters"), expected) from error
    if max_length is not None and len(letters) > max_length:
        raise InvalidInput(
            argument,
            f"{len(letters):,} nucleotides",
            f"at most {max_length:,}; pass a part of it",
            actual_length=len(letters),
            max_length=max_length,
        )
    return letters, tuple(notes)
