"""A task of which every record fails and is passed over says so, and one that delivers some does not."""

from penstock_runtime.pipeline.record_errors import Failure, Stage
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.task.passed_over import PassedOver


def batch(read: int, failures: int, *, dropped: int = 0, dead_letters: int = 0) -> Summary:
    summary = Summary(read=read, dropped=dropped, dead_letters=dead_letters)
    for n in range(failures):
        failure = Failure(n, Stage.VALUE_CONVERTER, "JsonConverter", ValueError("cannot parse 'secret'"))
        summary.failed(failure, "c-0", log=False, detail="")
    return summary


def test_ten_records_in_a_row_that_are_passed_over_are_reported_with_the_last_cause_and_no_value() -> None:
    found = PassedOver()
    found.add(batch(9, 9), 0.0)
    assert found.trouble(0.0) is None
    found.add(batch(1, 1), 60.0)
    text = found.trouble(60.0)
    assert text is not None
    assert "the last 10 failed" in text
    assert "VALUE_CONVERTER (JsonConverter): ValueError" in text
    assert "secret" not in text


def test_a_dead_letter_queue_that_takes_every_record_is_reported() -> None:
    found = PassedOver()
    found.add(batch(50, 50, dead_letters=50), 0.0)
    assert "50 of them to the dead letter queue" in (found.trouble(0.0) or "")


def test_records_that_transforms_drop_are_neither_delivered_nor_failed() -> None:
    found = PassedOver()
    found.add(batch(100, 0, dropped=100), 0.0)
    found.add(batch(100, 20, dropped=80), 10.0)
    found.add(batch(100, 0, dropped=100), 20.0)
    assert found.trouble(20.0) is not None


def test_one_record_that_is_delivered_ends_it() -> None:
    found = PassedOver()
    found.add(batch(50, 50), 0.0)
    found.add(batch(50, 49), 10.0)
    assert found.trouble(10.0) is None
    found.add(batch(9, 9), 20.0)
    assert found.trouble(20.0) is None


def test_records_that_the_sink_hands_back_a_batch_later_were_not_delivered() -> None:
    found = PassedOver()
    for second in range(60):
        found.add(batch(100, 0), float(second))
        if second:
            found.add(batch(0, 100), second + 0.1)
    found.add(batch(0, 100), 60.0)
    assert "6000" in (found.trouble(60.0) or "")


def test_a_sink_that_hands_some_back_delivers_the_others() -> None:
    found = PassedOver()
    for second in range(60):
        found.add(batch(100, 0), float(second))
        found.add(batch(0, 99), second + 0.1)
        assert found.trouble(second + 0.2) is None
