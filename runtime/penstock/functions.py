"""Decorators that turn a function into a plugin: a source, a transform or a sink.

    @source
    def ticker(config: TickerConfig, cursor: int | None) -> Iterator[tuple[Record, int]]:
        for number in range(cursor or 0, config.count):
            yield Record(topic=config.topic, value=number), number + 1

The decorated name is a plugin class, which can be used in an entry point, in a test suite of `penstock.testing` and as
`class: module:name`, like any other plugin class. It keeps the docstring of the function. The parameter names of the
function select the arguments that it receives, and the annotation of `config` defines its properties.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, overload

from penstock._function_source import TASK_STREAMS, FunctionSource, Streams
from penstock._named_parameters import NamedParameters
from penstock.batch import RecordBatch
from penstock.offsets import Offset, SourcePartition
from penstock.plugin import Plugin, Transform
from penstock.record import Record
from penstock.sink import Reporter, Sink, SinkConnector, Writer
from penstock.source import SourceConnector

__all__ = ["sink", "source", "transform"]

_P = TypeVar("_P", bound=Plugin)


@overload
def source(function: Callable[..., Any], /) -> type[SourceConnector]: ...
@overload
def source(
    *, streams: Streams | None = None, exactly_once: bool = True
) -> Callable[[Callable[..., Any]], type[SourceConnector]]: ...
def source(
    function: Callable[..., Any] | None = None, /, *, streams: Streams | None = None, exactly_once: bool = True
) -> type[SourceConnector] | Callable[[Callable[..., Any]], type[SourceConnector]]:
    """Create a source connector from a generator function.

    The function yields pairs of a `Record`, or a list of records, and the cursor after it: a string, a number or a flat map
    of those (`Cursor`). It is called repeatedly, and returns when there are no new records. It may be closed after any pair;
    the next call starts at the cursor of the last pair, which covers all records up to and including that pair. Records with
    the same cursor must therefore be yielded in one pair. Records and cursor are committed in one transaction. Exactly-once
    delivery requires only that the same cursor yields the same records every time.

    Parameters of the function, by name, in any order:

    * `cursor` (required): the cursor to continue from; None at the beginning. It is stored in Kafka as the offset
      `{"cursor": 7}`, or as the map itself, of the source partition `{"stream": "default"}`.
    * `config`: the configuration, annotated with a subclass of `Config`.
    * `stream`: one of the streams returned by `streams`; each has its own cursor.
    * `limit`: the approximate number of records read from this call, to limit a query.
    * `context`: the `PluginContext`.

    Args:
        function: the function, if the decorator is used without parentheses.
        streams: a function that returns the names of the streams (tables, accounts) for a parsed `Config`. Each task reads
            some of them, with one call per stream. It is called during planning. Without it there is one stream.
        exactly_once: False if the same cursor may yield different records.

    Raises:
        TypeError: the function has an unknown parameter, or `stream` without `streams` or vice versa, or `streams` is not a
            function of one argument.
    """

    def made(function: Callable[..., Any]) -> type[SourceConnector]:
        offered = ("config", "cursor", "stream", "limit", "context")
        parameters = NamedParameters(function, kind="source", needed="cursor", offered=offered)
        _check_streams(streams, parameters)
        names = None if streams is None else staticmethod(streams)
        # A task receives its streams in a property that is not a field of the author's Config.
        config = parameters.config
        own = type(
            config.__name__,
            (config,),
            {"open_prefixes": (*config.open_prefixes, TASK_STREAMS), "__module__": config.__module__},
        )
        members = {"parameters": parameters, "streams": names, "repeats": exactly_once, "Config": own}
        return _plugin(function, FunctionSource, members)

    return made if function is None else made(function)


def _check_streams(streams: object, parameters: NamedParameters) -> None:
    """Check that `streams` is a function of one argument, and that the function has the parameter `stream`."""
    name, takes = parameters.name, "stream" in parameters.taken
    if streams is None:
        if takes:
            raise TypeError(
                f'@source {name}: the parameter "stream" requires a function that returns the names of the streams for a '
                "config: use @source(streams=...)."
            )
        return
    if not takes:
        raise TypeError(f'@source {name}: streams=... requires the parameter "stream".')
    if not callable(streams):
        raise TypeError(
            f"@source {name}: streams must be a function that returns the names of the streams for a config, not "
            f"{streams!r}. For a fixed list use streams=lambda config: [...]."
        )
    try:
        inspect.signature(streams).bind(None)
    except TypeError:
        raise TypeError(
            f"@source {name}: streams must accept one argument, the config, but {streams!r} does not: "
            "use def streams(config) -> list[str]."
        ) from None
    except ValueError:  # a C function without a signature
        pass


def transform(function: Callable[..., Any], /) -> type[Transform]:
    """Create a transform from a function that takes a `record` and returns a `Record`, or None to drop it.

    The contract of `Transform.apply` applies to the function. It may also take `config`, annotated with a subclass of
    `Config`, and `context`.

    Raises:
        TypeError: the function has an unknown parameter.
    """
    parameters = NamedParameters(function, kind="transform", needed="record", offered=("record", "config", "context"))
    return _plugin(function, _FunctionTransform, {"parameters": parameters, "Config": parameters.config})


@overload
def sink(function: Callable[..., Any], /) -> type[SinkConnector]: ...
@overload
def sink(*, single_writer: bool = False) -> Callable[[Callable[..., Any]], type[SinkConnector]]: ...
def sink(
    function: Callable[..., Any] | None = None, /, *, single_writer: bool = False
) -> type[SinkConnector] | Callable[[Callable[..., Any]], type[SinkConnector]]:
    """Create a sink connector, with at-least-once delivery, from a function that writes records.

    `records` is a list of `Record` objects, in order within each partition; they must be durable when the function returns.
    The contract of `Writer.write` applies: after a `RetriableError` the same records are passed again. Write a class for
    exactly-once delivery, or to keep a connection open.

    Parameters of the function, by name: `records` (required); `config`, annotated with a subclass of `Config`; `report`,
    which reports single records that cannot be written (`Reporter`); `context`, the `PluginContext`.

    Args:
        function: the function, if the decorator is used without parentheses.
        single_writer: see `SinkConnector.single_writer`.

    Raises:
        TypeError: the function has an unknown parameter.
    """

    def made(function: Callable[..., Any]) -> type[SinkConnector]:
        offered = ("records", "config", "report", "context")
        parameters = NamedParameters(function, kind="sink", needed="records", offered=offered)
        members = {"parameters": parameters, "single_writer": single_writer, "Config": parameters.config}
        return _plugin(function, _FunctionSink, members)

    return made if function is None else made(function)


def _plugin(function: Callable[..., Any], base: type[_P], members: Mapping[str, Any]) -> type[_P]:
    """Create a plugin class with the module and name of the function, so that it can be imported under that name."""
    named = {"__doc__": function.__doc__, "__module__": function.__module__, "__qualname__": function.__qualname__}
    return type(function.__name__, (base,), {**members, **named, "function": staticmethod(function)})


class _FunctionTransform(Transform):
    function: ClassVar[Callable[..., Any]]
    parameters: ClassVar[NamedParameters]

    def configure(self, config: Any) -> None:
        self._given = self.parameters.given(config=config, context=self.context)

    def apply(self, record: Record) -> Record | None:
        result: Record | None = type(self).function(record=record, **self._given)
        return result


class _FunctionSink(SinkConnector):
    function: ClassVar[Callable[..., Any]]
    parameters: ClassVar[NamedParameters]

    def sink(self, config: Any) -> Sink:
        return _NoState()

    def writer(self, config: Any) -> Writer:
        return _FunctionWriter(type(self).function, self.parameters, {"config": config, "context": self.context})

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        return True  # a function keeps no state


class _NoState(Sink):
    pass


class _FunctionWriter(Writer):
    def __init__(self, function: Callable[..., Any], parameters: NamedParameters, fixed: Mapping[str, Any]) -> None:
        self._function = function
        self.parameters = parameters
        self._fixed = fixed

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> None:
        records = [record for batch in batches for record in batch.records()]
        self._function(**self.parameters.given(records=records, report=report, **self._fixed))
