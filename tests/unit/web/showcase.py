"""Shop of the pictures in the documentation, and of the tests in a browser."""

from typing import Any

from penstock_web.source import Event

from .shop import AT, TRACE, Shop, connector

__all__ = ["showcase"]

_DIGEST = "sha256:" + "5d" * 32
_CHAIN = {
    "topics": "shop.orders",
    "connection.url": "jdbc:postgresql://db/shop",
    "connection.password": "${secret:shop-db:password}",
    "insert.mode": "upsert",
    "pk.fields": "id",
    "transforms": "mask,route",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "card",
    "transforms.mask.predicate": "paid",
    "transforms.route.type": "RegexRouter",
    "transforms.route.regex": "shop\\.(.*)",
    "transforms.route.replacement": "$1",
    "predicates": "paid",
    "predicates.paid.type": "HasHeaderKey",
    "predicates.paid.name": "paid",
}


def showcase() -> Shop:
    """Return a shop with connectors in every state."""
    sink: dict[str, Any] = {"class_name": "penstock_sql.JdbcSink", "kind": "sink"}
    shop = Shop(
        connector("orders-to-warehouse", "Degraded", **sink, config=_CHAIN, reason="TasksFailed", trace=TRACE,
                  tasks=["Running", "Failed", "Running"],
                  message="task 1 failed: cannot write to the table orders: column \"discount\" does not exist; add the "
                  "column, or set auto.evolve: true"),
        connector("stock-levels", "Failed", reason="TasksFailed", trace=TRACE, class_name="penstock_sql.JdbcSource",
                  message="cannot connect to db.shop:5432: password authentication failed for user \"stock\"; correct the "
                  "Secret stock-db, then annotate restart-failed"),
        connector("prices", "Pending", tasks=[], namespace="pricing", reason="ConfigInvalid", stalled=True,
                  message="spec.config.poll.interval.ms: \"5s\" is not a number; write milliseconds"),
        connector("clicks", tasks=["Running"] * 4, namespace="web", class_name="Datagen"),
        connector("clicks-archive", tasks=["Running", "Running"], namespace="web", **sink),
        connector("sessions", namespace="web", reason="Hindered", class_name="SparkSink", kind="sink",
                  message="task 0 is hindered: Kafka cannot be reached: kafka-1:9092: refused; check the brokers"),
        connector("customers", "Paused", tasks=["Paused"]),
        connector("returns-export", "Stopped", **sink),
        connector("invoices", "Pending", tasks=["Pending", "Pending"], reason="Starting", message="2 tasks start"),
        connector("orders", tasks=["Running", "Running"], class_name="penstock_sql.JdbcSource",
                  topicCreationPolicyRef={"name": "shop-topics"}),
        connector("reviews", class_name="FileStreamSource"),
    )  # fmt: skip
    for namespace, name, rate, lag, tasks in (
        ("shop", "orders-to-warehouse", 640, 5200, 3),
        ("web", "clicks", 2900, None, 4),
        ("web", "clicks-archive", 5600, 18000, 2),
        ("web", "sessions", 0, 240000, 1),
        ("shop", "orders", 310, None, 2),
        ("shop", "reviews", 0.4, None, 1),
    ):
        shop.measure(namespace, name, rate, lag, tasks)
    shop.documents += [_policy(), _plugin("sql-1.4.2", "1.4.2"), _plugin("sql-1.5.0", "1.5.0", is_ready=False)]
    for document in shop.documents:
        if "penstock_sql" in str(document["spec"].get("class", "")):
            document["status"]["pluginVersions"] = ["sql-1.4.2"]
            document["status"]["connector"] |= {"pluginVersion": "sql-1.4.2", "version": "1.4.2"}
    shop.lists = {
        ("shop", "orders-to-warehouse"): {
            "offsets": [
                {
                    "partition": {"kafka_topic": "shop.orders", "kafka_partition": n},
                    "offset": {"kafka_offset": 91230 + n},
                }
                for n in range(3)
            ]
        }
    }
    shop.occurred = (
        Event(
            shop.now - 130,
            "Warning",
            "TaskFailed",
            'task 1 failed: column "discount" does not exist',
            "orders-to-warehouse",
            4,
        ),
        Event(shop.now - 3000, "Normal", "Running", "all tasks run", "orders-to-warehouse"),
    )
    return shop


def _policy() -> dict[str, Any]:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "TopicCreationPolicy",
        "metadata": {"name": "shop-topics", "namespace": "shop", "generation": 1},
        "spec": {
            "default": {"partitions": 3, "replicationFactor": 3},
            "groups": [
                {
                    "name": "changes",
                    "include": ["shop\\..*\\.changes"],
                    "partitions": 12,
                    "config": {"cleanup.policy": "compact"},
                }
            ],
            "limits": {"maxPartitions": 24, "topics": ["shop\\..*"]},
        },
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "Accepted", "lastTransitionTime": AT}],
            "connectors": ["orders"],
            "connectorCount": 1,
        },
    }


def _plugin(name: str, version: str, *, is_ready: bool = True) -> dict[str, Any]:
    ready = (
        {"status": "True", "reason": "Verified"}
        if is_ready
        else {"status": "False", "reason": "Verifying", "message": "a pod inspects the image"}
    )
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "plugin": "penstock-sql",
            "version": version,
            "image": f"registry.example/penstock-sql@{_DIGEST}",
            "classes": [{"alias": "JdbcSink", "type": "sink"}, {"alias": "JdbcSource", "type": "source"}],
        },
        "status": {"conditions": [{"type": "Ready", "lastTransitionTime": AT, **ready}]},
    }
