"""Certificates of the webhook: a certificate authority for the release, which signs one for each operator. Pure.

Only the webhook's own configuration trusts the authority.
"""

import datetime
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from penstock.errors import ConfigError

__all__ = ["Authority", "Certificate", "new_authority", "read_authority"]

_AUTHORITY_DAYS: Final = 730
_CERTIFICATE_DAYS: Final = 30
_SKEW: Final = datetime.timedelta(hours=1)
"""Clock difference that a new certificate tolerates: its validity starts this much earlier."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Certificate and its key, as PEM.

    Attributes:
        certificate, key: PEM.
        renew_at: time of renewal, after two thirds of the validity period, in seconds since 1970.
    """

    certificate: bytes
    key: bytes
    renew_at: float


@dataclass(frozen=True, slots=True)
class Authority:
    """Certificate authority of a release, as PEM.

    Attributes:
        certificate, key: PEM.
        renew_at, ends_at: times of renewal and expiry, in seconds since 1970.
    """

    certificate: bytes
    key: bytes
    renew_at: float
    ends_at: float

    def issue(self, host: str, now: float) -> Certificate:
        """Return a new certificate for a host."""
        signer = x509.load_pem_x509_certificate(self.certificate)
        key = ec.generate_private_key(ec.SECP256R1())
        begin, end = _span(now, _CERTIFICATE_DAYS)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(signer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(_private(self.key).public_key()), False)
            .sign(_private(self.key), hashes.SHA256())
        )
        return Certificate(made.public_bytes(serialization.Encoding.PEM), _pem(key), _renewal(begin, end))


def new_authority(name: str, now: float) -> Authority:
    """Return a new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    begin, end = _span(now, _AUTHORITY_DAYS)
    # Names of two authorities differ, so that a client that trusts both can choose by name.
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name[:40]} {int(now)}")])
    made = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_signs(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return read_authority(made.public_bytes(serialization.Encoding.PEM), _pem(key))


def read_authority(certificate: bytes, key: bytes) -> Authority:
    """Return an authority from PEM.

    Raises:
        ConfigError: it cannot be read, or the key does not match the certificate.
    """
    try:
        found = x509.load_pem_x509_certificate(certificate)
        fits = _private(key).public_key() == found.public_key()
    except (ValueError, TypeError) as e:
        raise ConfigError(f"cannot read the webhook's certificate authority: {e}") from None
    if not fits:
        raise ConfigError("cannot use the webhook's certificate authority: its key does not match its certificate")
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    return Authority(certificate, key, _renewal(begin, end), end.timestamp())


def _span(now: float, days: int) -> tuple[datetime.datetime, datetime.datetime]:
    begin = datetime.datetime.fromtimestamp(now, datetime.UTC)
    return begin - _SKEW, begin + datetime.timedelta(days=days)


def _renewal(begin: datetime.datetime, end: datetime.datetime) -> float:
    return (begin + (end - begin) * 2 / 3).timestamp()


def _signs() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _private(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the key is not an elliptic-curve key")
    return key


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
