"""The pages of docs/transforms: what they show is what the engine makes of the examples."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from penstock import Predicate, Record, Transform
from penstock_model.resources.connector import Connector
from penstock_runtime.plugins.discovery import PluginRef, Plugins
from penstock_runtime.trial.record_diff import changed_parts
from penstock_runtime.trial.record_format import plain_record, type_text
from penstock_runtime.trial.samples import Reader
from penstock_runtime.trial.trial import Outcome, Trial

from .console import ROOT

PAGES = ROOT / "docs" / "transforms"
EXAMPLES: Mapping[str, Any] = yaml.safe_load((PAGES / "examples.yaml").read_text())


def shown(record: Record, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a record that an example gives, as it gives them."""
    parts = plain_record(record)
    parts |= {"keySchema": type_text(record.key_schema), "valueSchema": type_text(record.value_schema)}
    parts["headers"] = {h["name"]: h["value"] for h in parts["headers"]}
    return {name: parts[name] for name in given}


@pytest.mark.parametrize(
    ("plugin", "example"),
    [
        pytest.param(name, example, id=f"{name}-{example.get('title', 'example')}")
        for name, about in EXAMPLES.items()
        for example in about["examples"]
    ],
)
def test_an_example_comes_out_as_its_page_says(plugin: str, example: Mapping[str, Any]) -> None:
    config = {
        name: str(text).lower() if isinstance(text, bool) else str(text)
        for name, text in yaml.safe_load(example["config"]).items()
    }
    assert plugin in {text.partition("$")[0] for text in config.values()}, "an example of another plugin"
    cls = "FileStreamSink" if example.get("sink") else "FileStreamSource"
    resource = Connector.read({"metadata": {"name": "c"}, "spec": {"class": cls, "config": config}})
    trial = Trial.of(resource, Plugins.installed())
    assert trial.warnings == ()
    (sample,) = Reader("t", trial.sink).samples([json.dumps(example["before"])])
    assert isinstance(sample.read, Record), sample.read
    last = list(trial.on(sample.read))[-1]
    match example["after"]:
        case "dropped":
            assert last.outcome is Outcome.DROPPED
        case str() as error:
            assert last.failure is not None
            assert type(last.failure.error).__name__ == error
        case after:
            assert last.after is not None, last.failure
            assert shown(last.after, after) == after
            assert set(changed_parts(sample.read, last.after)) == set(after)


def test_every_transform_and_predicate_has_examples_and_no_other_has() -> None:
    found = {
        ref.alias
        for ref in Plugins.installed().every()
        if isinstance(ref, PluginRef) and issubclass(ref.cls, (Transform, Predicate)) and ref.distribution == "penstock"
    }
    assert EXAMPLES.keys() == found
    assert all(about["notes"] and about["examples"] for about in EXAMPLES.values())


def test_the_pages_are_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate-transform-docs"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
