"""`penstock run`: plans the connectors of manifests, and runs their tasks until they end."""

import logging
import socket
import sys
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_cli.broker import kafka_for, revive, until_kafka_answers
from penstock_cli.embedded import EmbeddedKafka
from penstock_cli.manifests import reader
from penstock_cli.manifests.worker_file import read_worker
from penstock_cli.signals import Signals
from penstock_cli.spark_cluster import ClusterOptions, on_cluster
from penstock_cli.standard_input import check_standard_input
from penstock_cli.supervisor import Supervisor, Task
from penstock_cli.view import Lines, Table, View, current_problem
from penstock_model.connect.version_messages import reported_once
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.resources.connector import State as DesiredState
from penstock_model.resources.task_restart import TaskEnd
from penstock_runtime import logs
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.job.prepare import announce, prepare
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.logs import say
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.plan import Plan, plan
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.process.scratch import Scratch, sweep
from penstock_runtime.task.context import task_context

__all__ = ["RunOptions", "plans", "run"]

if TYPE_CHECKING:
    from penstock_cli.console.serving import RunConsole

log = logging.getLogger(__name__)
_HIGHEST_PORT: Final = 65_535


@dataclass(frozen=True)
class RunOptions:
    """Options of the command line. `console`: port of the console; None: no console."""

    files: Sequence[str]
    bootstrap_servers: str | None
    data_dir: Path
    worker: Path | None
    secrets: Path | None
    log_level: str
    metrics_port: int = 0
    spark: ClusterOptions | None = None
    console: int | None = None
    plugin_path: Sequence[str] = ()


def plans(
    files: Sequence[str], worker: WorkerConfig, secrets: Path | None
) -> tuple[list[tuple[Plan, reader.Manifest]], list[str]]:
    """Return the plans of all connectors in these files, and warnings.

    Raises:
        ConfigError: a file or a connector is invalid; the error lists all problems of all connectors.
    """
    planned_connectors, warnings = [], []
    problems: list[Problem] = []
    hints: list[Problem] = []
    manifests = reader.read_manifests(files)
    if manifests.note:
        warnings.append(manifests.note)
        hints.append(Problem("", manifests.note))
    for manifest in manifests.connectors:
        try:
            connector_plan = plan(manifest.connector, worker, Plugins.installed(), secrets)
        except ConfigError as e:
            problems += (Problem(f"{manifest.where}: {p.property}", p.message) for p in reported_once(e.problems))
            hints += (Problem(f"{manifest.where}: {w.property}", w.message) for w in e.warnings)
            continue
        planned_connectors.append((connector_plan, manifest))
        warnings += [f"{manifest.where}: {w}" for w in connector_plan.warnings]
    if problems:
        raise ConfigError(problems, hints)
    return planned_connectors, warnings


def _check_policies(planned: Sequence[tuple[Plan, reader.Manifest]]) -> None:
    """Refuse connectors that name a TopicCreationPolicy: without it, their topics would be created by other rules, or none.

    Raises:
        ConfigError: there are such connectors; the error names all of them.
    """
    named = [(m.where, m.connector.spec.topic_creation_policy_ref) for _, m in planned]
    problems = [
        Problem(
            f"{where}: spec.topicCreationPolicyRef",
            f"cannot apply {policy.name}: only the operator applies policies; to use `penstock run`, remove this field, "
            f"and set topic.creation.* in spec.config or create the topics",
        )
        for where, policy in named
        if policy is not None
    ]
    if problems:
        raise ConfigError(problems)


def _check_reach(worker: WorkerConfig, options: RunOptions) -> None:
    """Raise ConfigError if a cluster's executors need the embedded Kafka, which listens only on this machine."""
    if options.spark is not None and worker.bootstrap_servers is None:
        raise ConfigError(
            Problem(
                "--master",
                "needs a Kafka that executors can reach, but the embedded one listens only on this machine; set "
                "--bootstrap-servers, or bootstrap.servers in the worker configuration",
            )
        )


def worker_config(file: Path | None, secrets: Path | None, bootstrap_servers: str | None = None) -> WorkerConfig:
    """Return the worker configuration in the file, with these bootstrap servers if they are not None.

    Raises:
        ConfigError: the file is invalid.
    """
    given = read_worker(file, secrets) if file is not None else worker_from({})
    for warning in given.warnings:
        log.warning("%s: %s", file, warning)
    texts = dict(given.config.raw)
    if bootstrap_servers is not None:
        texts["bootstrap.servers"] = bootstrap_servers
    if file is None:  # a developer's cluster may have one broker; the broker's default fits it
        texts.setdefault("offset.storage.replication.factor", "-1")
        texts.setdefault("status.storage.replication.factor", "-1")
    return WorkerConfig.parse(texts)


