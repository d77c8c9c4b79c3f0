"""A source whose task spec holds a topic policy creates its topics by the policy's rules and within its limits (KIP-158)."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from penstock_model.contracts.topic_policy import PolicyGroup, PolicyLimits, PolicyRules, TopicPolicy

from ..journal import Journal
from ..lab import Lab, failed
from ..reading import read_all
from ..running import Processes, Running, manifest, new_name
from ..secured import AclOperation, ResourceType, SecuredKafka, secured_kafka
from .test_topics import created, topics

TOLERANT = {"errors.tolerance": "all"}


def policy(p: str, **limits: object) -> TopicPolicy:
    """Three partitions, and one that is compacted for the tables of `p`."""
    tables = PolicyGroup(
        name="tables",
        partitions=1,
        replication_factor=-1,
        config={"cleanup.policy": "compact"},
        include=(f"{p}\\.(a|b)", f"{p}\\.table\\..*"),
        exclude=(".*\\.tmp",),
    )
    default = PolicyGroup(name="default", partitions=3, replication_factor=1, config={"retention.ms": "1111"})
    own = (PolicyLimits.model_validate({"policy": "shop-topics", **limits}),) if limits else ()
    return TopicPolicy(rules=PolicyRules(policy="shop-topics", groups=(tables,), default=default), limits=own)


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_topics_are_created_by_the_rules_of_the_policy_and_what_exists_stays_as_it_is(lab: Lab, guarantee: str) -> None:
    p, there = new_name("p"), lab.topic(retention_ms="4444")
    names = [f"{p}.a", f"{p}.table.x", f"{p}.table.x.tmp", f"{p}.other", there]
    batch = [{"value": "v", "key": "k", "topic": name} for name in names]
    within = policy(p, topics=[f"{p}\\..*"], max_partitions=3, config=["cleanup.policy", "retention.ms"])
    _, task = lab.source([batch], p, policy=within, **{"delivery.guarantee": guarantee})
    lab.journal.count("commit", 1)
    task.stop()
    compacted, other = (1, {"cleanup.policy": "compact"}), (3, {"retention.ms": "1111"})
    assert [created(lab, name) for name in names] == [compacted, compacted, other, other, (1, {"retention.ms": "4444"})]
    for name in names:
        assert [r.value for r in read_all(lab.servers, name)] == [b"v"]


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_a_forbidden_topic_fails_the_task_as_a_wrong_configuration_with_any_tolerance(lab: Lab, guarantee: str) -> None:
    p = new_name("p")
    batch = [{"value": "v", "topic": f"{p}.{word}"} for word in ("good", "bad")]
    within = policy(p, topics=[f"{p}\\.good"])
    name, task = lab.source([batch], p, policy=within, **TOLERANT, **{"delivery.guarantee": guarantee})
    told = failed(task)
    assert task.await_exit() == 2
    assert told.startswith(f"cannot create topic '{p}.bad': limits.topics of the TopicCreationPolicy shop-topics")
    assert f"{p}.good" not in told.partition(" allows ")[0]
    assert not topics(lab) & {f"{p}.good", f"{p}.bad"}
    assert lab.offsets(name) == []
    assert "Retrying" not in task.log_text()


OFF = {"topic.creation.enable": "false"}


def test_where_the_worker_creates_no_topics_no_rule_of_a_policy_does(lab: Lab) -> None:
    p, there = new_name("p"), lab.topic(retention_ms="4444")
    batch = [{"value": "v", "topic": name} for name in (there, f"{p}.other")]
    _, task = lab.source([batch], p, policy=policy(p), worker=OFF)
    lab.journal.count("commit", 1)
    task.stop()
    partitions, _ = created(lab, f"{p}.other")  # by the brokers, as if there were no rules
    assert partitions == 1


def test_where_the_worker_creates_no_topics_limits_of_a_policy_hold_against_the_brokers_creation_too(lab: Lab) -> None:
    p = new_name("p")
    _, task = lab.source([[{"value": "v", "topic": f"{p}.other"}]], p, policy=policy(p, max_partitions=3), worker=OFF)
    told = failed(task)
    assert told.startswith(f"cannot create topic '{p}.other': ")
    assert (
        "topic.creation.enable is false in the worker configuration; ask an administrator to create the topic" in told
    )
    assert not topics(lab) & {f"{p}.other"}


def test_every_limit_that_forbids_a_topic_is_reported_with_the_rule_that_breaks_it(lab: Lab) -> None:
    p = new_name("p")
    within = policy(p, max_partitions=2, min_replication_factor=2, config=["retention.ms"])
    _, task = lab.source([[{"value": "v", "topic": f"{p}.a"}, {"value": "v", "topic": f"{p}.c"}]], p, policy=within)
    first, second = failed(task).splitlines()
    assert "limits.minReplicationFactor of the TopicCreationPolicy shop-topics is 2, but group tables of" in first
    assert "the broker's default (-1), which is unknown in advance" in first
    assert "limits.config of the TopicCreationPolicy shop-topics does not have cleanup.policy" in first
    assert "limits.maxPartitions of the TopicCreationPolicy shop-topics is 2, but default of" in second


def test_a_number_that_no_client_sends_fails_the_task_as_a_wrong_configuration_that_names_the_rule(lab: Lab) -> None:
    p = new_name("p")
    rules = PolicyRules(policy="vast", default=PolicyGroup(name="default", partitions=200_000, replication_factor=1))
    _, task = lab.source([[{"value": "v", "topic": p}]], p, policy=TopicPolicy(rules=rules))
    told = failed(task)
    assert task.await_exit() == 2
    assert told.startswith(f"cannot create topic '{p}', requested by default of the TopicCreationPolicy vast: ")


@pytest.mark.slow
def test_a_topic_that_a_worker_of_spark_may_not_create_fails_the_task_as_a_wrong_configuration(lab: Lab) -> None:
    topic, astray = lab.topic("numbers", 4), new_name("astray")
    config = {"value.converter": "StringConverter", **TOLERANT}
    name, task = lab.start(
        manifest(new_name(), "numbers_source:Numbers", config, topic=topic, partitions=4, astray=astray, spark="Eager"),
        policy=policy("p", topics=["numbers-.*"]),
    )
    told = failed(task)
    assert task.await_exit() == 2
    assert told.startswith(f"cannot create topic '{astray}': limits.topics of the TopicCreationPolicy shop-topics")
    assert astray not in topics(lab)
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "FAILED"]


@pytest.mark.slow
def test_a_thousand_new_topics_of_one_batch_arrive_in_one_transaction(lab: Lab) -> None:
    p = new_name("many")
    names = [f"{p}.{n}" for n in range(1_000)]
    rules = PolicyRules(policy="q", default=PolicyGroup(name="default", partitions=1, replication_factor=1))
    _, task = lab.source([[{"value": "v", "topic": n} for n in names]], p, policy=TopicPolicy(rules=rules))
    lab.journal.count("commit", 1)
    task.stop()
    assert topics(lab) >= {*names}
    ends = AdminClient({"bootstrap.servers": lab.servers}).list_topics(timeout=30).topics
    assert {len(ends[n].partitions) for n in names} == {1}
    assert "planning it again" not in task.log_text()


def within(*limits: dict[str, object]) -> TopicPolicy:
    """The limits of several policies, and rules of none."""
    return TopicPolicy(limits=tuple(PolicyLimits.model_validate(each) for each in limits))


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_under_only_limits_a_topic_without_a_rule_is_not_left_to_a_broker_that_creates_topics_automatically(
    lab: Lab, guarantee: str
) -> None:
    p, there = new_name("p"), lab.topic()
    script = [[{"value": "v", "topic": there}], [{"value": "v", "topic": f"{p}.new"}]]
    limits = within({"policy": "rails", "max_partitions": 3})
    name, task = lab.source(script, p, policy=limits, **TOLERANT, **{"delivery.guarantee": guarantee})
    told = failed(task)
    assert task.await_exit() == 2
    assert told.startswith(
        f"cannot create topic '{p}.new': the TopicCreationPolicy rails limits how topics are created, but no rule "
        f"applies to this one; set topic.creation.default.partitions and topic.creation.default.replication.factor in"
    )
    assert f"{p}.new" not in topics(lab)
    assert lab.values(there) == ["v"]  # what exists is written to
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "FAILED"]


def test_the_connectors_own_rules_create_topics_within_the_limits_of_every_policy_that_applies(lab: Lab) -> None:
    p = new_name("p")
    own = {
        "topic.creation.groups": "wide",
        "topic.creation.default.partitions": "2",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.wide.include": f"{p}\\.wide",
        "topic.creation.wide.partitions": "5",
    }
    limits = within({"policy": "rails", "max_partitions": 3}, {"policy": "names", "topics": (f"{p}\\.(good|wide)",)})
    _, task = lab.source([[{"value": "v", "topic": f"{p}.good"}]], p, policy=limits, **own)
    lab.journal.count("commit", 1)
    task.stop()
    assert created(lab, f"{p}.good") == (2, {})
    for topic, words in (
        (f"{p}.wide", "limits.maxPartitions of the TopicCreationPolicy rails is 3, but topic.creation.wide requests 5"),
        (f"{p}.bad", "limits.topics of the TopicCreationPolicy names allows "),
    ):
        _, task = lab.source([[{"value": "v", "topic": topic}]], p, policy=limits, **own)
        assert failed(task).startswith(f"cannot create topic '{topic}': {words}")
        assert topic not in topics(lab)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A broker that creates no topics by itself, on which alice may do what a connector needs but for its topics."""
    users = {"alice": "wonderland", "bob": "builder"}
    with secured_kafka(tmp_path_factory.mktemp("guarded"), users, auto_create_topics_enable="false") as broker:
        broker.allow("alice", ResourceType.TOPIC, "connect-", AclOperation.ALL, prefixed=True)
        broker.allow("alice", ResourceType.TRANSACTIONAL_ID, "penstock-", AclOperation.ALL, prefixed=True)
        yield broker


