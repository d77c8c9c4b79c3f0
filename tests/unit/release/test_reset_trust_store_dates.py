"""Java's trust store in the runtime image does not contain the time of the build."""

import hashlib
import struct
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "reset-trust-store-dates"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that the build of the runtime image runs; it belongs to no package."""
    loader = SourceFileLoader("reset_trust_store_dates", str(SCRIPT))
    module = ModuleType(loader.name)
    loader.exec_module(module)
    return module


def store(*certificates: tuple[str, int, bytes], kind: int = 2) -> bytes:
    """A trust store as Java writes it."""
    content = struct.pack(">III", 0xFEEDFEED, 2, len(certificates))
    for alias, date, certificate in certificates:
        name = alias.encode()
        content += struct.pack(f">IH{len(name)}sQ", kind, len(name), name, date)
        content += struct.pack(f">H5sI{len(certificate)}s", 5, b"X.509", len(certificate), certificate)
    return content + hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + content).digest()


def test_only_the_dates_change_and_the_digest_of_the_store_fits(script: ModuleType) -> None:
    built = store(("debian:one.pem", 1_790_000_000_000, b"first"), ("debian:two.pem", 1_790_000_000_001, b"second"))
    assert script.without_dates(built) == store(("debian:one.pem", 0, b"first"), ("debian:two.pem", 0, b"second"))


@pytest.mark.parametrize(
    "other",
    [b"\x30\x82" + bytes(40), store(("key", 1, b"secret"), kind=1), store(("a", 1, b"b"))[:-20] + b"more" + bytes(20)],
    ids=["PKCS12", "key", "longer"],
)
def test_another_format_fails_the_build_instead_of_breaking_the_store(script: ModuleType, other: bytes) -> None:
    with pytest.raises(ValueError, match="the trust store"):
        script.without_dates(other)
