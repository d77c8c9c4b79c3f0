"""Kafka Connect's errors and ours: what was expected, and what came."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from penstock import ConfigError, ConnectError, DataError, SchemaBuilderError

__all__ = ["check_error", "is_counterpart", "outcome", "refused"]

T = TypeVar("T")

ERRORS: Final[dict[str, tuple[type[Exception], ...]]] = {
    "ConfigException": (ConfigError,),
    "ConnectException": (ConnectError,),
    "SerializationException": (DataError,),
    "DataException": (DataError,),
    "SchemaBuilderException": (SchemaBuilderError,),
    "IllegalArgumentException": (ValueError,),
    "NullPointerException": (TypeError,),
    "ClassCastException": (TypeError,),
    "IndexOutOfBoundsException": (IndexError,),
}
"""Kafka Connect's error classes while records are worked on, and what stands for them here.

What a configuration is refused for is always a `ConfigError`, which holds every problem at once, whatever class of theirs
was raised first.
"""
_NOT: Final[dict[str, type[Exception]]] = {"DataException": SchemaBuilderError, "ConnectException": DataError}
"""Subclasses of an error of ours that stand for other classes of theirs."""


def outcome(work: Callable[[], T]) -> T | Exception:
    """What came of it: its result, or what it raised."""
    try:
        return work()
    except Exception as e:  # noqa: BLE001 (an error is what many cases expect)
        return e


def refused(made: object, expected: dict[str, Any]) -> bool:
    """Whether a configuration was refused as expected; fails where it was refused or accepted against the case."""
    error = expected.get("error")
    if error is None or error["phase"] == "apply":
        assert not isinstance(made, Exception), repr(made)
        return False
    assert isinstance(made, Exception), f"the configuration was accepted, instead of {error}"
    assert isinstance(made, ConfigError), f"{made!r} instead of {error}"
    return True


def is_counterpart(raised: object, name: str) -> bool:
    """Whether this is the error that stands here for Kafka Connect's of that class, and for none of its subclasses."""
    return isinstance(raised, ERRORS.get(name, ())) and not isinstance(raised, _NOT.get(name, ()))


def check_error(raised: object, expected: dict[str, Any]) -> None:
    """Fails unless a record failed as expected."""
    assert expected["phase"] == "apply"
    assert is_counterpart(raised, expected["class"]), f"{raised!r} instead of {expected}"
