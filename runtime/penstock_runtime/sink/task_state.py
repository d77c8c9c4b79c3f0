"""States of a sink task between two external calls, and all transitions between them. Without I/O.

`SinkTask` acts on a state, and changes it only through these functions. Each state holds only the data that it needs.
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
    """State in which the consumer fetches from the positions, and this process writes the fetched records.

    Attributes:
        bounds: first offset and end offset of each partition from which nothing has been fetched yet; looked up once.
        gathers_until: time until which the consumer gathers low-rate records before the next read. Seconds, monotonic.
    """

    bounds: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    gathers_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Detached:
    """State in which the positions are known, but the consumer does not fetch from them: it first needs an assignment."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Batch that this process has started to write: until it ends, only the sink knows how much of it is written.

    Attributes:
        resumes: state to return to.
    """

    resumes: Reading | Detached


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Batch of ranges that Spark's workers have started to read and write; this process reads nothing.

    As in `Writing`, until the batch ends only the sink knows how much of it is written.
    """


@dataclass(frozen=True, slots=True)
class Unknown:
    """Batch with an unknown outcome: the sink is asked for its positions before anything is read."""


@dataclass(frozen=True, slots=True)
class Paused:
    """Pause: the consumer fetches nothing, and only offsets are committed.

    Attributes:
        resumes: state to return to.
        reported: whether pending offsets are committed, and the state `PAUSED` is reported.
    """

    resumes: Reading | Detached | Unknown
    reported: bool = False


State = Reading | Detached | Writing | OnSpark | Unknown | Paused


def assigned(state: State, *, fetching: bool) -> State:
    """Return the state after the consumer was assigned the positions, or nothing if it must not fetch."""
    following = Reading() if fetching else Detached()
    match state:
        case Unknown() | Paused(resumes=Unknown()):  # the sink must still be asked for its positions
            return state
        case Paused():
            return replace(state, resumes=following)
        case _:
            return following


def detached(state: State) -> State:
    """Return the state after positions changed: the consumer needs an assignment, or the sink has returned its positions."""
    match state:
        case Reading() | Detached() | Unknown():
            return Detached()
        case _:
            raise AssertionError(f"no position changes in state {state}")


def writing(state: State) -> State:
    """Return the state when this process starts to write a batch that it has read."""
    match state:
        case Reading() | Detached():
            return Writing(state)
        case _:
            raise AssertionError(f"nothing is written in state {state}")


def gathering(state: State, until: float) -> State:
    """Return the state after this process has written a batch: a consumer that fetches gathers records until `until`."""
    return replace(state, gathers_until=until) if isinstance(state, Reading) else state


def on_spark(state: State) -> State:
    """Return the state when Spark's workers start to read and write a batch."""
    match state:
        case Detached():
            return OnSpark()
        case _:
            raise AssertionError(f"no batch goes to Spark in state {state}")


def ended(state: State, *, complete: bool = True) -> State:
    """Return the state after the batch has ended.

    Args:
        state: state of the batch.
        complete: whether the number of written records is known, and all of them count.
    """
    match state:
        case _ if not complete:
            return Unknown()
        case Writing(resumes=resumes):
            return resumes
        case _:
            return Detached()


def failed(state: State) -> State:
    """Return the state after Kafka, Spark or the sink asks to retry."""
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
    """Return the state of a task that pauses, after the consumer was assigned nothing."""
    return Paused(Unknown() if isinstance(state, Unknown) else Detached())


def reported(state: State) -> State:
    """Return the state after pending offsets are committed, and the state `PAUSED` is reported."""
    return replace(state, reported=True) if isinstance(state, Paused) else state


def resumed(state: State) -> State:
    """Return the state of a task that resumes, or stops."""
    return state.resumes if isinstance(state, Paused) else state
