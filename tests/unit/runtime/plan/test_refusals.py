"""The plan: what a connector's configuration is refused for and warned of."""

import pytest

from penstock import ConfigError, RetriableError

from .planning import HOIST, SINK, SOURCE, planned, problems


@pytest.mark.parametrize(
    ("config", "where", "message"),
    [
        # The connector's own properties
        ({}, "table", 'Missing required configuration "table" which has no default value.'),
        ({"port": "x"}, "port", "Invalid value x for configuration port: Not a number of type INT"),
        ({"table": "gone"}, "table", "there is no table gone"),
        (
            {"table": "crash"},
            "spec.config",
            "Tables.validate failed: OSError: no route to host, in Tables.validate (planning.py, line ",
        ),
        ({"table": "exit"}, "spec.config", "Tables.validate failed: SystemExit: 0, in Tables.validate (planning.py, "),
        (
            {"table": "texts"},
            "spec.config",
            "Tables.validate returned a value of type str in its list; expected a list of",
        ),
        (
            {"table": "numbers"},
            "spec.config",
            "Tables.task_configs returned a value of type int for the property 'shard'",
        ),
        # Converters
        ({"key.converter": "Nope"}, "key.converter", "Invalid value Nope for configuration key.converter: Class Nope "),
        ({"value.converter": "Hoist"}, "value.converter", "Class Hoist does not implement the Converter interface"),
        (
            {"value.converter": "Json", "value.converter.schemas.enable": "maybe"},
            "value.converter.schemas.enable",
            "Invalid value maybe for configuration value.converter.schemas.enable: Expected value to be either true",
        ),
        (
            {"key.converter": "Json", "key.converter.encoding": "nope"},
            "key.converter.encoding",
            "Unsupported encoding nope of a key",
        ),
        ({"value.converter.plugin.version": "[9"}, "value.converter.plugin.version", "Unbounded range: [9"),
        # Transforms
        ({"transforms": "h"}, "transforms.h.type", 'Missing required configuration "transforms.h.type"'),
        (
            {"transforms": "h,h", **{k: v for k, v in HOIST.items() if k != "transforms"}},
            "transforms",
            "Invalid value h,h for configuration transforms: Duplicate alias provided.",
        ),
        ({**HOIST, "transforms.h.type": "Hoist"}, "transforms.h.type", "Hoist is not the name of a variant."),
        ({**HOIST, "transforms.h.type": "Crash"}, "transforms.h.type", "Crash.configure failed: ZeroDivisionError"),
        ({**HOIST, "transforms.h.predicate": "p"}, "transforms.h.predicate", "there is no predicate p; add it to the"),
        (
            {**HOIST, "transforms.h.negate": "false"},
            "transforms.h.type",
            "Config 'transforms.h.negate' was provided but there is no config 'transforms.h.predicate' defining a "
            "predicate to be negated.",
        ),
        (
            {
                **HOIST,
                "predicates": "p",
                "predicates.p.type": "Tombstone",
                "transforms.h.predicate": "p",
                "transforms.h.negate": "maybe",
            },
            "transforms.h.negate",
            "Invalid value maybe for configuration",
        ),
        (
            {**HOIST, "predicates": "p", "predicates.p.type": "Tombstone", "transforms.h.predicate": " p "},
            "transforms.h.predicate",
            "there is no predicate p (including its whitespace) in the list predicates, which now has p; did you mean p?",
        ),
        (
            {**HOIST, "predicates": "p", "predicates.p.type": "Tombstone", "transforms.h.predicate": "P"},
            "transforms.h.predicate",
            "there is no predicate P in the list predicates, which now has p; did you mean p?",
        ),
        (
            {"predicates": "p", "predicates.p.type": "Hoist$Value"},
            "predicates.p.type",
            "Class Hoist$Value does not implement the Predicate interface; it is a Transform.",
        ),
        # Errors and delivery
        (
            {"errors.tolerance": "ALL"},
            "errors.tolerance",
            "Invalid value ALL for configuration errors.tolerance: String must be one of: none, all",
        ),
        (
            {"transaction.boundary": "connector"},
            "transaction.boundary",
            "The connector does not support connector-defined transaction boundaries with the given configuration.",
        ),
        (
            {"exactly.once.support": "Required", "delivery.guarantee": "at-least-once"},
            "exactly.once.support",
            "required contradicts delivery.guarantee=at-least-once",
        ),
        (
            {"topic.creation.default.partitions": "1"},
            "topic.creation.default.replication.factor",
            'Missing required configuration "topic.creation.default.replication.factor" which has no default value.',
        ),
        # Clients
        ({"producer.override.linger.ms": "x"}, "producer.override.linger.ms", "Invalid value x for configuration"),
        ({"producer.override.key.serializer": "x"}, "producer.override.key.serializer", "has no meaning in Penstock"),
        # Variables
        ({"port": "${env:NOPE}"}, "port", "${env:NOPE} cannot be resolved: the environment variable NOPE is not set"),
    ],
)
def test_a_source_is_refused(config: dict[str, str], where: str, message: str) -> None:
    complete = config if where == "table" and not config else {**SOURCE, **config}
    ((name, told),) = problems(complete)
    assert name == where
    assert told.startswith(message)


