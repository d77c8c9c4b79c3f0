"""What a Connector asks for and this release does not do is refused with the reason, so that nobody waits in vain."""

from .world.site import Site


def test_a_wait_for_a_connector_that_asks_for_what_is_not_there_yet_ends_with_the_reason(site: Site) -> None:
    site.operator().start()
    site.create("orders", rollout={"canary": 2}, offsets={"configMap": "x"})
    body = site.until(
        "orders", lambda b: [c for c in b.get("status", {}).get("conditions", ()) if c["type"] == "Stalled"], "refused"
    )
    told = next(c["message"] for c in body["status"]["conditions"] if c["type"] == "ConfigValid")
    for field in ("rollout", "offsets"):
        assert f"spec.{field}: " in told
    site.check()


def test_an_action_on_offsets_is_refused_once_and_moves_nothing(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    site.annotate("orders", reset_offsets="now", restart_failed="also")
    body = site.until("orders", lambda b: b["status"].get("offsetsActions"), "told")
    (told,) = body["status"]["offsetsActions"]
    assert (told["action"], told["token"], told["result"]) == ("reset", "now", "Refused")
    assert site.settled("orders")["status"]["tasks"][0]["incarnation"] == 1
    site.check()
