"""A task that skips all records as failed reports it, and one that delivers some does not."""

from penstock_runtime.pipeline.error_tolerance import Failure, Stage
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.task.skipped_in_a_row import SkippedInARow


def batch(read: int, failures: int, *, dropped: int = 0, dead_letters: int = 0) -> Summary:
    summary = Summary(read=read, dropped=dropped, dead_letters=dead_letters)
    for n in range(failures):
        failure = Failure(n, Stage.VALUE_CONVERTER, "JsonConverter", ValueError("cannot parse 'secret'"))
        summary.failed(failure, "c-0", log=False, detail="")
    return summary


def test_ten_skipped_records_in_a_row_are_reported_with_the_last_cause_and_no_value() -> None:
    found = SkippedInARow()
    found.add(batch(9, 9), 0.0)
    assert found.trouble(0.0) is None
    found.add(batch(1, 1), 60.0)
    text = found.trouble(60.0)
    assert text is not None
    assert "the last 10 failed" in text
    assert "VALUE_CONVERTER (JsonConverter): ValueError" in text
    assert "secret" not in text


def test_a_dead_letter_queue_that_takes_every_record_is_reported() -> None:
    found = SkippedInARow()
    found.add(batch(50, 50, dead_letters=50), 0.0)
    assert "50 of them to the dead letter queue" in (found.trouble(0.0) or "")


def test_a_filter_that_drops_nearly_everything_works_although_a_record_fails_each_day() -> None:
    found = SkippedInARow()
    for day in range(30):
        now = day * 86_400.0
        found.add(batch(100, 1, dropped=99), now)
        found.add(batch(100, 0, dropped=100), now + 60)
        assert found.trouble(now + 61) is None
        assert found.trouble(now + 3_600) is None


def test_a_record_that_fails_now_and_then_does_not_add_up() -> None:
    found = SkippedInARow()
    for day in range(30):
        found.add(batch(1, 1), day * 86_400.0)
        assert found.trouble(day * 86_400.0) is None


def test_ten_records_that_failed_are_forgotten_after_ten_minutes_without_records() -> None:
    found = SkippedInARow()
    found.add(batch(10, 10), 1_000.0)
    assert found.trouble(1_599.0) is not None
    assert found.trouble(1_600.0) is None


def test_a_record_that_was_delivered_before_others_failed_does_not_hide_them() -> None:
    found = SkippedInARow()
    found.add(batch(1, 0), 0.0)
    found.add(batch(100, 100), 4.9)
    assert "the last 100 failed" in (found.trouble(5.0) or "")
    assert "the last 100 failed" in (found.trouble(60.0) or "")


def test_one_delivered_record_ends_the_report() -> None:
    found = SkippedInARow()
    found.add(batch(50, 50), 0.0)
    found.add(batch(50, 49), 10.0)
    assert found.trouble(10.0) is None
    found.add(batch(9, 9), 20.0)
    assert found.trouble(20.0) is None


def test_records_that_the_sink_hands_back_a_batch_later_were_not_delivered() -> None:
    found = SkippedInARow()
    for second in range(60):
        found.add(batch(100, 0), float(second))
        if second:
            found.add(batch(0, 100), second + 0.1)
    found.add(batch(0, 100), 60.0)
    assert "6000" in (found.trouble(60.0) or "")


def test_a_sink_that_hands_some_back_delivers_the_others() -> None:
    found = SkippedInARow()
    for second in range(60):
        found.add(batch(100, 0), float(second))
        found.add(batch(0, 99), second + 0.1)
        assert found.trouble(second + 0.2) is None
    assert found.trouble(120.0) is None
