"""Removal of data that differs between builds and machines from installed distributions."""

import base64
import csv
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from penstock_cli.plugin.layer import is_bytecode

__all__ = ["remove_traces"]

_TRACES: Final = ("direct_url.json", "REQUESTED")
"""Files in which pip records how a distribution was requested; they contain a path of this machine."""


def remove_traces(target: Path) -> None:
    """Remove data that depends on the machine and on tool versions, and does not affect the plugins.

    Args:
        target: folder that `pip install --target` has written.
    """
    scripts = target / "bin"
    for script in sorted(scripts.iterdir()) if scripts.is_dir() else ():
        script.write_bytes(_portable(script.read_bytes()))
    for info in sorted(target.glob("*.dist-info")):
        for name in _TRACES:
            (info / name).unlink(missing_ok=True)
        wheel = info / "WHEEL"
        if wheel.is_file():
            lines = wheel.read_bytes().splitlines(keepends=True)
            wheel.write_bytes(b"".join(line for line in lines if not line.startswith(b"Generator:")))
        if (info / "RECORD").is_file():
            _write_record(target, info / "RECORD")


def _portable(script: bytes) -> bytes:
    """Return a script without the path of this machine's interpreter. pip writes one of two forms, one for long paths."""
    interpreter = os.fsencode(sys.executable)
    head, newline, rest = script.partition(b"\n")
    if head == b"#!/bin/sh" and rest.startswith(b"'''exec' ") and interpreter in rest.partition(b"\n")[0]:
        rest = rest.partition(b"\n")[2].partition(b"\n")[2]
    elif head != b"#!" + interpreter:
        return script
    return b"#!/usr/bin/env python3" + newline + rest


def _write_record(target: Path, record: Path) -> None:
    """Rewrite the list of the distribution's files: pip lists scripts at wrong paths, and files that were removed."""
    with record.open(encoding="utf-8", newline="") as file:
        listed = {_where_it_is(row[0]) for row in csv.reader(file) if row}
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(_rows(target, listed, record))


def _where_it_is(listed: str) -> str:
    """Return the actual path: `../../bin/shop` is `bin/shop`, as pip's paths are relative to a temporary folder."""
    return "/".join(part for part in PurePosixPath(listed).parts if part != "..")


def _rows(target: Path, listed: set[str], record: Path) -> Iterator[tuple[str, str, str]]:
    for name in sorted(listed, key=PurePosixPath):
        path = target / name
        if path == record:
            yield name, "", ""
        elif path.is_file() and not any(is_bytecode(part) for part in path.relative_to(target).parts):
            with path.open("rb") as file:
                digest = base64.urlsafe_b64encode(hashlib.file_digest(file, "sha256").digest()).rstrip(b"=").decode()
            yield name, f"sha256={digest}", str(path.stat().st_size)
