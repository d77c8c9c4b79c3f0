"""`penstock run`: from manifests to running tasks and back to a clean end."""

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Final

from penstock.errors import ConfigError, ConnectError, Problem, RetriableError
from penstock.resources import State as DesiredState
from penstock.taskspec import TaskSpec, TaskState
from penstock.worker_config import WorkerConfig
from penstock_runtime import manifests
from penstock_runtime.discovery import Plugins
from penstock_runtime.embedded import EmbeddedKafka
from penstock_runtime.engine.setup import Setup
from penstock_runtime.exit_codes import ExitCode
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.local.prepare import Standing, announce, prepare
from penstock_runtime.local.restarts import End
from penstock_runtime.local.supervisor import Supervisor, Task
from penstock_runtime.local.view import Lines, Table, View
from penstock_runtime.plan import Plan, plan
from penstock_runtime.worker_file import read_worker, worker_from

__all__ = ["RunOptions", "plans", "run"]

log = logging.getLogger(__name__)
_KAFKA_PATIENCE: Final = 60.0
_TELL: Final = 2.0


@dataclass(frozen=True)
class RunOptions:
    """What the command line says."""

    files: Sequence[str]
    bootstrap_servers: str | None
    data_dir: Path
    worker: Path | None
    secrets: Path | None
    log_level: str
    metrics_port: int = 0


def plans(
    files: Sequence[str], worker: WorkerConfig, secrets: Path | None
) -> tuple[list[tuple[Plan, manifests.Manifest]], list[str]]:
    """The plans of every connector in these files, and what their authors should know.

    Raises:
        ConfigError: every problem of every connector at once.
    """
    found, warnings = [], []
    problems: list[Problem] = []
    hints: list[Problem] = []
    for manifest in manifests.read_manifests(files):
        try:
            planned = plan(manifest.connector, worker, Plugins.installed(), secrets)
        except ConfigError as e:
            problems += (Problem(f"{manifest.where}: {p.property}", p.message) for p in e.problems)
            hints += (Problem(f"{manifest.where}: {w.property}", w.message) for w in e.warnings)
            continue
        found.append((planned, manifest))
        warnings += [f"{manifest.where}: {w}" for w in planned.warnings]
    if problems:
        raise ConfigError(problems, hints)
    return found, warnings


def worker_config(options: RunOptions) -> WorkerConfig:
    """The worker configuration of the command line, with the servers it names.

    Raises:
        ConfigError: the file is wrong.
    """
    given = read_worker(options.worker) if options.worker is not None else worker_from({})
    for warning in given.warnings:
        log.warning("%s: %s", options.worker, warning)
    texts = dict(given.config.raw)
    if options.bootstrap_servers is not None:
        texts["bootstrap.servers"] = options.bootstrap_servers
    if options.worker is None:  # a developer's cluster may have one broker; its own default is right for it
        texts.setdefault("offset.storage.replication.factor", "-1")
        texts.setdefault("status.storage.replication.factor", "-1")
    return WorkerConfig.parse(texts)


def run(options: RunOptions) -> ExitCode:
    """Run the connectors of these files until they end or somebody types Ctrl-C."""
    signals = _Signals()
    with ExitStack() as stack:
        kafka: EmbeddedKafka | None = None
        worker = worker_config(options)
        planned, warnings = plans(options.files, worker, options.secrets)
        for warning in warnings:
            log.warning("%s", warning)
        if options.metrics_port:
            _check_ports(options.metrics_port, sum(len(one.tasks) for one, _ in planned))
        if worker.bootstrap_servers is None:
            kafka = EmbeddedKafka(options.data_dir, say=_say)
            kafka.start()
            stack.callback(kafka.stop)
            _say(f"Kafka listens on {kafka.bootstrap_servers}, its data is in {options.data_dir}")
            worker = _with_servers(worker, kafka.bootstrap_servers)
        if signals.asked:
            return ExitCode.OK
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-run-")))
        setups: list[tuple[Setup, State, Sequence[TaskSpec]]] = []
        tasks: list[Task] = []
        for one, manifest in planned:
            tasks += _prepared(one, manifest, worker, folder, setups, signals)
            if signals.asked:
                return ExitCode.OK
        code = _supervise(tasks, options, folder, signals, stack, kafka)
        if signals.count < 2:
            for setup, _, specs in setups:
                _quietly(setup, specs)
        return code


def _prepared(
    one: Plan, manifest: manifests.Manifest, worker: WorkerConfig, folder: Path,
    setups: list[tuple[Setup, State, Sequence[TaskSpec]]], signals: "_Signals",
) -> list[Task]:  # fmt: skip
    """The tasks of one connector, ready to start: topics are there, old lives are fenced."""
    desired = manifest.connector.spec.state
    if not one.tasks:
        _say(f"Connector {one.connector} is Stopped: no task is started")
        return []
    specs = [s.model_copy(update={"worker": dict(worker.raw)}) for s in one.tasks]
    setup = Setup.of(specs[0], slots_dir=folder)
    standing = _until_kafka_answers(lambda: prepare(setup), worker, signals)
    paused = desired is DesiredState.PAUSED
    live = [
        s.live(generation=standing.generation, incarnation=1, token=uuid.uuid4().hex, plan=standing.plan).model_copy(
            update={"state": TaskState.PAUSED if paused else TaskState.RUNNING}
        )
        for s in specs
    ]
    state = State.PAUSED if paused else State.RUNNING
    announce(setup, state, live)
    setups.append((setup, state, live))
    return [Task(s, manifest.connector.spec.restart) for s in live]


