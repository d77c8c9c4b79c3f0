"""Frees installed distributions of what tells one build from the next, and one machine from another."""

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
"""Files in which pip notes how a distribution was asked for: a path of this machine."""


def remove_traces(target: Path) -> None:
    """Remove what depends on the machine and on the versions of the tools, and says nothing about the plugins.

    Args:
        target: a folder as `pip install --target` leaves it.
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
    """A script that names no interpreter of this machine. pip begins it in one of two ways: the second has long paths."""
    interpreter = os.fsencode(sys.executable)
    head, newline, rest = script.partition(b"\n")
    if head == b"#!/bin/sh" and rest.startswith(b"'''exec' ") and interpreter in rest.partition(b"\n")[0]:
        rest = rest.partition(b"\n")[2].partition(b"\n")[2]
    elif head != b"#!" + interpreter:
        return script
    return b"#!/usr/bin/env python3" + newline + rest


def _write_record(target: Path, record: Path) -> None:
    """List the distribution's files as they are now. pip lists scripts where they are not, and what was removed."""
    with record.open(encoding="utf-8", newline="") as file:
        listed = {_where_it_is(row[0]) for row in csv.reader(file) if row}
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(_rows(target, listed, record))


def _where_it_is(listed: str) -> str:
    """`../../bin/shop` is `bin/shop`: pip lists a script from the folder where it installs first."""
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
