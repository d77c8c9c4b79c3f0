"""The custom resource definitions come and are upgraded with the release, and stay when it goes."""

import yaml

from .rendering import ROOT, Document, Helm, Rendered, least


def sources() -> dict[str, Document]:
    found = [yaml.safe_load(path.read_text()) for path in (ROOT / "crds").glob("*.yaml")]
    return {crd["metadata"]["name"]: crd for crd in found}


def test_the_release_brings_every_definition_as_it_is_but_for_the_wish_to_keep_it(rendered: Rendered) -> None:
    crds = {d["metadata"]["name"]: d for d in rendered.of("CustomResourceDefinition")}
    assert (
        crds.keys()
        == sources().keys()
        == {f"{plural}.penstock.dev" for plural in ("connectors", "pluginversions", "topiccreationpolicies")}
    )
    for name, crd in crds.items():
        assert crd["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
        source = sources()[name]
        assert crd["metadata"].pop("annotations") == source["metadata"].pop("annotations", {})
        assert crd == source


def test_definitions_can_be_left_out_or_given_up(helm: Helm) -> None:
    assert helm.render(least(crds={"install": False})).of("CustomResourceDefinition") == []
    crds = helm.render(least(crds={"keep": False})).of("CustomResourceDefinition")
    assert {d["metadata"]["name"]: d for d in crds} == sources()
