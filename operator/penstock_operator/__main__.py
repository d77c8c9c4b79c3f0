"""Process of the operator: `python -m penstock_operator --config /etc/penstock/operator.yaml`."""

import argparse
import asyncio
import importlib.metadata
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, ConnectError
from penstock_model.contracts.pod_layout import SECRETS_DIR, TERMINATION_LIMIT, TERMINATION_LOG
from penstock_model.version import VersionAction, version_text
from penstock_operator import logs
from penstock_operator.connector.reconciler import Reconciler
from penstock_operator.context import Reconcile
from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.cluster_id import with_cluster_id
from penstock_operator.metrics import Metrics
from penstock_operator.operator import Operator
from penstock_operator.secret_hash_key import secret_hash_key
from penstock_operator.settings import Settings

__all__ = ["main"]

log = logging.getLogger("penstock_operator")

_CONFIG: Final = Path("/etc/penstock/operator.yaml")
_KEY: Final = Path("/etc/penstock/key/key")
_TERMINATION: Final = Path(TERMINATION_LOG)
_FAILED, _WRONG = 1, 2
_VERSION: Final = importlib.metadata.version("penstock")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the operator until SIGTERM, and return its exit code.

    The code is 0 if it stopped as requested, 1 if a part of it failed, 2 if the configuration is invalid.
    """
    options = _parser().parse_args(arguments)
    logs.configure()
    try:
        settings = Settings.read(options.config, options.secrets)
        logs.configure(settings.log_level, redact=settings.at_start.redact)
        for warning in settings.at_start.warnings:
            log.warning("worker.%s", warning)
        metrics = Metrics(version=_VERSION, release=settings.release.label)
        kube = Kube.connect(
            kubeconfig=_kubeconfig(options.kubeconfig), context=options.context, on_request=metrics.requested
        )
        settings = with_cluster_id(settings, kube)
        key = secret_hash_key(options.key, settings, kube)
    except ConfigError as e:
        for problem in e.problems:
            log.critical("%s", problem)
        _leave_cause(options.termination, "\n".join(map(str, e.problems)))
        return _WRONG
    except OperatorError as e:
        log.critical("The operator cannot start: %s", e)
        _leave_cause(options.termination, f"The operator cannot start: {e}")
        return _FAILED
    try:
        asyncio.run(_operate(settings, kube, key, Reconciler(), metrics))
    except (ConnectError, RuntimeError, OSError) as e:
        log.critical("The operator stops: %s", e)
        _leave_cause(options.termination, f"The operator stops: {e}")
        return _FAILED
    finally:
        kube.close()
    log.info("The operator has stopped as requested")
    return 0


async def _operate(settings: Settings, kube: Kube, key: bytes, reconcile: Reconcile, metrics: Metrics) -> None:
    operator = Operator(settings, kube, key, reconcile, metrics)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, operator.stop)
    log.info("Starting the operator of release %s: %s", settings.release.label, version_text())
    await operator.run()


def _leave_cause(file: Path, cause: str) -> None:
    """Write the container's termination message, shown by `kubectl describe pod`, if Kubernetes has created its file."""
    if file.exists():
        with suppress(OSError):
            file.write_bytes(cause.encode()[:TERMINATION_LIMIT])


def _kubeconfig(given: str | None) -> Path | None:
    """Return the file that `--kubeconfig` names; None: the option is missing.

    If the option has no value, return the file of $KUBECONFIG, or else `~/.kube/config`.
    """
    if given is None:
        return None
    return Path(given or os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="penstock-operator", description="Run Connectors on Kubernetes.")
    parser.add_argument("--config", type=Path, default=_CONFIG, help="configuration of the release (%(default)s)")
    parser.add_argument(
        "--key",
        type=Path,
        default=_KEY,
        help="key of the release (%(default)s; if it does not exist, that of a Secret)",
    )
    parser.add_argument(
        "--secrets", type=Path, default=Path(SECRETS_DIR), help="folder of mounted Secrets (%(default)s)"
    )
    parser.add_argument(
        "--kubeconfig",
        nargs="?",
        const="",
        default=None,
        help="kubeconfig file; without a value, that of $KUBECONFIG; without the option, the pod's service account",
    )
    parser.add_argument("--termination", type=Path, default=_TERMINATION, help=argparse.SUPPRESS)
    parser.add_argument("--context", default=None, help="context of the kubeconfig file (default: its current context)")
    parser.add_argument("--version", action=VersionAction, help="print the version and the commit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
