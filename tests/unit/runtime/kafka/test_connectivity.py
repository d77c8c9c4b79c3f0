"""The connections that are checked before the work begins."""

from penstock_runtime.kafka.connectivity import distinct_connections


def test_the_same_way_of_connecting_is_tried_once() -> None:
    common = {"bootstrap.servers": "a", "sasl.password": "x"}
    ways = distinct_connections(
        {**common, "acks": "all"}, {**common, "group.id": "g"}, {**common, "bootstrap.servers": "b"}
    )
    assert [w["bootstrap.servers"] for w in ways] == ["a", "b"]