@pytest.mark.slow
def test_another_principal_of_the_connectors_own_creates_its_topics_within_the_same_limits(
    guarded: SecuredKafka, processes: Processes, journal: Journal
) -> None:
    """Alice, who runs the tasks, may create none; bob, whom the connector names for its admin client, may."""
    lab, p = Lab(guarded.plain, processes, journal), new_name("pr")
    guarded.allow("alice", ResourceType.TOPIC, p, AclOperation.DESCRIBE, AclOperation.WRITE, prefixed=True)
    guarded.allow("bob", ResourceType.TOPIC, p, AclOperation.DESCRIBE, AclOperation.CREATE, prefixed=True)
    override = {"admin.override.sasl.jaas.config": guarded.worker("bob")["sasl.jaas.config"]}
    limits = (PolicyLimits(policy="rails", topics=(f"{p}\\.good",)),)
    rules = PolicyRules(
        policy="rules", default=PolicyGroup(name="default", partitions=2, replication_factor=1, config={})
    )
    policy = TopicPolicy(rules=rules, limits=limits)

    def start(topic: str, **more: str) -> Running:
        resource = lab.source_manifest([["v"]], topic, **more)
        resource["spec"]["topicCreationPolicyRef"] = {"name": "rules"}
        return lab.start(resource, guarded.worker("alice"), policy=policy)[1]

    assert failed(start(f"{p}.good")).startswith(f"Task failed to create new topic (name={p}.good, numPartitions=2")
    task = start(f"{p}.good", **override)
    lab.journal.count("commit", 1)
    task.stop()
    assert created(lab, f"{p}.good") == (2, {})
    told = failed(start(f"{p}.bad", **override))
    assert told.startswith(f"cannot create topic '{p}.bad': limits.topics of the TopicCreationPolicy rails allows ")
    assert f"{p}.bad" not in topics(lab)
