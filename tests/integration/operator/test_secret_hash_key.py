"""The key of a release: made once, by the operator itself, and never changed by a restart."""

from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import SECRET
from penstock_operator.secret_hash_key import secret_hash_key, secret_name
from penstock_operator.settings import Settings


def settings(namespace: str, *, watch: bool = True) -> Settings:
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": namespace},
            "worker": {"bootstrap.servers": "kafka:9092"},
            "images": {"runtime": "penstock-runtime:0.1.0"},
            "secrets": {"watch": watch},
        }
    )


def test_the_first_start_makes_it_and_later_ones_find_it(kube: Kube, namespace: str, tmp_path: Path) -> None:
    first = secret_hash_key(tmp_path / "none", settings(namespace), kube)
    assert len(first) == 32
    assert secret_hash_key(tmp_path / "none", settings(namespace), kube) == first


def test_a_mounted_key_is_taken_and_none_is_made(kube: Kube, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"0123456789abcdef")
    assert secret_hash_key(tmp_path / "key", settings(namespace), kube) == b"0123456789abcdef"
    assert kube.get(SECRET, namespace, secret_name(settings(namespace))) is None


def test_a_key_that_is_too_short_is_refused_with_what_is_needed(kube: Kube, namespace: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(ConfigError, match="has 5 bytes; it must have at least 16"):
        secret_hash_key(tmp_path / "key", settings(namespace), kube)


def test_without_a_watch_of_secrets_no_secret_is_touched(kube: Kube, namespace: str, tmp_path: Path) -> None:
    assert secret_hash_key(tmp_path / "none", settings(namespace, watch=False), kube) == b""
    assert kube.get(SECRET, namespace, secret_name(settings(namespace))) is None
