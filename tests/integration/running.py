"""Penstock as a user runs it: real processes against a broker, their events, and the end of all that they started.

    def test_something(kafka: str, processes: Processes, tmp_path: Path) -> None:
        lines = manifest(new_name(), "FileStreamSource", file="/x", topic="t")
        run = processes.run([lines], kafka)             # `penstock run`, as a process
        task = processes.task(specs(lines, kafka)[0])   # or one task alone: `python -m penstock_runtime.task`
        task.await_state("RUNNING")
        assert len(await_records(kafka, "t", 100)) == 100
        task.terminate()
        assert task.await_exit() == 0

Nothing here sleeps for a guessed time: it waits for events of the report pipe, for the end of a process, for records in
Kafka, or for a condition that is looked at every few milliseconds (`until`). Whatever waits in vain fails the test with
the end of the process's log. How long it waits is counted in time of the machine (`machine_time`), so that a full one is
no fault; and where a wait can say what moves meanwhile, only a standstill ends it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import psutil

from penstock.errors import RetriableError
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector
from penstock_runtime.job.prepare import prepare
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.plan import plan
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.task.context import task_context

from .machine_time import Deadline

T = TypeVar("T")

PATIENCE: Final = 90.0
"""Seconds of the machine, for what takes far less: a task of another test that was killed as it committed leaves a
transaction that hides the offsets topic from sources that start, for 60 s, and up to 10 s until the broker looks."""
PLUGINS: Final = Path(__file__).parent / "plugins"
"""Plugins of the tests; `module:Class` of a module in this folder can be a connector's class."""
_MARK: Final = "PENSTOCK_TEST_PROCESS"

if str(PLUGINS) not in sys.path:
    sys.path.append(str(PLUGINS))


def new_name(word: str = "c") -> str:
    """A connector's name that no other test uses."""
    return f"{word}-{uuid.uuid4().hex[:10]}"


