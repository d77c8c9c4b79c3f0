"""Runs the suites of `penstock.testing` in this process, in place of pytest."""

from collections.abc import Iterator
from typing import Any

__all__ = ["failures"]


def failures(suite: type[Any]) -> Iterator[tuple[str, Exception]]:
    """The tests of a suite that fail, each with its error."""
    for name in dir(suite):
        if name.startswith("test_"):
            test = getattr(suite(), name)
            takes = test.__code__.co_varnames[: test.__code__.co_argcount]
            try:
                test(None) if "request" in takes else test()
            except Exception as e:  # noqa: BLE001 (any error fails a test)
                yield name, e
