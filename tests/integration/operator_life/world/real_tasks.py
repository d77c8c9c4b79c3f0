"""A node whose tasks are the real processes, with a pod's environment; short pods answer by their real code.

What differs from a pod: the spec's file lies elsewhere, and there is no image.
"""

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock_model.contracts.pod_layout import POD_IDENTITY_VARIABLE, POD_NAME_VARIABLE, POD_UID_VARIABLE
from penstock_model.contracts.task_reports import Control
from penstock_model.contracts.task_spec import TaskSpec
from penstock_operator import names
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

from ...cluster_api.api import ApiRefused
from ...running import Processes, Running
from .answers import Answers, real
from .kubelet import Kubelet, _identity, _now, _Task, _terminated
from .watched import Json, key_of

__all__ = ["RealTasks"]

_LEAVES: Final = 30.0


@dataclass
class RealTasks(Kubelet):
    """One node.

    Args:
        processes: starts them, and ends what is left.
        folder: for termination messages.
    """

    processes: Processes = field(kw_only=True)
    folder: Path = field(kw_only=True)
    answers: Answers = real
    running: dict[str, Running] = field(default_factory=dict)

    def process(self, pod: str) -> Running:
        """Of a task pod, `<namespace>/<name>`."""
        return next(self.running[u] for u, t in self.tasks.items() if key_of(t.pod) == pod)

    def _start(self, pod: Json) -> None:
        meta = pod["metadata"]
        uid, labels = meta["uid"], meta["labels"]
        spec = TaskSpec.from_json(self._data(pod, "plan")[f"task-{labels[names.TASK_LABEL]}.json"])
        identity = _identity(pod)
        log = self.folder / f"termination-{uid}"
        log.touch()
        env = {
            POD_IDENTITY_VARIABLE: identity.to_json(),
            POD_NAME_VARIABLE: meta["name"],
            POD_UID_VARIABLE: uid,
            TERMINATION_LOG_VARIABLE: str(log),
        }
        with self._lock:
            self.tasks[uid] = _Task(pod, spec, identity, identity.connector_generation, identity.state.value)
            self._ended.add(uid)  # it has begun, and does not begin again
            process = self.running[uid] = self.processes.task(spec, "--metrics-port", "0", env=env)
        self._status(pod, "Running", {"name": "task", "state": {"running": {"startedAt": _now()}}})
        threading.Thread(target=self._await, args=(pod, process, log), daemon=True).start()

    def _await(self, pod: Json, process: Running, log: Path) -> None:
        code = process.process.wait()
        with self._lock:
            self.tasks.pop(pod["metadata"]["uid"], None)
        ended: dict[str, Any] = _terminated("task", code, log.read_text())
        if code < 0:
            ended["state"]["terminated"] |= {"exitCode": 128 - code, "reason": "Error"}
        if not self._closing.is_set():
            with suppress(ApiRefused):
                self._status(pod, "Failed" if code else "Succeeded", ended)

    def _end(self, pod: Json) -> None:
        process = self.running.get(pod["metadata"]["uid"])
        if process is not None and process.process.poll() is None:
            process.terminate()
            process.await_exit(_LEAVES)
        with self._lock:
            self.tasks.pop(pod["metadata"]["uid"], None)
        super()._end(pod)

    def _follow(self, task: _Task, control: Control, *, quiet: bool = False) -> None:
        """Real tasks do so themselves."""
