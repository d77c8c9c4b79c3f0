import struct
from decimal import Decimal

import msgspec
import pytest

from penstock.values import Float32, Instant, Int8, Int16, Int32
from penstock_runtime.java_plugins.wire import LENGTH, decode, frame


def test_a_frame_is_its_length_and_its_content() -> None:
    written = frame(["credit", 1, 2])
    (length,) = LENGTH.unpack(written[: LENGTH.size])
    assert length == len(written) - LENGTH.size
    assert decode(written[LENGTH.size :]) == ["credit", 1, 2]


@pytest.mark.parametrize(
    ("code", "content", "value"),
    [
        (1, struct.pack(">b", -5), Int8(-5)),
        (2, struct.pack(">h", 300), Int16(300)),
        (3, struct.pack(">i", -70_000), Int32(-70_000)),
        (4, struct.pack(">f", 0.5), Float32(0.5)),
        (5, b"-12345E-3", Decimal("-12.345")),
        (6, struct.pack(">q", -1), Instant(-1)),
    ],
)
def test_values_keep_the_types_that_message_pack_has_not(code: int, content: bytes, value: object) -> None:
    (read,) = decode(msgspec.msgpack.encode([msgspec.msgpack.Ext(code, content)]))
    assert read == value
    assert type(read) is type(value)
