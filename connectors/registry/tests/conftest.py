"""What the tests ask for: a real registry, a topic, converters."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, Registry

from penstock.testing import parsed
from penstock_registry.avro.converter import AvroConverter


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    """A registry that runs; shared, so use subjects of a new topic."""
    server = Registry()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def proxy(registry: Registry) -> Iterator[Proxy]:
    """A proxy before it."""
    with Proxy(registry).running() as proxy:
        yield proxy


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


@pytest.fixture
def avro(registry: Registry) -> Iterator[Callable[..., AvroConverter]]:
    """Make an AvroConverter, closed at the end; names of properties have underscores for dots."""
    made = []

    def make(*, is_key: bool = False, **properties: Any) -> AvroConverter:
        texts = {"schema.registry.url": registry.url} | {n.replace("_", "."): v for n, v in properties.items()}
        converter = AvroConverter()
        made.append(converter)
        converter.configure(parsed(AvroConverter, texts), is_key=is_key)
        return converter

    yield make
    for converter in made:
        converter.close()