@pytest.mark.parametrize(
    ("config", "worker", "where", "message"),
    [
        ({"topics": ""}, {}, ("topics", "topics.regex"), "Must configure one of topics or topics.regex"),
        (
            {**SINK, "topics.regex": "t"},
            {},
            ("topics", "topics.regex"),
            "topics and topics.regex are mutually exclusive options, but both are set.",
        ),
        ({"topics": "a,a"}, {}, ("topics",), "Configuration 'topics' values must not be duplicated."),
        ({"topics": "a,,b"}, {}, ("topics",), "Configuration 'topics' values must not be empty"),
        ({"topics.regex": "("}, {}, ("topics.regex",), "Invalid value ( for configuration topics.regex: Invalid regex"),
        (
            {"topics": "t, u", "errors.deadletterqueue.topic.name": " u "},
            {},
            ("topics",),
            "The DLQ topic 'u' may not be included in the list of topics ('topics=[t, u]') consumed by the connector",
        ),
        (
            {"topics.regex": "d.*", "errors.deadletterqueue.topic.name": "dlq"},
            {},
            ("topics.regex",),
            "The DLQ topic 'dlq' may not be matched by the regex for the topics ('topics.regex=d.*') consumed by the",
        ),
        (
            {**SINK, "errors.deadletterqueue.topic.replication.factor": "70000"},
            {},
            ("errors.deadletterqueue.topic.replication.factor",),
            "Invalid value 70000 for configuration",
        ),
        (
            {**SINK, "consumer.override.session.timeout.ms": "1"},
            {},
            ("consumer.override.session.timeout.ms",),
            "has no meaning in Penstock: sinks do not join their consumer group",
        ),
        (
            {**SINK, "consumer.override.group.id": "g"},
            {"group.id": "g"},
            ("consumer.override.group.id",),
            "Consumer group g conflicts with Connect worker group g",
        ),
        (
            SINK,
            {"group.id": "connect-c"},
            ("name",),
            "Consumer group for sink connector named c conflicts with Connect worker group connect-c",
        ),
        (SINK, {"consumer.group.id": "g", "group.id": "g"}, ("name",), "Consumer group for sink connector named c"),
    ],
)
def test_a_sink_is_refused(
    config: dict[str, str], worker: dict[str, str], where: tuple[str, ...], message: str
) -> None:
    found = problems(config, worker)
    assert tuple(name for name, _ in found) == where
    assert all(told.startswith(message) for _, told in found)


@pytest.mark.parametrize(
    "config",
    [
        {"topics.regex": "d", "errors.deadletterqueue.topic.name": "dlq"},
        {"topics": " a , b "},
        {"topics": "", "topics.regex": "a"},
        {**SINK, "errors.deadletterqueue.topic.replication.factor": "-1"},
        {**SINK, "consumer.override.group.id": "mine", "consumer.override.max.poll.records": "10"},
        {**SOURCE, "errors.retry.timeout": "-1", "errors.log.enable": "TRUE"},
        {**SOURCE, "transaction.boundary": "Interval", "transaction.boundary.interval.ms": "10"},
        {
            **SOURCE,
            **HOIST,
            "predicates": "p",
            "predicates.p.type": "Tombstone",
            "transforms.h.predicate": "p",
            "transforms.h.negate": "True",
        },
        {**SOURCE, **HOIST, "transforms.h.predicate": ""},
        {**SOURCE, **HOIST, "transforms": " h "},
        {**SOURCE, "transforms": ""},
        {**SOURCE, "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dlq"},
        {**SOURCE, "producer.override.compression.type": "zstd"},
        {**SOURCE, "producer.override.acks": "1", "delivery.guarantee": "at-least-once"},
    ],
)
def test_a_good_configuration_has_no_warning(config: dict[str, str]) -> None:
    assert planned(config).warnings == ()


