"""The webhook on a real API server: invalid objects are refused at apply, and nothing depends on the operator."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_operator.admission.webhook import Webhook
from penstock_operator.kubernetes.client import Kube
from penstock_operator.settings import Settings

from ...unit.chart.rendering import Helm, least
from ..api_servers import ApiServer, run
from ..cluster_api.api import Api, ApiRefused
from ..ports import free_port
from ..running import until

Json = dict[str, Any]


class Served:
    """A webhook that is served on this machine for one namespace, as the chart configures it."""

    def __init__(self, api: Api, kube: Kube, namespace: str, folder: Path) -> None:
        self.api, self.kube, self.namespace = api, kube, namespace
        self.port = free_port()
        helm = Helm(Path(run("any", "path", "helm").strip()), folder)
        values = least(watchNamespaces=[namespace], webhook={"port": self.port})
        rendered = helm.render(values, namespace=namespace)
        settings = Settings.of(rendered.configuration)
        self.settings = settings
        self.configuration = rendered.one("ValidatingWebhookConfiguration")
        self.service = rendered.one("Service", settings.webhook.service)
        # The API server of the tests has no network to pods. It reaches an external name, with the certificate's name.
        self.service["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        for each in self.configuration["webhooks"]:
            each["clientConfig"]["service"]["port"] = self.port
        self.webhook: Webhook | None = None

    def install(self) -> None:
        for document in (self.service, self.configuration):
            self.api.apply(document)

    def start(self, clock: Callable[[], float] = time.time) -> Webhook:
        self.webhook = Webhook(self.settings, self.kube, clock=clock)
        self.webhook.start()
        until(lambda: self.webhook is not None and self.webhook.port is not None)
        return self.webhook

    def stop(self) -> None:
        if self.webhook is not None:
            self.webhook.close()
            self.webhook = None

    def remove(self) -> None:
        self.stop()
        self.api.delete(self.configuration)


@pytest.fixture
def served(api: Api, kube: Kube, namespace: str, tmp_path: Path) -> Iterator[Served]:
    made = Served(api, kube, namespace, tmp_path)
    made.install()
    made.start()
    until(lambda: is_checked(made))
    yield made
    made.remove()


def connector(namespace: str, name: str = "orders-in", **config: Any) -> Json:
    return {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"class": "FileStreamSource", "config": {"file": "/data/x", "topic": "orders", **config}},
    }


def is_checked(served: Served) -> bool:
    """Whether the API server asks the webhook: it reads a changed configuration after a while."""
    try:
        served.api.apply(connector(served.namespace, "probe", **{"batch.max.recods": "5"}), dry_run=True)
    except ApiRefused:
        return True
    return False


def fields(refused: ApiRefused) -> list[str]:
    return [c["field"] for c in refused.answer["details"]["causes"]]


def test_kubectl_prints_all_problems_of_a_connector_at_a_dry_run(
    served: Served, api_server: ApiServer, tmp_path: Path
) -> None:
    wrong = {"batch.max.recods": "5", "batch.size": "many", "errors.tolerance": "some", "leftover": "x"}
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(connector(served.namespace, **wrong)))
    with pytest.raises(RuntimeError) as refused:
        api_server.kubectl("apply", "--dry-run=server", "--filename", str(file))
    text = str(refused.value)
    assert 'The Connector "orders-in" is invalid' in text
    assert "spec.config.batch.max.recods: " in text
    assert "did you mean batch.max.records?" in text
    assert "spec.config.batch.size: " in text
    assert "spec.config.errors.tolerance: " in text
    assert "Warning: spec.config.leftover: is not known to FileStreamSource" in text
