"""Keep the webhook's certificate authority in a Secret, and have the API server trust it. Blocks; used in one thread.

Each operator of a release does this, so that a standby serves too. If several write the Secret at the same time, only one
of the writes succeeds, and the other operators read it.
"""

import base64
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.errors import ConfigError
from penstock_operator.admission.certificates import Authority, new_authority, read_authority
from penstock_operator.errors import Conflict, Unavailable
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import SECRET, WEBHOOKS
from penstock_operator.settings import Settings

__all__ = ["Trust", "TrustedAuthority", "authority_secret"]

log = logging.getLogger(__name__)

_CERTIFICATE, _KEY, _PREVIOUS = "ca.crt", "ca.key", "previous-ca.crt"
_ROUNDS: Final = 3


class TrustedAuthority(NamedTuple):
    """Authority of the release.

    Attributes:
        authority: signs certificates.
        is_trusted: whether the API server already trusted it before it was read.
    """

    authority: Authority
    is_trusted: bool


def authority_secret(settings: Settings) -> str:
    """Return the name of the Secret with the authority, in the release's namespace."""
    return f"{settings.release.name}-webhook-authority"


class Trust:
    """Authority in the Secret, and its certificate in the ValidatingWebhookConfiguration."""

    def __init__(self, settings: Settings, kube: Kube) -> None:
        self._settings = settings
        self._kube = kube

    def renew(self, now: float) -> TrustedAuthority:
        """Return the authority, creating or replacing it if necessary, and have the API server trust it.

        The certificate of the previous authority stays trusted until it expires, so that other operators can switch over.

        Raises:
            OperatorError: the API server refuses or is unavailable.
        """
        for _ in range(_ROUNDS):
            found = self._read(now)
            if found is not None:
                authority, bundle = found
                return TrustedAuthority(authority, self._publish(bundle))
        raise Unavailable(f"Secret {self._where}, the webhook's certificate authority, is changed repeatedly")

    @property
    def _where(self) -> str:
        return f"{self._settings.release.namespace}/{authority_secret(self._settings)}"

    def _read(self, now: float) -> tuple[Authority, bytes] | None:
        """Return the authority and the certificates to trust; None: another operator wrote them first."""
        release, name = self._settings.release, authority_secret(self._settings)
        there = self._kube.get(SECRET, release.namespace, name)
        data = {} if there is None else _data(there)
        before = data.get(_PREVIOUS, b"")
        try:
            authority = read_authority(data.get(_CERTIFICATE, b""), data.get(_KEY, b""))
            if now < authority.renew_at:
                return authority, authority.certificate + before
            before = authority.certificate if now < authority.ends_at else b""
        except ConfigError as e:
            before = b""
            if there is not None:
                log.warning("Replacing the webhook's certificate authority in Secret %s: %s", self._where, e)
        authority = new_authority(f"{release.label} webhook", now)
        content = {_CERTIFICATE: authority.certificate, _KEY: authority.key, _PREVIOUS: before}
        manifest: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": release.namespace,
                "labels": {"app.kubernetes.io/managed-by": "penstock", "penstock.dev/operator": release.label},
            },
            "data": {key: base64.b64encode(text).decode() for key, text in content.items() if text},
        }
        if there is None:
            written: Mapping[str, Any] | None = self._kube.create(manifest)
        else:
            manifest["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
            written = self._replace(manifest)
        return None if written is None else (authority, authority.certificate + before)

    def _replace(self, manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Replace an object, and return it; None: it was changed or deleted since it was read."""
        try:
            return self._kube.replace(manifest)
        except Conflict:
            return None

    def _publish(self, bundle: bytes) -> bool:
        """Have the API server trust these certificates, and return whether it already did."""
        name = self._settings.webhook.configuration
        there = self._kube.get(WEBHOOKS, None, name)
        if there is None:
            raise Unavailable(f"There is no ValidatingWebhookConfiguration {name}; the chart creates it")
        text = base64.b64encode(bundle).decode()
        webhooks = there.get("webhooks") or []
        if all(w["clientConfig"].get("caBundle") == text for w in webhooks):
            return True
        trusting = [{**w, "clientConfig": {**w["clientConfig"], "caBundle": text}} for w in webhooks]
        self._replace({**there, "webhooks": trusting})  # after a conflict, the next call repeats this
        return False


def _data(secret: Mapping[str, Any]) -> dict[str, bytes]:
    found = {}
    for key, text in (secret.get("data") or {}).items():
        try:
            found[key] = base64.b64decode(text, validate=True)
        except ValueError:
            continue
    return found