def test_everything_that_is_wrong_is_reported_together() -> None:
    found = problems(
        {
            "errors.tolerance": "x",
            "transforms": "a",
            "value.converter": "no.C",
            "topics": "",
            "topics.regex": "",
            "consumer.override.lingr": "1",
            "key.converter.schemas.enable": "${secret:a:b}",
        },
        {"connector.client.config.override.policy": "None"},
    )
    assert sorted({name for name, _ in found}) == [
        "consumer.override.lingr",
        "errors.tolerance",
        "key.converter.schemas.enable",
        "topics",
        "topics.regex",
        "transforms.a.type",
        "value.converter",
    ]


def test_a_spark_setting_that_would_break_exactly_once_is_refused_with_its_reason_and_all_else_that_is_wrong() -> None:
    conf = {"spark.master": "spark://x:7077", "spark.task.maxFailures": 9, "spark.speculation": True, "spark.jars": "a"}
    found = dict(problems({**SOURCE, "errors.tolerance": "x"}, spark={"conf": conf}))
    assert [*found] == [*(f"spec.spark.conf.{name}" for name in conf if name != "spark.jars"), "errors.tolerance"]
    assert "deliver its records twice" in found["spec.spark.conf.spark.task.maxFailures"]


def test_a_version_that_nothing_matches_hides_no_problem_but_those_of_the_connectors_own_properties() -> None:
    config = {
        "errors.tolerance": "x",
        "transforms": "a,b",
        "transforms.b.type": "Crash",
        "value.converter": "no.C",
        "exactly.once.support": "x",
        "consumer.override.x": "1",
        "table": "",
        "port": "x",
    }
    found = problems(config, version="[2,3)")
    assert [name for name, _ in found] == [
        "spec.class",
        "spec.version",
        "value.converter",
        "transforms.a.type",
        "transforms.b.type",
        "errors.tolerance",
        "exactly.once.support",
    ]


def test_problems_of_topics_and_overrides_are_reported_with_a_version_of_a_sink_that_nothing_matches() -> None:
    config = {"topics": "", "consumer.override.enable.auto.commit": "true"}
    found = problems(config, {"connector.client.config.override.policy": "None"}, version="[2,3)")
    assert {name for name, _ in found} == {
        "spec.class",
        "spec.version",
        "topics",
        "topics.regex",
        "consumer.override.enable.auto.commit",
    }


@pytest.mark.parametrize("place", ["key.converter", "header.converter", "transforms.h", "predicates.p"])
def test_a_plugin_in_a_version_that_nothing_matches_hides_no_problem_of_the_others(place: str) -> None:
    config = {
        **SOURCE,
        **HOIST,
        "transforms": "h,a",
        "predicates": "p,q",
        "predicates.p.type": "Tombstone",
        "key.converter": "JsonConverter",
        "header.converter": "SimpleHeaderConverter",
        "transforms.h.predicate": "p",
    }
    found = {name for name, _ in problems({**config, f"{place}.plugin.version": "[9,)"})}
    assert f"{place}.plugin.version" in found
    assert found >= {"transforms.a.type", "predicates.q.type"}


def test_nothing_is_said_of_the_properties_of_another_version_of_a_transform() -> None:
    found = problems(
        {
            **SOURCE,
            **HOIST,
            "transforms.h.field": "",
            "transforms.h.plugin.version": "[2,3)",
            "transforms.h.negate": "x",
        }
    )
    assert {name for name, _ in found} == {"transforms.h.type", "transforms.h.plugin.version"}


def test_an_empty_alias_is_one_as_any_other() -> None:
    config = {**SOURCE, **HOIST, "transforms": "h,", "transforms..type": HOIST["transforms.h.type"]}
    assert [name for name, _ in problems(config)] == ["transforms..field"]


