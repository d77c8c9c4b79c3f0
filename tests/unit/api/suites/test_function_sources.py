"""Each mistake with a cursor that is planted in a good source of one function is found, and told in its words."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pytest
from tests.unit.api.suites.runs import failures

from penstock import ConnectError, Limits, PollingSource, Record, SourceConnector, source
from penstock.testing import SourceSuite, parsed, run_source

COUNT = 23


def page_of(cursor: int | None, limit: int) -> list[Record]:
    place = cursor or 0
    return [Record(topic="t", value=n) for n in range(place, min(COUNT, place + limit))]


def suite_of(connector: type[SourceConnector]) -> type[SourceSuite]:
    class Suite(SourceSuite):
        plugin: ClassVar[type[SourceConnector]] = connector

    return Suite


@source
def pages(cursor: int | None, limit: int) -> Iterator[tuple[list[Record], int]]:
    """Good: a pair has all records of its cursor."""
    if page := page_of(cursor, limit):
        yield page, page[-1].value + 1


def test_the_good_source_passes() -> None:
    assert list(failures(suite_of(pages))) == []


def _with_the_cursor_of_the_page(cursor: int | None, limit: int) -> Iterator[tuple[Record, int]]:
    page = page_of(cursor, limit)
    for record in page:
        yield record, page[-1].value + 1


with_the_cursor_of_the_page = source(_with_the_cursor_of_the_page)
at_least_once = source(exactly_once=False)(_with_the_cursor_of_the_page)


@source
def counts_rows_that_it_does_not_pass_over(cursor: Mapping[str, Any] | None, limit: int) -> Iterator[Any]:
    page = page_of(cursor["next"] if cursor else 0, limit)
    for number, record in enumerate(page):
        yield record, {"next": page[-1].value + 1, "row": number}


@source
def empty_pages_between(cursor: int | None, limit: int) -> Iterator[tuple[list[Record], int]]:
    page = page_of(cursor, limit)
    for record in page:
        yield [record], page[-1].value + 1
        yield [], page[-1].value + 1


@pytest.mark.parametrize(
    "bad", [with_the_cursor_of_the_page, at_least_once, counts_rows_that_it_does_not_pass_over, empty_pages_between]
)
def test_records_of_one_cursor_in_several_pairs_fail(bad: type[SourceConnector]) -> None:
    assert "test_a_read_may_end_after_any_portion" in dict(failures(suite_of(bad)))


@pytest.mark.parametrize("bad", [with_the_cursor_of_the_page, empty_pages_between])
def test_a_second_pair_with_records_of_the_same_cursor_is_refused_wherever_it_is_read(
    bad: type[SourceConnector],
) -> None:
    reader = bad().source(parsed(bad, {}))
    assert isinstance(reader, PollingSource)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: run_source(bad, {}),
        lambda: list(reader.read({}, Limits(10, 1000))),
    )
    for call in calls:
        with pytest.raises(ConnectError, match="Put records that share a cursor into one pair") as raised:
            call()
        assert str(raised.value).startswith(f"{bad.__name__} yielded records with the cursor int ")


def test_a_source_that_may_read_the_records_of_a_cursor_again_is_warned_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert len(run_source(at_least_once, {})) == COUNT
    (warning,) = caplog.messages
    assert "Put records that share a cursor into one pair" in warning
    assert warning.endswith("If your function reads the records of a cursor again, ignore this warning.")


@source
def a_cursor_that_waits_for_its_record(cursor: int | None) -> Iterator[tuple[list[Record], int]]:
    for record in page_of(cursor, COUNT):
        yield [], record.value
        yield [record], record.value + 1
        yield [], record.value + 1


def test_pairs_without_records_may_have_the_cursor_of_the_pair_before() -> None:
    assert list(failures(suite_of(a_cursor_that_waits_for_its_record))) == []