def _until_kafka_answers(work: Callable[[], Standing], worker: WorkerConfig, signals: "_Signals") -> Standing:
    """Do it, again while Kafka does not answer. In a thread: this one hears Ctrl-C while the client waits.

    Raises:
        SystemExit: asked to stop meanwhile.
        ConnectError: Kafka has not answered for a minute, or refuses.
    """
    begun, told = time.monotonic(), False
    trouble: RetriableError | None = None
    while True:
        outcome: Future[Standing] = Future()
        threading.Thread(target=_into, args=(outcome, work), daemon=True).start()
        while not outcome.done():
            wait([outcome], timeout=0.1)
            waited = time.monotonic() - begun
            if signals.asked:
                raise SystemExit(ExitCode.INTERRUPTED if signals.count > 1 else ExitCode.OK)
            if waited > _TELL and not told:
                told = True
                _say(f"Waiting for Kafka at {worker.bootstrap_servers} ...")
            if waited > _KAFKA_PATIENCE:
                raise ConnectError(
                    f"Kafka at {worker.bootstrap_servers} has not answered for {_KAFKA_PATIENCE:.0f} s"
                    f"{f': {trouble}' if trouble else ''}. Check --bootstrap-servers, the network and the security "
                    f"properties."
                )
        try:
            return outcome.result()
        except RetriableError as e:
            trouble = e
            time.sleep(0.5)


def _into(outcome: "Future[Standing]", work: Callable[[], Standing]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as e:  # noqa: BLE001 (raised where it is waited for)
        outcome.set_exception(e)


def _supervise(
    tasks: Sequence[Task],
    options: RunOptions,
    folder: Path,
    signals: "_Signals",
    stack: ExitStack,
    kafka: EmbeddedKafka | None,
) -> ExitCode:
    if not tasks:
        return ExitCode.OK
    terminal = sys.stderr.isatty()
    child_log: IO[bytes] | None = None
    if terminal:
        options.data_dir.mkdir(parents=True, exist_ok=True)
        path = options.data_dir / "tasks.log"
        child_log = stack.enter_context(path.open("ab"))
        _say(f"Task logs go to {path}")
    view: View = Table("penstock run (Ctrl-C stops)") if terminal else Lines()
    supervisor = Supervisor(
        tasks, folder=folder, log_level=options.log_level, child_log=child_log, on_change=view.show,
        metrics_port=options.metrics_port, watch=lambda: _revive(kafka),
    )  # fmt: skip
    signals.follow(supervisor)
    with view:
        supervisor.run()
        view.show(tasks, last=True)
    if terminal:
        _tell(tasks)
    if signals.count > 1:
        return ExitCode.INTERRUPTED
    ends = {t.ended for t in tasks}
    if End.REFUSED in ends:
        return ExitCode.CONFIG_INVALID
    if ends & {End.FAILED, End.LOST}:
        return ExitCode.FAILED
    return ExitCode.SUPERSEDED if End.SUPERSEDED in ends else ExitCode.OK


def _tell(tasks: Sequence[Task]) -> None:
    """What a table has no room for: how tasks ended that nobody stopped."""
    for task in tasks:
        if task.ended is End.SUPERSEDED:
            _say(f"{task.name} was taken over by a newer run of the same connector; nothing has failed.")
        elif task.ended not in (None, End.STOPPED):
            _say(f"{task.name} has failed: {task.error}")


def _check_ports(first: int, count: int) -> None:
    """Raise ConnectError unless these ports are free: a task that cannot have its own would be started in vain."""
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError as e:
                raise ConnectError(f"port {port} is taken ({e.strerror}): choose another --metrics-port, or 0") from e


def _revive(kafka: EmbeddedKafka | None) -> None:
    """An embedded broker that died (killed, out of memory) is started again; the tasks wait for it."""
    if kafka is not None and not kafka.running:
        log.error("The embedded Kafka has died (its log: %s); starting it again", kafka.data_dir / "kafka.log")
        kafka.start()


def _quietly(setup: Setup, specs: Sequence[TaskSpec]) -> None:
    try:
        announce(setup, State.UNASSIGNED, specs, timeout=2.0)
    except ConnectError as e:
        log.debug("The connector's last state was not written: %s", e)


def _with_servers(worker: WorkerConfig, servers: str) -> WorkerConfig:
    """For the embedded broker, which is alone: one replica of everything."""
    one = {"offset.storage.replication.factor": "1", "status.storage.replication.factor": "1"}
    return WorkerConfig.parse({**worker.raw, **one, "bootstrap.servers": servers})


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class _Signals:
    """Ctrl-C and SIGTERM: the first is graceful, the second immediate."""

    def __init__(self) -> None:
        self.count = 0
        self._supervisor: Supervisor | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    @property
    def asked(self) -> bool:
        """Whether somebody asked to stop."""
        return self.count > 0

    def follow(self, supervisor: Supervisor) -> None:
        """Tell this one."""
        self._supervisor = supervisor
        if self.asked:
            supervisor.stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 2:
            os._exit(ExitCode.INTERRUPTED)
        if self._supervisor is not None:
            if self.count == 1:
                self._supervisor.stop()
            else:
                self._supervisor.kill()
        elif self.count > 1:
            os._exit(ExitCode.INTERRUPTED)
