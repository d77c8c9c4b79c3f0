"""A fault, as data: what is there before, what breaks, the words that its user must see, and what follows."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..api import Object
from ..cluster import Cluster
from ..kafka import Kafka
from ..place import Connector, Place, condition
from ..release import Release

__all__ = ["Fault", "Refused", "Says", "Scene", "Steps", "World", "apply", "copies", "named", "orders", "orders_of"]

SECONDS: Final = 30
"""The seconds within which a cause must be named."""
_RECOVERY: Final = 90
"""The seconds within which a connector must work again: retries are at most a minute apart."""


@dataclass
class World:
    """What all faults share."""

    cluster: Cluster
    kafka: Kafka
    release: Release
    namespaces: Callable[[str], str]
    folder: Path
    made: dict[str, Any] = field(default_factory=dict)
    """What several faults need and the first of them makes, by name."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while something of `made` is made."""


@dataclass
class Scene:
    """One fault's own: a namespace, and a connector in it.

    Attributes:
        world: what it shares with others.
        place: its namespace.
        ends: what must be undone when the fault is over, whatever comes of it.
    """

    world: World
    place: Place
    ends: ExitStack
    notes: dict[str, Any] = field(default_factory=dict)
    """What one step keeps for a later one."""
    _connector: Connector | None = None

    @property
    def connector(self) -> Connector:
        """The connector that the fault is tried on."""
        assert self._connector is not None
        return self._connector

    @connector.setter
    def connector(self, found: Connector) -> None:
        self._connector = found


Steps = Callable[[Scene], object]


def apply(scene: Scene) -> None:
    """Apply the connector: the fault is there from its start."""
    scene.connector.apply()


@dataclass(frozen=True)
class Says:
    """A condition that names a cause.

    Attributes:
        reasons: one of which it has, separated by `|`.
        words: which all are in its message; of those that `|` separates, one is enough.
        kind: its type.
        status: its.
        plural: of what object; `connectors`: the fault's own.
        name: name of another object than the connector.
    """

    reasons: str
    words: tuple[str, ...] = ()
    kind: str = "Ready"
    status: str = "False"
    plural: str = "connectors"
    name: str = ""

    def holds(self, found: Object | None) -> bool:
        """Whether the object says that now."""
        own = condition(found or {}, self.kind)
        is_there = own.get("status") == self.status and own.get("reason") in self.reasons.split("|")
        return is_there and all(_is_in(word, own["message"]) for word in self.words)


def _is_in(words: str, message: str) -> bool:
    return any(word in message for word in words.split("|"))


@dataclass(frozen=True)
class Refused:
    """Words with which a command is refused, or that stand where no condition is: the injection raises `Failed` with them.

    Attributes:
        words: which are all there.
        where: they stand, for the table.
    """

    words: tuple[str, ...]
    where: str = "`kubectl apply` is refused"


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: in few words; the id of its test.
        symptom: what its user sees, or does.
        says: the words with which Penstock names the cause.
        remedy: what mends it.
        connector: the connector, not applied.
        inject: breaks it; by default it is broken from the start on, and does not run before.
        remove: takes the cause away; None: the fault is over when it has come.
        needs_user: whether `remove` changes the Connector or commands something: there is no recovery without that.
        seconds: within which the cause is named.
        bears: seconds for which the same looks like work: a call may take its time, a backlog may be worked off.
        recovery: seconds after `remove`; None: it never works again, as is right.
        halts: whether no record moves while it lasts.
        watched: seconds for which Ready is watched after the cause has been named: what starts again and again may flap.
        is_quick: whether `make test` tries it.
        is_alone: whether it disturbs others.
    """

    name: str
    symptom: str
    says: Says | Refused
    remedy: str
    connector: Callable[[Scene], Connector]
    inject: Steps = apply
    remove: Steps | None = None
    needs_user: bool = False
    seconds: int = SECONDS
    bears: int = 0
    recovery: int | None = _RECOVERY
    halts: bool = True
    watched: int = 5
    is_quick: bool = False
    is_alone: bool = False

    @property
    def runs(self) -> bool:
        """Whether the connector runs before the fault comes."""
        return self.inject is not apply


def orders(**config: Any) -> Callable[[Scene], Connector]:
    """A source of orders, of Penstock's own, with these properties (`_` stands for a dot)."""

    def made(scene: Scene) -> Connector:
        own = {"topic": f"{scene.place.namespace}.orders", "rate": 20, **named(config)}
        return scene.place.unapplied("orders", "Datagen", own)

    return made


def orders_of(**spec: Any) -> Callable[[Scene], Connector]:
    """A source of orders with these fields in its spec."""

    def made(scene: Scene) -> Connector:
        own = {"topic": f"{scene.place.namespace}.orders", "rate": 20}
        return scene.place.unapplied("orders", "Datagen", own, **spec)

    return made


def copies(**config: Any) -> Callable[[Scene], Connector]:
    """A sink that writes the records of a topic of its own, which has some, to a file."""

    def made(scene: Scene) -> Connector:
        topic = f"{scene.place.namespace}.in"
        scene.place.kafka.write(topic, ["1", "2"])
        own = {"topics": topic, "file": "/tmp/out.txt", "consumer.override.auto.offset.reset": "earliest"}
        return scene.place.unapplied("copies", "FileStreamSink", {**own, **named(config)})

    return made


def named(config: Mapping[str, Any]) -> dict[str, Any]:
    """Properties, of arguments of Python."""
    return {name.replace("_", "."): value for name, value in config.items()}
