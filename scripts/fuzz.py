"""Feed the readers of sequences with bytes that a coverage-guided fuzzer makes up: no crash, no hang, no silent loss.

    python scripts/fuzz.py [-runs=N] [further options of libFuzzer]

Without options 20,000 inputs from a fixed seed, the same at each run. An input that fails is written down, by its name.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ImportError:
    print("fuzzing was left out: atheris has no wheel for this machine")
    sys.exit(0)

with atheris.instrument_imports(include=["protatlas"]):
    from protatlas.errors import InvalidInput
    from protatlas.headers import header_identifiers, parse_header
    from protatlas.sequences import IngestReport, clean_sequence, fasta, read_fasta

BOUNDS = ("-runs=20000", "-seed=1", "-max_len=600", "-timeout=10", "-rss_limit_mb=2000", "-verbosity=0")
RESIDUES = re.compile("[A-Z]+")
SEEDS = (
    b"\x05>sp|P0CG48|UBC_HUMAN Ubiquitin OS=Homo sapiens OX=9606 GN=UBC\nMQIFVKTLTGK*\n>b\r\nmkv-L\r\n",
    b"\x40\xef\xbb\xbf; note\n  >P1;A\nname\nMKVL*\n>\n>x\n  1 mkvl 10\n//\n>d\nACGTACGTACGTACGT\n",
    b"\x01>gi|1|ref|NP_000549.1| a [B c]\x01gb|AAA12345.1| d >WP_1.1 e\nMetLysValLeu\n",
    b"\x09\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xb3KT\xf0\xf6\xe1\x02\x00\x9d\x0e\xb5\xa5\x07\x00\x00\x00",
)


def check(data: bytes) -> None:
    """Read an input as a file, as pasted text and as a header; the first byte sets the size of blocks."""
    fasta.BLOCK_BYTES = 1 + (data[0] if data else 0)
    report = IngestReport()
    kept = 0
    try:
        for entry in read_fasta(io.BytesIO(data[1:]), report):
            kept += 1
            assert RESIDUES.fullmatch(entry.sequence), entry
            assert parse_header(entry.header).identifiers == header_identifiers(entry.header), entry
    except InvalidInput:
        pass
    assert report.kept == kept, report
    assert report.read == kept + len(report.skipped), report
    text = data[1:].decode("utf-8", errors="replace")
    try:
        sequence, _ = clean_sequence(text)
        assert RESIDUES.fullmatch(sequence), sequence
    except InvalidInput:
        pass


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(SEEDS):
            Path(folder, str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], *BOUNDS, *sys.argv[1:], folder], check)
        atheris.Fuzz()
