"""Each wrong manifest is refused, or warned of, with words that name the field and the cause."""

from typing import Any

import pytest

from penstock_model.contracts.definitions import Definitions, unpack
from penstock_operator.admission.answer import Answer, field_path
from penstock_operator.admission.review import NamespaceView, review
from penstock_operator.settings import Settings

from .world import DEFINITIONS, POLICIES, VERSIONS, WRONG, manifest, status

NAMESPACE = "shop"


def settings() -> Settings:
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": "penstock-system"},
            "worker": {"bootstrap.servers": "kafka:9092"},
            "images": {"runtime": "runtime"},
        }
    )


def published(name: str) -> Definitions | None:
    packed = DEFINITIONS.get(name)
    return None if packed is None else unpack(packed.content, packed.digest)


def view() -> NamespaceView:
    versions = [{**v, "status": status(v["metadata"]["name"]) or {}} for v in VERSIONS]
    return NamespaceView(versions, POLICIES, published)


def created(document: dict[str, Any]) -> Answer:
    request = {
        "uid": "1",
        "operation": "CREATE",
        "namespace": NAMESPACE,
        "name": document["metadata"]["name"],
        "kind": {"kind": document["kind"]},
        "object": document,
    }
    return review(request, view(), settings(), "RefuseSimilar", "0.1.0")


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w["claim"])
def test_a_wrong_manifest_is_refused_or_warned_of_by_field(wrong: dict[str, Any]) -> None:
    answer = created(manifest(wrong, NAMESPACE))
    for kind, found in (("refused", answer.problems), ("warned", answer.warnings)):
        texts = [(field_path(p.property), p.message) for p in found]
        wanted = wrong.get(kind, {})
        assert {field for field, _ in texts} == wanted.keys(), texts
        for field, words in wanted.items():
            assert any(words in message for f, message in texts if f == field), texts
