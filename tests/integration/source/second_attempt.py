"""A part of a batch whose first attempt commits and is lost before it answers, so that Spark may run it again."""

import os
import subprocess
import sys
from pathlib import Path

from penstock_model.contracts.task_spec import TaskSpec

from ..reading import read_all
from ..running import PLUGINS

__all__ = ["check_second_attempt"]

_SCRIPT = """
import os, sys
from pathlib import Path
import psutil
from penstock.source import InputPartition
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.spark_worker import deliver_on_worker, payload
from penstock_runtime.source.worker_slots import Offer
from penstock_runtime.spark import jobs
from penstock_runtime.spark.cluster import Cluster
from penstock_runtime.spark.session import Spark, WorkerLost

spec, folder = TaskSpec.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
lost, is_guarded = sys.argv[3], sys.argv[4] == "guarded"

def deliver_and_be_lost(data):
    from pyspark import TaskContext
    attempt = TaskContext.get().attemptNumber()
    (folder / f"attempt-{attempt}").touch()
    answer = deliver_on_worker(data)
    (folder / f"delivered-{attempt}").touch()
    if attempt == 0:  # behind the commit, before the answer
        above = [p for p in psutil.Process().parents() if p.name() == "java"]  # an executor, then its Worker
        for process in reversed(above[:{"process": 0, "executor": 1, "worker": 2}[lost]]):
            process.kill()
        os._exit(1)
    return answer

class Repeating(Spark):
    # On one machine Spark runs a task again only where it may fail twice.
    def _start(self):
        self._cores = "2,2"
        super()._start()

if not is_guarded:
    jobs.in_first_attempt = lambda entry, data: entry(data)

with Scratch() as scratch:
    scratch.become_temporary()
    setup = SourceContext.of(spec, slots_dir=scratch.slots)
    fence = setup.transactional_fence()
    fence.begin(StatusWriter(setup.shared, client_id="second-attempts"))
    there = None if spec.spark_cluster is None else Cluster.of(spec.spark_cluster)
    of = Repeating if there is None else Spark
    spark = of(cores=2, conf=setup.task_settings.spark.conf, name="lost", eager=True, scratch=scratch, cluster=there)
    spark.session()
    work = [(InputPartition({"p": 0, "start": 0, "end": 10}, {}), [(b'["c",{"p":0}]', b'{"n":10}')])]
    try:
        spark.run(deliver_and_be_lost, [payload(setup, fence.current, work, Offer({}, 1))], timeout=120)
        print("delivered")
    except WorkerLost as e:
        print("lost")
        print("refused:", "its first attempt may have delivered records" in str(e.__cause__))
    spark.stop()
"""


def check_second_attempt(spec: TaskSpec, kafka: str, folder: Path, *, lost: str, guard: str) -> None:
    """Run such a part of ten records, and check what is committed: each once, or without the guard twice.

    Args:
        spec: spec of `numbers_source`.
        kafka: the brokers.
        folder: for files of this process and of workers.
        lost: with the first attempt: its `process`, its `executor`, or its `worker` (the executor's Worker).
        guard: `guarded`, or anything else: a second attempt is not refused.
    """
    file = folder / "spec.json"
    file.write_text(spec.to_json())
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(file), str(folder), lost, guard],
        env={**os.environ, "PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    begun = sorted(p.name for p in folder.glob("*-[01]"))
    committed = [(r.value or b"").decode() for r in read_all(kafka, spec.config["topic"])]
    once = [f"0:{n}" for n in range(10)]
    if guard == "guarded":
        # The end of an executor Spark counts as a failure of its part, so that there is no attempt to refuse.
        assert done.stdout.splitlines()[-2:] == ["lost", f"refused: {lost != 'executor'}"]
        assert begun == ["attempt-0", "delivered-0"]
        assert committed == once
    else:  # so the claim hangs on the guard alone
        assert done.stdout.splitlines()[-1:] == ["delivered"]
        assert begun == ["attempt-0", "attempt-1", "delivered-0", "delivered-1"]
        assert committed == once * 2
