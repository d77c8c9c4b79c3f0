"""Active topics in the status, with a real API server and Kafka: true, and quiet (KIP-558)."""

import time

import pytest
from confluent_kafka import Producer

from penstock_model.connect.status_records import topic_status

from .world.site import API_VERSION, Site
from .world.watched import Json, Watched


def use(site: Site, *topics: str, task: int = 0, at: int) -> None:
    """A task of the connector `orders` records topics, so many seconds after 1970."""
    producer = Producer({"bootstrap.servers": site.servers, "partitioner": "murmur2_random"})
    for topic in topics:
        key, value = topic_status(topic, f"{site.namespace}.orders", task, at * 1000)
        producer.produce(site.topic, key=key, value=value)
    assert producer.flush(30) == 0


def told(body: Json) -> list[tuple[str, int, str]]:
    return [(t["name"], t["task"], t["since"]) for t in body["status"].get("activeTopics", ())]


@pytest.mark.slow
def test_a_burst_of_topics_is_few_writes_and_since_when_survives_tasks_and_operators(site: Site) -> None:
    operator = site.operator().start().ready()
    site.create("orders")
    site.settled("orders")
    counts: list[int] = []

    def count(body: Json, gone: bool) -> None:
        number = body["status"].get("activeTopicCount", 0)
        if number != (counts or [0])[-1]:
            counts.append(number)

    path = f"/apis/{API_VERSION}/namespaces/{site.namespace}/connectors"
    watched = Watched(site.connection, path, on_event=count)
    begun = time.monotonic()
    names = [f"t-{n:03}" for n in range(150)]
    for n, name in enumerate(names):
        use(site, name, at=1_790_000_000 + n)
    body = site.until("orders", lambda b: b["status"]["activeTopicCount"] == 150, "all are told")
    watched.close()
    assert len(counts) <= 2 + (time.monotonic() - begun) / 10, counts
    before = told(body)
    assert before[7] == ("t-007", 0, "2026-09-21T14:13:27Z")

    operator.kill()
    operator.ended()
    use(site, *names, task=3, at=1_790_009_999)  # tasks that begin anew record them again
    use(site, "one-more", at=1_790_009_999)
    operator.start().ready()
    site.kubelet.vanish(f"{site.namespace}/{site.kubelet.alive(site.key('orders'))[0]['metadata']['name']}")
    body = site.until("orders", lambda b: b["status"]["activeTopicCount"] == 151, "the new one is told")
    assert told(body)[1:] == before
    assert told(body)[0][:2] == ("one-more", 0)
    site.settled("orders")
    assert told(site.get("orders"))[1:] == before
    of = f'connector="{site.namespace}.orders",name="orders",namespace="{site.namespace}"'
    row = f"penstock_connector_active_topics{{{of}}} 151.0"
    operator.until(lambda: row in operator.metrics(), "the metric counts them")
    site.check()


def test_a_reset_forgets_topics_while_tasks_run_and_used_ones_come_back_with_a_new_since(site: Site) -> None:
    operator = site.operator().start().ready()
    site.create("orders")
    site.settled("orders")
    use(site, "in-use", "unused", at=1_790_000_000)
    site.until("orders", lambda b: b["status"]["activeTopicCount"] == 2, "both are told")
    lives = [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))]
    site.annotate("orders", reset_topics="r1")
    body = site.until(
        "orders", lambda b: b["status"].get("offsetsActions", [{}])[-1].get("result") == "Succeeded", "done"
    )
    assert told(body) == []
    now = int(time.time())
    use(site, "in-use", at=now)
    body = site.until("orders", lambda b: b["status"]["activeTopicCount"] == 1, "the one in use is back")
    ((name, _, since),) = told(body)
    assert (name, since > "2026-09-22") == ("in-use", True)
    assert [p["metadata"]["uid"] for p in site.kubelet.alive(site.key("orders"))] == lives
    operator.kill()
    operator.ended()
    operator.start().ready()
    site.settled("orders")
    assert told(site.get("orders")) == told(body)
    site.check()
