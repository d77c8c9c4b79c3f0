"""The operator with many connectors, with idle ones, and on one change: a real API server and Kafka, pods are played."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.bench.operator_figures import (
    Idle,
    Many,
    Restart,
    annotation_to_result,
    change_to_action,
    created,
    idle,
    p50,
    removed,
    restart,
    scrape,
    settled_all,
)
from tests.bench.operator_topics import TopicFigures, new_topics_each_second
from tests.bench.results import AtMost, Measure
from tests.integration.api_servers import ROOT, ApiServer, run
from tests.integration.cluster_api.api import Api
from tests.integration.operator_life.world.answers import Answers, template
from tests.integration.operator_life.world.processes import Stable
from tests.integration.operator_life.world.site import Site

from penstock_model.contracts.job import JobAnswer, JobRequest
from penstock_model.contracts.job_answer import read_answer
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.offsets_requests import OFFSETS_ACTIONS
from penstock_operator.kubernetes.client import Kube
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

__all__ = ["OperatorFigures", "bench_api_server", "operator_rows", "run_operator"]

_LIMIT: Final = 1800.0
_ACTIONS: Final = ("list_offsets", "reset_offsets")


@dataclass(frozen=True)
class Size:
    """How much."""

    stopped: int
    running: int
    idle: int
    idle_seconds: float
    changes: int
    topics: int
    new_topics: int


FULL: Final = Size(10_000, 1_000, 50, 600, 20, 1_000, 120)
QUICK: Final = Size(200, 60, 20, 20, 5, 1_000, 20)


@dataclass(frozen=True)
class OperatorFigures:
    """Of one run; `load` is the machine's (1 minute) at its beginning."""

    load: float
    stopped: Many
    running: Many
    meanwhile: Sequence[float]
    again: Restart
    scrape: float
    deleted: float
    idle: Idle
    action: Sequence[float]
    listed: Sequence[float]
    reset: Sequence[float]
    topics: TopicFigures


def run_operator(folder: Path, servers: str, *, quick: bool) -> OperatorFigures:
    """Measure once."""
    size = QUICK if quick else FULL
    load = os.getloadavg()[0]
    with bench_api_server(folder) as server, _site(server, servers, folder / "many", 8) as site:
        operator = site.operator(forked=False).start().ready(120)
        resting, working = [f"s{n}" for n in range(size.stopped)], [f"r{n}" for n in range(size.running)]
        settled_all(site, operator, ["first"], "Running", created(site, ["first"]), _LIMIT)
        settled = threading.Event()
        with ThreadPoolExecutor(1) as beside:
            changes = beside.submit(_changes_until, settled, site)
            try:
                stopped = settled_all(
                    site, operator, resting, "Stopped", created(site, resting, state="Stopped"), _LIMIT
                )
            finally:  # else who interrupts this waits for changes without an end
                settled.set()
            meanwhile = changes.result()
        _told("stopped ones settled", stopped)
        running = settled_all(site, operator, working, "Running", created(site, working), _LIMIT)
        _told("running ones settled", running)
        again = restart(operator, 1 + size.stopped + size.running, _LIMIT)
        _told("restarted", again)
        page = scrape(operator)
        deleted = removed(site, ["first", *resting, *working])
        _told("deleted", deleted)
        site.check()
        with _site(server, servers, folder / "idle", 4) as quiet:
            few = [f"c{n}" for n in range(size.idle)]
            own = quiet.operator(forked=False).start().ready(120)
            settled_all(quiet, own, few, "Running", created(quiet, few), _LIMIT)
            at_rest = idle(own, size.idle_seconds)
            action = change_to_action(quiet, few[0], size.changes)
            quiet.check()
        with _site(server, servers, folder / "offsets", 4, _by_process) as asked:
            alone = asked.operator(forked=False).start().ready(120)
            asked.create("orders", state="Stopped")
            asked.settled("orders", "Stopped", seconds=120)
            listed, reset = (annotation_to_result(asked, "orders", a, size.changes) for a in _ACTIONS)
            topics = new_topics_each_second(asked, alone, "orders", size.topics, size.new_topics)
            _told("active topics", topics)
            asked.check()
    return OperatorFigures(
        load, stopped, running, meanwhile, again, page, deleted, at_rest, action, listed, reset, topics
    )


