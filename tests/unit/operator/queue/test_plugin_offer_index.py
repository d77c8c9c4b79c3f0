"""What the PluginVersions offer, as the watch saw them last."""

from typing import Any

from penstock_operator.queue.plugin_offer_index import PluginOfferIndex


def document(name: str, version: str = "1.0.0", namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    whole = {
        "plugin": "acme",
        "version": version,
        "image": f"r.example/x@sha256:{'0' * 64}",
        "classes": [{"alias": "Clock", "type": "source"}],
        **spec,
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": whole}


def names(offers: PluginOfferIndex, namespace: str = "shop") -> list[str] | None:
    found = offers.of(namespace)
    return None if found is None else [o.name for o in found.offers]


def test_nothing_is_known_until_all_have_been_listed() -> None:
    offers = PluginOfferIndex()
    offers.seen(document("a"))
    assert names(offers) is None
    offers.listed([document("a"), document("b"), document("c", namespace="bank")], offers.known())
    assert (names(offers), names(offers, "bank"), names(offers, "none")) == (["a", "b"], ["c"], [])


def test_what_was_deleted_unseen_is_gone_with_the_next_list_and_what_came_meanwhile_stays() -> None:
    offers = PluginOfferIndex()
    offers.listed([document("a"), document("b")], offers.known())
    known = offers.known()
    offers.seen(document("new"))
    offers.listed([document("b")], known)
    assert names(offers) == ["b", "new"]
    offers.gone(document("b"))
    assert names(offers) == ["new"]


def test_what_is_deleted_while_a_list_is_read_is_not_brought_back_by_it() -> None:
    offers = PluginOfferIndex()
    offers.listed([document("a")], offers.known())
    known = offers.known()
    offers.gone(document("a"))
    offers.listed([document("a")], known)
    assert names(offers) == []
    offers.listed([document("a")], offers.known())
    assert names(offers) == ["a"]


def test_one_that_is_not_well_formed_offers_nothing() -> None:
    offers = PluginOfferIndex()
    offers.listed([document("a"), document("bad", image="r.example/x:latest")], offers.known())
    assert names(offers) == ["a"]


def test_what_no_pod_has_verified_is_known_with_its_cause_until_one_has() -> None:
    offers, ready = PluginOfferIndex(), {"type": "Ready", "status": "False", "reason": "ErrImagePull", "message": "no"}
    offers.listed([document("a"), document("b")], offers.known())

    def unverified() -> dict[str, str]:
        found = offers.of("shop")
        assert found is not None
        return dict(found.unverified)

    assert unverified()["a"] == "no pod has inspected its image yet"
    offers.seen({**document("a"), "status": {"conditions": [{"type": "Stalled", "status": "False"}, ready]}})
    assert unverified()["a"] == "ImagePullBackOff"
    offers.seen({**document("a"), "status": {"conditions": [{"type": "Stalled", "status": "True"}, ready]}})
    assert unverified()["a"] == "no"
    offers.seen({**document("a"), "status": {"conditions": [{**ready, "status": "True"}]}})
    assert [*unverified()] == ["b"]
