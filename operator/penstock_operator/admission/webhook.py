"""Validating admission webhook of a release: its certificate, its server and its answers.

It has its own threads, and never stops the operator. While it does not respond, the API server accepts every object
(`helm/penstock/templates/webhook.yaml`: `failurePolicy: Ignore`, a timeout of 2 s), and the conditions report problems
later.
"""

import importlib.metadata
import logging
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_operator.admission.answer import ALLOWED, Answer, admission_review
from penstock_operator.admission.certificates import Certificate
from penstock_operator.admission.review import is_reviewed, review
from penstock_operator.admission.server import HttpsServer
from penstock_operator.admission.trust import Trust
from penstock_operator.admission.views import Views
from penstock_operator.kubernetes.client import Kube
from penstock_operator.settings import Settings, UnknownProperties

__all__ = ["CERTIFICATE_DIR", "PATHS", "Webhook"]

log = logging.getLogger(__name__)

CERTIFICATE_DIR: Final = Path("/etc/penstock/webhook")
"""Mount path of a certificate that another controller renews."""
_DEFAULT: Final = "/validate"
PATHS: Final[Mapping[str, UnknownProperties]] = {
    "/validate/warn": "Warn",
    "/validate/refuse-similar": "RefuseSimilar",
    "/validate/refuse-all": "RefuseAll",
}
"""Paths for namespaces with a label that sets which unknown properties are refused."""
_CONNECT_SECONDS, _READ_SECONDS = 0.5, 1.0
_RETRY_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 20.0
"""Seconds between two checks of the certificate. A changed authority signs only after a check found it trusted."""
_VERSION: Final = importlib.metadata.version("penstock")


class Webhook:
    """Webhook of one operator.

    Args:
        settings: settings of the release.
        kube: the API server.
        on_review: called after each review with the kind of the object, the result and the seconds.
        certificates: folder of a mounted certificate.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings,
        kube: Kube,
        on_review: Callable[[str, str, float], None],
        certificates: Path = CERTIFICATE_DIR,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._kube = kube
        self._on_review = on_review
        self._quick = kube.within_seconds(_CONNECT_SECONDS, _READ_SECONDS)
        self._views = Views(self._quick)
        self._trust = Trust(settings, kube)
        self._certificates = certificates
        self._clock = clock
        self._signer, self._renew_at = b"", 0.0
        self._mounted: tuple[bytes, bytes] | None = None
        self._context: ssl.SSLContext | None = None
        self._server: HttpsServer | None = None
        self._reported = ""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhook", daemon=True)

    def start(self) -> None:
        """Start to serve, as soon as there is a certificate."""
        self._thread.start()

    @property
    def port(self) -> int | None:
        """Return the port that it listens on; None: it does not listen yet."""
        return None if self._server is None else self._server.port

    def close(self) -> None:
        """Stop serving."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=_READ_SECONDS)
        if self._server is not None:
            self._server.close()
        self._quick.close()

    def respond(self, path: str, document: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the response to an AdmissionReview; None: there is no such path."""
        unknown = self._settings.webhook.unknown_properties if path == _DEFAULT else PATHS.get(path)
        if unknown is None:
            return None
        request = document["request"]
        answer = self._reviewed(request, unknown) if is_reviewed(request, self._settings) else ALLOWED
        return admission_review(str(request["uid"]), request, answer)

    def _reviewed(self, request: Mapping[str, Any], unknown: UnknownProperties) -> Answer:
        began, result = time.monotonic(), "failed"
        try:
            answer = self._answer(request, unknown)
            result = answer.result
        finally:
            self._on_review(request["kind"]["kind"], result, time.monotonic() - began)
        return answer

    def _answer(self, request: Mapping[str, Any], unknown: UnknownProperties) -> Answer:
        namespace, began = str(request.get("namespace") or ""), time.monotonic()
        view = self._views.of(namespace)
        answer = review(request, view, self._settings, unknown, _VERSION)
        if answer.problems or answer.warnings:
            # Another object that makes this one valid may just have been applied.
            fresh = self._views.of(namespace, since=began)
            if fresh.policies is not view.policies or fresh.plugin_versions is not view.plugin_versions:
                answer = review(request, fresh, self._settings, unknown, _VERSION)
        if answer.problems:
            kind, name = (request.get("kind") or {}).get("kind"), request.get("name")
            log.info("Refused %s %s/%s: %d problems", kind, namespace, name, len(answer.problems))
        return answer

    def _run(self) -> None:
        while not self._closing.is_set():
            pause = _RETRY_SECONDS
            try:
                self.renew()
                self._reported, pause = "", _AGAIN_SECONDS
            except (ConnectError, OSError, ssl.SSLError) as e:
                if str(e) != self._reported:
                    self._reported = str(e)
                    log.warning("Cannot renew the webhook's certificate, so objects may not be checked: %s", e)
            except Exception:
                log.exception("Cannot renew the webhook's certificate, so objects may not be checked")
            self._closing.wait(pause)

    def renew(self) -> None:
        """Renew the certificate if necessary, and start to serve once there is one.

        Raises:
            OperatorError: the API server refuses or is unavailable.
            OSError: the certificate cannot be read, or the port is in use.
        """
        if self._settings.webhook.certificate == "Mounted":
            self._load_mounted()
        else:
            self._issue(self._clock())
        if self._server is None and not self._closing.is_set():
            self._server = HttpsServer(self._settings.webhook.port, self._current, self.respond)
            log.info("The webhook listens on port %d", self._server.port)

    def _current(self) -> ssl.SSLContext:
        assert self._context is not None
        return self._context

    def _issue(self, now: float) -> None:
        authority, is_trusted = self._trust.renew(now)
        is_other = authority.certificate != self._signer
        if self._context is not None and (not is_trusted or not (is_other or now >= self._renew_at)):
            return
        release, service = self._settings.release, self._settings.webhook.service
        issued = authority.issue(f"{service}.{release.namespace}.svc", now)
        self._context = _context(issued)
        self._signer, self._renew_at = authority.certificate, issued.renew_at

    def _load_mounted(self) -> None:
        found = (self._certificates / "tls.crt").read_bytes(), (self._certificates / "tls.key").read_bytes()
        if found != self._mounted:
            self._context = _context(Certificate(*found, renew_at=0.0))
            self._mounted = found


def _context(certificate: Certificate) -> ssl.SSLContext:
    """Return a TLS context with a certificate. Python loads it only from a file, which is removed immediately."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate.certificate + b"\n" + certificate.key)
        context.load_cert_chain(path)
    finally:
        with suppress(OSError):
            Path(path).unlink()
    return context
