"""The partition of a key is the one that Java's producer gives it."""

import pytest

from penstock_kafka.murmur2 import _murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "java"),  # the values of Kafka's own UtilsTest.testMurmur2, and of the empty key
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
        ("", 275646681),
    ],
)
def test_the_hash_is_javas(key: str, java: int) -> None:
    assert _murmur2(key.encode()) == java % 2**32


def test_the_sign_is_cut_off_and_not_folded() -> None:
    assert partition_of(b"21", 25) == (-973932308 & 0x7FFFFFFF) % 25


def test_a_key_of_the_offsets_topic_lies_where_a_connect_worker_put_it() -> None:
    assert 0 <= partition_of('["fs-1",{"filename":"/däta/in.txt"}]'.encode(), 25) < 25
    assert partition_of(b"anything", 1) == 0
