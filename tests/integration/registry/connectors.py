"""What sinks for files have written."""

from pathlib import Path

__all__ = ["lines"]


def lines(file: Path) -> list[str]:
    """Return the lines of a file, which may not exist yet."""
    return file.read_text().splitlines() if file.exists() else []
