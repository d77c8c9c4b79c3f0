"""`kubectl apply` refuses what is certainly wrong, names all errors, and works while the operator is gone."""

from collections.abc import Iterator

import pytest

from ..integration.running import until
from .place import Place, condition
from .release import Release
from .reviewing import refusal, wrong


@pytest.fixture
def webhook(release: Release) -> Iterator[Release]:
    """The release with its validating webhook."""
    release.enable_webhook(enabled=True)
    yield release
    release.enable_webhook(enabled=False)


def test_apply_refuses_a_wrong_connector_with_all_errors_and_works_without_the_operator(
    place: Place, webhook: Release
) -> None:
    misspelled = wrong(place)
    until(lambda: refusal(misspelled))
    words = refusal(misspelled)
    assert "Not a number" in words
    assert "topik" in words
    assert "did you mean" in words.lower()
    right = place.datagen("right")
    right.reaches("Running")

    webhook.scale(0)
    misspelled.apply()
    webhook.scale(1)
    misspelled.until(lambda c: condition(c, "ConfigValid").get("status") == "False", "ConfigValid is False")
    misspelled.delete()
