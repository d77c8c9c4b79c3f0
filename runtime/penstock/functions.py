"""Plugins that are one function: a source, a transform or a sink.

    @source
    def ticker(config: TickerConfig, cursor: int | None) -> Iterator[tuple[Record, int]]:
        for number in range(cursor or 0, config.count):
            yield Record(topic=config.topic, value=number), number + 1

The name that a decorator leaves behind is a plugin class, of which an entry point, a suite of `penstock.testing` and a
`class: module:name` are told as of any other. Its docstring is the function's. A function says by the names of its
parameters what it wants to be given, and by the annotation of `config` which properties there are.
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
    """Make a source connector of a generator function.

    The function yields pairs: a `Record`, or a list of them, and the cursor after it, a text, a number or a flat map of
    those (`Cursor`). It is called again and again, and returns when there is nothing new. It may be closed after any pair;
    the next call begins at the cursor of the last one, which stands for all records up to and including its pair: records
    that share a cursor go into one pair. Records and cursor are committed in one transaction. From the same cursor it must
    give the same records each time; that is all that exactly once asks.

    Its parameters, by name, in any order:

    * `cursor` (needed): of the pair where reading goes on; None at the very beginning. Kafka holds it, as the offset
      `{"cursor": 7}`, or the map itself, of the source partition `{"stream": "default"}`.
    * `config`: annotated with a subclass of `Config`.
    * `stream`: one of those that `streams` names; each has a cursor of its own.
    * `limit`: about how many records will be taken of this call, for a query that should not find more.
    * `context`: the `PluginContext`.

    Args:
        function: the function, where the decorator stands without parentheses.
        streams: finds the names of the streams (tables, accounts) for a parsed `Config`. Each task reads some of them, each
            by a call of its own. It is called when the connector is planned. Without it there is one stream.
        exactly_once: False if from the same cursor other records may come.

    Raises:
        TypeError: the function takes a parameter that is not among these, or `stream` without `streams` or the other way
            round, or `streams` is no function of one argument.
    """

    def made(function: Callable[..., Any]) -> type[SourceConnector]:
        offered = ("config", "cursor", "stream", "limit", "context")
        parameters = NamedParameters(function, kind="source", needed="cursor", offered=offered)
        _check_streams(streams, parameters)
        names = None if streams is None else staticmethod(streams)
        # A task is told its streams by a property that no field of the author's has.
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
    """Check that `streams` can be asked, and that the function is told by `stream` of which it is called."""
    name, takes = parameters.name, "stream" in parameters.taken
    if streams is None:
        if takes:
            raise TypeError(
                f'@source {name}: it has the parameter "stream", and nothing that names the streams: write '
                "@source(streams=...) with a function that returns their names for a config."
            )
        return
    if not takes:
        raise TypeError(f'@source {name}: it has streams, and so needs the parameter "stream".')
    if not callable(streams):
        raise TypeError(
            f"@source {name}: streams is a function that returns the names of the streams for a config, not {streams!r}. "
            f"Names that never change: streams=lambda config: [...]."
        )
    try:
        inspect.signature(streams).bind(None)
    except TypeError:
        raise TypeError(
            f"@source {name}: streams is called with the config alone, and {streams!r} does not take one argument: "
            "def streams(config) -> list[str]."
        ) from None
    except ValueError:  # of a function in C, which tells no parameters
        pass


def transform(function: Callable[..., Any], /) -> type[Transform]:
    """Make a transform of a function: it takes a `record`, and returns a `Record`, or None to drop it.

    What holds for `Transform.apply` holds for the function. It may also take `config`, annotated with a subclass of
    `Config`, and `context`.

    Raises:
        TypeError: the function takes another parameter.
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
    """Make a sink connector of a function that writes records, at least once.

    `records` is a list of `Record`s, those of a partition in order; when the function returns, they are stored. What holds
    for `Writer.write` holds for it: after a `RetriableError` the same records come again. For exactly once, or for a
    connection that stays open, write a class.

    Its parameters, by name: `records` (needed); `config`, annotated with a subclass of `Config`; `report`, which hands back
    single records (`Reporter`); `context`, the `PluginContext`.

    Args:
        function: the function, where the decorator stands without parentheses.
        single_writer: as `SinkConnector.single_writer`.

    Raises:
        TypeError: the function takes another parameter.
    """

    def made(function: Callable[..., Any]) -> type[SinkConnector]:
        offered = ("records", "config", "report", "context")
        parameters = NamedParameters(function, kind="sink", needed="records", offered=offered)
        members = {"parameters": parameters, "single_writer": single_writer, "Config": parameters.config}
        return _plugin(function, _FunctionSink, members)

    return made if function is None else made(function)


def _plugin(function: Callable[..., Any], base: type[_P], members: Mapping[str, Any]) -> type[_P]:
    """A plugin class in the function's place, so that its module and name lead to it."""
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
        return True  # a function keeps none of its own


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
