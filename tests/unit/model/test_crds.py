"""The definitions of the resources: what stands in crds/, and that it says what the models say."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from penstock.errors import ConfigError
from penstock_model.resources.base import Part
from penstock_model.resources.connector import NAME_LENGTH, Connector
from penstock_model.resources.crds import RESOURCES, CustomResource, definition
from penstock_model.resources.crds.schema import DURATION_PATTERN, structural
from penstock_model.resources.plugin_version import PluginVersion
from penstock_model.resources.topic_creation_policy import TopicCreationPolicy
from penstock_model.resources.values import Duration

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
KINDS: dict[str, type[Connector | TopicCreationPolicy | PluginVersion]] = {
    model.__name__: model for model in (Connector, TopicCreationPolicy, PluginVersion)
}
Example = Mapping[str, Any]


def examples(file: str) -> list[Any]:
    found = yaml.safe_load((HERE / "resources" / file).read_text())
    return [pytest.param(example, id=example["claim"]) for example in found]


def read(resource: Example) -> Connector | TopicCreationPolicy | PluginVersion:
    return KINDS[resource["kind"]].read({"metadata": {"name": "a"}, **resource})


def schema(resource: CustomResource) -> dict[str, Any]:
    found: dict[str, Any] = definition(resource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def fields(node: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every field of a schema, with its place."""
    for name, inner in node.get("properties", {}).items():
        yield f"{at}.{name}", inner
        yield from fields(inner, f"{at}.{name}")
    for part in ("items", "additionalProperties"):
        if part in node:
            yield from fields(node[part], f"{at}[]")


every_resource = pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.kind)


@pytest.mark.parametrize("example", examples("accepted.yaml"))
def test_the_model_accepts(example: Example) -> None:
    assert read(example["resource"]).kind == example["resource"]["kind"]


@pytest.mark.parametrize("example", [*examples("refused.yaml"), *examples("refused_by_the_model_only.yaml")])
def test_the_model_refuses(example: Example) -> None:
    with pytest.raises(ConfigError) as refused:
        read(example["resource"])
    assert (example.get("both") or example["model"]) in str(refused.value)


def test_the_files_are_what_the_models_say() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate-crds", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@every_resource
def test_a_file_holds_no_status(resource: CustomResource) -> None:
    (document,) = yaml.safe_load_all((ROOT / "crds" / f"{resource.name}.yaml").read_text())
    assert document.keys() == {"apiVersion", "kind", "metadata", "spec"}


@every_resource
def test_every_field_is_described_in_a_sentence(resource: CustomResource) -> None:
    places = [
        place
        for place, field in fields(schema(resource))
        if place not in (".metadata", ".metadata.name") and not field.get("description", "").endswith(".")
    ]
    assert not places


@every_resource
def test_a_default_is_a_scalar_in_the_schema_or_that_of_a_part_with_defaults(resource: CustomResource) -> None:
    defaults = {place: field for place, field in fields(schema(resource)["properties"]["spec"]) if "default" in field}
    parts = [place for place, field in defaults.items() if field["default"] == {}]
    assert all(any(place.startswith(f"{part}.") for place in defaults) for part in parts)
    found = {place: field for place, field in defaults.items() if place not in parts}
    assert not [place for place, field in found.items() if isinstance(field["default"], (dict, list))]
    assert not [
        place for place, field in found.items() if f"Default: {word(field['default'])}." not in field["description"]
    ]


def word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@every_resource
def test_a_new_resource_is_not_observed_yet(resource: CustomResource) -> None:
    assert schema(resource)["properties"]["status"]["default"] == {"observedGeneration": -1}


@every_resource
def test_a_condition_is_found_by_its_type(resource: CustomResource) -> None:
    conditions = schema(resource)["properties"]["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-type"] == "map"
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


@every_resource
def test_a_list_says_how_it_is_merged(resource: CustomResource) -> None:
    places = [
        place
        for place, field in fields(schema(resource))
        if field.get("type") == "array" and "x-kubernetes-list-type" not in field
    ]
    assert not places


@every_resource
def test_no_sentence_is_a_property_or_a_value(resource: CustomResource) -> None:
    named = [
        *(n for _, field in fields(schema(resource)) for n in (*field.get("required", ()), *field.get("enum", ())))
    ]
    assert not [name for name in named if " " in str(name)]


@every_resource
def test_every_number_is_an_integer_with_a_format(resource: CustomResource) -> None:
    numbers = [field for _, field in fields(schema(resource)) if field.get("type") in ("number", "integer")]
    assert {(n["type"], n.get("format")) for n in numbers} <= {("integer", "int32"), ("integer", "int64")}


def test_the_rule_for_names_has_the_length_of_the_model() -> None:
    rules = [rule["rule"] for rule in schema(RESOURCES[0])["x-kubernetes-validations"]]
    assert f"self.metadata.name.size() <= {NAME_LENGTH}" in rules


@pytest.mark.parametrize(
    "text", ["10s", "5m", "1h30m", "500ms", "1.5s", "0s", "", "10", "1d", "-1s", "1 s", "s", ".5s", "1.s"]
)
def test_a_duration_has_the_pattern_that_the_definitions_have(text: str) -> None:
    try:
        accepted = isinstance(TypeAdapter(Duration).validate_python(text), timedelta)
    except ValidationError:
        accepted = False
    assert accepted == bool(re.search(DURATION_PATTERN, text))


def test_what_a_structural_schema_cannot_say_is_refused_when_it_is_made() -> None:
    class Strange(Part):
        either: str | int

    with pytest.raises(ValueError, match="cannot create a structural schema"):
        structural(Strange)
