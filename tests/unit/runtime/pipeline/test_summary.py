"""Summaries of batches add up, and are unchanged by the way from worker to driver."""

from penstock import DataError
from penstock_runtime.pipeline.error_tolerance import Failure, Stage
from penstock_runtime.pipeline.summary import Summary, decode, encode

FAILURE = Failure(3, Stage.TRANSFORMATION, "org.example.T", DataError("bad"))


def full() -> Summary:
    return Summary(
        read=10,
        written=7,
        dropped=1,
        bytes=100,
        failures=2,
        retries=1,
        dead_letters=2,
        dead_letters_lost=1,
        logged=2,
        seconds={"read": 0.5, "deliver": 1.0},
        topics=["a", "b"],
        offsets=[("t", 0, 5)],
        messages=[{"file": b"\x00"}],
        log=["line"],
    )


def test_parts_add_up() -> None:
    total = full()
    total.add(
        Summary(
            read=1,
            written=1,
            seconds={"read": 0.5, "commit": 0.1},
            topics=["b", "c"],
            offsets=[("t", 1, 9)],
            messages=["m"],
            log=["more"],
        )
    )
    assert (total.read, total.written, total.dropped, total.bytes) == (11, 8, 1, 100)
    assert (total.failures, total.retries, total.dead_letters, total.dead_letters_lost, total.logged) == (2, 1, 2, 1, 2)
    assert total.seconds == {"read": 1.0, "deliver": 1.0, "commit": 0.1}
    assert total.topics == ["a", "b", "c"]
    assert total.offsets == [("t", 0, 5), ("t", 1, 9)]
    assert total.messages == [{"file": b"\x00"}, "m"]
    assert total.log == ["line", "more"]


def test_adding_changes_no_other_summary() -> None:
    Summary().add(full())
    assert Summary() == Summary(seconds={}, topics=[], offsets=[], messages=[], log=[])


def test_summary_survives_encoding() -> None:
    assert decode(encode(full())) == full()


def test_topics_are_listed_once() -> None:
    summary = Summary()
    summary.wrote_to("a")
    summary.wrote_to(["b", "a", "b"])
    assert summary.topics == ["a", "b"]


def test_failure_is_logged_in_kafka_connects_words_if_configured() -> None:
    summary = Summary()
    summary.failed(FAILURE, "c-0", log=False, detail="")
    summary.failed(FAILURE, "c-0", log=True, detail=", where consumed record is {topic='t'}")
    assert summary.failures == 2
    assert summary.log == [
        "Error encountered in task c-0. Executing stage 'TRANSFORMATION' with class 'org.example.T', where consumed record "
        "is {topic='t'}. DataError: bad"
    ]


def test_lines_are_bounded_and_what_is_missing_is_counted() -> None:
    summary = Summary()
    for _ in range(60):
        summary.failed(FAILURE, "c-0", log=True, detail="")
    other = Summary()
    other.failed(FAILURE, "c-0", log=True, detail="")
    summary.add(other)
    assert (summary.logged, len(summary.log)) == (61, 50)
