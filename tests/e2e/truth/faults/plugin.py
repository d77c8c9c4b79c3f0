"""Faults of plugins, of the data that they meet and of the systems that they talk to."""

from collections.abc import Callable
from typing import Any, Final

from ...faulty_plugin import breaks, faulty_sink, faulty_source, mends
from ...place import Connector
from ..fault import Fault, Says, Scene, Steps, copies

__all__ = ["FAULTS"]

_REFUSED: Final = "cannot connect to db.example:5432: connection refused"
_NONSENSE: Final = "cannot read the answer of db.example: it ends in the middle"


def _source(call: str, how: str, **config: Any) -> Callable[[Scene], Connector]:
    return lambda scene: faulty_source(scene.place, call, how, **config)


def _sink(call: str, how: str, **config: Any) -> Callable[[Scene], Connector]:
    def made(scene: Scene) -> Connector:
        scene.place.kafka.write(f"{scene.place.namespace}.in", ["1"])
        return faulty_sink(scene.place, call, how, consumer_override_auto_offset_reset="earliest", **config)

    return made


def _breaks(scene: Scene) -> None:
    breaks(scene.connector)


def _write_breaks(scene: Scene) -> None:
    breaks(scene.connector)
    _records(scene, ["2"])


def _mends(scene: Scene) -> None:
    mends(scene.connector)


def _records(scene: Scene, values: list[str]) -> None:
    scene.place.kafka.write(f"{scene.place.namespace}.in", values)


def _configured(**config: Any) -> Steps:
    return lambda scene: scene.connector.configure(**config)


def _poison(scene: Scene) -> None:
    _records(scene, ["{"])


def _file(scene: Scene) -> Connector:
    config = {"topic": f"{scene.place.namespace}.lines", "file": "/tmp/in.txt"}
    return scene.place.unapplied("lines", "FileStreamSource", config)


def _file_comes(scene: Scene) -> None:
    scene.connector.kubectl("exec", scene.connector.pod(), "--", "sh", "-c", "echo a line > /tmp/in.txt")


def _broken_module(scene: Scene) -> Connector:
    template = scene.place.plugin("broken", "import acme_absent\n")
    return scene.place.unapplied("broken", "broken:Source", {"topic": "t"}, template=template)


def _more_comes(scene: Scene) -> None:
    """Have records arrive five times as fast as the sink writes them."""
    breaks(scene.connector)
    scene.place.datagen("arrivals", topic=f"{scene.place.namespace}.in", config={"rate": 100})


def _no_more_comes(scene: Scene) -> None:
    scene.connector.kubectl("delete", "connector", "arrivals")
    mends(scene.connector)


