"""The webhook's certificates: signed by an authority of the release, for the name of its Service, and renewed in time."""

import time

import pytest
from cryptography import x509

from penstock.errors import ConfigError
from penstock_operator.admission.certificates import new_authority, read_authority

HOST = "penstock-webhook.penstock-system.svc"
DAY = 86_400.0


def test_a_certificate_is_for_the_service_and_verified_by_the_authority() -> None:
    now = time.time()
    authority = new_authority("penstock", now)
    made = x509.load_pem_x509_certificate(authority.issue(HOST, now).certificate)
    signer = x509.load_pem_x509_certificate(authority.certificate)
    made.verify_directly_issued_by(signer)
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [HOST]


def test_both_are_renewed_when_two_thirds_of_their_time_have_passed() -> None:
    now = time.time()
    authority = new_authority("penstock", now)
    assert 485 * DAY < authority.renew_at - now < 488 * DAY
    assert 19 * DAY < authority.issue(HOST, now).renew_at - now < 21 * DAY


def test_a_clock_that_is_behind_accepts_a_new_certificate() -> None:
    now = time.time()
    made = x509.load_pem_x509_certificate(new_authority("penstock", now).issue(HOST, now).certificate)
    assert made.not_valid_before_utc.timestamp() < now - 3000


def test_two_authorities_of_a_release_differ_in_name() -> None:
    now = time.time()
    first, second = (
        x509.load_pem_x509_certificate(new_authority("penstock", at).certificate) for at in (now, now + DAY)
    )
    assert first.subject != second.subject


def test_an_authority_that_cannot_be_used_is_refused() -> None:
    one, other = new_authority("a", time.time()), new_authority("b", time.time())
    assert read_authority(one.certificate, one.key) == one
    for certificate, key in ((one.certificate, other.key), (b"", b""), (one.certificate, b"-"), (b"x", one.key)):
        with pytest.raises(ConfigError, match=r"cannot (use|read) the webhook's certificate authority"):
            read_authority(certificate, key)
