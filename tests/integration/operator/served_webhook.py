"""A webhook that is served on this machine, configured as the chart does it."""

import base64
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock_operator.admission.webhook import Webhook
from penstock_operator.kubernetes.client import Kube
from penstock_operator.settings import Settings

from ...unit.chart.rendering import Helm, least
from ..api_servers import run
from ..cluster_api.api import Api, ApiRefused
from ..ports import free_port
from ..running import until

__all__ = ["Appliers", "Served", "connector", "fields", "uncounted"]

Json = dict[str, Any]


def connector(namespace: str, name: str = "orders-in", **config: Any) -> Json:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"class": "FileStreamSource", "config": {"file": "/data/x", "topic": "orders", **config}},
    }


def fields(refused: ApiRefused) -> set[str]:
    """The fields that an answer names."""
    return {c["field"] for c in refused.answer["details"]["causes"]}


def uncounted(kind: str, result: str, seconds: float) -> None:
    """Where no metrics are asked for."""


class Served:
    """A release whose webhook reviews one namespace, its own."""

    def __init__(self, api: Api, kube: Kube, namespace: str, folder: Path, **values: Any) -> None:
        self.api, self.kube, self.namespace = api, kube, namespace
        self.port = free_port()
        helm = Helm(Path(run("any", "path", "helm").strip()), folder)
        rendered = helm.render(
            least(watchNamespaces=[namespace], webhook={"port": self.port}, **values), namespace=namespace
        )
        self.document = rendered.configuration
        self.settings = Settings.of(self.document)
        self.configuration = rendered.one("ValidatingWebhookConfiguration")
        self.service = rendered.one("Service", self.settings.webhook.service)
        # The API server of the tests has no network to pods. It can reach an external name, with the name of the service in
        # the certificate.
        self.service["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        for each in self.configuration["webhooks"]:
            each["clientConfig"]["service"]["port"] = self.port
        self.webhook: Webhook | None = None

    def install(self) -> None:
        for document in (self.service, self.configuration):
            self.api.apply(document)

    def start(self, clock: Callable[[], float] = time.time) -> Webhook:
        """Start it, and wait until the API server asks it."""
        webhook = self.webhook = Webhook(self.settings, self.kube, uncounted, clock=clock)
        webhook.start()
        until(lambda: webhook.port is not None)
        until(self.is_asked)
        return webhook

    def stop(self) -> None:
        if self.webhook is not None:
            self.webhook.close()
            self.webhook = None

    def remove(self) -> None:
        self.stop()
        self.api.delete(self.configuration)

    def is_asked(self) -> bool:
        """Whether an invalid Connector is refused."""
        return self.refusal() is not None

    def refusal(self) -> ApiRefused | None:
        """The refusal of an invalid Connector at a dry run; None: it is accepted."""
        wrong = connector(self.namespace, "probe", **{"batch.max.recods": "5"})
        try:
            self.api.apply(wrong, dry_run=True)
        except ApiRefused as refused:
            return refused
        return None

    def trusted(self) -> str:
        """The certificates that the API server trusts."""
        (bundle,) = {w["clientConfig"].get("caBundle", "") for w in self.api.get(self.configuration)["webhooks"]}
        return base64.b64decode(bundle).decode()

    def connects(self, port: int) -> bool:
        """Whether whoever trusts what the API server trusts can connect to a webhook on this port."""
        context = ssl.create_default_context(cadata=self.trusted())
        name = f"{self.settings.webhook.service}.{self.namespace}.svc"
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            try:
                with context.wrap_socket(plain, server_hostname=name):
                    return True
            except ssl.SSLError:
                return False


class Appliers:
    """Threads that apply an invalid Connector again and again, and count what was accepted."""

    def __init__(self, served: Served, count: int = 4) -> None:
        self.refused, self.accepted = 0, 0
        self._served, self._ending = served, threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def __enter__(self) -> "Appliers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def until_more(self, count: int) -> None:
        """Wait until so many more were refused."""
        enough = self.refused + count
        until(lambda: self.refused >= enough, moving=lambda: self.refused)

    def _run(self) -> None:
        while not self._ending.is_set():
            if self._served.is_asked():
                self.refused += 1
            else:
                self.accepted += 1