FAULTS: Final = (
    Fault(
        "a source blocks while it reads",
        "`read` or `poll` does not return",
        Says("Hindered", ("Held up for more than 30 s in", "faulty.py")),
        "find the call in which the plugin blocks",
        _source("read", "waits"),
        _breaks,
        _mends,
        bears=30,
    ),
    Fault(
        "a sink blocks while it writes",
        "`write` or `put` does not return",
        Says("Hindered", ("Held up for more than 30 s in", "faulty.py")),
        "find the call in which the plugin blocks",
        _sink("write", "waits"),
        _write_breaks,
        _mends,
        bears=30,
    ),
    Fault(
        "a source cannot connect when it starts",
        "`start` raises RetriableError repeatedly",
        Says("Starting|Hindered|Unavailable", (_REFUSED,)),
        "restore the external system, or correct its address",
        _source("start", "retries", at_once=True),
        remove=_mends,
        is_quick=True,
    ),
    Fault(
        "a sink cannot connect when it starts",
        "`start` raises RetriableError repeatedly",
        Says("Starting|Hindered|Unavailable", (_REFUSED,)),
        "restore the external system, or correct its address",
        _sink("start", "retries", at_once=True),
        remove=_mends,
    ),
    Fault(
        "a source blocks when it starts",
        "`start` does not return",
        Says("Starting|Hindered", ("Held up for more than 30 s in", "faulty.py")),
        "find the call in which the plugin blocks",
        _source("start", "waits", at_once=True),
        remove=_mends,
        bears=30,
    ),
    Fault(
        "a sink blocks when it starts",
        "`start` does not return",
        Says("Starting|Hindered", ("Held up for more than 30 s in", "faulty.py")),
        "find the call in which the plugin blocks",
        _sink("start", "waits", at_once=True),
        remove=_mends,
        bears=30,
    ),
    Fault(
        "a source loses its external system",
        "`read` raises RetriableError repeatedly",
        Says("Hindered|Unavailable", (_REFUSED,)),
        "restore the external system",
        _source("read", "retries"),
        _breaks,
        _mends,
    ),
    Fault(
        "a sink loses its external system",
        "`write` raises RetriableError repeatedly",
        Says("Hindered|Unavailable", (_REFUSED,)),
        "restore the external system",
        _sink("write", "retries"),
        _write_breaks,
        _mends,
        is_quick=True,
    ),
    Fault(
        "a source fails while it reads",
        "`read` raises",
        Says("TasksFailed", (_NONSENSE,)),
        "read the trace in `status.tasks[].trace`",
        _source("read", "raises", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "a sink fails while it writes",
        "`write` raises",
        Says("TasksFailed", (_NONSENSE,)),
        "read the trace in `status.tasks[].trace`",
        _sink("write", "raises", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "a plugin ends the process when it starts",
        "a library calls exit in `start`",
        Says("TasksFailed", ("exited with code 3",)),
        "correct the plugin",
        _source("start", "exits", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
    ),
    Fault(
        "a plugin blocks while it plans",
        "`validate` or `task_configs` does not return",
        Says("DeadlineExceeded|Planning|JobFailed", ("did not end in time: it was stopped in call (faulty.py",)),
        "find the call in which the plugin blocks",
        _source("plan", "waits", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
        bears=120,
    ),
    Fault(
        "a plugin cannot connect while it plans",
        "`validate` or `task_configs` raises RetriableError",
        Says("Unavailable", (_REFUSED,)),
        "restore the external system, or correct its address",
        _source("plan", "retries", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
    ),
    Fault(
        "a plugin fails while it plans",
        "`task_configs` raises",
        Says("ConfigInvalid", (_NONSENSE,)),
        "correct the configuration, or the plugin",
        _source("plan", "raises", at_once=True),
        remove=_configured(how=""),
        needs_user=True,
    ),
    Fault(
        "a plugin's module cannot be imported",
        "the module imports a module that is not installed",
        Says("ConfigInvalid", ("acme_absent",)),
        "install the package that provides the module",
        _broken_module,
        remove=lambda scene: scene.connector.apply(**{"class": "Datagen"}),
        needs_user=True,
    ),
    Fault(
        "a poison record",
        "a sink's converter cannot read a record",
        Says("TasksFailed", ("in-0 offset 2", "VALUE_CONVERTER")),
        "correct the data, or set `errors.tolerance` ([errors.md](errors.md)). If it fails at the first record, the "
        "converter probably does not fit the data: set `value.converter` (`StringConverter` for text)",
        copies(),
        _poison,
        remove=_configured(errors_tolerance="all"),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "all records are dropped",
        "`errors.tolerance: all`, and every record fails",
        Says("Hindered|Running", ("VALUE_CONVERTER",)),
        "correct the data or the converter",
        copies(errors_tolerance="all"),
        lambda scene: _records(scene, ["{"] * 50),
        lambda scene: _records(scene, ["1"] * 50),
        seconds=75,
    ),
    Fault(
        "a source's file does not exist",
        "`file` of a FileStreamSource names a file that does not exist",
        Says("Hindered|Starting|Unavailable", ("/tmp/in.txt",)),
        "create the file, or correct `file`",
        _file,
        remove=_file_comes,
    ),
    Fault(
        "a sink is too slow",
        "records arrive faster than the sink writes them, for ten minutes",
        Says("LagGrows", ("lag",), kind="Lagging", status="True"),
        "raise `tasksMax`, or find what slows the sink",
        _sink("write", "is slow", consumer_override_max_poll_records=100),
        _more_comes,
        _no_more_comes,
        halts=False,
        seconds=90,
        bears=720,
        recovery=180,
    ),
)
