"""Tasks and jobs as they run in pods: the same processes with a pod's environment, and what they tell over Kafka.

def test_something(pods: Pods) -> None:
    task = pods.start(pods.lab.sink_manifest(topic))
    task.await_report("RUNNING")
    task.control(2, "Paused")
    assert task.await_report("PAUSED").acted == 2
"""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from penstock_model.contracts.job import Action, JobAnswer, JobRequest
from penstock_model.contracts.job_answer import read_answer
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import Control, Report, TerminationMessage, control_key, report_key
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.resources.connector import Connector
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

from .journal import Journal
from .lab import Lab
from .machine_time import Deadline
from .reading import Reader
from .running import PATIENCE, PLUGINS, Processes, Running

STATUS: Final = "connect-status"
UID: Final = "0b1a4b0e-uid"


@dataclass
class PodTask:
    """One task in its pod."""

    spec: TaskSpec
    identity: PodIdentity
    process: Running
    pod_uid: str
    termination_log: Path
    servers: str
    _reader: Reader | None = None

    def reports(self) -> list[Report]:
        """What this pod has reported until now."""
        if self._reader is None:
            self._reader = Reader(self.servers, STATUS)
        self._reader.poll()
        key = report_key(self.spec.connector, self.spec.task)
        found = [Report.of(r.value) for r in self._reader.records if r.key == key]
        return [r for r in found if r is not None and r.pod_uid == self.pod_uid]

    def await_report(
        self,
        state: str,
        *,
        acted: int | None = None,
        seconds: float = PATIENCE,
        where: Callable[[Report], object] = lambda r: True,
    ) -> Report:
        """The first report of that state (and generation) that is the last one told by now."""
        deadline = Deadline(seconds)
        while True:
            last = self.reports()[-1:]
            for r in last:
                if r.state == state and acted in (None, r.acted) and where(r):
                    return r
            assert not deadline.passed(), f"{state} {acted} not in {self.reports()}\n{self.process.last_words()}"

    def control(self, generation: int, state: str, *, log_level: str | None = None) -> None:
        """Write a control record for the tasks of the connector, as the operator does."""
        control(self.servers, self.spec.connector, generation, state, log_level=log_level)

    def last_word(self) -> TerminationMessage:
        """What it left when it ended."""
        text = self.termination_log.read_text()
        assert len(text.encode()) <= 4096
        word = TerminationMessage.of(text.encode())
        assert word is not None, text
        return word

    def close(self) -> None:
        """Read no more."""
        if self._reader is not None:
            self._reader.__exit__()


@dataclass
class Job:
    """How a job ended."""

    code: int
    answer: JobAnswer | None
    stdout: str
    stderr: str
    word: str


@dataclass
class Pods:
    """Starts them."""

    lab: Lab
    folder: Path
    tasks: list[PodTask] = field(default_factory=list)

    def start(
        self, resource: Mapping[str, Any], *arguments: str, worker: Mapping[str, str] | None = None, **more: Any
    ) -> PodTask:
        """A connector's only task, prepared and in its first life."""
        return self.task(self.lab.spec(resource, worker), *arguments, **more)

    def task(
        self,
        spec: TaskSpec,
        *arguments: str,
        generation: int = 1,
        state: str = "Running",
        uid: str = UID,
        env: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
        status: StatusSnapshot | None = None,
    ) -> PodTask:
        """A pod for a task spec that is alive."""
        identity = PodIdentity(
            connector_uid=uid,
            connector_generation=generation,
            state=TaskState(state),
            incarnation=spec.incarnation,
            epoch=PlanEpoch(generation=spec.generation, plan=spec.plan),
            token=spec.token,
            status=status,
        )
        unborn = spec.for_incarnation(generation=0, incarnation=0, token="", plan="")
        log = self.folder / f"termination-{len(self.tasks)}"
        log.touch()
        log.chmod(0o666)
        pod_uid = uuid.uuid4().hex
        pod = {
            "PENSTOCK_POD_IDENTITY": identity.to_json(),
            "PENSTOCK_POD_NAME": f"{spec.connector}-{spec.task}-{spec.incarnation}",
            "PENSTOCK_POD_UID": pod_uid,
            "PENSTOCK_NODE": "node-1",
            TERMINATION_LOG_VARIABLE: str(log),
            **(env or {}),
        }
        process = self.lab.processes.task(unborn, "--metrics-port", "0", *arguments, env=pod, before=before)
        self.tasks.append(PodTask(spec, identity, process, pod_uid, log, self.lab.servers))
        return self.tasks[-1]

    def job(
        self,
        action: Action,
        resource: Mapping[str, Any],
        *,
        worker: Mapping[str, str] | None = None,
        secrets: Path | None = None,
        env: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Job:
        """Run a job to its end."""
        mine = {
            "bootstrap.servers": self.lab.servers,
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            **(worker or {}),
        }
        request = JobRequest(
            action=action,
            id=uuid.uuid4().hex,
            connector=dict(resource),
            worker=mine,
            secrets_dir=None if secrets is None else str(secrets),
            **more,
        )
        file = self.folder / f"request-{request.id}.json"
        file.write_text(request.to_json())
        log = self.folder / f"word-{request.id}"
        done = subprocess.run(
            [sys.executable, "-m", "penstock_runtime.job", str(file)],
            capture_output=True,
            text=True,
            timeout=120,
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(PLUGINS),
                TERMINATION_LOG_VARIABLE: str(log),
                **(env or {}),
            },
            check=False,
        )
        answer = read_answer(done.stdout, Connector.draft(resource).request_texts(mine))
        assert answer is None or answer.id == request.id
        word = log.read_text() if log.exists() else ""
        return Job(done.returncode, answer, done.stdout, done.stderr, word)

    def answer(self, action: Action, resource: Mapping[str, Any], **more: Any) -> JobAnswer:
        """The answer of a job that answers."""
        job = self.job(action, resource, **more)
        assert job.code == 0, job.stderr
        assert job.answer is not None, job.stderr
        assert job.stdout.count("\n") == 1, job.stdout
        return job.answer


def control(
    servers: str,
    connector: str,
    generation: int,
    state: str,
    *,
    uid: str = UID,
    topics_reset: str | None = None,
    log_level: str | None = None,
) -> None:
    """Write a control record."""
    record = Control(
        connector_uid=uid,
        generation=generation,
        state=TaskState(state),
        topics_reset=topics_reset,
        log_level=log_level,
    )
    write(servers, STATUS, control_key(connector), record.to_value())


def write(servers: str, topic: str, key: bytes, value: bytes | None) -> None:
    """Write a record where Java's partitioner would put it."""
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random", "acks": "all"})
    producer.produce(topic, key=key, value=value)
    assert producer.flush(30) == 0
    producer.close()


def shown(connector: str, namespace: str | None = None, **spec: Any) -> dict[str, Any]:
    """A Connector as the API server shows it."""
    metadata = {"name": connector, "uid": UID, "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "spec": spec,
        "metadata": metadata if namespace is None else {**metadata, "namespace": namespace},
    }


@pytest.fixture
def pods(kafka: str, processes: Processes, journal: Journal, tmp_path: Path) -> Iterator[Pods]:
    """Pods on the shared Kafka."""
    made = Pods(Lab(kafka, processes, journal), tmp_path)
    yield made
    for task in made.tasks:
        task.close()


def status_values(records: Sequence[Any], key: str) -> list[Any]:
    """The JSON values under a key."""
    return [json.loads(r.value) for r in records if r.key == key.encode() and r.value]
