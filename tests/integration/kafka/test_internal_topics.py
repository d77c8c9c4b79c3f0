"""Internal topics as they are made on a real broker."""

import threading
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from penstock import ConnectError, RetriableError
from penstock_cli.embedded import EmbeddedKafka
from penstock_runtime.kafka import admin as module
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.settings import ClientSettings

Make = Callable[..., dict[str, str]]


@pytest.fixture
def make(kafka: str) -> Make:
    """Make a compacted topic; its settings."""
    client = {"bootstrap.servers": kafka}

    def made(**settings: str) -> dict[str, str]:
        topic = f"internal-{uuid.uuid4().hex[:8]}"
        Admin(ClientSettings(producer=client, consumer=client, admin=client)).ensure_compacted(
            topic,
            partitions=1,
            replication_factor=1,
            named_by="offset.storage.topic",
            settings={name.replace("_", "."): value for name, value in settings.items()},
        )
        of = ConfigResource(ResourceType.TOPIC, topic)
        asking = AdminClient({**client})
        return {n: e.value for n, e in asking.describe_configs([of])[of].result(30).items()}

    return made


def test_segments_are_small_so_that_kafka_compacts_them_in_time(make: Make) -> None:
    found = make()
    assert (found["cleanup.policy"], found["segment.bytes"]) == ("compact", str(50 << 20))


def test_who_installs_it_has_the_last_word_on_segments(make: Make) -> None:
    assert make(segment_bytes="104857600")["segment.bytes"] == "104857600"


def test_where_a_cluster_refuses_our_segments_the_topic_is_made_with_its_own(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_COMPACTED", {"segment.bytes": "1"})  # which every Kafka refuses
    found = make()
    assert found["cleanup.policy"] == "compact"
    assert int(found["segment.bytes"]) not in (1, 50 << 20)


def test_a_setting_of_the_users_that_is_refused_is_reported(make: Make) -> None:
    with pytest.raises(ConnectError, match=r"segment\.bytes"):
        make(segment_bytes="1")


def test_a_topic_that_no_broker_can_hold_at_this_moment_is_trouble_that_passes(own_kafka: EmbeddedKafka) -> None:
    client = {"bootstrap.servers": own_kafka.bootstrap_servers}
    admin = Admin(ClientSettings(producer=client, consumer=client, admin=client))
    stopping = threading.Thread(target=own_kafka.stop)  # in order: a broker that leaves is fenced before it is gone
    refused: list[ConnectError] = []

    def create(number: int) -> None:
        admin.ensure_exists(f"late-{number}", replication_factor=1)

    for number in range(10_000):
        try:
            create(number)
        except ConnectError as e:
            refused.append(e)
            break
        if number == 3:
            stopping.start()
    stopping.join()
    assert [type(e) for e in refused] == [RetriableError], refused
