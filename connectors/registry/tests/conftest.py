"""What the tests ask for: a real registry, a topic, converters."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from connectors.registry.tests.servers import Proxy, Registry

from penstock.testing import parsed
from penstock_registry.avro.converter import AvroConverter
from penstock_registry.json_schema.converter import JsonSchemaConverter
from penstock_registry.registry_converter import RegistryConverter

C = TypeVar("C", bound=RegistryConverter[Any])


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
    yield from _makers(AvroConverter, registry)


@pytest.fixture
def json_schema(registry: Registry) -> Iterator[Callable[..., JsonSchemaConverter]]:
    """Make a JsonSchemaConverter, as `avro` does."""
    yield from _makers(JsonSchemaConverter, registry)


def _makers(kind: type[C], registry: Registry) -> Iterator[Callable[..., C]]:
    made = []

    def make(*, is_key: bool = False, **properties: Any) -> C:
        texts = {"schema.registry.url": registry.url} | {n.replace("_", "."): v for n, v in properties.items()}
        converter = kind()
        made.append(converter)
        converter.configure(parsed(kind, texts), is_key=is_key)
        return converter

    yield make
    for converter in made:
        converter.close()
