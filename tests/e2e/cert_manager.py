"""What cert-manager does with the objects of the chart, done by the tests: no image of cert-manager can be had here.

It follows the objects as they are in the cluster: a Certificate names its Issuer and its Secret, an Issuer is self-signed
or names the Secret of an authority, and a webhook configuration names the Certificate whose `ca.crt` is injected.
"""

import base64
import datetime
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from .cluster import Cluster

__all__ = ["DEFINITIONS", "CertManager"]

Json = dict[str, Any]
_INJECT: Final = "cert-manager.io/inject-ca-from"
_DAYS: Final = 90


def _definition(kind: str) -> Json:
    plural = f"{kind.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {"group": "cert-manager.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }


DEFINITIONS: Final = json.dumps(
    {"apiVersion": "v1", "kind": "List", "items": [_definition("Certificate"), _definition("Issuer")]}
)


class _Signer(NamedTuple):
    certificate: x509.Certificate
    key: rsa.RSAPrivateKey


class CertManager:
    """Does what cert-manager does in one namespace, when it is called.

    Args:
        cluster: where.
        namespace: of the Certificates.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def issue_all(self) -> None:
        """Issue every Certificate, authorities first, and inject them into the webhook configurations that ask for it."""
        certificates = self._list("certificates.cert-manager.io")
        for found in sorted(certificates, key=lambda c: not c["spec"].get("isCA")):
            self.issue(found["metadata"]["name"])
        for each in self._list("validatingwebhookconfigurations"):
            namespace, _, name = (each["metadata"].get("annotations") or {}).get(_INJECT, "").partition("/")
            if namespace == self._namespace:
                self._inject(each, name)

    def issue(self, name: str) -> str:
        """Issue a Certificate, again with another key if it is renewed; the certificate as PEM."""
        spec = self._get("certificate.cert-manager.io", name)["spec"]
        issuer = self._get("issuer.cert-manager.io", spec["issuerRef"]["name"])["spec"]
        signer = None if "selfSigned" in issuer else self._signer(issuer["ca"]["secretName"])
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        made = _signed(spec, key, signer)
        pem = made.public_bytes(serialization.Encoding.PEM)
        authority = made if signer is None else signer.certificate
        content = {
            "tls.crt": pem,
            "tls.key": key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            ),
            "ca.crt": authority.public_bytes(serialization.Encoding.PEM),
        }
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": spec["secretName"], "namespace": self._namespace},
            "data": {key: base64.b64encode(value).decode() for key, value in content.items()},
        }
        self._cluster.apply(json.dumps(secret))
        return pem.decode().strip()

    def _inject(self, configuration: Json, certificate: str) -> None:
        secret = self._get("secret", self._get("certificate.cert-manager.io", certificate)["spec"]["secretName"])
        for each in configuration["webhooks"]:
            each["clientConfig"]["caBundle"] = secret["data"]["ca.crt"]
        self._cluster.kubectl("replace", "--filename=-", stdin=json.dumps(configuration))

    def _signer(self, secret: str) -> _Signer:
        data = self._get("secret", secret)["data"]
        key = serialization.load_pem_private_key(base64.b64decode(data["tls.key"]), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        return _Signer(x509.load_pem_x509_certificate(base64.b64decode(data["tls.crt"])), key)

    def _get(self, kind: str, name: str) -> Json:
        found: Json = json.loads(self._cluster.kubectl("get", kind, name, "-n", self._namespace, "--output=json"))
        return found

    def _list(self, kind: str) -> list[Json]:
        found = json.loads(self._cluster.kubectl("get", kind, "-n", self._namespace, "--output=json"))
        items: list[Json] = found["items"]
        return items


def _signed(spec: Mapping[str, Any], key: rsa.RSAPrivateKey, signer: _Signer | None) -> x509.Certificate:
    """Return a certificate as cert-manager makes it: without an extended key usage, unless one is asked for."""
    now = datetime.datetime.now(datetime.UTC)
    common = [x509.NameAttribute(NameOID.COMMON_NAME, spec["commonName"])] if "commonName" in spec else []
    subject, is_authority = x509.Name(common), bool(spec.get("isCA"))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(_usage(is_authority=is_authority), critical=True)
    )
    if is_authority:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    if signer is not None:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
        builder = builder.add_extension(issuer, critical=False)
    if spec.get("dnsNames"):
        names = x509.SubjectAlternativeName([x509.DNSName(name) for name in spec["dnsNames"]])
        builder = builder.add_extension(names, critical=not common)
    return builder.sign(key if signer is None else signer.key, hashes.SHA256())


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=is_authority,
        crl_sign=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
