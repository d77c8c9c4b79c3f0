"""Whether single offsets can be deleted is known before anything is changed."""

import ctypes.util
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from penstock.errors import ConnectError
from penstock_kafka import offset_deletion
from penstock_kafka.offset_deletion import check_deletion


@pytest.fixture(autouse=True)
def fresh_library() -> Iterator[None]:
    offset_deletion._library.cache_clear()
    yield
    offset_deletion._library.cache_clear()


def test_the_client_of_these_images_can_delete_single_offsets() -> None:
    check_deletion()


@pytest.mark.parametrize("file", ["/nowhere/cimpl.so", ctypes.util.find_library("c")])
def test_a_client_that_cannot_is_named_with_what_to_do_instead(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setattr(offset_deletion, "cimpl", SimpleNamespace(__file__=file))
    with pytest.raises(
        ConnectError, match=r"cannot delete single offsets: .*(nowhere|rd_kafka).*; reset all offsets instead"
    ):
        check_deletion()
