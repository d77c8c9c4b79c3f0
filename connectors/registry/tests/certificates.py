"""Certificates of a test's own authority."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["Authority"]

_PEM = serialization.Encoding.PEM


class Authority:
    """A certificate authority, whose certificate is the file `certificate`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._signed(self._name, self._key.public_key(), authority=True)
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(own.public_bytes(_PEM))

    def issue(self, name: str, password: str | None = None) -> Path:
        """A file with a private key and its certificate, for 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._signed(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]), key.public_key())
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, encryption)
        file = self._folder / f"{name}.pem"
        file.write_bytes(private + made.public_bytes(_PEM))
        return file

    def server(self, *, asks: bool) -> ssl.SSLContext:
        """A server's side of TLS; `asks` for certificates of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue("server"))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.certificate)
        return context

    def _signed(self, name: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool = False) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
