"""Metrics of plugins, like those of Kafka Connect plugins (KIP-877).

A plugin creates them with its context: `self.context.metrics.counter("rows_skipped", "Rows without a key.")`. The task's
metrics endpoint serves them as `kafka_connect_plugins_rows_skipped_total{connector=..., task=..., plugin=...}`, where
`plugin` identifies the plugin in the configuration, such as `connector` or `transforms.mask`.
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
        """Return the current value in this process."""
        return self._value


class Counter(_Metric):
    """Counter that only increases, summed over all processes of a task. Thread-safe."""

    def add(self, amount: float = 1) -> None:
        """Increase the counter.

        Raises:
            ValueError: the amount is negative or not a number.
        """
        number = float(amount)  # accepts NumPy numbers, too
        if not number >= 0:
            raise ValueError(f"cannot add {number} to counter {self.name}: counters only increase; use a gauge")
        with self._lock:
            self._value += number


class Gauge(_Metric):
    """Gauge that can increase and decrease. The latest value from any process of a task is used. Thread-safe."""

    def set(self, value: float) -> None:
        """Set the current value."""
        with self._lock:
            self._value = float(value)


_M = TypeVar("_M", Counter, Gauge)


class PluginMetrics:
    """Metrics of one plugin object of a connector. The same name always returns the same metric."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, Counter | Gauge] = {}

    def counter(self, name: str, doc: str) -> Counter:
        """Return the counter with this name, initially 0. It is served with the suffix `_total`.

        Args:
            name: lower-case letters, digits and `_`.
            doc: a sentence that describes the counted events.

        Raises:
            ValueError: the name is invalid, or used by a gauge.
        """
        return self._metric(Counter, name.removesuffix("_total"), doc)

    def gauge(self, name: str, doc: str) -> Gauge:
        """Return the gauge with this name, initially 0.

        Args:
            name: lower-case letters, digits and `_`.
            doc: a sentence that describes the measured quantity and its unit.

        Raises:
            ValueError: the name is invalid, or used by a counter.
        """
        if name.endswith("_total"):
            raise ValueError(
                f"cannot create gauge {name}: the suffix _total is reserved for counters; choose another name"
            )
        return self._metric(Gauge, name, doc)

    def __reduce__(self) -> tuple[type["PluginMetrics"], tuple[()]]:
        """Pickle without values: each process counts separately, unless the runtime created the metrics."""
        return PluginMetrics, ()

    def __iter__(self) -> Iterator[Counter | Gauge]:
        """Iterate over all metrics created so far."""
        with self._lock:
            return iter(list(self._metrics.values()))

    def _metric(self, kind: type[_M], name: str, doc: str) -> _M:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"cannot create metric {name!r}: use lower-case letters, digits and _, for example rows_skipped"
            )
        if not isinstance(doc, str):
            raise ValueError(f"cannot create metric {name}: doc must be a description, not {doc!r}")  # noqa: TRY004
        with self._lock:
            found = self._metrics.setdefault(name, kind(name, doc))
        if not isinstance(found, kind):
            there = type(found).__name__.lower()
            raise ValueError(f"cannot create metric {name}: a {there} has this name; choose another name")  # noqa: TRY004
        return found
