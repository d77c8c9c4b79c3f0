"""Web server of `penstock run --console`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock_cli.console.child_commands import ChildCommands
from penstock_cli.console.local_source import PLOT_STEP, LocalSource
from penstock_cli.supervisor import Task
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.connector import Connector
from penstock_runtime.logs import say
from penstock_web.options import WebOptions
from penstock_web.server import WebServer

__all__ = ["RunConsole"]


class RunConsole:
    """Console of the connectors of this process, on this machine only. It is read-only.

    Args:
        port: port to listen on; 0: any free one.
        connectors: the connectors and their kinds, by Connect name.
        worker: worker configuration, with the Kafka of the run.
        folder: private folder for manifests.
        common: options with which commands of this program find secrets and plugins.
    """

    def __init__(
        self,
        port: int,
        connectors: Mapping[str, tuple[Connector, str]],
        worker: WorkerConfig,
        folder: Path,
        common: Sequence[str],
    ) -> None:
        commands = ChildCommands(folder, common, worker.bootstrap_servers or "")
        self._source = LocalSource(connectors, worker, commands)
        options = WebOptions(
            port=port,
            title="penstock run",
            is_cluster=False,
            transform=self._source.transform,
            plot_step=PLOT_STEP,
        )
        self._server = WebServer(self._source, options)

    def start(self) -> None:
        """Listen, and print the address.

        Raises:
            ConnectError: the port is taken.
        """
        self._server.start()
        say(f"Console: http://127.0.0.1:{self._server.port}/")

    def show(self, tasks: Sequence[Task]) -> None:
        """Show the current state of the tasks."""
        self._source.show(tasks)

    def close(self) -> None:
        """Stop listening."""
        self._server.close()
