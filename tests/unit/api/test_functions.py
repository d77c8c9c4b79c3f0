"""Plugins that are one function: they pass the suites of all plugins, and what they do wrong is told by name."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Config,
    ConfigError,
    ConnectError,
    DataError,
    Limits,
    PluginContext,
    Problem,
    Record,
    RecordBatch,
    Reporter,
    SourceConnector,
    SourcePartition,
    prop,
    sink,
    source,
    transform,
    value_of,
)
from penstock import _returned as returned
from penstock._function_source import FunctionReader
from penstock.schema import INT64, struct
from penstock.testing import SinkSuite, SourceSuite, TransformSuite, parsed, run_source, run_writer
from penstock_runtime.pipeline import chain
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator, sentence
from penstock_runtime.plan.problems import Findings


def listed(records: RecordBatch | Sequence[Record]) -> Sequence[Record]:
    return list(records.records()) if isinstance(records, RecordBatch) else records


class NumbersConfig(Config):
    topic: str = prop("topic", doc="The topic to write to.")
    count: int = prop("count", 23, doc="How many numbers there are.", ge=0)


@source
def numbers(config: NumbersConfig, cursor: int | None) -> Iterator[tuple[Record, int]]:
    """Writes the numbers from 0 on."""
    for number in range(cursor or 0, config.count):
        yield Record(topic=config.topic, value=number), number + 1


class TestNumbers(SourceSuite):
    plugin = numbers
    properties = {"topic": "t"}  # noqa: RUF012

    def test_it_continues_from_a_cursor(self) -> None:
        records = run_source(numbers, self.properties, offsets={SourcePartition({"stream": "default"}): {"cursor": 21}})
        assert [record.value for record in records] == [21, 22]


class TablesConfig(Config):
    tables: list[str] = prop("tables", doc="The tables.")


@source(streams=lambda config: config.tables)
def tables(config: TablesConfig, stream: str, cursor: Mapping[str, Any] | None, limit: int) -> Iterator[Any]:
    """Rows of several tables, in pages that have a cursor each."""
    for page in range(cursor["page"] if cursor else 0, 4):
        rows = [Record(topic=stream, value=f"{stream} {page} {row}") for row in range(2)]
        yield rows, {"page": page + 1, "rows": None}


class TestTables(SourceSuite):
    plugin = tables
    properties = {"tables": "a,b,c"}  # noqa: RUF012

    def test_tasks_share_the_streams(self) -> None:
        connector = tables()
        config = parsed(tables, self.properties)
        tasks = connector.task_configs(config, self.properties, 2)
        topics = [{record.topic for record in run_source(tables, task)} for task in tasks]
        assert topics == [{"a", "c"}, {"b"}]
        assert len(connector.task_configs(config, self.properties, 7)) == 3

    def test_a_source_without_streams_has_one_task_that_reads_nothing(self) -> None:
        (task,) = tables().task_configs(parsed(tables, {"tables": ""}), {"tables": ""}, 2)
        assert run_source(tables, task) == []

    def test_a_stream_with_a_backlog_leaves_the_others_their_share(self) -> None:
        reader = tables().source(parsed(tables, self.properties))
        assert isinstance(reader, FunctionReader)
        shares = [{r.topic for r in listed(records)} for records, _ in reader.read({}, Limits(6, 1000))]
        assert shares == [{"a"}, {"b"}, {"c"}]

    def test_the_streams_of_a_task_are_no_users_property(self) -> None:
        config = parsed(tables, {**self.properties, "task.streams": "[]"})
        (problem,) = tables().validate(config)
        assert problem.property == "task.streams"


class ShoutConfig(Config):
    suffix: str = prop("suffix", "!", doc="What every text ends in.")


@transform
def shout(record: Record, config: ShoutConfig) -> Record | None:
    """Writes text values in capitals; drops what has none."""
    return None if record.value is None else record.replace(value=record.value.upper() + config.suffix)


class TestShout(TransformSuite):
    plugin = shout
    properties = {"suffix": "?"}  # noqa: RUF012
    records = (Record(topic="t", value="hello"), Record(topic="t", value=None))


class RowsConfig(Config):
    database: str = prop("database", doc="The file of the database.")


@sink(single_writer=True)
def rows(records: Sequence[Record], config: RowsConfig, report: Reporter) -> None:
    """Writes values to a table of SQLite, at least once."""
    for record in records:
        if record.value is None:
            report(record, DataError("A row needs a value."))
    with closing(sqlite3.connect(config.database)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS rows (value TEXT)")
        values = [(str(record.value),) for record in records if record.value is not None]
        database.executemany("INSERT INTO rows VALUES (?)", values)


class TestRows(SinkSuite):
    plugin = rows

    @pytest.fixture
    def properties(self, tmp_path: Path) -> Mapping[str, str]:
        return {"database": str(tmp_path / "rows.db")}

    def stored(self, properties: Mapping[str, str]) -> list[str]:
        if not Path(properties["database"]).exists():
            return []
        with closing(sqlite3.connect(properties["database"])) as database:
            return [value for (value,) in database.execute("SELECT value FROM rows")]

    def test_it_hands_back_single_records(self, properties: Mapping[str, str]) -> None:
        refused = run_writer(rows, properties, [[Record(topic="t", value=None), Record(topic="t", value="a")]])
        assert [str(error) for _, error in refused] == ["A row needs a value."]
        assert self.stored(properties) == ["a"]


def test_a_plugin_keeps_the_name_the_place_and_the_words_of_its_function() -> None:
    assert (numbers.__module__, numbers.__qualname__) == (__name__, "numbers")
    assert numbers.__doc__ == "Writes the numbers from 0 on."
    assert [p.name for p in numbers.Config.properties()] == ["topic", "count"]


@source
def says_where(cursor: int | None, context: PluginContext) -> Iterator[tuple[Record, int]]:
    if cursor is None:
        yield Record(topic=context.connector, value=None), 1


def test_a_function_gets_the_context() -> None:
    connector = says_where()
    connector.context = PluginContext(connector="orders")
    reader = connector.source(parsed(says_where, {}))
    assert isinstance(reader, FunctionReader)
    ((records, _),) = reader.read({}, Limits(10, 1000))
    assert [record.topic for record in listed(records)] == ["orders"]


CLOSED: list[int | None] = []


@source
def closes(cursor: int | None) -> Iterator[tuple[Record, int]]:
    try:
        for number in range(cursor or 0, 1000):
            yield Record(topic="t", value=number), number + 1
    finally:
        CLOSED.append(cursor)


def test_what_a_function_opened_is_closed_when_its_limit_is_reached_and_when_its_reader_ends() -> None:
    reader = closes().source(parsed(closes, {}))
    assert isinstance(reader, FunctionReader)
    CLOSED.clear()
    ((records, updates),) = reader.read({}, Limits(7, 1000))
    assert (len(records), updates) == (7, {SourcePartition({"stream": "default"}): {"cursor": 7}})
    portions = reader.read({}, Limits(500, 100_000))
    assert len(next(iter(portions))[0]) == 100
    portions.close()  # type: ignore[attr-defined]
    assert CLOSED == [None, None]


PAGES: Mapping[int, Any] = {0: ([], 1), 1: ([], 2), 2: ([], 2)}


@source
def filtered(cursor: int | None) -> Iterator[Any]:
    yield PAGES[cursor or 0]


def test_pages_without_a_record_move_the_cursor_and_one_that_stays_is_nothing_new() -> None:
    reader = filtered().source(parsed(filtered, {}))
    assert isinstance(reader, FunctionReader)
    default = SourcePartition({"stream": "default"})
    assert list(reader.read({default: {"cursor": 1}}, Limits(10, 1000))) == [([], {default: {"cursor": 2}})]
    assert list(reader.read({default: {"cursor": 2}}, Limits(10, 1000))) == []


def test_a_read_that_is_ended_early_continues_with_the_next_stream() -> None:
    """Else the last streams of many would wait for as long as the first ones have a backlog."""
    reader = tables().source(parsed(tables, {"tables": "a,b,c"}))
    assert isinstance(reader, FunctionReader)
    first = []
    for _ in range(4):
        records, _ = next(iter(reader.read({}, Limits(3, 1000))))
        first.append(listed(records)[0].topic)
    assert first == ["a", "b", "c", "a"]


def test_streams_require_the_parameter_stream() -> None:
    with pytest.raises(TypeError, match=r'streams=\.\.\. requires the parameter "stream"'):
        source(streams=lambda config: ["a"])(closes.function)  # type: ignore[attr-defined]


def _typed_by_names(config: "NumbersConfig", cursor: "OnlyForTypeCheckers") -> None: ...  # type: ignore[name-defined] # noqa: F821


def no_streams() -> list[str]:
    return []


def _of_a_stream(cursor: int | None, stream: str) -> None: ...


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        (
            ["a", "b"],
            r"@source _of_a_stream: streams must be a function that .*, not \['a', 'b'\]\. For a fixed list use ",
        ),
        (
            no_streams,
            r"streams must accept one argument, the config, but <function no_streams .* does not",
        ),
        (None, r'the parameter "stream" requires a function .*: use @source\(streams=\.\.\.\)'),
    ],
)
def test_invalid_streams_are_rejected_by_the_decorator(streams: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        source(streams=streams)(_of_a_stream)


@pytest.mark.parametrize("streams", [list, lambda config, more=1: []])
def test_streams_may_be_any_function_of_the_config(streams: Any) -> None:
    assert issubclass(source(streams=streams)(_of_a_stream), SourceConnector)


def test_annotations_may_name_what_only_type_checkers_import() -> None:
    assert [p.name for p in source(_typed_by_names).Config.properties()] == ["topic", "count"]


class GivesConfig(Config):
    what: str = prop("what", doc="What to yield.")


GIVEN: Mapping[str, Any] = {
    "no pair": Record(topic="t", value=1),
    "no cursor": (Record(topic="t", value=1), None),
    "a time": (Record(topic="t", value=1), PluginContext()),
    "not a number": (Record(topic="t", value=1), float("nan")),
    "an empty map": (Record(topic="t", value=1), {}),
    "a map in a map": (Record(topic="t", value=1), {"a": {}}),
    "a dict": ({"a": 1}, 1),
    "dicts": ([{"a": 1}], 1),
}


@source
def gives(config: GivesConfig, cursor: int | None) -> Iterator[Any]:
    yield GIVEN[config.what]


@pytest.mark.parametrize("what", GIVEN)
def test_a_wrong_yield_is_reported_with_the_function_and_what_it_gave(what: str) -> None:
    with pytest.raises(TypeError, match=r"^gives must yield .*; it yielded \w+ "):
        run_source(gives, {"what": what})


@source
def returns_nothing(cursor: int | None) -> None:
    pass


@source(streams=lambda _: ["orders"])
def failing(cursor: int | None, stream: str) -> Iterator[tuple[Record, int]]:
    yield Record(topic=stream, value=1), 7
    value_of({"id": None}, struct({"id": INT64}))


def test_what_a_function_fails_with_is_reported_with_the_stream_and_how_far_it_was() -> None:
    with pytest.raises(DataError) as raised:
        run_source(failing, {})
    assert re.fullmatch(
        r"id is null; while reading stream 'orders' after cursor 7, in failing \(test_functions\.py, line \d+\)",
        sentence(raised.value),
    )


def test_a_function_that_yields_nothing_at_all_is_reported() -> None:
    with pytest.raises(
        TypeError, match="returns_nothing must yield pairs of a record and a cursor; it returned NoneType"
    ):
        run_source(returns_nothing, {})


@transform
def to_dict(record: Record) -> Any:
    return {"a": 1}


def test_a_transform_that_returns_no_record_is_reported() -> None:
    plugin = to_dict()
    plugin.configure(parsed(to_dict, {}))
    batch, operator = (
        RecordBatch.of([Record(topic="t", value=1)]),
        RetryWithToleranceOperator(ErrorPolicy(tolerate=True)),
    )
    with pytest.raises(ConnectError, match=r"^to_dict returned a value of type dict as a record"):
        chain.transform([chain.Step("x", plugin, "X")], batch, operator)


def _takes_more(cursor: int, table: str) -> None: ...
def _takes_all(cursor: int, **rest: Any) -> None: ...
def _takes_none() -> None: ...
def _without_config(cursor: int, config) -> None: ...  # type: ignore[no-untyped-def]
async def _waits(cursor: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_takes_more, r'@source _takes_more: .* parameter "table: str". It may take config, cursor, '),
        (_takes_all, r'parameter "\*\*rest: Any"'),
        (_takes_none, r'@source _takes_none: it has no parameter "cursor"'),
        (_without_config, r"annotate config with its class"),
        (_waits, r"it is async"),
        (lambda cursor: [], r"@source .*<lambda>"),
        (NumbersConfig, r"@source requires a function, not NumbersConfig"),
    ],
)
def test_a_function_that_cannot_be_a_plugin_is_refused_at_its_place(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        source(function)


def test_names_of_streams_must_be_different_texts() -> None:
    config = parsed(tables, {"tables": "a,a"})
    with pytest.raises(ConfigError, match="must differ"):
        tables().task_configs(config, {}, 1)


FOUND: list[Any] = []
"""What the streams of `of_found` are."""


@source(streams=lambda config: FOUND[0])
def of_found(stream: str, cursor: int | None) -> Iterator[tuple[Record, int]]:
    yield Record(topic=stream, value=1), 1


@pytest.mark.parametrize("streams", ["orders", None, 7, {"orders": 1}, ["orders", 7]])
def test_streams_that_are_no_list_of_texts_are_reported_with_the_function_and_what_came(streams: Any) -> None:
    FOUND[:] = [streams]
    connector, config = of_found(), parsed(of_found, {})
    message = f"The streams of of_found must be a list of strings, not {streams!r}."
    for ask in (lambda: connector.validate(config), lambda: connector.task_configs(config, {}, 1)):
        with pytest.raises(ConfigError, match=re.escape(message)):
            ask()
    findings = Findings()
    findings.attempt_plugin("spec.config", "OfFound.validate", lambda: connector.validate(config))
    assert findings.problems == [Problem("spec.config", message)]


def test_a_source_whose_streams_are_none_says_so(caplog: pytest.LogCaptureFixture) -> None:
    FOUND[:] = [[]]
    connector, config = of_found(), parsed(of_found, {})
    assert list(connector.validate(config)) == []
    (task,) = connector.task_configs(config, {}, 2)
    assert run_source(of_found, task) == []
    told = (
        "of_found has nothing to read: its function `streams` returned no stream for this configuration. "
        "It is called again every minute."
    )
    assert [record.getMessage() for record in caplog.records] == [told, told]


@source
def with_a_datetime(cursor: int | None) -> Iterator[Any]:
    yield Record(topic="t", value=1, timestamp=datetime.now(UTC)), 1  # type: ignore[arg-type]


def test_what_is_wrong_in_what_a_function_gave_is_reported_by_its_name() -> None:
    reader = with_a_datetime().source(parsed(with_a_datetime, {}))
    assert isinstance(reader, FunctionReader)
    portions = (records for records, _ in reader.read({}, Limits(10, 1000)))
    with pytest.raises(ConnectError, match=r"^with_a_datetime returned a value of type datetime as the timestamp"):
        list(returned.portions(portions, returned.name(reader, "read"), str))
    assert returned.name(rows().writer(parsed(rows, {"database": "d"})), "write") == "rows"
    assert returned.name(with_a_datetime(), "task_configs") == "with_a_datetime"


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"table": "a"}, {"cursor": 1}),
        ({"stream": 1}, {"cursor": 1}),
        ({"stream": "a"}, {}),
        ({"stream": "a"}, {"cursor": None}),
    ],
)
def test_offsets_that_no_cursor_can_be_are_refused(partition: Any, offset: Any) -> None:
    with pytest.raises(ConnectError, match="must be"):
        numbers().alter_offsets(parsed(numbers, {"topic": "t"}), {SourcePartition(partition): offset})


PRESENT: list[str] = []
"""The streams that `found` finds; `away` in their place."""


def found(config: Config) -> list[str]:
    if PRESENT == ["away"]:
        raise OSError("no route to host")
    return PRESENT


@source(streams=found)
def watched(stream: str, cursor: int | None) -> Iterator[tuple[Record, int]]:
    if cursor is None:
        yield Record(topic="t", value=stream), 1


def test_the_first_task_asks_for_new_tasks_where_there_are_other_streams_than_planned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr("penstock._function_source._LOOK", 0.0)
    PRESENT[:] = ["b", "a", "c"]
    asked: tuple[list[str], list[str]] = ([], [])
    connector = watched()
    halves = []
    for number, properties in enumerate(connector.task_configs(parsed(watched, {}), {}, 2)):
        connector.context = PluginContext(task=number, tasks=2, on_request=asked[number].append)
        half = connector.source(parsed(watched, properties))
        assert isinstance(half, FunctionReader)
        halves.append(half)

    def read() -> list[int]:
        return [sum(len(records) for records, _ in half.read({}, Limits(100, 1000))) for half in halves]

    for streams in (["a", "b", "c"], ["away"]):
        PRESENT[:] = streams
        assert read() == [2, 1]
    assert asked == ([], [])
    PRESENT[:] = ["a", "d", "b", "c"]
    assert read() == [2, 1]
    read()
    PRESENT[:] = ["a"]
    read()
    changed = "Streams have changed since the tasks were planned."
    told = [message for message in caplog.messages if message.startswith(changed)]
    assert told == [f"{changed} New: d. Gone: none", f"{changed} New: none. Gone: b, c"]
    planned = 'and not ["a", "b", "c"]'
    new = f'["a", "b", "c", "d"], {planned}'
    assert asked == ([new, new, f'["a"], {planned}'], [])
