"""What the tests of Protobuf ask for: converters."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from connectors.registry.tests.servers import Registry

from penstock.testing import parsed
from penstock_registry.protobuf.converter import ProtobufConverter


@pytest.fixture
def protobuf(registry: Registry) -> Iterator[Callable[..., ProtobufConverter]]:
    """Make a ProtobufConverter, closed at the end; names of properties have underscores for dots."""
    made = []

    def make(*, is_key: bool = False, **properties: Any) -> ProtobufConverter:
        texts = {"schema.registry.url": registry.url} | {n.replace("_", "."): v for n, v in properties.items()}
        converter = ProtobufConverter()
        made.append(converter)
        converter.configure(parsed(ProtobufConverter, texts), is_key=is_key)
        return converter

    yield make
    for converter in made:
        converter.close()
