"""What the webhook reads of a namespace: few requests, and only definitions that the operator has published."""

import base64
from typing import Any

from penstock_model.contracts.definitions import KEY
from penstock_operator.admission.views import Views
from penstock_operator.errors import Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, PLUGIN_VERSION, POLICY, Kind

from .world import DEFINITIONS, VERSIONS, config_map, status

NAMESPACE = "shop"


class Objects(Kube):
    """Objects of a namespace, and the requests for them."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.is_available = True
        self.maps = {f"{name}-definitions": config_map(name, NAMESPACE) for name in DEFINITIONS}
        self.versions = [{**v, "status": status(v["metadata"]["name"]) or {}} for v in VERSIONS]

    def list(self, kind: Kind, namespace: str | None, **more: Any) -> list[dict[str, Any]]:
        self._asked(kind)
        return self.versions if kind is PLUGIN_VERSION else []

    def get(self, kind: Kind, namespace: str | None, name: str) -> dict[str, Any] | None:
        self._asked(kind)
        return self.maps.get(name)

    def _asked(self, kind: Kind) -> None:
        self.requests.append(kind.kind)
        if not self.is_available:
            raise Unavailable("no answer")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_many_objects_that_are_applied_together_cost_few_requests() -> None:
    objects, clock = Objects(), Clock()
    views = Views(objects, clock)
    for _ in range(100):
        assert views.of(NAMESPACE).definitions("files-1") is not None
    assert objects.requests == [PLUGIN_VERSION.kind, POLICY.kind, CONFIG_MAP.kind]
    clock.now += 3
    assert views.of(NAMESPACE).definitions("files-1") is not None
    assert objects.requests.count(PLUGIN_VERSION.kind) == 2
    assert objects.requests.count(CONFIG_MAP.kind) == 1  # the digest is the same


def test_a_view_is_as_new_as_it_is_asked_to_be() -> None:
    objects, clock = Objects(), Clock()
    views = Views(objects, clock)
    before = views.of(NAMESPACE)
    clock.now += 1
    assert views.of(NAMESPACE).plugin_versions is before.plugin_versions
    views.of(NAMESPACE, since=clock.now)
    assert objects.requests.count(PLUGIN_VERSION.kind) == 2


def test_definitions_that_someone_else_has_written_are_not_used() -> None:
    objects = Objects()
    content = base64.b64encode(DEFINITIONS["shop-1"].content).decode()
    objects.maps["files-1-definitions"]["binaryData"] = {KEY: content}
    view = Views(objects).of(NAMESPACE)
    assert view.definitions("files-1") is None
    assert view.definitions("shop-1") is not None


def test_definitions_that_are_missing_or_broken_are_unknown() -> None:
    objects = Objects()
    del objects.maps["shop-1-definitions"]
    objects.maps["files-1-definitions"]["binaryData"] = {KEY: "not base64!"}
    view = Views(objects).of(NAMESPACE)
    for name in ("files-1", "shop-1", "unseen-1", "missing"):
        assert view.definitions(name) is None


def test_while_the_api_server_does_not_answer_nothing_is_known() -> None:
    objects = Objects()
    objects.is_available = False
    view = Views(objects).of(NAMESPACE)
    assert view.plugin_versions is None
    assert view.policies is None
    assert view.definitions("files-1") is None
