"""Convert between Kubernetes' timestamps and seconds since 1970. Pure."""

from datetime import UTC, datetime

__all__ = ["instant", "timestamp"]


def instant(text: str | None) -> float | None:
    """Return a Kubernetes timestamp as seconds since 1970; None or empty: None."""
    return None if not text else datetime.fromisoformat(text).timestamp()


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as a Kubernetes timestamp, in whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
