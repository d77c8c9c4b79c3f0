"""Spark runs a part of a batch again, whose first attempt has committed and was lost: the second one commits nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..holding import Hold, held_task_spec
from ..reading import read_all
from ..running import PLUGINS

SCRIPT = """
import os, sys
from pathlib import Path
from pyspark import TaskContext
from penstock.source import InputPartition
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.source.context import SourceContext
from penstock_runtime.source.spark_worker import deliver_on_worker, payload
from penstock_runtime.source.worker_slots import Offer
from penstock_runtime.spark import session
from penstock_runtime.spark.session import Spark, WorkerLost

spec, folder, is_guarded = TaskSpec.from_json(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), sys.argv[3] == "guarded"

def deliver_and_be_lost(data):
    attempt = TaskContext.get().attemptNumber()
    (folder / f"attempt-{attempt}").touch()
    answer = deliver_on_worker(data)
    (folder / f"delivered-{attempt}").touch()
    if attempt == 0:
        os._exit(1)  # behind the commit, before the answer
    return answer

class Repeating(Spark):
    # What the loss of an executor does on a cluster: Spark runs the task again.
    def _start(self):
        self._cores = "2,2"
        super()._start()

if not is_guarded:
    session.in_first_attempt = lambda entry, data: entry(data)

with Scratch() as scratch:
    scratch.become_temporary()
    setup = SourceContext.of(spec, slots_dir=scratch.slots)
    fence = setup.transactional_fence()
    fence.begin(StatusWriter(setup.shared, client_id="second-attempts"))
    spark = Repeating(cores=2, conf={}, name="second-attempts", eager=True, scratch=scratch)
    work = [(InputPartition({"p": 0, "start": 0, "end": 10}, {}), [(b'["c",{"p":0}]', b'{"n":10}')])]
    try:
        spark.run(deliver_and_be_lost, [payload(setup, fence.current, work, Offer({}, 1))], timeout=120)
        print("delivered")
    except WorkerLost as e:
        print("lost")
        print("refused:", "whose first attempt may have delivered records" in str(e.__cause__))
    spark.stop()
"""


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["guarded", "without the guard"])
def test_a_second_attempt_is_refused_and_commits_nothing_and_would_double_records_if_it_were_not_refused(
    kafka: str, topic: str, tmp_path: Path, guard: str
) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(held_task_spec(kafka, topic, Hold(tmp_path)).to_json())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(spec), str(tmp_path), guard],
        env={**os.environ, "PYTHONPATH": str(PLUGINS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    begun = sorted(p.name for p in tmp_path.glob("*-[01]"))
    committed = [(r.value or b"").decode() for r in read_all(kafka, topic)]
    once = [f"0:{n}" for n in range(10)]
    if guard == "guarded":
        assert done.stdout.splitlines()[-2:] == ["lost", "refused: True"]
        assert begun == ["attempt-0", "delivered-0"]
        assert committed == once
    else:  # so the claim hangs on the guard alone
        assert done.stdout.splitlines()[-1:] == ["delivered"]
        assert begun == ["attempt-0", "attempt-1", "delivered-0", "delivered-1"]
        assert committed == once * 2
