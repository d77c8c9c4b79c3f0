"""A stand-in for scheduler, kubelet, short pods and tasks, on a real API server and a real Kafka.

It binds pods to a node of its own, answers short pods and serves their logs to the API server, starts tasks, which report
as real ones do, and ends what is deleted. What must never happen stands in `wrong`.
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import urllib3

from penstock_model.contracts.definitions import ClassDefinition, PackedDefinitions, definitions_line, pack
from penstock_model.contracts.job import Action, JobAnswer, JobRequest
from penstock_model.contracts.job_answer import answer_line
from penstock_model.contracts.pod_identity import PodIdentity
from penstock_model.contracts.pod_layout import POD_IDENTITY_VARIABLE
from penstock_model.contracts.task_reports import Control, Report, TerminationMessage
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.contracts.verification import FoundClass, classes_text
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.kubernetes.api_server import Connection

from ...cluster_api.api import Api, ApiRefused
from .answers import Answers, template
from .log_server import LogServer
from .records import StatusRecords
from .watched import Json, Watched, key_of

__all__ = ["UNPLACED", "Kubelet"]

UNPLACED: Final = "0/1 nodes are available: 1 Insufficient memory."

_AGAIN: Final = 0.3


@dataclass
class _Task:
    """A task that lives."""

    pod: Json
    spec: TaskSpec
    identity: PodIdentity
    acted: int
    state: str


@dataclass
class Kubelet:
    """One node.

    Args:
        api: API server of an administrator.
        connection: the same, for watches.
        certificates: the folder with a certificate and a key for its HTTPS server.
        name: the node's.
        namespaces: whose pods run here.
        servers, topic: of the status topic.
        answers: what short pods answer.
        workers: how many pods it does something for at once.
    """

    api: Api
    connection: Connection
    certificates: Path
    name: str
    namespaces: Collection[str]
    servers: str
    topic: str
    answers: Answers = template
    workers: int = 4
    wrong: list[str] = field(default_factory=list)
    lives: dict[tuple[str, int, int, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    jobs: list[tuple[str, Action]] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    tasks: dict[str, _Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._held: list[Callable[[Json], bool]] = []
        self._unplaced: list[Callable[[Json], bool]] = []
        self._kept: list[Callable[[Json], bool]] = []
        self._unpullable: set[str] = set()
        self._broken: set[str] = set()
        self._refused: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        self._definitions: dict[str, PackedDefinitions] = {}
        self._loses_logs = False
        self._wishes: dict[str, int] = {}
        self._loads: dict[str, dict[str, Any]] = {}
        self._logs: dict[str, str] = {}
        self._ended: set[str] = set()
        self._latest: dict[str, Json] = {}
        self._busy: dict[str, bool] = {}
        self._closing = threading.Event()
        self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="kubelet")
        self._server = LogServer(self.certificates, self._log)
        self._register()
        self.records = StatusRecords(self.servers, self.topic, self._heard)
        paths = [f"/api/v1/namespaces/{n}/pods" for n in self.namespaces]
        self.pods = Watched(
            self.connection, *paths, labels="app.kubernetes.io/managed-by=penstock", on_event=self._event
        )

    def close(self) -> None:
        """The node is no more."""
        self._closing.set()
        self.pods.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self.records.close()
        self._server.close()
        with suppress(ApiRefused, urllib3.exceptions.HTTPError):
            self.api.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}})

    # What tests have it do

    def hold(self, fits: Callable[[Json], bool]) -> None:
        """Let these pods wait, as where their image is being pulled."""
        self._held.append(fits)

    def refuse(self, fits: Callable[[Json], bool]) -> None:
        """Let no node take these pods; the scheduler says so."""
        self._unplaced.append(fits)

    def keep(self, fits: Callable[[Json], bool]) -> None:
        """Do not end these pods when they are deleted, as on a node that is away."""
        self._kept.append(fits)

    def let_go(self) -> None:
        """Hold, refuse and keep nothing more."""
        self._held.clear()
        self._unplaced.clear()
        self._kept.clear()
        for uid in list(self._latest):
            self._wake(uid)

    def cannot_pull(self, image: str) -> None:
        """No registry has this image, of a container or of a volume. Pods that run have it."""
        self._unpullable.add(image)

    def can_pull(self, image: str) -> None:
        """The registry has it again."""
        self._unpullable.discard(image)
        for uid in list(self._latest):
            self._wake(uid)

    def refuses(self, image: str, why: str) -> None:
        """A pod that looks into this image of a PluginVersion finds that."""
        self._refused[image] = why

    def holds(self, image: str, *classes: FoundClass) -> None:
        """A pod that looks into this image of a PluginVersion finds these Java classes."""
        self._classes[image] = classes_text(classes)

    def defines(self, image: str, *classes: ClassDefinition) -> None:
        """A pod that looks into this image of a PluginVersion reads these configuration definitions."""
        self._definitions[image] = pack(classes)

    def loses_logs(self) -> None:
        """The logs of pods that look into images are gone from now on."""
        self._loses_logs = True

    def wants_executors(self, connector: str, number: int | None) -> None:
        """Let the tasks of a connector, by its Connect name, report that they want so many executors from now on."""
        with self._lock:
            self._wishes.pop(connector, None)
            if number is not None:
                self._wishes[connector] = number
            concerned = [t for t in self.tasks.values() if t.spec.connector == connector]
        for task in concerned:
            self.records.report(self._report(task, task.state.upper()))

    def works(self, connector: str, **load: Any) -> None:
        """Let the tasks of a connector, by its Connect name, report this load from now on."""
        with self._lock:
            self._loads[connector] = {"figures_at": int(time.time() * 1000), **load}
            concerned = [t for t in self.tasks.values() if t.spec.connector == connector]
        for task in concerned:
            self.records.report(self._report(task, task.state.upper()))

    def kill(self, pod: str, code: int = 137) -> None:
        """The process of a task, in the pod `<namespace>/<name>`, is killed, or ends with this code."""
        with self._lock:
            uid, task = next((u, t) for u, t in self.tasks.items() if key_of(t.pod) == pod)
            del self.tasks[uid]
            self._ended.add(uid)
        self._status(task.pod, "Failed" if code else "Succeeded", _terminated("task", code, ""))

    def executors(self, connector: str) -> list[str]:
        """The names of the executors of a connector, `<namespace>/<name>`, that are there."""
        return sorted(
            p["metadata"]["name"]
            for p in list(self.pods.objects.values())
            if f"{p['metadata']['namespace']}/{p['metadata']['labels'].get(names.CONNECTOR_LABEL)}" == connector
            and p["metadata"]["labels"][names.ROLE_LABEL] == names.EXECUTOR
        )

    def breaks(self, image: str) -> None:
        """Tasks with this image fail as soon as they have started."""
        self._broken.add(image)

    def vanish(self, pod: str) -> None:
        """Somebody deletes a pod by force, so that nobody sees it end."""
        namespace, _, name = pod.partition("/")
        with self._lock:
            for uid in [u for u, t in self.tasks.items() if key_of(t.pod) == pod]:
                del self.tasks[uid]
                self._ended.add(uid)
        self.api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", {"gracePeriodSeconds": 0})

    def alive(self, connector: str) -> list[Json]:
        """The task pods of a connector, `<namespace>/<name>`, that are there and were not told to go."""
        found = [
            p
            for p in list(self.pods.objects.values())
            if f"{p['metadata']['namespace']}/{p['metadata']['labels'].get(names.CONNECTOR_LABEL)}" == connector
            and p["metadata"]["labels"][names.ROLE_LABEL] == "task"
            and "deletionTimestamp" not in p["metadata"]
            and p.get("status", {}).get("phase") not in ("Failed", "Succeeded")
        ]
        return sorted(found, key=lambda p: int(p["metadata"]["labels"][names.TASK_LABEL]))

    def lives_of(self, uid: str) -> list[tuple[str, int, int, int]]:
        """All lives that tasks of a Connector ever had."""
        return [life for life in list(self.lives) if life[0] == uid]

    def doubled(self) -> dict[tuple[str, int, int, int], set[str]]:
        """Lives that had more than one pod: there must be none."""
        return {life: uids for life, uids in self.lives.items() if len(uids) > 1}

    # What it does by itself

    def _event(self, body: Json, gone: bool) -> None:
        uid = body["metadata"]["uid"]
        with self._lock:
            if gone:
                self._latest.pop(uid, None)
                self.tasks.pop(uid, None)
                return
            self._latest[uid] = body
            labels = body["metadata"]["labels"]
            if labels.get(names.ROLE_LABEL) == "task":
                identity = _identity(body)
                place = int(labels[names.TASK_LABEL]), identity.epoch.generation, identity.incarnation
                self.lives[(labels[names.UID_LABEL], *place)].add(uid)
        self._wake(uid)

    def _wake(self, uid: str) -> None:
        with self._lock:
            if uid in self._busy:
                self._busy[uid] = True
                return
            self._busy[uid] = False
            with suppress(RuntimeError):  # closed
                self._executor.submit(self._work, uid)

    def _work(self, uid: str) -> None:
        while not self._closing.is_set():
            try:
                self._step(uid)
            except ApiRefused as e:
                if e.code not in (404, 409) or "secrets" in str(e):  # a pod waits for the Secret that it mounts
                    self._closing.wait(_AGAIN)
                    continue
            except (urllib3.exceptions.HTTPError, OSError):
                self._closing.wait(_AGAIN)
                continue
            except Exception as e:  # noqa: BLE001 (told by the test)
                self.wrong.append(f"the stand-in failed: {type(e).__name__}: {e}")
            with self._lock:
                if self._busy[uid]:
                    self._busy[uid] = False
                    continue
                del self._busy[uid]
                return

    def _step(self, uid: str) -> None:
        with self._lock:
            pod = self._latest.get(uid)
        if pod is None:
            return
        if "deletionTimestamp" in pod["metadata"]:
            if not any(fits(pod) for fits in self._kept):
                self._end(pod)
        elif not pod["spec"].get("nodeName"):
            if any(fits(pod) for fits in self._unplaced):
                self._unplaceable(pod)
            else:
                self._bind(pod)
        elif pod.get("status", {}).get("phase", "Pending") == "Pending" and uid not in self._ended:
            if any(fits(pod) for fits in self._held):
                return
            if unpullable := _images(pod) & self._unpullable:
                self._back_off(pod, min(unpullable))
                return
            self._find_secrets(pod)
            does = {"job": self._job, names.VERIFYING: self._verify, names.EXECUTOR: self._run_executor}
            does.get(pod["metadata"]["labels"][names.ROLE_LABEL], self._start)(pod)

    def _unplaceable(self, pod: Json) -> None:
        """As the scheduler says it, once."""
        if pod.get("status", {}).get("conditions"):
            return
        says = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": UNPLACED}
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        body = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [says]}}
        self.api.call("PATCH", path, body, "application/strategic-merge-patch+json")

    def _back_off(self, pod: Json, image: str) -> None:
        if pod["status"].get("containerStatuses"):
            return
        container = pod["spec"]["containers"][0]
        why = {"reason": "ImagePullBackOff", "message": f"Back-off pulling image {image}"}
        self._status(pod, "Pending", {"name": container["name"], "state": {"waiting": why}})

    def _bind(self, pod: Json) -> None:
        meta = pod["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "uid": meta["uid"]},
            "target": {"kind": "Node", "name": self.name},
        }
        self.api.call("POST", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding", body)

    def logs(self) -> list[str]:
        """What short pods have written."""
        return list(self._logs.values())

    def _job(self, pod: Json) -> None:
        uid, owner = pod["metadata"]["uid"], pod["metadata"]["labels"][names.UID_LABEL]
        if uid not in self._logs:
            request = JobRequest.from_json(self._data(pod, "request")["request.json"])
            if request.action not in (Action.PLAN, Action.LIST_OFFSETS) or request.prepare:
                with self._lock:
                    living = [key_of(t.pod) for t in self.tasks.values() if t.identity.connector_uid == owner]
                if living:
                    self.wrong.append(f"{key_of(pod)} shuts out earlier tasks while {living} live")
                self.records.make()
            self.jobs.append((key_of(pod), request.action))
            self._logs[uid] = _line(request, self.answers(request))
        self._ended.add(uid)
        self._status(pod, "Succeeded", _terminated("job", 0, TerminationMessage(exit_code=0).to_message()))

    def _find_secrets(self, pod: Json) -> None:
        """Read the Secrets that a pod cannot start without; raises `ApiRefused` if one does not exist."""
        for volume in pod["spec"]["volumes"]:
            if "secret" in volume and not volume["secret"].get("optional"):
                self.api.call(
                    "GET", f"/api/v1/namespaces/{pod['metadata']['namespace']}/secrets/{volume['secret']['secretName']}"
                )

    def _run_executor(self, pod: Json) -> None:
        self._status(pod, "Running", {"name": "executor", "state": {"running": {"startedAt": _now()}}})

    def _verify(self, pod: Json) -> None:
        image = next(v["image"]["reference"] for v in pod["spec"]["volumes"] if "image" in v)
        found = self._refused.get(image)
        told, classes = found or "it holds what is declared", self._classes.get(image)
        packed = self._definitions.get(image) if found is None else None
        digest = packed.digest if packed is not None else None
        word = TerminationMessage(
            exit_code=0 if found is None else 2, message=told, classes=classes, definitions=digest
        )
        if packed is not None and not self._loses_logs:
            self._logs[pod["metadata"]["uid"]] = f"printed\n{definitions_line(packed)}\n{told}\n"
        self._ended.add(pod["metadata"]["uid"])
        self.verified.append(image)
        phase = "Succeeded" if found is None else "Failed"
        self._status(pod, phase, _terminated("job", word.exit_code, word.to_message()))

    def _start(self, pod: Json) -> None:
        uid, labels = pod["metadata"]["uid"], pod["metadata"]["labels"]
        spec = TaskSpec.from_json(self._data(pod, "plan")[f"task-{labels[names.TASK_LABEL]}.json"])
        identity = _identity(pod)
        task = _Task(pod, spec, identity, identity.connector_generation, identity.state.value)
        with self._lock:
            others = [
                t
                for t in self.tasks.values()
                if (t.identity.connector_uid, t.spec.task) == (identity.connector_uid, spec.task)
                and t.pod["metadata"]["uid"] != uid
            ]
            if others:
                self.wrong.append(f"{key_of(pod)} starts while {[key_of(t.pod) for t in others]} lives")
            self.tasks[uid] = task
        self._status(pod, "Running", {"name": "task", "state": {"running": {"startedAt": _now()}}})
        told = self.records.control(spec.connector)
        if told is not None:
            self._follow(task, told, quiet=True)
        self.records.report(self._report(task, task.state.upper()))
        if pod["spec"]["containers"][0]["image"] in self._broken:
            self._fail(task, "cannot work")

    def _fail(self, task: _Task, message: str) -> None:
        """Its process ends by itself."""
        with self._lock:
            del self.tasks[task.pod["metadata"]["uid"]]
            self._ended.add(task.pod["metadata"]["uid"])
        self.records.report(self._report(task, "FAILED").model_copy(update={"message": message}))
        word = TerminationMessage(exit_code=1, message=message).to_message()
        self._status(task.pod, "Failed", _terminated("task", 1, word))

    def _end(self, pod: Json) -> None:
        uid, meta = pod["metadata"]["uid"], pod["metadata"]
        with self._lock:
            task = self.tasks.pop(uid, None)
        if task is not None:
            self.records.report(self._report(task, "UNASSIGNED"))
            with suppress(ApiRefused):
                self._status(pod, "Succeeded", _terminated("task", 0, TerminationMessage(exit_code=0).to_message()))
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.api.call("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})

    def _heard(self, key: bytes, value: bytes | None) -> None:
        if not key.startswith(b'["penstock-control"'):
            return
        control, connector = Control.of(value), json.loads(key)[1]
        with self._lock:
            concerned = [t for t in self.tasks.values() if t.spec.connector == connector]
        for task in concerned:
            if control is not None:
                self._follow(task, control)

    def _follow(self, task: _Task, control: Control, *, quiet: bool = False) -> None:
        if control.connector_uid != task.identity.connector_uid or control.generation <= task.acted:
            return
        task.acted, task.state = control.generation, control.state.value
        if not quiet:
            self.records.report(self._report(task, task.state.upper()))

    def _report(self, task: _Task, state: str) -> Report:
        return Report(
            connector=task.spec.connector,
            connector_uid=task.identity.connector_uid,
            pod_uid=task.pod["metadata"]["uid"],
            task=task.spec.task,
            epoch=task.identity.epoch,
            incarnation=task.identity.incarnation,
            state=state,
            acted=task.acted,
            since=int(time.time() * 1000),
            versions={"connector": task.spec.plugins["connector"].version},
            progress="steady",
            executors_wanted=self._wishes.get(task.spec.connector),
            **self._loads.get(task.spec.connector, {}),
        )

    def _data(self, pod: Json, volume: str) -> dict[str, str]:
        name = next(v["configMap"]["name"] for v in pod["spec"]["volumes"] if v["name"] == volume)
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{name}"
        return dict(self.api.call("GET", path)["data"])

    def _status(self, pod: Json, phase: str, container: dict[str, Any]) -> None:
        meta = pod["metadata"]
        body = {
            "metadata": {"uid": meta["uid"]},
            "status": {
                "phase": phase,
                "podIP": "10.1.0.7",
                "containerStatuses": [
                    {"image": "x", "imageID": "", "ready": phase == "Running", "restartCount": 0, **container}
                ],
            },
        }
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        self.api.call("PATCH", path, body, "application/merge-patch+json")

    def _log(self, pod: str) -> str:
        found = self.pods.objects.get(pod)
        return self._logs.get(found["metadata"]["uid"], "") if found is not None else ""

    def _register(self) -> None:
        node: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}}
        with suppress(ApiRefused):
            self.api.create(node)
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.port}},
        }
        self.api.merge(node, {"status": status}, "status")


def _line(request: JobRequest, answer: JobAnswer) -> str:
    """The short pod's log."""
    return answer_line(answer, Connector.draft(request.connector).request_texts(request.worker)) + "\n"


def _images(pod: Json) -> set[str]:
    """What it needs: the images of its container and of its volumes."""
    volumes = (v["image"]["reference"] for v in pod["spec"]["volumes"] if "image" in v)
    return {pod["spec"]["containers"][0]["image"], *volumes}


def _identity(pod: Json) -> PodIdentity:
    env = {e["name"]: e.get("value", "") for e in pod["spec"]["containers"][0]["env"]}
    return PodIdentity.from_json(env[POD_IDENTITY_VARIABLE])


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _terminated(container: str, code: int, message: str) -> dict[str, Any]:
    ended = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "message": message,
        "startedAt": _now(),
        "finishedAt": _now(),
    }
    return {"name": container, "state": {"terminated": ended}}
