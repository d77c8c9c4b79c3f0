"""What counts as a line, and that every line comes exactly once wherever a batch ends and a run resumes."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import InputPartition, Limits, Offsets, Record, RetriableError, SourcePartition
from penstock.schema import STRING
from penstock_plugins.connectors.file import lines as file_lines
from penstock_plugins.connectors.file.fingerprint import digest_before
from penstock_plugins.connectors.file.source import FileReader, FileSource

PLENTY = Limits(1_000_000, 1 << 30)


def position(path: Path, offsets: Offsets) -> int:
    found = offsets.get(SourcePartition({"filename": str(path)}), {}).get("position", 0)
    assert isinstance(found, int)
    return found


def run(path: Path, start: Offsets | None = None, limits: Limits = PLENTY, portion: int = 2000) -> list[str]:
    """A whole life of a task: everything from `start` to where there is no more for now."""
    source, reader = FileSource(str(path)), FileReader("t", portion)
    source.start(start or {})
    lines, _ = more(source, reader, start or {}, limits)
    source.stop()
    reader.close()
    return lines


def more(source: FileSource, reader: FileReader, start: Offsets, limits: Limits = PLENTY) -> tuple[list[str], Offsets]:
    lines: list[str] = []
    while end := source.latest_offsets(start, limits):
        for part in source.partitions(start, end):
            for batch in reader.read(part):
                lines += batch.column("value")
        source.commit(end)
        start = end
    return lines, start


def reference(content: bytes) -> list[str]:
    """Every whole line at once, by the words of the specification."""
    whole = re.findall(rb"([^\r\n]*)(?:\r\n|\n|\r(?=.))", content, re.DOTALL)
    return [line.decode("utf-8", "replace") for line in whole]


CASES = {
    "newlines": (b"a\nb\n", ["a", "b"]),
    "carriage return and newline": (b"a\r\nb\r\n", ["a", "b"]),
    "lone carriage return": (b"a\rb\rc\n", ["a", "b", "c"]),
    "a last carriage return waits": (b"a\nb\r", ["a"]),
    "an unfinished line waits": (b"a\nb", ["a"]),
    "empty lines are records": (b"\n\na\n\r\n\r\n", ["", "", "a", "", ""]),
    "other line separators of Unicode are text": ("a\u2028b\x0bc\x85d\n".encode(), ["a\u2028b\x0bc\x85d"]),
    "bytes that are no UTF-8": (b"a\xffb\xe2\x82\n\xc3\nx\n", ["a\ufffdb\ufffd", "\ufffd", "x"]),
    "nul bytes": (b"\0a\0\n", ["\0a\0"]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("content", "lines"), CASES.values(), ids=CASES)
def test_lines_are_what_kafka_connect_takes_for_lines(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    path = tmp_path / "in"
    path.write_bytes(content)
    assert run(path) == lines == reference(content)


def test_a_record_is_a_required_string_with_topic_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a\n")
    source = FileSource(str(path))
    source.start({})
    (part,) = source.partitions({}, source.latest_offsets({}, PLENTY))
    (batch,) = FileReader("t", 10).read(part)
    assert list(batch.records()) == [Record(topic="t", value="a", value_schema=STRING)]
    source.stop()


def test_the_end_of_an_unfinished_line_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\nb")
    source, reader = FileSource(str(path)), FileReader("t", 10)
    source.start({})
    lines, at = more(source, reader, {})
    assert (lines, position(path, at)) == (["a"], 2)
    for piece, then in ((b"c", []), (b"\r", []), (b"\n", ["bc"]), (b"d\r", []), (b"e", ["d"])):
        with path.open("ab") as file:
            file.write(piece)
        lines, at = more(source, reader, at)
        assert lines == then
    source.stop()


@pytest.mark.parametrize("before", range(-3, 4))
def test_a_line_end_of_two_bytes_may_lie_across_blocks(tmp_path: Path, before: int) -> None:
    path = tmp_path / "in"
    length = file_lines._CHUNK + before
    content = b"x" * length + b"\r\n" + b"y" * file_lines._CHUNK + b"\r" + b"z\n"
    path.write_bytes(content)
    assert run(path) == reference(content)
    assert run(path, limits=Limits(1, 1)) == reference(content)


def test_a_line_larger_than_the_limits_passes_whole(tmp_path: Path) -> None:
    path = tmp_path / "in"
    large = "é" * 10_000_000
    path.write_text(f"a\n{large}\nb\n", encoding="utf-8")
    assert run(path, limits=Limits(1000, 1 << 20)) == ["a", large, "b"]


def test_an_unfinished_large_line_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"x" * 5_000_000)
    source = FileSource(str(path))
    source.start({})
    assert not source.latest_offsets({}, Limits(10, 1000))
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, size: int, at: int) -> bytes:
        read.append(size)
        return pread(fd, size, at)

    monkeypatch.setattr(os, "pread", counted)
    assert not source.latest_offsets({}, Limits(10, 1000))
    assert read == []
    with path.open("ab") as file:
        file.write(b"y\n")
    assert position(path, source.latest_offsets({}, Limits(10, 1000))) == 5_000_002
    assert sum(read) < 10_000
    source.stop()


def test_batches_keep_to_their_limits(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"".join(b"%07d\n" % i for i in range(100_000)))
    source = FileSource(str(path))
    source.start({})
    for limits in (Limits(1000, 1 << 30), Limits(1_000_000, 8000)):
        assert 4000 <= position(path, source.latest_offsets({}, limits)) <= 16_000
    source.stop()


def test_portions_hold_batch_size_lines(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"x" * 100 + b"\n" * 25_000)
    source = FileSource(str(path))
    source.start({})
    (part,) = source.partitions({}, source.latest_offsets({}, PLENTY))
    assert [b.length for b in FileReader("t", 10_000).read(part)] == [10_000, 10_000, 5000]
    source.stop()


def test_a_file_that_became_shorter_before_it_was_read_is_planned_again(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\nb\n")
    source = FileSource(str(path))
    source.start({})
    (part,) = source.partitions({}, source.latest_offsets({}, PLENTY))
    os.truncate(path, 2)
    with pytest.raises(RetriableError, match="was truncated while it was read"):
        list(FileReader("t", 10).read(part))
    source.stop()


def test_a_reader_of_another_process_finds_the_file_by_its_inode(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\n")
    found = path.stat()
    with path.open("rb") as file:
        digest = digest_before(file.fileno(), 2)
    data = {
        "path": str(path),
        "device": found.st_dev,
        "inode": found.st_ino,
        "start": 0,
        "end": 2,
        "digest": digest,
    }
    path.rename(tmp_path / "in.1")
    path.write_bytes(b"b\n")
    (batch,) = FileReader("t", 10).read(InputPartition(data))
    assert batch.value == ["a"]
    (tmp_path / "in.1").unlink()
    with pytest.raises(RetriableError, match="moved or deleted"):
        list(FileReader("t", 10).read(InputPartition(data)))


def test_a_file_that_was_replaced_by_a_longer_one_since_it_was_planned_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\nb\n")
    source = FileSource(str(path))
    source.start({})
    (part,) = source.partitions({}, source.latest_offsets({}, PLENTY))
    path.write_bytes(b"x\ny\nz\n")  # the task was frozen for a while
    with pytest.raises(RetriableError, match="has changed since the batch was planned"):
        list(FileReader("t", 10).read(part))
    source.stop()


BYTES = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"a", b"bc", b"\xff", "é".encode(), b"\xe2\x82", b"\0"])).map(
    b"".join
)


@settings(deadline=None, max_examples=300)
@given(appends=st.lists(BYTES, max_size=6), records=st.integers(1, 5), size=st.integers(1, 9), chunk=st.integers(1, 5))
def test_any_content_in_any_pieces_under_any_limits_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, appends: list[bytes], records: int, size: int, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("any") / "in"
    content = b"".join(appends)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_CHUNK", chunk), ("_SAMPLE", chunk + 1), ("_FAR", chunk + 1)):
            patch.setattr(file_lines, name, value)
        path.write_bytes(b"")
        source, reader = FileSource(str(path)), FileReader("t", 3)
        source.start({})
        lines: list[str] = []
        at: Offsets = {}
        starts: list[tuple[Offsets, int]] = []
        for piece in appends:
            with path.open("ab") as file:
                file.write(piece)
            while end := source.latest_offsets(at, Limits(records, size)):
                starts.append((at, len(lines)))
                (part,) = source.partitions(at, end)
                lines += [line for batch in reader.read(part) for line in batch.column("value")]
                source.commit(end)
                at = end
        assert lines == reference(content)
        for start, before in starts:  # another life resumes anywhere
            assert run(path, start, Limits(records, size)) == lines[before:]
        source.stop()
