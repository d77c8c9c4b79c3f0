"""The webhook of the chart: it asks little of the API server, hinders nobody, and asks only about what is watched."""

from typing import Any

from .rendering import NAMESPACE, Helm, Rendered, least


def webhooks(rendered: Rendered) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rendered.one("ValidatingWebhookConfiguration")["webhooks"]
    return found


def test_objects_can_be_applied_while_the_operator_is_unavailable(rendered: Rendered) -> None:
    for each in webhooks(rendered):
        assert (each["failurePolicy"], each["timeoutSeconds"], each["sideEffects"]) == ("Ignore", 2, "None")


def test_neither_deletions_nor_statuses_nor_scales_are_reviewed(rendered: Rendered) -> None:
    for each in webhooks(rendered):
        (rule,) = each["rules"]
        assert rule["operations"] == ["CREATE", "UPDATE"]
        assert rule["resources"] == ["connectors", "topiccreationpolicies", "pluginversions"]


def test_each_namespace_is_reviewed_once_by_the_rule_of_its_label(rendered: Rendered) -> None:
    paths = {}
    for value in ("", "Warn", "RefuseSimilar", "RefuseAll", "Other"):
        asked = [each for each in webhooks(rendered) if selects(each, {"penstock.dev/unknown-properties": value})]
        paths[value] = [each["clientConfig"]["service"]["path"] for each in asked]
    assert paths == {
        "": ["/validate"],
        "Other": ["/validate"],
        "Warn": ["/validate/warn"],
        "RefuseSimilar": ["/validate/refuse-similar"],
        "RefuseAll": ["/validate/refuse-all"],
    }


def test_a_label_switches_the_review_of_a_namespace_off(rendered: Rendered) -> None:
    assert not [each for each in webhooks(rendered) if selects(each, {"penstock.dev/validate": "Disabled"})]


def test_two_releases_review_only_what_each_of_them_watches(helm: Helm) -> None:
    shop, audit = (webhooks(helm.render(least(watchNamespaces=[name]), name)) for name in ("shop", "audit"))
    labels = {"kubernetes.io/metadata.name": "shop"}
    assert [selects(each, labels) for each in shop].count(True) == 1
    assert not [each for each in audit if selects(each, labels)]


def test_the_service_leads_to_the_port_of_every_operator(rendered: Rendered) -> None:
    service = rendered.one("Service", "penstock-webhook")
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert service["spec"]["ports"] == [{"name": "webhook", "port": 443, "targetPort": "webhook"}]
    for each in webhooks(rendered):
        reference = {k: v for k, v in each["clientConfig"]["service"].items() if k != "path"}
        assert reference == {"namespace": NAMESPACE, "name": "penstock-webhook", "port": 443}


def test_cert_manager_issues_the_certificate_on_request(helm: Helm) -> None:
    rendered = helm.render(least(webhook={"certManager": {"enabled": True}}))
    certificate = rendered.one("Certificate", "penstock-webhook")["spec"]
    assert certificate["dnsNames"] == [f"penstock-webhook.{NAMESPACE}.svc"]
    assert certificate["issuerRef"] == {"kind": "Issuer", "name": "penstock-webhook"}
    authority = rendered.one("Certificate", "penstock-webhook-ca")["spec"]
    assert authority["isCA"]
    assert rendered.one("Issuer", "penstock-webhook")["spec"] == {"ca": {"secretName": authority["secretName"]}}
    assert rendered.one("Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
    mounted = {v["name"]: v["secret"]["secretName"] for v in rendered.pod["volumes"] if "secret" in v}
    assert mounted["webhook-certificate"] == certificate["secretName"]
    annotations = rendered.one("ValidatingWebhookConfiguration")["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/penstock-webhook"}
    assert rendered.configuration["webhook"]["certificate"] == "Mounted"
    own = helm.render(least(webhook={"certManager": {"enabled": True, "issuerRef": {"name": "ours"}}}))
    assert own.of("Issuer") == []
    assert own.one("Certificate")["spec"]["issuerRef"] == {"name": "ours"}


def test_without_the_webhook_nothing_of_it_is_installed(helm: Helm) -> None:
    rendered = helm.render(least(webhook={"enabled": False}))
    assert not [d for d in rendered.documents if "webhook" in str(d["metadata"]["name"])]
    assert rendered.of("ValidatingWebhookConfiguration") == []
    assert [p["name"] for p in rendered.pod["containers"][0]["ports"]] == ["metrics", "probes", "console"]


def selects(webhook: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a webhook is asked about objects of a namespace with these labels."""
    operators = {"In": lambda value, values: value in values, "NotIn": lambda value, values: value not in values}
    expressions = webhook["namespaceSelector"]["matchExpressions"]
    return all(operators[e["operator"]](labels.get(e["key"]), e["values"]) for e in expressions)
