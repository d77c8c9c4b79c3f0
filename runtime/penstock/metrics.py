"""Metrics of plugins, as KIP-877 gives them to the plugins of Kafka Connect.

A plugin takes them from its context: `self.context.metrics.counter("rows_skipped", "Rows without a key.")`. They appear on
the endpoint of the task as `kafka_connect_plugins_rows_skipped_total{connector=..., task=..., plugin=...}`, where `plugin`
is the place in the configuration that asks for the plugin.
"""

import re
import threading
from collections.abc import Iterator
from typing import Final, TypeVar

__all__ = ["Counter", "Gauge", "PluginMetrics"]

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


class _Metric:
    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.doc = doc
        self._lock = threading.Lock()
        self._value = 0.0

    @property
    def value(self) -> float:
        """The present value in this process."""
        return self._value


class Counter(_Metric):
    """A number that rises. Those of all processes of a task are added up. Any thread may count."""

    def add(self, amount: float = 1) -> None:
        """Count.

        Raises:
            ValueError: the amount is negative, or no number.
        """
        number = float(amount)  # also of numpy
        if not number >= 0:
            raise ValueError(f"The counter {self.name} only rises, and does not by {number}; a gauge may fall")
        with self._lock:
            self._value += number


class Gauge(_Metric):
    """A number that rises and falls. Of several processes of a task, the one that told last counts. For any thread."""

    def set(self, value: float) -> None:
        """Set the present value."""
        with self._lock:
            self._value = float(value)


_M = TypeVar("_M", Counter, Gauge)


class PluginMetrics:
    """The metrics of one plugin object's place in a connector. The same name gives the same metric."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, Counter | Gauge] = {}

    def counter(self, name: str, doc: str) -> Counter:
        """A number that rises, from 0. It appears with `_total` behind its name.

        Args:
            name: of lower-case letters, digits and `_`.
            doc: a sentence that says what is counted.

        Raises:
            ValueError: the name is of another form, or taken by a gauge.
        """
        return self._metric(Counter, name.removesuffix("_total"), doc)

    def gauge(self, name: str, doc: str) -> Gauge:
        """A number that rises and falls, at first 0.

        Args:
            name: of lower-case letters, digits and `_`.
            doc: a sentence that says what is measured, and in which unit.

        Raises:
            ValueError: the name is of another form, or taken by a counter.
        """
        if name.endswith("_total"):
            raise ValueError(f"The gauge {name} needs another name: _total is the end of counters' names")
        return self._metric(Gauge, name, doc)

    def __reduce__(self) -> tuple[type["PluginMetrics"], tuple[()]]:
        """In another process they are others: what is counted there stays there, unless the runtime made them."""
        return PluginMetrics, ()

    def __iter__(self) -> Iterator[Counter | Gauge]:
        """All that were asked for."""
        with self._lock:
            return iter(list(self._metrics.values()))

    def _metric(self, kind: type[_M], name: str, doc: str) -> _M:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r} is no name of a metric: it has lower-case letters, digits and _, as rows_skipped"
            )
        if not isinstance(doc, str):
            raise ValueError(f"The metric {name} needs a text that says what it measures, not {doc!r}")  # noqa: TRY004
        with self._lock:
            found = self._metrics.setdefault(name, kind(name, doc))
        if not isinstance(found, kind):
            there = type(found).__name__.lower()
            raise ValueError(f"The metric {name} is a {there} already; give this one another name")  # noqa: TRY004 (a name)
        return found