def _by_process(request: JobRequest) -> JobAnswer:
    """The answer of a job's own process, which is most of the time of an action on offsets; plans come from a template."""
    if request.action not in OFFSETS_ACTIONS:
        return template(request)
    with TemporaryDirectory() as folder:
        file = Path(folder, "request.json")
        file.write_text(request.to_json())
        done = subprocess.run(
            [sys.executable, "-m", "penstock_runtime.job", str(file)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, TERMINATION_LOG_VARIABLE: str(Path(folder, "word"))},
            check=True,
        )
    answer = read_answer(done.stdout, Connector.draft(request.connector).request_texts(request.worker))
    assert answer is not None, done.stderr
    return answer


def _told(what: str, figures: object) -> None:
    print(f"operator, {what}: {figures}", flush=True)


def _changes_until(settled: threading.Event, site: Site) -> list[float]:
    """As `change_to_action`, one after the other until then."""
    found: list[float] = []
    while not settled.is_set():
        found += change_to_action(site, "first", 1)
    return found


def operator_rows(runs: Sequence[OperatorFigures]) -> list[Measure]:
    """The rows; Kafka Connect has no operator."""

    def row(name: str, unit: str, figures: Sequence[float], limit: float | None) -> Measure:
        return Measure(f"operator: {name}", unit, figures, [], None if limit is None else AtMost(limit))

    many, few = runs[0].stopped.count, runs[0].running.count
    return [
        row(f"{many} stopped connectors settled", "s", [r.stopped.seconds for r in runs], None),
        row(f"{few} running connectors settled besides", "s", [r.running.seconds for r in runs], None),
        row("both", "s", [r.stopped.seconds + r.running.seconds for r in runs], 600),
        row("meanwhile: change to action p50", "s", [p50(r.meanwhile) for r in runs], 1),
        row("meanwhile: change to action, slowest", "s", [max(r.meanwhile) for r in runs], None),
        row("CPU for both", "s", [r.running.cpu for r in runs], None),
        row("memory after both", "MB", [r.running.memory for r in runs], 512),
        row("restart with all of them", "s", [r.again.seconds for r in runs], None),
        row("writes by that restart", "", [float(r.again.writes) for r in runs], 0),
        row("page of metrics with all of them", "s", [r.scrape for r in runs], None),
        row("all of them deleted", "s", [r.deleted for r in runs], None),
        row("idle: memory", "MB", [r.idle.memory for r in runs], 150),
        row("idle: CPU", "% of a core", [r.idle.cpu * 100 for r in runs], 1),
        row("idle: writes", "", [float(r.idle.writes) for r in runs], 0),
        row("change to action p50", "s", [p50(r.action) for r in runs], 1),
        row("change to action, slowest", "s", [max(r.action) for r in runs], None),
        row("list of offsets: annotation to result p50", "s", [p50(r.listed) for r in runs], 3),
        row("list of offsets, slowest", "s", [max(r.listed) for r in runs], None),
        row("reset of offsets: annotation to result p50", "s", [p50(r.reset) for r in runs], 3),
        row("reset of offsets, slowest", "s", [max(r.reset) for r in runs], None),
        row("1,000 new active topics at once: told within", "s", [r.topics.told for r in runs], 15),
        row("1,000 active topics and a new one each second: writes a minute", "", [r.topics.writes for r in runs], 7),
        row("1,000 active topics and a new one each second: CPU", "% of a core", [r.topics.cpu * 100 for r in runs], 2),
        row("load of the machine before", "", [r.load for r in runs], None),
    ]


@contextmanager
def bench_api_server(folder: Path) -> Iterator[ApiServer]:
    """Run a real API server that knows the project's resources; files are in this folder."""
    name = f"bench-{os.getpid()}"
    run(name, "up", "--api-only", "--with-parent", str(os.getpid()), timeout=1400)
    try:
        kubeconfig = Path(run(name, "kubeconfig").strip())
        cache = folder / "kubectl"
        server = ApiServer(name, kubeconfig, Api(kubeconfig), cache)
        crds = ("--filename", str(ROOT / "crds"))
        server.kubectl("apply", "--server-side", *crds)
        server.kubectl("wait", "--for=condition=Established", *crds)
        yield server
        server.api.close()
    finally:
        run(name, "down")


@contextmanager
def _site(server: ApiServer, servers: str, folder: Path, workers: int, answers: Answers = template) -> Iterator[Site]:
    kube, stable = Kube.connect(kubeconfig=server.kubeconfig), Stable()
    try:
        site = Site(server, kube.server.connection, servers, folder, stable, workers=workers, answers=answers)
        try:
            yield site
        finally:
            site.close()
    finally:
        stable.close()
        kube.close()