def run(options: RunOptions) -> ExitCode:
    """Run the connectors of these files until they end, or until Ctrl-C or SIGTERM."""
    signals = Signals()
    with ExitStack() as stack:
        worker = worker_config(options.worker, options.secrets, options.bootstrap_servers)
        planned, warnings = plans(options.files, worker, options.secrets)
        close_host()  # each task has its own JVM
        check_standard_input(planned, options.files)
        _check_policies(planned)
        _check_reach(worker, options)
        for warning in warnings:
            log.warning("%s", warning)
        if options.metrics_port:
            _check_ports(options.metrics_port, sum(len(connector_plan.tasks) for connector_plan, _ in planned))
        kafka, worker = kafka_for(worker, options.data_dir)
        if kafka is not None:
            stack.callback(kafka.stop)
        if signals.asked:
            return ExitCode.OK
        sweep()
        folder = stack.enter_context(Scratch()).path
        preparing = _Preparing(options, worker, folder, signals, kafka)
        tasks: list[Task] = []
        is_elsewhere = False
        for connector_plan, manifest in planned:
            try:
                tasks += preparing.tasks(connector_plan, manifest)
            except Superseded as e:  # the others continue here: they may have been taken over from another run
                say(f"{e}", level=logging.WARNING)
                is_elsewhere = True
            if signals.asked:
                return ExitCode.OK
        if is_elsewhere and not tasks:
            return ExitCode.SUPERSEDED
        console = None if options.console is None or not tasks else _console(options, worker, folder, planned)
        if console is not None:
            stack.callback(console.close)
            console.start()
        code = _supervise(tasks, options, folder, signals, stack, kafka, preparing.replan, console)
        if is_elsewhere and code is ExitCode.OK:
            code = ExitCode.SUPERSEDED
        if signals.count < 2:
            lost = {t.spec.connector for t in tasks if t.ended is TaskEnd.SUPERSEDED}
            for context, specs in preparing.announced.values():
                if context.spec.connector not in lost:  # the run that has taken it over writes its state
                    _announce_unassigned(context, specs)
        return code


class _Preparing:
    """Factory of tasks from plans, at the start of a run and when a plugin requests reconfiguration.

    Attributes:
        announced: by connector, a context, and the specs of its tasks.
    """

    def __init__(
        self, options: RunOptions, worker: WorkerConfig, folder: Path, signals: Signals, kafka: EmbeddedKafka | None
    ) -> None:
        self.announced: dict[str, tuple[TaskContext, Sequence[TaskSpec]]] = {}
        self._options = options
        self._worker = worker
        self._folder = folder
        self._signals = signals
        self._kafka = kafka
        self._connectors: dict[str, tuple[Plan, reader.Manifest]] = {}

    def tasks(self, connector_plan: Plan, manifest: reader.Manifest) -> list[Task]:
        """Create a connector's topics, fence its earlier incarnations, and return its tasks, ready to start."""
        if not connector_plan.tasks:
            say(f"Connector {connector_plan.connector} is Stopped: no task is started")
            return []
        reads_input = connector_plan.standard_input is not None
        restart = manifest.connector.spec.restart
        return [Task(s, restart, reads_input=reads_input) for s in self._specs(connector_plan, manifest)]

    def replan(self, connector: str) -> Callable[[], Sequence[TaskSpec] | None] | None:
        """Plan a connector again while its tasks run; return None to keep them. Blocks the supervisor."""
        before, manifest = self._connectors[connector]
        try:
            after = plan(manifest.connector, self._worker, Plugins.installed(), self._options.secrets)
        except ConnectError as e:
            say(f"cannot plan the new tasks of {connector}: {e}; its tasks continue", level=logging.WARNING)
            return None
        finally:
            close_host()
        if after.tasks == before.tasks or not after.tasks:
            return None
        say(
            f"{connector} requested new tasks: stopping its {len(before.tasks)} tasks, then starting {len(after.tasks)}"
        )
        return lambda: self._successors(after, manifest)

    def _successors(self, after: Plan, manifest: reader.Manifest) -> Sequence[TaskSpec] | None:
        try:
            return self._specs(after, manifest)
        except ConnectError as e:
            say(f"cannot create the new tasks of {after.connector}: {e}; restarting its tasks", level=logging.WARNING)
        except SystemExit:  # Ctrl-C: the supervisor handles it
            pass
        return None

    def _specs(self, connector_plan: Plan, manifest: reader.Manifest) -> Sequence[TaskSpec]:
        worker, signals, kafka = self._worker, self._signals, self._kafka
        specs = [s.model_copy(update={"worker": dict(worker.raw)}) for s in connector_plan.tasks]
        try:
            context = task_context(specs[0], slots_dir=self._folder)
        finally:
            close_host()  # it may have run config providers
        specs = on_cluster(specs, context, self._options.spark)
        epoch = until_kafka_answers(lambda: prepare(context), worker, signals, kafka)
        paused = manifest.connector.spec.state is DesiredState.PAUSED
        live = [
            s.for_incarnation(
                generation=epoch.generation, incarnation=1, token=uuid.uuid4().hex, plan=epoch.plan
            ).model_copy(update={"state": TaskState.PAUSED if paused else TaskState.RUNNING})
            for s in specs
        ]
        state = State.PAUSED if paused else State.RUNNING
        until_kafka_answers(lambda: announce(context, state, live), worker, signals, kafka)
        self.announced[connector_plan.connector] = (context, live)
        self._connectors[connector_plan.connector] = (connector_plan, manifest)
        return live


