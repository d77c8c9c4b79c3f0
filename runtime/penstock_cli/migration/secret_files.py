"""Writer of extracted secrets to files that only their owner can read: `DIR/<Secret>/<key>`."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import ConfigError, Problem
from penstock_cli.migration.manifest import Imported

__all__ = ["keep_secrets"]


def keep_secrets(folder: Path, made: Sequence[Imported]) -> None:
    """Write all secrets, or none if a file exists with other content, which is not overwritten.

    Raises:
        ConfigError: a file exists with other content, or is not a regular file; two connectors have different secrets for
            one file; or a file cannot be written.
    """
    texts: dict[Path, str] = {}
    problems: list[Problem] = []
    for one in made:
        for name, keys in one.secrets.items():
            for key, text in keys.items():
                path = folder / name / key
                if texts.setdefault(path, text) != text:
                    cause = "a connector of another namespace has a different secret of this name"
                    problems.append(_refused(path, f"{cause}; import each namespace into a separate folder"))
    try:
        for path, text in texts.items():
            if (obstacle := _obstacle(path, text)) is not None:
                problems.append(_refused(path, obstacle))
        if not problems:
            for path, text in texts.items():
                _write(path, text)
    except OSError as e:
        raise ConfigError(Problem(f"--secrets-to {folder}", f"cannot be written: {e.strerror}: {e.filename}")) from None
    if problems:
        raise ConfigError(problems)


def _refused(path: Path, cause: str) -> Problem:
    return Problem("--secrets-to", f"cannot write secret {path}: {cause}")


def _obstacle(path: Path, text: str) -> str | None:
    """Return why a file must not be written, and the remedy; None: it may be."""
    try:
        is_file = stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return None
    if not is_file:
        return "it is not a regular file; remove it, or choose another folder"
    return None if path.read_bytes() == text.encode() else "the file exists with other content; choose another folder"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text.encode())
