"""Rules of topics: what the conformance cases leave open, and what users are told."""

import pytest

from penstock import ConfigError
from penstock_model.connect.topic_creation_rules import TopicRules, ineffective_properties

DEFAULT = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "-1"}


def rules(**more: str) -> TopicRules:
    found = TopicRules.of({**DEFAULT, **named(more)}, enabled=True)
    assert found is not None
    return found


def named(more: dict[str, str]) -> dict[str, str]:
    return {f"topic.creation.{name.replace('__', '.')}": text for name, text in more.items()}


def problems(properties: dict[str, str]) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        TopicRules.of(properties, enabled=True)
    return {p.property: p.message for p in caught.value.problems}


def test_a_source_without_rules_has_none() -> None:
    assert TopicRules.of({"topic": "t", "topic.creations": "x"}, enabled=True) is None


def test_a_worker_that_has_them_off_looks_only_at_the_list_of_groups() -> None:
    assert TopicRules.of({"topic.creation.default.partitions": "x"}, enabled=False) is None
    with pytest.raises(ConfigError, match="Duplicate alias"):
        TopicRules.of({"topic.creation.groups": "a,a"}, enabled=False)


def test_everything_that_is_wrong_is_reported_together() -> None:
    found = problems(
        named(
            {
                "groups": "a,b,a",
                "default__partitions": "0",
                "a__partitions": "3.0",
                "a__include": "x(",
                "a__exclude": "[",
                "b__replication__factor": "40000",
            }
        )
    )
    assert (
        found.keys()
        == named(
            {
                "groups": "",
                "default__partitions": "",
                "default__replication__factor": "",
                "a__partitions": "",
                "a__include": "",
                "a__exclude": "",
                "b__replication__factor": "",
            }
        ).keys()
    )
    assert found["topic.creation.b.replication.factor"].endswith("Not a number of type SHORT")
    assert found["topic.creation.a.include"].startswith("Invalid value x( for configuration topic.creation.a.include: ")


def test_patterns_that_are_good_separately_may_be_wrong_together() -> None:
    found = problems({**DEFAULT, **named({"groups": "a", "a__include": "(?<n>x),(?<n>y)"})})
    assert found.keys() == {"topic.creation.a.include"}


def test_a_group_of_no_listed_name_is_not_even_looked_at() -> None:
    assert rules(ghost__partitions="0").groups == ()


def test_settings_stay_as_they_were_written() -> None:
    found = rules(groups="a", a__include="t", a__retention__ms=" 1 ").group_of("t")
    assert (found.name, found.partitions, found.settings) == ("a", 1, {"retention.ms": " 1 "})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"groups": "orders", "order__partitions": "1"},
            "has no effect: order is not in the list topic.creation.groups; did you mean orders?",
        ),
        (
            {"enable": "true"},
            "has no effect in a connector: it is a worker property (`worker` in the chart's values); remove it here",
        ),
        ({"default__include": "x("}, "has no effect: the default group applies to topics that match no group"),
        ({"groups": "default"}, "default need not be listed: it applies to topics that match no group"),
        (
            {"groups": "a", "a__partition": "4"},
            "is passed to Kafka as the topic setting partition; did you mean topic.creation.a.partitions?",
        ),
    ],
)
def test_what_does_nothing_is_reported(more: dict[str, str], message: str) -> None:
    (warning,) = ineffective_properties({**DEFAULT, **named(more)})
    assert warning.property == next(reversed(named(more)))
    assert warning.message == message


def test_a_group_whose_name_begins_with_another_groups_has_its_own_settings() -> None:
    assert [*ineffective_properties(named({"groups": "a,a.b", "a__include": "x", "a__b__include": "y"}))] == []
