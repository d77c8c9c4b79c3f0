"""What plugins print becomes log lines."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock_runtime.process.stdio_capture import last_lines, redirect_to_log

SECRET = "hunter2-very-secret"


@contextmanager
def printing() -> Iterator[None]:
    """Within a test, for pytest sets the streams anew before it."""
    streams = sys.stdout, sys.stderr
    redirect_to_log(lambda text: text.replace(SECRET, "${secret:db:pw}"))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.name, r.getMessage()) for r in caplog.records]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def test_each_line_is_one_of_the_log(log: pytest.LogCaptureFixture) -> None:
    with printing():
        print("one\ntw", end="")
        print("o")
        print("three", file=sys.stderr)
    assert told(log) == [("output.stdout", "one"), ("output.stdout", "two"), ("output.stderr", "three")]


def test_output_is_logged_at_any_log_level(caplog: pytest.LogCaptureFixture) -> None:
    root = logging.getLogger()
    level = root.level
    try:
        root.setLevel(logging.ERROR)
        with printing():
            print("one")
    finally:
        root.setLevel(level)
    assert told(caplog) == [("output.stdout", "one")]


def test_last_line_without_newline_is_logged(log: pytest.LogCaptureFixture) -> None:
    with printing():
        print("no end", end="", flush=True)
        assert not told(log)
        last_lines()
        last_lines()
    assert told(log) == [("output.stdout", "no end")]


def test_bytes_may_be_printed(log: pytest.LogCaptureFixture) -> None:
    with printing():
        assert sys.stdout.buffer.write(b"\xc3\xa9\xff\n") == 4
    assert told(log) == [("output.stdout", "\u00e9\ufffd")]


@pytest.mark.parametrize("place", [100, 61_430, 61_450, 65_531, 65_540, 200_000])
@pytest.mark.parametrize("parts", [1, 2])
def test_truncated_line_contains_no_part_of_a_secret(log: pytest.LogCaptureFixture, place: int, parts: int) -> None:
    text = "x" * place + SECRET + "y" * 70_000
    cut = place + 7 if parts == 2 else len(text)
    with printing():
        sys.stdout.write(text[:cut])
        sys.stdout.write(text[cut:])
        print("\nnext")
    (_, long), (_, following) = told(log)
    assert len(long) < 1 << 16
    assert long.endswith(" [cut]")
    assert "hunter" not in long
    assert "very" not in long
    assert following == "next"
