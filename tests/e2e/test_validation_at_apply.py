"""`kubectl apply` refuses what is certainly wrong, names all errors, and works while the operator is gone."""

from collections.abc import Iterator

import pytest

from ..integration.running import until
from .cluster import Failed
from .place import Connector, Place, condition
from .release import Release


@pytest.fixture
def webhook(release: Release) -> Iterator[Release]:
    """The release with its validating webhook."""
    release.enable_webhook(enabled=True)
    yield release
    release.enable_webhook(enabled=False)


def refusal(connector: Connector) -> str:
    """What kubectl prints if the object is refused; empty: it was not."""
    try:
        connector.kubectl("apply", "--dry-run=server", "--filename=-", stdin=connector.manifest())
    except Failed as failed:
        return str(failed)
    return ""


def test_apply_refuses_a_wrong_connector_with_all_errors_and_works_without_the_operator(
    place: Place, webhook: Release
) -> None:
    wrong = place.unapplied("wrong", "Datagen", {"topic": f"{place.namespace}.wrong", "rate": "fast", "topik": "x"})
    until(lambda: refusal(wrong))
    words = refusal(wrong)
    assert "Not a number" in words
    assert "topik" in words
    assert "did you mean" in words.lower()
    right = place.datagen("right")
    right.reaches("Running")

    webhook.scale(0)
    wrong.apply()
    webhook.scale(1)
    wrong.until(lambda c: condition(c, "ConfigValid").get("status") == "False", "ConfigValid is False")
    wrong.delete()
