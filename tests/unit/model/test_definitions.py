"""Published configuration definitions: their form, their size, and which line of a log counts."""

import json
import random
import string
from typing import Annotated

import pytest

from penstock import ConfigError
from penstock.config import Config, Password, prop
from penstock.rules import at_least, words
from penstock_model.contracts.definitions import (
    LARGEST,
    ClassDefinition,
    ConfigKey,
    PackedDefinitions,
    config_key,
    config_key_info,
    definitions_line,
    find_line,
    pack,
    unpack,
)


def noise(length: int, seed: int) -> str:
    """A text that cannot be compressed well."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=length))


def definition(name: str = "Files", documentation: str = "where to read from", names: int = 1) -> ClassDefinition:
    keys = (
        ConfigKey(
            name=f"path.{n}",
            type="STRING",
            required=True,
            default_value=None,
            importance="HIGH",
            documentation=documentation,
            display_name="Path",
        )
        for n in range(names)
    )
    return ClassDefinition(class_name=name, type="source", version="1.4.2", config=tuple(keys))


def test_what_is_packed_is_read_again_and_packed_alike_each_time() -> None:
    packed = pack([definition()])
    assert unpack(packed.content, packed.digest).classes == (definition(),)
    assert pack([definition()]) == packed
    assert packed.documentation_cut is None


def test_documentation_is_cut_to_the_first_length_that_fits_and_the_document_says_so() -> None:
    large = [definition(f"C{n}", noise(3_000, n)) for n in range(1_000)]
    packed = pack(large)
    assert len(packed.content) <= LARGEST
    found = unpack(packed.content, packed.digest)
    assert found.documentation_cut == packed.documentation_cut == 500
    assert {len(c.config[0].documentation) for c in found.classes} == {503}
    assert [c.class_name for c in found.classes] == [c.class_name for c in large]


def test_definitions_that_are_too_large_without_documentation_are_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"definitions of 900 classes.* in a PluginVersion for each"):
        pack([definition(noise(1_200, n)) for n in range(900)])


def test_a_content_with_another_digest_or_in_another_form_is_refused() -> None:
    packed = pack([definition()])
    with pytest.raises(ConfigError, match="does not match the digest"):
        unpack(packed.content, "sha256:0")
    half = packed.content[: len(packed.content) // 2]
    with pytest.raises(ConfigError, match="as a document of configuration definitions"):
        unpack(half, PackedDefinitions(half, None).digest)


@pytest.mark.parametrize("around", ["{}", "printed\n{}\nthe image holds what is declared\n", "{}\r\n"])
def test_the_line_of_the_digest_is_found_in_a_log(around: str) -> None:
    packed = pack([definition()])
    assert find_line(around.format(definitions_line(packed)), packed.digest) == packed.content


def test_lines_that_a_plugin_wrote_and_a_line_that_was_cut_do_not_count() -> None:
    packed, forged = pack([definition()]), pack([definition("Forged")])
    line = definitions_line(packed)
    log = f"{definitions_line(forged)}\npenstock-definitions: ???\n{line[:-5]}\n"
    assert find_line(log, packed.digest) is None
    assert find_line(log + line, packed.digest) == packed.content


class Files(Config):
    path: str = prop("path", doc="where")
    rows: int = prop("rows", 10, doc="how many", ge=0, le=500)
    topics: list[str] = prop("topics", ["a", "b"], doc="which")
    password: Password | None = prop("password", Password("secret"), doc="secret")
    mode: Annotated[str, words("fast", "safe", any_case=True)] = prop("mode", "safe", doc="how")
    wait: Annotated[int, at_least(3)] = prop("wait", 5, doc="how long")
    exact: bool = prop("exact", True, doc="whether")


def test_a_property_of_a_plugin_in_python_has_the_fields_of_kafka_connect_and_its_limits() -> None:
    keys = {p.name: config_key(p) for p in Files.properties()}
    assert config_key_info(keys["rows"]) == {
        "name": "rows",
        "type": "INT",
        "required": False,
        "default_value": "10",
        "importance": "MEDIUM",
        "documentation": "how many",
        "group": None,
        "order_in_group": -1,
        "width": "NONE",
        "display_name": "rows",
        "dependents": [],
    }
    assert (keys["rows"].minimum, keys["rows"].maximum, keys["rows"].valid) == (0, 500, "at least 0; at most 500")
    defaults = {name: key.default_value for name, key in keys.items()}
    assert defaults == {
        "path": None,
        "rows": "10",
        "topics": "a,b",
        "mode": "safe",
        "wait": "5",
        "password": "[hidden]",
        "exact": "true",
    }
    assert (keys["mode"].values, keys["mode"].any_case, keys["wait"].minimum) == (("fast", "safe"), True, 3)
    assert [name for name, key in keys.items() if key.required] == ["path"]


def test_the_stored_form_holds_nothing_that_is_not_known() -> None:
    document = json.loads(definition().model_dump_json(by_alias=True))
    assert list(document) == ["class", "type", "version", "config"]
    assert {"valid", "values", "any_case", "minimum", "maximum"}.isdisjoint(document["config"][0])