def test_the_connector_validates_in_addition_to_the_other_problems() -> None:
    found = problems({"table": "gone", "errors.tolerance": "x", "transforms": "a"})
    assert [name for name, _ in found] == ["transforms.a.type", "errors.tolerance", "table"]


def test_a_value_that_cannot_be_resolved_is_not_given_to_the_connector() -> None:
    found = problems({"table": "gone", "password": "${secret:db:password}"})
    assert [name for name, _ in found] == ["password"]


def test_an_unreadable_version_of_a_step_is_reported_with_its_class_too() -> None:
    found = problems({**SOURCE, **HOIST, "transforms.h.plugin.version": "[2,"})
    message = "Unbounded range: [2,; available versions: [1.4] (default and recommended: 1.4)"
    assert found == [("transforms.h.plugin.version", message), ("transforms.h.type", message)]


@pytest.mark.parametrize(
    ("aliases", "names"),
    [
        ("h,", {"transforms..type"}),
        (",h,", {"transforms", "transforms..type"}),
        (",", {"transforms", "transforms..type"}),
    ],
)
def test_a_comma_too_many_is_an_alias_without_a_class(aliases: str, names: set[str]) -> None:
    found = problems({**SOURCE, **HOIST, "transforms": aliases})
    assert {name for name, _ in found} == names


def test_an_unknown_class_does_not_hide_the_other_problems() -> None:
    found = problems({"errors.tolerance": "x", "transforms": "a"}, cls="Tabels")
    assert [name for name, _ in found] == ["spec.class", "transforms.a.type", "errors.tolerance"]
    assert "Did you mean Tables? Installed: Drain, Open, Pages, Tables, Unrepeatable, Whole." in found[0][1]


@pytest.mark.parametrize(
    ("config", "warned", "message"),
    [
        ({"tabel": "x"}, "tabel", "is not known to Tables; did you mean table?"),
        ({"nonsense": "x"}, "nonsense", "is not known to Tables"),
        ({"transforms.x.field": "f"}, "transforms.x.field", "has no effect: x is not in the list transforms"),
        (
            {**HOIST, "transforms.h.feld": "f"},
            "transforms.h.feld",
            "is not known to Hoist; did you mean transforms.h.field?",
        ),
        (
            {"value.converter.schemas.enable": "maybe"},
            "value.converter.schemas.enable",
            "has no effect without value.converter",
        ),
        (
            {"value.converter": "Json", "value.converter.schema.enable": "x"},
            "value.converter.schema.enable",
            "is not known to JsonConverter; did you mean value.converter.schemas.enable?",
        ),
        ({"tasks.max.enforce": "false"}, "tasks.max.enforce", "has no effect"),
        (
            {"producer.override.acks": "1"},
            "producer.override.acks",
            "has no effect: exactly-once delivery requires acks=all; set delivery.guarantee=at-least-once",
        ),
        (
            {"producer.override.lingr.ms": "1"},
            "producer.override.lingr.ms",
            "has no effect: it is not a known producer",
        ),
        (
            {
                "topic.creation.default.partitions": "1",
                "topic.creation.default.replication.factor": "1",
                "topic.creation.ghost.partitions": "0",
            },
            "topic.creation.ghost.partitions",
            "has no effect: ghost is not in the list topic.creation.groups",
        ),
        ({"admin.override.retry.backoff.ms": "x"}, "admin.override.retry.backoff.ms", "has no effect: this source"),
        ({"producer.overrides.acks": "1"}, "producer.overrides.acks", "is not known to Tables"),
        ({"topics": "x"}, "topics", ""),
        (
            {"predicates": "p", "predicates.p.type": "Tombstone"},
            "predicates.p.type",
            "has no effect: no transform uses p; set transforms.<alias>.predicate: p",
        ),
        (
            {
                **HOIST,
                "predicates": "p",
                "predicates.p.type": "Tombstone",
                "transforms.h.predicate": "p",
                "transforms.h.negate": " true ",
            },
            "transforms.h.negate",
            "has surrounding whitespace, which makes it false in Kafka",
        ),
        (
            {"password": "${env.PASSWORD}"},
            "password",
            "contains text that looks like a variable but is not one; write ${env:<name>}",
        ),
        ({"password": "${secret:db:password"}, "password", "contains text that looks like a variable but is not one"),
        ({"table": "none"}, "", "Tables has nothing to do: it requests no task"),
        (
            {"transaction.boundary": "interval", "delivery.guarantee": "at-least-once"},
            "transaction.boundary",
            "has no effect with at-least-once delivery",
        ),
    ],
)
def test_what_nobody_reads_is_a_warning(config: dict[str, str], warned: str, message: str) -> None:
    (warning,) = planned({**SOURCE, **config}, cls="Tables").warnings
    assert warning.property == warned
    assert warning.message.startswith(message)


