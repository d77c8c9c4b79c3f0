"""The log level that an annotation requests of running tasks: without a restart, once, and back when it is removed."""

from .test_active_topics import NAME, running
from .world.world import World

LEVEL = "penstock.dev/log-level"


def level(world: World) -> str | None:
    control = world.topic.control(NAME)
    return None if control is None else control.log_level


def request(world: World, text: str) -> None:
    world.annotations = {**world.annotations, LEVEL: text}
    world.settle()


def test_a_requested_level_is_sent_to_the_tasks_which_keep_running() -> None:
    world = running()
    pods = list(world.lives)
    request(world, "DEBUG 0")
    assert (level(world), world.lives) == ("DEBUG 0", pods)
    world.annotations = {}
    world.settle()
    assert (level(world), world.lives) == (None, pods)


def test_a_pause_keeps_the_level_and_a_level_keeps_the_pause() -> None:
    world = running()
    request(world, "DEBUG")
    world.change(state="Paused")
    world.settle()
    control = world.topic.control(NAME)
    assert control is not None
    assert (control.state, control.log_level) == ("Paused", "DEBUG")
    request(world, "ERROR")
    control = world.topic.control(NAME)
    assert control is not None
    assert (control.state, control.log_level) == ("Paused", "ERROR")


def test_a_wrong_level_changes_nothing_and_is_a_warning_of_the_configuration() -> None:
    world = running()
    request(world, "DEBUG")
    request(world, "LOUD")
    assert level(world) == "DEBUG"
    (valid,) = [c for c in world.status["conditions"] if c["type"] == "ConfigValid"]
    assert valid["status"] == "True"
    assert f"annotation {LEVEL} is ignored: it is LOUD; write one of DEBUG" in valid["message"]


def test_without_the_annotation_no_record_is_written() -> None:
    world = running()
    assert world.topic.control(NAME) is None
