"""What every test may ask for: a real Kafka, and a name of its own in it."""

import gc
import os
import re
import signal
import uuid
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from penstock_cli.embedded import EmbeddedKafka

# A full machine takes its time, so there is no deadline. `make test` tries the same examples each time; others are for the
# night.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("others", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# A shell without job control passes SIGINT on as ignored to what it starts in the background, and so would each process that
# a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave ten thousand collected tests out of each garbage collection; the suites of sinks collect in each test, often."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap servers of a real Kafka, shared by all tests of the run.

    An embedded one in a temporary folder, or the one that PENSTOCK_TEST_BOOTSTRAP names.
    """
    given = os.environ.get("PENSTOCK_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    # It would look for records that are older than their topic keeps them half a minute after its start and every five
    # minutes, and tests write records with the timestamps of other years.
    forgets_nothing = {"log.initial.task.delay.ms": "86400000"}
    with EmbeddedKafka(tmp_path_factory.mktemp("kafka"), settings=forgets_nothing) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def unique_name(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Make names of topics, groups and connectors that no other test uses, and that a log reader can place.

    Called as `unique_name("orders")`, it gives `orders-<test>-<8 hex digits>`; the same word gives the same name
    throughout one test.
    """
    test = re.sub(r"\W+", "_", request.node.name)[:100].strip("_")
    mark = uuid.uuid4().hex[:8]
    return lambda word: f"{word}-{test}-{mark}"


@pytest.fixture
def topic(unique_name: Callable[[str], str]) -> str:
    """The name of a topic that no other test uses; it is created by its first record."""
    return unique_name("topic")


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often a test marked `soak` repeats what it does: PENSTOCK_ROUNDS, else 50 in `make soak` (PENSTOCK_SOAK=1), 10."""
    return int(os.environ.get("PENSTOCK_ROUNDS") or (50 if os.environ.get("PENSTOCK_SOAK") else 10))
