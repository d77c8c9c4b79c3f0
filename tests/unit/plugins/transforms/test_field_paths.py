"""Paths of ExtractField, as KIP-821 and Kafka Connect 4.3.1 read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock_plugins.structs.field_path import read_path


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("`a.b`.c", ("a.b", "c")),
        ("a.`b.c`", ("a", "b.c")),
        ("``", ("",)),
        ("``.a", ("", "a")),
        ("a`b.c", ("a`b", "c")),
        ("`a`b`", ("a`b",)),
        ("`a`b`.c", ("a`b", "c")),
        ("`a\\`.b`", ("a`.b",)),
        ("`a\\`b`", ("a\\`b",)),
        ("`a\\`.b\\`.c`.d", ("a`.b`.c", "d")),
        ("`a``", ("a`",)),
        (".a", ("", "a")),
        ("a.", ("a", "")),
        ("a..b", ("a", "", "b")),
        (".", ("", "")),
        ("`a`.", ("a", "")),
        ("", ()),
    ],
)
def test_a_path_names_these_fields(path: str, steps: tuple[str, ...]) -> None:
    assert read_path(path) == steps


@pytest.mark.parametrize("path", ["`", "`a", "`a.b", "a.`b", "`a\\`", "`a`b", "`a\\`.b", "`a`.`b"])
def test_a_backtick_that_opens_a_step_must_be_closed(path: str) -> None:
    with pytest.raises(ValueError, match="Incomplete backtick pair in path"):
        read_path(path)


@given(st.lists(st.text(min_size=1).filter(lambda s: "`" not in s and not s.endswith("\\")), min_size=1))
def test_names_in_backticks_are_read_back_unchanged(names: list[str]) -> None:
    assert read_path(".".join(f"`{n}`" for n in names)) == tuple(names)
