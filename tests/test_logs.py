"""The log goes to stderr and never holds a sequence."""

import logging

import pytest

from protatlas import logs
from tests.known_proteins import UBIQUITIN


@pytest.mark.parametrize(
    "text",
    [
        UBIQUITIN,
        UBIQUITIN.lower(),
        f"input_value='{UBIQUITIN[:25]}...{UBIQUITIN[-24:]}'",
        f"{UBIQUITIN[:20]}\n{UBIQUITIN[20:40]}*",
    ],
)
def test_what_looks_like_a_sequence_is_replaced_by_its_length(text: str) -> None:
    redacted = logs.redacted(f"failed on {text} at once")
    assert redacted.startswith("failed on ")
    assert redacted.endswith(" at once")
    assert "letters]" in redacted
    assert UBIQUITIN[:12].lower() not in redacted.lower()


def test_names_of_errors_and_settings_stay_readable() -> None:
    text = (
        "SequenceTooLongForFeatures in protatlas.tools.calls, PROTATLAS_ALLOW_ORIGINS, sequence_too_long_for_features"
    )
    assert logs.redacted(text) == text


def test_a_traceback_does_not_show_the_values_of_the_call() -> None:
    try:
        raise KeyError("peptide KLVFF in klvff")
    except KeyError as error:
        shown = logs.failure(error, ["KLVFF"])
    assert "test_logs.py" in shown
    assert "KeyError: 'peptide [5 characters] in [5 characters]'" in shown


def test_entries_and_their_tracebacks_are_redacted(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    try:
        raise ValueError(UBIQUITIN)
    except ValueError:
        logging.getLogger("elsewhere").exception("while reading %s", UBIQUITIN)
    finally:
        logging.getLogger().handlers.clear()
    written = capsys.readouterr()
    assert written.out == ""
    assert "ERROR elsewhere: while reading [76 letters]" in written.err
    assert "ValueError: [76 letters]" in written.err
