"""Ids of schemas in headers, which have the indexes of messages too, as Confluent's serializers write them."""

from collections.abc import Callable

from connectors.registry.tests.servers import Proxy

from penstock.schema import INT64, struct
from penstock_registry.protobuf.converter import ProtobufConverter

ORDER = struct({"id": INT64}, name="shop.Order")


def test_a_header_has_the_guid_and_the_indexes(
    protobuf: Callable[..., ProtobufConverter], proxy: Proxy, topic: str
) -> None:
    proxy.guids = True
    writer = protobuf(schema_registry_url=proxy.url, value_schema_id_serializer="HeaderSchemaIdSerializer")
    message = writer.from_connect(topic, ORDER, {"id": 1})
    assert message is not None
    data, headers = writer.split_headers(message)
    ((name, content),) = headers
    assert (data, name) == (b"\x08\x01", "__value_schema_id")
    assert content is not None
    assert (content[:1], content[17:]) == (b"\x01", b"\0")
    reader = protobuf(schema_registry_url=proxy.url)
    assert reader.to_connect(topic, reader.join_headers(data, headers))[1] == {"id": 1}
