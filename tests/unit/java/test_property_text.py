import pytest

from penstock_java_compat.property_text import items, trimmed


def test_blanks_are_control_characters_and_the_space_as_for_java() -> None:
    assert trimmed("\x00\x1b\t a b \n ") == "a b"


@pytest.mark.parametrize("blank", ["\u00a0", "\u2028", "\u3000", "\x85"])
def test_other_blanks_of_unicode_are_part_of_a_text(blank: str) -> None:
    assert trimmed(f"{blank}a{blank}") == f"{blank}a{blank}"
    assert items(f"a{blank},b") == [f"a{blank}", "b"]


def test_a_list_loses_the_blanks_around_its_commas_and_keeps_empty_items() -> None:
    assert items(" a b ,\tc,, ") == ["a b", "c", "", ""]
    assert items(" \x00 ") == []
