"""Texts of a status read as sentences, and begin where a reader can begin."""

import pytest

from penstock_model.contracts.texts import cut_trace, joined


def test_texts_become_one_sentence_with_at_most_one_period() -> None:
    assert joined("cannot open a file.", "failed", "restart 1 of 10") == "cannot open a file; failed; restart 1 of 10"
    assert joined("cut ...", "the end.") == "cut ...; the end."
    assert joined("alone.") == "alone."
    assert joined() == ""


@pytest.mark.parametrize(
    ("most", "kept"),
    [
        (100, "Traceback:\n  File a\nValueError: b\n"),
        (33, "  File a\nValueError: b\n"),
        (23, "  File a\nValueError: b\n"),
        (22, "ValueError: b\n"),
        (14, "ValueError: b\n"),
        (5, "r: b\n"),
    ],
)
def test_a_cut_trace_begins_at_a_line(most: int, kept: str) -> None:
    assert cut_trace("Traceback:\n  File a\nValueError: b\n", most) == kept