def _supervise(
    tasks: list[Task],
    options: RunOptions,
    folder: Path,
    signals: Signals,
    stack: ExitStack,
    kafka: EmbeddedKafka | None,
    replan: Callable[[str], Callable[[], Sequence[TaskSpec] | None] | None],
    console: "RunConsole | None",
) -> ExitCode:
    if not tasks:
        return ExitCode.OK
    view: View = Lines()
    log: IO[str] = sys.stderr
    if sys.stderr.isatty():
        options.data_dir.mkdir(parents=True, exist_ok=True)
        path = options.data_dir / "tasks.log"
        say(f"Task logs go to {path}")
        log = stack.enter_context(path.open("a", buffering=1, encoding="utf-8"))
        logs.configure_for_terminal(level=options.log_level, stream=log)
        stack.callback(logs.configure_for_terminal)
        view = Table("penstock run (Ctrl-C stops)", log)

    def show(tasks: Sequence[Task]) -> None:
        view.show(tasks)
        if console is not None:
            console.show(tasks)

    supervisor = Supervisor(
        tasks,
        folder=folder,
        log_level=options.log_level,
        log=log.fileno(),
        replan=replan,
        on_change=show,
        metrics_port=options.metrics_port,
        watch=lambda: revive(kafka),
    )
    signals.follow(supervisor)
    with view:
        supervisor.run()
        view.show(tasks, last=True)
    _report_ends(tasks)
    if signals.count > 1:
        return ExitCode.INTERRUPTED
    ends = {t.ended for t in tasks}
    if TaskEnd.REFUSED in ends:
        return ExitCode.CONFIG_INVALID
    if ends & {TaskEnd.FAILED, TaskEnd.LOST}:
        return ExitCode.FAILED
    return ExitCode.SUPERSEDED if TaskEnd.SUPERSEDED in ends else ExitCode.OK


def _console(
    options: RunOptions, worker: WorkerConfig, folder: Path, planned: Sequence[tuple[Plan, reader.Manifest]]
) -> "RunConsole":
    from penstock_cli.console.serving import RunConsole  # the web server is imported only where it is used

    assert options.console is not None
    common = [f"--plugin-path={path}" for path in options.plugin_path]
    common += [f"--secrets={options.secrets}"] if options.secrets is not None else []
    common += [f"--worker={options.worker}"] if options.worker is not None else []
    connectors = {found.connector: (manifest.connector, found.kind) for found, manifest in planned}
    return RunConsole(options.console, connectors, worker, folder, common)


def _report_ends(tasks: Sequence[Task]) -> None:
    """Print why tasks ended, unless they were stopped on request."""
    for task in tasks:
        if task.ended is TaskEnd.SUPERSEDED:
            say(
                f"{task.name} was taken over by a newer run of the same connector and continues there; nothing has failed."
            )
    for task in tasks:
        if task.ended is None:
            say(f"{task.name} was not running when the command was stopped: {task.error}", level=logging.WARNING)
        elif task.ended not in (TaskEnd.STOPPED, TaskEnd.SUPERSEDED):
            say(f"{task.name} has ended: {current_problem(task)}", level=logging.ERROR)


def _check_ports(first: int, count: int) -> None:
    """Raise ConnectError unless these ports are free: a task whose port is taken would fail."""
    if first + count - 1 > _HIGHEST_PORT:
        highest = _HIGHEST_PORT - count + 1
        raise ConnectError(
            f"cannot assign metrics ports to {count} tasks: --metrics-port {first} is too high; use {highest} or "
            "less, or omit it to use any free ports"
        )
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError as e:
                raise ConnectError(
                    f"cannot use port {port} for metrics: {e.strerror}; choose another --metrics-port, or omit it to use "
                    "any free ports"
                ) from e


def _announce_unassigned(context: TaskContext, specs: Sequence[TaskSpec]) -> None:
    try:
        announce(context, State.UNASSIGNED, specs, timeout=2.0)
    except ConnectError as e:
        log.debug("The connector's last state was not written: %s", e)
