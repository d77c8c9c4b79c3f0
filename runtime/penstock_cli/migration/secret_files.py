"""Writer of extracted secrets to files that only their owner can read: `DIR/<Secret>/<key>`."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import ConfigError, Problem
from penstock_cli.migration.manifest import Imported

__all__ = ["keep_secrets"]


def keep_secrets(folder: Path, made: Sequence[Imported]) -> None:
    """Write all secrets, or none if an existing file holds something else, which is not overwritten.

    Raises:
        ConfigError: a file holds something else, or is not a regular file; two connectors have one Secret; or it cannot be
            written.
    """
    texts: dict[Path, str] = {}
    problems: list[Problem] = []
    for one in made:
        for name, keys in one.secrets.items():
            for key, text in keys.items():
                path = folder / name / key
                if texts.setdefault(path, text) != text:
                    problems.append(Problem(f"--secrets-to {path}", _other("a connector of another namespace has")))
    try:
        problems += (Problem(f"--secrets-to {p}", _other("it holds")) for p, t in texts.items() if _holds_other(p, t))
        if not problems:
            for path, text in texts.items():
                _write(path, text)
    except OSError as e:
        raise ConfigError(Problem(f"--secrets-to {folder}", f"cannot be written: {e.strerror}: {e.filename}")) from None
    if problems:
        raise ConfigError(problems)


def _other(what: str) -> str:
    return f"{what} another secret under that name, which is not overwritten: give another folder"


def _holds_other(path: Path, text: str) -> bool:
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False
    return not is_file or path.read_bytes() != text.encode()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text.encode())
