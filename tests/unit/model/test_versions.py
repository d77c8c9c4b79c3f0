"""Plugin versions: Maven's order and ranges (KIP-891)."""

import pytest
from tests.words import words

from penstock_model.connect.versions import Version, VersionRange, choose_version


def test_versions_rise_as_maven_orders_them() -> None:
    rising = words("""
        1.0-alpha 1.0-beta-2 1.0-milestone-1 1.0-rc1 1.0-rc2 1.0-SNAPSHOT 1.0 1.0-sp 1.0-xyz 1.0-1 1.0.1 1.2 1.10 2
    """)
    assert [v.text for v in sorted(map(Version, reversed(rising)))] == rising


@pytest.mark.parametrize("other", ["1", "1.0.0", "1.0-ga", "1.0-final", "1.0.RELEASE", "01.0"])
def test_the_same_version_has_many_spellings(other: str) -> None:
    assert Version("1.0") == Version(other)


@pytest.mark.parametrize(
    ("requested", "shown", "inside", "outside"),
    [
        ("1.0", "[1.0,1.0]", ["1.0.0"], ["1.0.1", "1.0-SNAPSHOT"]),
        (" 1.0 ", "[1.0,1.0]", ["1.0"], ["1.1"]),
        ("[1.0,2.0)", "[1.0,2.0)", ["1.0", "1.9.9", "2.0-rc1"], ["2.0", "0.9"]),
        ("(1.0,]", "(1.0,]", ["1.1", "9"], ["1.0"]),
        ("[1.0],[2.0]", "[1.0,1.0],[2.0,2.0]", ["1.0", "2.0"], ["1.5"]),
        ("LATEST", "[LATEST,LATEST]", [], ["1.0"]),
        ("", "[,]", ["0"], ["1.0"]),
    ],
)
def test_a_range_holds_what_it_says(requested: str, shown: str, inside: list[str], outside: list[str]) -> None:
    wanted = VersionRange.requested(requested)
    assert wanted is not None
    assert str(wanted) == shown
    assert [v for v in inside if v not in wanted] == []
    assert [v for v in outside if v in wanted] == []


@pytest.mark.parametrize("nothing", [None, "latest"])
def test_latest_and_nothing_ask_for_the_newest(nothing: str | None) -> None:
    assert VersionRange.requested(nothing) is None
    assert choose_version(["1.0", "2.0", "1.5"], None) == "2.0"


@pytest.mark.parametrize(
    ("requested", "message"),
    [
        ("[1.0", "Unbounded range: [1.0"),
        ("(1.0)", "Single version must be surrounded by []: (1.0)"),
        ("[2.0,1.0]", "Range defies version ordering: [2.0,1.0]"),
        ("[1.0,3.0],[2.0,4.0]", "Ranges overlap: [1.0,3.0],[2.0,4.0]"),
        ("[1.0],2.0", "Only fully-qualified sets allowed in multiple set scenario: [1.0],2.0"),
    ],
)
def test_an_unreadable_range_is_refused_in_mavens_words(requested: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
        VersionRange.requested(requested)
    assert str(caught.value) == message


def test_no_version_in_the_range_is_none() -> None:
    assert choose_version(["1.0"], VersionRange.requested("[2.0,)")) is None


@pytest.mark.parametrize(
    ("wanted", "chosen"), [(None, "1.1"), ("[1.0,2.0]", "1.1"), ("[1.5,)", "2.0"), ("[3.0]", None)]
)
def test_the_copy_next_to_the_connector_goes_before_newer_ones(wanted: str | None, chosen: str | None) -> None:
    available = ["1.0", "1.1", "2.0"]
    assert choose_version(available, VersionRange.requested(wanted), packaged="1.1") == chosen


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("0.x.10", "0-rcsnapshot-"),
        ("0.rc-2147483648", "0_0_snapshot.final.beta"),
        ("2.ga-Final-RC1", "2.ccsbeta2"),
    ],
)
def test_odd_versions_are_ordered_as_maven_orders_them(later: str, earlier: str) -> None:
    assert Version(earlier) < Version(later)
