"""A termination message fits into the limit of Kubernetes, for any content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_model.contracts.task_reports import TerminationMessage

LIMIT = 4096


@given(st.text(max_size=9_000) | st.none(), st.text(max_size=9_000) | st.none())
def test_message_fits_and_can_be_parsed(message: str | None, trace: str | None) -> None:
    text = TerminationMessage(exit_code=1, message=message, trace=trace).to_message(LIMIT)
    assert len(text.encode()) <= LIMIT
    assert TerminationMessage.of(text.encode()) is not None


def test_the_end_of_a_trace_and_the_beginning_of_a_message_are_kept() -> None:
    word = TerminationMessage.of(
        TerminationMessage(exit_code=1, message="m" * 90_000, trace="t" * 90_000).to_message().encode()
    )
    assert word is not None
    assert word.message is not None
    assert word.message.startswith("mmm")
    assert len(word.message) > 3_000
    word = TerminationMessage.of(
        TerminationMessage(exit_code=1, message="short", trace="a" * 9_000 + "the cause").to_message().encode()
    )
    assert word is not None
    assert (word.message, (word.trace or "")[-9:]) == ("short", "the cause")


@pytest.mark.parametrize("message", ["ä" * 5_000, '"' * 5_000, "\n" * 5_000])
def test_message_of_multibyte_characters_fits(message: str) -> None:
    assert len(TerminationMessage(exit_code=1, message=message).to_message().encode()) <= LIMIT