def manifest(
    name: str,
    class_name: str,
    config: Mapping[str, Any] | None = None,
    *,
    tasks_max: int = 1,
    spark: str = "OnDemand",
    restart: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A `Connector` manifest; `more` is configuration whose names have underscores for dots."""
    texts = {**(config or {}), **{k.replace("_", "."): v for k, v in more.items()}}
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"name": name},
        "spec": {
            "class": class_name,
            "tasksMax": tasks_max,
            "spark": {"start": spark},
            "restart": dict(restart or {}),
            "config": {k: str(v) for k, v in texts.items()},
        },
    }


def specs(resource: Mapping[str, Any], servers: str, worker: Mapping[str, str] | None = None) -> list[TaskSpec]:
    """Task specs of a manifest, alive: what `penstock run` does before it starts tasks (topics, fencing) is done."""
    config = WorkerConfig.parse(
        {
            "bootstrap.servers": servers,
            "offset.storage.replication.factor": "1",
            "status.storage.replication.factor": "1",
            **(worker or {}),
        }
    )
    found = [
        s.model_copy(update={"worker": dict(config.raw)})
        for s in plan(Connector.model_validate(dict(resource)), config, Plugins.installed()).tasks
    ]
    setup = task_context(found[0], slots_dir=Path(os.devnull))
    epoch = until(lambda: _prepared(setup), what=f"Kafka at {servers} answers")[0]
    return [
        s.for_incarnation(generation=epoch.generation, plan=epoch.plan, incarnation=1, token=uuid.uuid4().hex)
        for s in found
    ]


def _prepared(setup: TaskContext) -> list[PlanEpoch]:
    try:
        return [prepare(setup)]
    except RetriableError:  # of a broker that has just started
        return []


def next_life(spec: TaskSpec, incarnation: int | None = None) -> TaskSpec:
    """The same task in its next life, as the supervisor starts it again."""
    return spec.for_incarnation(
        generation=spec.generation,
        incarnation=spec.incarnation + 1 if incarnation is None else incarnation,
        token=uuid.uuid4().hex,
    )


def until(
    found: Callable[[], T | None],
    *,
    seconds: float = PATIENCE,
    what: str | Callable[[], str] = "it",
    moving: Callable[[], object] = lambda: None,
) -> T:
    """The first true answer of `found`, asked again and again; AssertionError after `seconds` in which nothing moved.

    `moving` is what shows that it goes on, however slowly (the size of a file, say): each change begins the wait anew.
    """
    deadline = Deadline(seconds)
    while True:
        answer = found()
        if answer:
            return answer
        moves = moving()
        assert not deadline.passed(moves), f"not after {seconds:.0f} s: {what if isinstance(what, str) else what()}"
        time.sleep(0.005)


class Running:
    """A started process: its events, its log, its Spark, its end."""

    def __init__(self, command: Sequence[str], folder: Path, *, env: Mapping[str, str], pipe: bool, stdin: int) -> None:
        self.mark = uuid.uuid4().hex
        self.log = folder / f"{self.mark}.log"
        self.events: list[dict[str, Any]] = []
        self._news = threading.Condition()
        reading, writing = os.pipe()
        path = os.pathsep.join(p for p in (str(PLUGINS), os.environ.get("PYTHONPATH", "")) if p)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *(["--report-fd", str(writing)] if pipe else [])],
                stdin=stdin,
                stdout=log,
                stderr=log,
                pass_fds=(writing,) if pipe else (),
                env={**os.environ, **env, _MARK: self.mark, "PYTHONPATH": path},
                start_new_session=True,
            )
        os.close(writing)
        self._reader = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._reader.start()

    # Events and log

    def await_event(self, wanted: Callable[[dict[str, Any]], object], *, seconds: float = PATIENCE) -> dict[str, Any]:
        """The first event of the report pipe, ever since the start, that is wanted."""
        deadline = Deadline(seconds)
        with self._news:
            while True:
                for event in self.events:
                    if wanted(event):
                        return event
                if deadline.passed() or (not self._reader.is_alive() and self.process.poll() is not None):
                    raise AssertionError(f"no such event among {self.events[-5:]}\n{self.last_words()}")
                self._news.wait(0.2)

    def await_state(self, state: str, *, seconds: float = PATIENCE) -> None:
        """Wait until the task has reported this state: RUNNING, PAUSED, FAILED..."""
        self.await_event(lambda e: e["event"] == "state" and e["state"] == state, seconds=seconds)

    def await_log(self, text: str, *, seconds: float = PATIENCE) -> str:
        """Wait for a text in the log; the line that holds it."""
        line: list[str] = until(
            lambda: [x for x in self.log_text().splitlines() if text in x],
            seconds=seconds,
            what=lambda: f"{text!r} in the log\n{self.last_words()}",
        )
        return line[0]

    @property
    def failure(self) -> str | None:
        """The message of the `failed` event, if there was one."""
        with self._news:
            return next((str(e["message"]) for e in self.events if e["event"] == "failed"), None)

    def await_batch_on_spark(self) -> None:
        """Wait until a batch went through Spark. Workers may be there before."""
        self.await_event(lambda e: e.get("spark_batches", 0) > 0)

    def last(self, field: str) -> Any:
        """The newest value of a field of the progress events (`read`, `failures`, `lag`, `trouble`...)."""
        with self._news:
            return next((e[field] for e in reversed(self.events) if e["event"] == "progress" and field in e), None)

    @property
    def trouble(self) -> str | None:
        """The trouble that it reported last, None if it has none."""
        trouble: str | None = self.last("trouble")
        return trouble

    def log_text(self) -> str:
        """All that it wrote to standard output and standard error."""
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        """The end of the log, for messages."""
        return f"exit code {self.process.poll()}; the end of {self.log}:\n" + self.log_text()[-4000:]

    # Processes

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self.process.pid

    def tree(self) -> list[psutil.Process]:
        """Every living process that it started, and itself; orphaned ones too."""
        return [p for p in psutil.process_iter() if _marked(p, self.mark)]

    def tasks(self) -> list[psutil.Process]:
        """Task processes (of `penstock run`; a task itself)."""
        return [p for p in self.tree() if "penstock_runtime.task" in _command(p)]

    def jvms(self) -> list[psutil.Process]:
        """Spark's JVM, once it runs."""
        return [p for p in self.tree() if "org.apache.spark.deploy.SparkSubmit" in _command(p)]

    def daemons(self) -> list[psutil.Process]:
        """The process that forks Spark's Python workers, once it runs."""
        found = [p for p in self.tree() if "daemon pyspark.worker" in _command(p)]
        pids = {p.pid for p in found}
        return [p for p in found if _parent(p) not in pids]

    def workers(self) -> list[psutil.Process]:
        """Spark's Python workers; not the daemon that forks them."""
        found = [p for p in self.tree() if "daemon pyspark.worker" in _command(p)]
        pids = {p.pid for p in found}
        return [p for p in found if _parent(p) in pids]

    # End

    def terminate(self) -> None:
        """SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def await_exit(self, seconds: float = PATIENCE) -> int:
        """Its exit code (negative: the signal that ended it)."""
        deadline = Deadline(seconds)
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = self.process.wait(0.2)
                break
            assert not deadline.passed(), f"still runs after {seconds:.0f} s\n{self.last_words()}"
        self._reader.join(5)
        if self.process.stdin is not None:
            self.process.stdin.close()
        return code

    def stop(self, seconds: float = PATIENCE) -> None:
        """SIGTERM, and exit code 0."""
        self.terminate()
        code = self.await_exit(seconds)
        assert code == 0, self.last_words()

    def kill(self) -> None:
        """`kill -9` of this process alone, as the out-of-memory killer does it."""
        self.process.kill()
        self.await_exit()

    def kill_all(self) -> None:
        """`kill -9` of everything that it started, frozen or orphaned or not."""
        while left := self.tree():
            for p in left:
                with suppress(psutil.NoSuchProcess):
                    p.kill()
            psutil.wait_procs(left, 10)
        self.await_exit()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as pipe:
            for line in pipe:
                with self._news:
                    self.events.append(json.loads(line))
                    self._news.notify_all()


class Processes:
    """Starts processes and ends all of them, with all that they started. The fixture `processes` makes one per test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Running] = []

    def task(
        self, spec: TaskSpec, *arguments: str, env: Mapping[str, str] | None = None, before: Sequence[str] = ()
    ) -> Running:
        """`python -m penstock_runtime.task SPEC`, with a report pipe; `before` is a command that runs it."""
        path = self._folder / f"{spec.id}-{len(self._started)}.json"
        path.write_text(spec.to_json())
        command = [*before, sys.executable, "-m", "penstock_runtime.task", str(path), *arguments]
        return self._start(command, env, pipe=True)

    def run(
        self,
        manifests: Sequence[Mapping[str, Any]],
        servers: str | None,
        *arguments: str,
        worker: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> Running:
        """`penstock run` of these manifests. Without `servers` it starts an embedded Kafka (give `--data-dir`)."""
        number = len(self._started)
        file = self._folder / f"manifests-{number}.yaml"
        file.write_text("\n---\n".join(json.dumps(m) for m in manifests))
        command = [sys.executable, "-m", "penstock_cli", "run", str(file), *arguments]
        if servers is not None:
            command += ["--bootstrap-servers", servers]
        if worker is not None:
            properties = self._folder / f"worker-{number}.properties"
            properties.write_text("".join(f"{k}={v}\n" for k, v in worker.items()))
            command += ["--worker", str(properties)]
        return self._start(command, env, pipe=False, stdin=stdin)

    def _start(
        self, command: Sequence[str], env: Mapping[str, str] | None, *, pipe: bool, stdin: int = subprocess.DEVNULL
    ) -> Running:
        self._started.append(Running(command, self._folder, env=env or {}, pipe=pipe, stdin=stdin))
        return self._started[-1]

    def end(self) -> None:
        """Kill whatever is left. What each said last is printed, which pytest shows of a failed test alone."""
        for one in self._started:
            print(one.last_words())
            one.kill_all()


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(_MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _parent(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.Error:
        return 0
