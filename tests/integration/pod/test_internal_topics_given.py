"""`internal.topics.automatic.creation.enable=false` (KIP-1209): a missing internal topic is an error."""

import json
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, Outcome

from ..pods import Pods, pods, shown
from ..running import manifest, new_name

__all__ = ["pods"]

OFF = {"internal.topics.automatic.creation.enable": "false"}


def missing(topic: str, named_by: str) -> str:
    return (
        f"Topic '{topic}' specified via the '{named_by}' property is missing. The config "
        "'internal.topics.automatic.creation.enable' is set to 'false', so automatic creation of internal topics is "
        "disabled. Create the topic with cleanup.policy=compact, or enable automatic creation in the worker configuration."
    )


def source(pods: Pods, **config: str) -> dict[str, Any]:
    given = {
        "value.converter": "StringConverter",
        "journal": pods.lab.journal.path,
        "script": json.dumps([["a"]]),
        "topic": "t",
        **config,
    }
    return {"class": "scripted_sources:ScriptedSource", "config": given}


def fresh() -> dict[str, str]:
    return {"status.storage.topic": new_name("status"), "offset.storage.topic": new_name("offsets")}


def create(servers: str, *names: str, policy: str = "compact") -> None:
    new: list[Any] = [NewTopic(name, 1, 1, config={"cleanup.policy": policy}) for name in names]
    client = AdminClient({"bootstrap.servers": servers})
    for done in client.create_topics(new).values():
        done.result(30)


def existing(servers: str) -> set[str]:
    return {*AdminClient({"bootstrap.servers": servers}).list_topics(timeout=30).topics}


def test_no_internal_topic_is_created_and_the_connector_is_prepared_once_all_exist(pods: Pods) -> None:
    worker, own = fresh(), new_name("own")
    resource = shown(new_name(), "shop", **source(pods, **{"offsets.storage.topic": own}))
    absent = {**worker, "offsets.storage.topic": own}
    for named_by, topic in [*absent.items()]:
        answer = pods.answer(Action.PLAN, resource, prepare=True, worker={**worker, **OFF})
        assert (answer.outcome, answer.message) == (Outcome.UNAVAILABLE, missing(topic, named_by))
        assert not existing(pods.lab.servers) & {*absent.values()}
        create(pods.lab.servers, topic)
        del absent[named_by]
    assert pods.answer(Action.PLAN, resource, prepare=True, worker={**worker, **OFF}).outcome is Outcome.DONE


def test_an_internal_topic_that_exists_must_be_compacted_all_the_same(pods: Pods) -> None:
    worker = fresh()
    create(pods.lab.servers, *worker.values(), policy="delete")
    resource = shown(new_name(), "shop", **source(pods))
    answer = pods.answer(Action.PLAN, resource, prepare=True, worker={**worker, **OFF})
    assert "is required to have 'cleanup.policy=compact'" in answer.message


def test_penstock_run_ends_with_the_error_and_creates_none(pods: Pods) -> None:
    worker, resource = fresh(), source(pods)
    asked = manifest(new_name(), resource["class"], resource["config"])
    run = pods.lab.processes.run([asked], pods.lab.servers, worker={**worker, **OFF})
    assert run.await_exit() == ExitCode.UNAVAILABLE
    assert missing(worker["status.storage.topic"], "status.storage.topic") in run.log_text()
    assert not existing(pods.lab.servers) & {*worker.values()}
