"""A standalone cluster of Spark's: its own Master and Workers, each Worker with its own user and its own /tmp.

So nothing that one machine gives for free (a shared folder, one user, process ids) helps an executor.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil
import pyspark

from penstock_model.contracts.task_spec import SparkCluster, TaskSpec

from .ports import free_port
from .running import PLUGINS, until

_HOME: Final = Path(pyspark.__file__).parent
_ROOT: Final = Path(__file__).parents[2]
_USERS: Final = ("nobody", "daemon")
SECRET: Final = "a-secret-of-the-cluster"
OWN_FILE: Final = "/tmp/file-of-the-test"
_WORK: Final = "/tmp/work"
"""Of each Worker, in its own /tmp."""
_OWN_TMP: Final = f"""
text=$(cat "$0")
mount --bind '{_ROOT}' /mnt
mount -t tmpfs -o mode=1777 tmpfs /tmp
mkdir -p '{_ROOT}'
mount --bind /mnt '{_ROOT}'
umask 022
echo "$text" > {OWN_FILE}
"""
"""The checkout stays where it is, also where that is a folder in /tmp."""


class StandaloneCluster:
    """Starts its processes on this machine; `end` kills them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._conf = folder / "spark.conf"
        settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": SECRET,
            "spark.network.crypto.enabled": "true",
            "spark.master.rest.enabled": "false",
        }
        self._conf.write_text("".join(f"{name} {text}\n" for name, text in settings.items()))
        self.secret_file = folder / "secret"
        self.secret_file.write_text(SECRET)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.master: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def start_master(self) -> None:
        """Wait until the Master takes Workers."""
        command = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(self._port)]
        more = ["--webui-port", "0", "--properties-file", str(self._conf)]
        self.master = self._start("master", [str(_HOME / "bin/spark-class"), *command, *more])
        self._await_log("master", "I have been elected leader")

    def start_workers(self, count: int, *, cores: int = 1, with_plugins: bool = True) -> None:
        """Start so many, of one core each or more, and wait until the Master has them."""
        names = [self._start_worker(cores, with_plugins=with_plugins) for _ in range(count)]
        for name in names:
            self._await_log(name, "Successfully registered with master")

    def _start_worker(self, cores: int, *, with_plugins: bool) -> str:
        number = len(self.workers)
        name = f"worker-{number}"
        daemon = [
            str(_HOME / "bin/spark-class"), "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
            "--cores", str(cores), "--memory", "2g", "--webui-port", "0", "--work-dir", _WORK,
            "--properties-file", OWN_FILE, self.url,
        ]  # fmt: skip
        paths = {"PYTHONPATH": str(PLUGINS)} if with_plugins else {}
        command = elsewhere(number, daemon, file=self._conf)
        self.workers.append(self._start(name, command, HOME="/tmp", **paths))
        return name

    def options(self, *more: str) -> Sequence[str]:
        """Of `penstock run`."""
        found = ["--master", self.url, "--master-secret", str(self.secret_file)]
        for setting in ("spark.executor.memory=512m", *more):
            found += ["--spark-conf", setting]
        return found

    def executors(self) -> list[psutil.Process]:
        """The JVMs of executors that live now."""
        return [p for p in _below(self.workers) if "CoarseGrainedExecutorBackend" in _command(p)]

    def await_executors(self, count: int) -> list[psutil.Process]:
        """Wait for so many."""
        return until(lambda: found if len(found := self.executors()) == count else None, what=f"{count} executors")

    def worker_of(self, executor: psutil.Process) -> int:
        """The number of the Worker that has started an executor."""
        above = {process.pid for process in executor.parents()}
        return next(number for number, worker in enumerate(self.workers) if worker.pid in above)

    def kill_worker(self, number: int) -> None:
        """`kill -9` of a Worker and of its executors."""
        _kill([self.workers[number]])

    def end(self) -> None:
        """Kill all of it."""
        _kill([*self.workers, *([self.master] if self.master is not None else [])])
        self.workers, self.master = [], None

    def log_text(self, name: str) -> str:
        """What a process has written."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _start(self, name: str, command: Sequence[str], **env: str) -> subprocess.Popen[bytes]:
        without = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_LOCAL_IP")}
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                env={**without, "SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _await_log(self, name: str, text: str) -> None:
        until(lambda: text in self.log_text(name), what=lambda: f"{text!r}\n{self.log_text(name)[-3000:]}")


def on(cluster: StandaloneCluster, spec: TaskSpec, **conf: str) -> TaskSpec:
    """The spec of a task whose Spark is the cluster."""
    there = SparkCluster(master=cluster.url, secret_file=str(cluster.secret_file), cores=4)
    spark = {**spec.settings.get("spark", {}), "conf": {"spark.executor.memory": "512m", **conf}}
    return spec.model_copy(update={"settings": {**spec.settings, "spark": spark}, "spark_cluster": there})


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[StandaloneCluster]:
    """A Master without Workers, for a while."""
    folder.mkdir()
    cluster = StandaloneCluster(folder)
    try:
        cluster.start_master()
        yield cluster
    finally:
        cluster.end()


def ended(executor: psutil.Process) -> int:
    """How many of Spark's tasks an executor has ended, by its log."""
    logs = Path(f"/proc/{executor.pid}/root{_WORK}").glob("*/*/stderr")
    words = ("Finished task", "Executor killed task", "Executor interrupted and killed task")
    return sum(log.read_text(errors="replace").count(word) for log in logs for word in words)


def stop(executor: psutil.Process, *, whole: bool) -> None:
    """Freeze an executor's Java, or the whole of it with its Python workers."""
    for each in [executor, *(executor.children(recursive=True) if whole else [])]:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGSTOP)


def go_on(process: psutil.Process) -> None:
    """Let them go on, those that are still there: a Worker kills an executor that Spark has given up."""
    with suppress(psutil.NoSuchProcess):
        for each in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGCONT)


def elsewhere(number: int, command: Sequence[str], *, file: Path) -> list[str]:
    """The command with a user and a /tmp of its own, in which `OWN_FILE` is a copy of the file."""
    user = _USERS[number % len(_USERS)]
    # It may read the packages of the user that runs the tests, and write nowhere but into its own /tmp.
    rights = ["--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    shell = f'{_OWN_TMP} exec setpriv --reuid={user} --regid={_group(user)} {" ".join(rights)} "$@"'
    return ["unshare", "--mount", "sh", "-ec", shell, str(file), *command]


def _group(user: str) -> str:
    return {"nobody": "nogroup"}.get(user, user)


def _below(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[psutil.Process]:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            yield from psutil.Process(each.pid).children(recursive=True)


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _kill(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    found = [*_below(processes), *(psutil.Process(p.pid) for p in processes if p.poll() is None)]
    for each in found:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    for started in processes:
        started.wait()
