"""Compose and shorten the messages that a status shows. Pure."""

__all__ = ["cut_trace", "joined"]


def joined(*texts: str) -> str:
    """Join texts into one sentence, in which only the last one ends with a period."""
    first = [t if t.endswith("..") else t.removesuffix(".") for t in texts[:-1]]
    return "; ".join([*first, *texts[-1:]])


def cut_trace(text: str, most: int) -> str:
    """Return the last complete lines of a trace, at most `most` characters; if the last line is longer, return its end."""
    if len(text) <= most:
        return text
    start = len(text) - most
    line = text.find("\n", start - 1) + 1
    return text[line if 0 < line < len(text) else start :]
