"""The first ten minutes of a user: install, apply, look."""

import json
import re
import time
from collections.abc import Callable

from .api import Object
from .place import Connector, Place
from .release import Release

HELLO = """
apiVersion: penstock.dev/v1alpha1
kind: Connector
metadata:
  name: hello
spec:
  class: Datagen
  config:
    topic: {topic}
    value.converter: JsonConverter
    value.converter.schemas.enable: false
"""


def test_an_applied_connector_runs_and_its_records_are_in_kafka(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    topic = f"{place.namespace}.hello"
    begun = time.time()
    place.cluster.apply(HELLO.format(topic=topic), place.namespace)
    hello = Connector(place.cluster, place.namespace, "hello", {})
    hello.reaches("Running")
    measured("kubectl apply to Ready (Spark beside it)", time.time() - begun)
    records = place.kafka.records(topic, least=10)
    measured("kubectl apply to the first record", records[0].timestamp - begun)
    assert [json.loads(r.value or b"")["order_id"] for r in records] == list(range(len(records)))

    found = hello.until(lambda c: c if c["status"].get("activeTopics") else None, "the active topic is told")
    status = found["status"]
    assert [t["name"] for t in status["activeTopics"]] == [topic]
    assert (status["state"], status["taskSummary"], status["replicas"]) == ("Running", "1/1", 1)
    assert status["connector"]["type"] == "source"
    assert status["tasks"][0]["versions"]["valueConverter"] == status["connector"]["version"]

    columns = hello.kubectl("get", "connectors").splitlines()
    assert columns[0].split()[:3] == ["NAME", "CLASS", "STATE"]
    assert columns[1].split()[:5] == ["hello", "Datagen", "Running", "1/1", "True"]
    wide = hello.kubectl("get", "connectors", "--output=wide").splitlines()[0]
    assert {"UPDATE PENDING", "CONFIG"} <= set(re.split(r"\s{2,}", wide))
    assert "hello" in hello.kubectl("get", "penstock")
    assert "Running: the task is Running" in hello.kubectl("describe", "connector", "hello")


def test_every_pod_is_restricted_and_has_no_token(place: Place, release: Release) -> None:
    every: dict[str, Object] = {}
    source = place.unapplied("safe", "Datagen", {"topic": f"{place.namespace}.safe"})
    source.apply()

    def seen(pods: object) -> bool:
        assert isinstance(pods, dict)
        every.update(pods)
        return any(p["metadata"]["labels"]["penstock.dev/role"] == "task" for p in pods.values())

    source.until_pods(seen, "a task's pod")
    source.reaches("Running")
    operator = release.operator()
    every[operator["metadata"]["name"]] = operator
    roles = {p["metadata"]["labels"].get("penstock.dev/role", "operator") for p in every.values()}
    assert roles == {"job", "task", "operator"}
    for name, pod in every.items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not spec.get("hostNetwork"), name
        for container in spec["containers"]:
            safe = container["securityContext"]
            assert safe["readOnlyRootFilesystem"], name
            assert not safe["allowPrivilegeEscalation"], name
            assert safe["capabilities"] == {"drop": ["ALL"]}, name
            if name != operator["metadata"]["name"]:
                assert not spec["automountServiceAccountToken"], name
                assert not [m for m in container["volumeMounts"] if "serviceaccount" in m["mountPath"]], name
    task = source.pod()
    tried = place.cluster.python(
        place.namespace,
        task,
        "import os, pathlib\n"
        "print(os.getuid())\n"
        "try: pathlib.Path('/opt/written').write_text('')\n"
        "except OSError as e: print(e.strerror)",
    )
    assert tried.split("\n")[:2] == ["65532", "Read-only file system"]
