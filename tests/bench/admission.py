"""Latency of `kubectl apply --dry-run=server` with and without the validating webhook, with many Connectors."""

import itertools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.operator_work import bench_api_server
from tests.bench.results import AtMost, Measure
from tests.integration.api_servers import ApiServer
from tests.integration.cluster_api.api import Api, ApiRefused
from tests.integration.operator.served_webhook import Served, connector

from penstock_operator.kubernetes.client import Kube

__all__ = ["AdmissionFigures", "admission_rows", "run_admission"]

_CLIENTS: Final = 8
_COUNT: Final = 1_000
_QUICK: Final = 100
_GOAL: Final = 1.0


@dataclass(frozen=True)
class AdmissionFigures:
    """Sorted seconds of dry runs: of valid Connectors without and with the webhook, and of refused ones."""

    count: int
    without: Sequence[float]
    accepted: Sequence[float]
    refused: Sequence[float]


def run_admission(folder: Path, *, quick: bool) -> AdmissionFigures:
    """Measure once: eight clients apply at the same time, to an API server that has as many Connectors as they apply."""
    count = _QUICK if quick else _COUNT
    with _served(folder) as (server, served):
        api, namespace = server.api, served.namespace
        _applied(api, namespace, count, dry_run=False)
        without = _applied(api, namespace, count)
        served.install()
        served.start()
        accepted = _applied(api, namespace, count)
        refused = _applied(api, namespace, count, is_wrong=True)
    return AdmissionFigures(count, without, accepted, refused)


def admission_rows(figures: AdmissionFigures) -> list[Measure]:
    """Return the rows; only Penstock has them."""
    of = f"dry-run apply with {figures.count:,} Connectors, {_CLIENTS} clients"
    return [
        Measure(f"{of}, without the webhook: p99", "s", [_p99(figures.without)], []),
        Measure(f"{of}, accepted: p99", "s", [_p99(figures.accepted)], [], AtMost(_GOAL)),
        Measure(f"{of}, refused: p99", "s", [_p99(figures.refused)], [], AtMost(_GOAL)),
    ]


@contextmanager
def _served(folder: Path) -> Iterator[tuple[ApiServer, Served]]:
    folder.mkdir(parents=True, exist_ok=True)
    with bench_api_server(folder) as server:
        kube = Kube.connect(kubeconfig=server.kubeconfig)
        served = Served(server.api, kube, server.api.new_namespace(), folder)
        try:
            yield server, served
        finally:
            served.remove()
            kube.close()


def _applied(api: Api, namespace: str, count: int, *, dry_run: bool = True, is_wrong: bool = False) -> Sequence[float]:
    """Apply as many Connectors, each with another configuration than before, and return the sorted seconds."""
    changed = next(_CHANGES)

    def apply(number: int) -> float:
        batch = "many" if is_wrong else str(1 + changed * count + number)
        begun = time.monotonic()
        try:
            api.apply(connector(namespace, f"c{number}", **{"batch.size": batch}), dry_run=dry_run)
        except ApiRefused as e:
            if not is_wrong or e.code != 422:
                raise
        else:
            assert not is_wrong
        return time.monotonic() - begun

    with ThreadPoolExecutor(_CLIENTS) as clients:
        return sorted(clients.map(apply, range(count)))


_CHANGES: Final = itertools.count()


def _p99(seconds: Sequence[float]) -> float:
    return seconds[int(len(seconds) * 0.99)]