def test_a_missing_property_is_reported_with_its_mistyped_name() -> None:
    ((name, message),) = problems({"tabel": "x"})
    assert name == "table"
    assert message.endswith(" Was tabel meant?")


def test_open_prefixes_are_the_plugins() -> None:
    assert planned({**SOURCE, "table.option.x": "1"}).warnings == ()


@pytest.mark.parametrize("config", [SOURCE, SINK])
@pytest.mark.parametrize(
    ("own", "shared", "names"),
    [
        ({"errors.tolerance": "all"}, {}, ["errors.tolerance"]),
        ({}, {"errors.tolerance": "all"}, ["worker configuration, errors.tolerance"]),
        (
            {"errors.tolerance": "all", "errors.log.enable": "false"},
            {"errors.log.enable": "true"},
            ["errors.tolerance"],
        ),
        ({"errors.tolerance": "all", "errors.log.enable": "true"}, {}, []),
        ({"errors.tolerance": "all"}, {"errors.log.enable": "true"}, []),
        ({"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}, {}, []),
        ({"errors.log.enable": "false"}, {}, []),
        ({"errors.tolerance": "none"}, {"errors.tolerance": "all"}, []),
    ],
)
def test_tolerance_that_leaves_no_trace_of_a_record_is_a_warning(
    config: dict[str, str], own: dict[str, str], shared: dict[str, str], names: list[str]
) -> None:
    found = planned({**config, **own}, shared).warnings
    assert [w.property for w in found] == names
    for warning in found:
        assert "without a trace" in warning.message
        assert "errors.deadletterqueue.topic.name" in warning.message
        assert "errors.log.enable=true" in warning.message


@pytest.mark.parametrize(
    "config", [{**SOURCE, "producer.override.acks": "1"}, {**SINK, "consumer.override.nonsense": "1"}]
)
def test_an_override_that_the_policy_refuses_gets_no_other_advice(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(config, {"connector.client.config.override.policy": "None"})
    (problem,) = caught.value.problems
    assert problem.message.startswith("The 'None' policy does not allow")
    assert caught.value.warnings == ()


@pytest.mark.parametrize(
    ("policy", "end"),
    [("None", "and the worker's policy None would not allow it"), ("All", "deadletterqueue.topic.name")],
)
def test_an_unused_override_is_not_recommended_where_the_policy_would_refuse_it(policy: str, end: str) -> None:
    (warning,) = planned(
        {**SINK, "producer.override.acks": "1"}, {"connector.client.config.override.policy": policy}
    ).warnings
    assert warning.message.startswith("has no effect: this sink has no such client")
    assert warning.message.endswith(end)


@pytest.mark.parametrize(("table", "raised"), [("exit", "SystemExit: 0"), ("a", "KeyError: 'a'")])
def test_a_plugin_that_is_one_function_is_reported_by_its_name_and_by_the_function_that_failed(
    table: str, raised: str
) -> None:
    ((where, message),) = problems({"table": table}, cls="Pages")
    assert where == "spec.config"
    assert message.startswith(f"pages failed: {raised}, in pages_found (planning.py, line ")


def test_what_is_unavailable_is_no_fault_of_the_configuration_and_is_reported_without_secrets() -> None:
    with pytest.raises(RetriableError, match=r"^db\.example does not answer \[hidden\]$"):
        planned({"table": "away", "password": "geheim"})


def test_other_problems_are_reported_as_well() -> None:
    assert [name for name, _ in problems({"table": "away", "port": "x"})] == ["port"]
    assert [name for name, _ in problems({"table": "away", "key.converter": "Nowhere"})] == ["key.converter"]


def test_a_rate_limit_is_refused_where_the_connector_defines_its_transactions() -> None:
    found = problems({**SOURCE, "table": "a", "transaction.boundary": "connector"}, limits={"recordsPerSecond": 5})
    assert any(name == "transaction.boundary" and "with spec.limits" in message for name, message in found)
