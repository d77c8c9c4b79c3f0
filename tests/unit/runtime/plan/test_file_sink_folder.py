"""FileStreamSink refuses before the start only what is wrong on every machine, since its task may run on another."""

from pathlib import Path

import pytest

from penstock_plugins.connectors.file.sink import FileSinkConfig, FileStreamSink


def problems(file: str) -> list[str]:
    return [p.message for p in FileStreamSink().validate(FileSinkConfig.parse({"file": file}))]


@pytest.mark.parametrize("file", ["/no/such/folder/out.txt", "out.txt"])
def test_a_folder_that_is_missing_here_may_be_there(file: str) -> None:
    assert problems(file) == []


@pytest.mark.parametrize("file", ["/no/such/folder/", "a\0b"])
def test_what_can_name_no_file_anywhere_is_refused(file: str) -> None:
    (problem,) = problems(file)
    assert "property `file`" in problem


def test_a_directory_is_refused(tmp_path: Path) -> None:
    (problem,) = problems(str(tmp_path))
    assert "is a directory" in problem
