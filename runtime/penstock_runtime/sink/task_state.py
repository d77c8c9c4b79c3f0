"""The states of a sink task between two calls of anything outside, and every transition between them. Pure.

`SinkTask` acts on a state; it changes none by itself. Each state holds what is of use in that state alone.
"""

from dataclasses import dataclass, field, replace

from penstock.sink import TopicPartition

__all__ = [
    "Detached",
    "OnSpark",
    "Paused",
    "Reading",
    "State",
    "Unknown",
    "Writing",
    "assigned",
    "detached",
    "ended",
    "failed",
    "gathering",
    "on_spark",
    "paused",
    "reported",
    "resumed",
    "writing",
]


@dataclass(frozen=True, slots=True)
class Reading:
    """The consumer fetches from the positions, and this process writes what it fetches.

    Attributes:
        bounds: first offset and end of partitions of which nothing was fetched yet, asked for once.
        gathers_until: when a trickle is read again: until then the consumer gathers what comes. Seconds, monotonic.
    """

    bounds: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    gathers_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Detached:
    """The positions are known, and the consumer does not fetch from them: it is assigned anew before it is read from."""


@dataclass(frozen=True, slots=True)
class Writing:
    """This process has begun to write a batch: until it ends, only the sink knows how much of it is written.

    Attributes:
        resumes: the state to return to.
    """

    resumes: Reading | Detached


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Spark's workers have begun to read and write a batch of ranges: as `Writing`, and nothing is read here."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A batch was begun and has not ended: the sink is asked for its positions before anything is read."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The consumer fetches nothing, and only offsets are committed.

    Attributes:
        resumes: the state to return to.
        reported: what was pending is committed, and the state `PAUSED` is reported.
    """

    resumes: Reading | Detached | Unknown
    reported: bool = False


State = Reading | Detached | Writing | OnSpark | Unknown | Paused


def assigned(state: State, *, fetching: bool) -> State:
    """The consumer was assigned the positions, or nothing where it is not to fetch."""
    following = Reading() if fetching else Detached()
    match state:
        case Unknown() | Paused(resumes=Unknown()):  # the sink is still to be asked for the positions
            return state
        case Paused():
            return replace(state, resumes=following)
        case _:
            return following


def detached(state: State) -> State:
    """Reading is to go on from elsewhere than the consumer fetches, or the sink has been asked for the positions."""
    match state:
        case Reading() | Detached() | Unknown():
            return Detached()
        case _:
            raise AssertionError(f"no position changes in state {state}")


def writing(state: State) -> State:
    """This process begins to write a batch that it has read."""
    match state:
        case Reading() | Detached():
            return Writing(state)
        case _:
            raise AssertionError(f"nothing is written in state {state}")


def gathering(state: State, until: float) -> State:
    """A batch was written here, and where the consumer goes on to fetch, a trickle may be gathered until then."""
    return replace(state, gathers_until=until) if isinstance(state, Reading) else state


def on_spark(state: State) -> State:
    """Spark's workers begin to read and write a batch."""
    match state:
        case Detached():
            return OnSpark()
        case _:
            raise AssertionError(f"no batch goes to Spark in state {state}")


def ended(state: State, *, complete: bool = True) -> State:
    """The batch that was begun has ended.

    Args:
        state: of the batch.
        complete: how much was written is known, and all of it counts.
    """
    match state:
        case _ if not complete:
            return Unknown()
        case Writing(resumes=resumes):
            return resumes
        case _:
            return Detached()


def failed(state: State) -> State:
    """Kafka, Spark or the sink asks to try again."""
    match state:
        case Writing() | OnSpark() | Unknown():
            return Unknown()
        case Reading() | Detached():
            return Detached()
        case Paused(resumes=Unknown()):
            return state
        case Paused():
            return replace(state, resumes=Detached())


def paused(state: State) -> Paused:
    """The task is to pause, and the consumer was assigned nothing."""
    return Paused(Unknown() if isinstance(state, Unknown) else Detached())


def reported(state: State) -> State:
    """What was pending is committed, and the state `PAUSED` is reported."""
    return replace(state, reported=True) if isinstance(state, Paused) else state


def resumed(state: State) -> State:
    """The task is to go on, or to stop."""
    return state.resumes if isinstance(state, Paused) else state
