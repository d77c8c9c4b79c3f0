"""A Kafka that is away, refuses or does not allow: jobs and tasks name the servers, the cause, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, Outcome

from ..journal import Journal
from ..lab import Lab
from ..pods import Pods, pods, shown
from ..running import Processes, new_name
from ..secured import SecuredKafka, secured_kafka

pytestmark = pytest.mark.slow

__all__ = ["pods"]

FILE: dict[str, Any] = {"class": "FileStreamSource", "config": {"file": "/tmp/none", "topic": "t"}}


@dataclass
class Guarded:
    """A broker that asks who one is, at a listener of its own, and lets only the anonymous of the other do anything."""

    pods: Pods
    kafka: SecuredKafka

    @property
    def plain(self) -> str:
        return self.kafka.plain

    @property
    def sasl(self) -> str:
        return self.kafka.secured

    def worker(self, password: str) -> dict[str, str]:
        return self.kafka.worker("alice", password)


@pytest.fixture(scope="module")
def guarded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("guarded"), {"alice": "wonderland"}) as broker:
        yield broker


@pytest.fixture
def guarded(guarded_broker: SecuredKafka, processes: Processes, journal: Journal, tmp_path: Path) -> Guarded:
    return Guarded(Pods(Lab(guarded_broker.plain, processes, journal), tmp_path), guarded_broker)


def refused(pods: Pods, worker: dict[str, str]) -> str:
    """What a job says that plans and prepares with this worker configuration."""
    job = pods.job(Action.PLAN, shown(new_name(), **FILE), worker=worker, prepare=True)
    assert job.answer is not None, job.stderr
    assert job.answer.outcome is Outcome.UNAVAILABLE, job.answer
    assert "wonderland" not in job.stdout + job.stderr + job.word
    return job.answer.message


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        ("127.0.0.1:1", "nothing listens there"),
        ("no-such-host.invalid:9092", "a host name does not resolve"),
        ("127.0.0.1:1,no-such-host.invalid:9092", "Connection refused"),
    ],
)
def test_a_job_says_that_kafka_is_unavailable(pods: Pods, servers: str, told: str) -> None:
    message = refused(pods, {"bootstrap.servers": servers})
    assert servers in message
    assert told in message


def test_a_listener_that_speaks_no_tls_is_named(pods: Pods) -> None:
    message = refused(pods, {"security.protocol": "SSL"})
    assert f"Kafka at {pods.lab.servers} does not complete the TLS handshake" in message


def test_a_file_of_certificates_that_is_not_there_is_named(pods: Pods) -> None:
    message = refused(pods, {"security.protocol": "SSL", "ssl.ca.location": "/no/such/ca.pem"})
    assert pods.lab.servers in message
    assert "ssl.ca.location" in message


def test_a_wrong_password_is_named_and_is_not_reported(guarded: Guarded) -> None:
    message = refused(guarded.pods, guarded.worker("wonderland-not"))
    assert f"Kafka at {guarded.sasl} does not accept the credentials" in message
    assert "wonderland-not" not in message


def test_what_to_check_is_reported_to_a_client_without_a_password(guarded: Guarded) -> None:
    message = refused(guarded.pods, {"bootstrap.servers": guarded.sasl})
    assert f"Kafka at {guarded.sasl} has not answered" in message
    assert "security.protocol" in message


def test_a_missing_permission_is_named(guarded: Guarded) -> None:
    message = refused(guarded.pods, guarded.worker("wonderland"))
    assert "Grant the principal of this connector the missing ACL" in message
    assert "connect-status" in message


@pytest.mark.parametrize(
    ("password", "told"), [("wonderland-not", "does not accept the credentials"), ("wonderland", "the missing ACL")]
)
def test_a_task_that_is_refused_at_its_start_says_so_within_30_s(guarded: Guarded, password: str, told: str) -> None:
    pods = guarded.pods
    spec = pods.lab.spec(pods.lab.sink_manifest("t"))
    task = pods.task(spec.model_copy(update={"worker": {**spec.worker, **guarded.worker(password)}}))
    assert task.process.await_exit(30) == ExitCode.UNAVAILABLE
    word = task.last_word()
    assert told in str(word.message)
    assert "wonderland" not in task.termination_log.read_text() + task.process.log_text()


def test_a_reset_says_that_kafka_is_unavailable(pods: Pods) -> None:
    answer = pods.answer(Action.RESET_OFFSETS, shown(new_name(), **FILE), worker={"bootstrap.servers": "127.0.0.1:1"})
    assert answer.outcome is Outcome.UNAVAILABLE
    assert "127.0.0.1:1" in answer.message
