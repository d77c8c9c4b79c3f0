"""Runs the suites of `penstock.testing` in this process, in place of pytest."""

from collections.abc import Iterator
from typing import Any

from penstock import ConnectError

__all__ = ["failures"]


def failures(suite: type[Any]) -> Iterator[tuple[str, Exception]]:
    """The tests of a suite that fail, each with its error. Other errors than those of a plugin or of a test are raised."""
    for name in dir(suite):
        if name.startswith("test_"):
            test = getattr(suite(), name)
            takes = test.__code__.co_varnames[: test.__code__.co_argcount]
            try:
                test(None) if "request" in takes else test()
            except (AssertionError, ConnectError) as e:
                yield name, e
