"""Compose and cut the texts that a status shows. Pure."""

__all__ = ["cut_trace", "joined"]


def joined(*texts: str) -> str:
    """Return texts as parts of one sentence. A period ends only the last one."""
    first = [t if t.endswith("..") else t.removesuffix(".") for t in texts[:-1]]
    return "; ".join([*first, *texts[-1:]])


def cut_trace(text: str, most: int) -> str:
    """Return the last whole lines of a trace, at most so many characters; of a longer line, its end."""
    if len(text) <= most:
        return text
    start = len(text) - most
    line = text.find("\n", start - 1) + 1
    return text[line if 0 < line < len(text) else start :]
