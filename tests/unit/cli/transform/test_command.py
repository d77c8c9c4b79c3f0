"""`penstock transform`: what each stage makes of a record, what is wrong with a chain, and how it ends."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError
from penstock_cli.transform.command import TransformOptions, transform
from penstock_runtime.trial.samples import Schemas

from ..command import penstock
from .console import ROOT, blocks, chain, lines, manifest, tried

HOIST = chain("HoistField$Value", t1_field="line")


def problems(file: Path, **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        transform(TransformOptions(file=str(file), **options), io.StringIO("1"), io.StringIO())
    return [str(p) for p in caught.value.problems]


def test_the_example_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    text = (ROOT / "docs/connectors.md").read_text().partition("## Try the transforms first")[2]
    page = tmp_path / "page.md"
    page.write_text(text)
    yaml, records, console = (blocks(str(page), kind)[0] for kind in ("yaml", "json", "console"))
    file = tmp_path / "orders-out.yaml"
    file.write_text(yaml)
    command, _, printed = console.partition("\n")
    assert command == "$ penstock transform orders-out.yaml < records.json"
    assert tried(file, records) == (1, printed)


def test_the_example_of_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    yaml = next(block for block in blocks("README.md", "yaml") if "name: hello" in block)
    console = next(block for block in blocks("README.md", "console") if "penstock transform" in block)
    file = tmp_path / "hello.yaml"
    file.write_text(yaml)
    printed = console.partition("without Kafka\n")[2].partition("$ ")[0]
    assert tried(file, '"hello, Penstock"\n') == (0, printed)


def test_the_command_line_leads_there(tmp_path: Path) -> None:
    file = manifest(tmp_path, {"topic": "t", "file": "f", **HOIST})
    done = subprocess.run(
        [sys.executable, "-m", "penstock_cli", "transform", str(file), "--output", "json"],
        input='{"a": 1}\nnonsense\n',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert [line["outcome"] for line in lines(done.stdout)] == ["changed", "failed"]
    assert done.stderr == ""


def test_its_help_says_what_records_are() -> None:
    done = penstock("transform", "--help")
    assert "topic, key, value, headers, timestamp, partition, offset" in done.stdout
    assert "exit codes: 0 all records were transformed" in done.stdout


def test_each_stage_is_a_line_of_json(tmp_path: Path) -> None:
    config = chain(
        "MaskField$Value",
        "RegexRouter",
        "Cast$Value",
        t1_fields="card",
        t2_regex="(.*)",
        t2_replacement="eu-$1",
        t2_predicate="p",
        t2_negate="true",
        t3_spec="id:int8",
        p_type="HasHeaderKey",
        p_name="test",
    )
    file = manifest(tmp_path, {"topic": "t", **config, "predicates": "p"})
    code, printed = tried(file, '{"value": {"id": 7, "card": "4111"}}', as_json=True)
    first, second, third = lines(printed)
    assert code == 0
    assert first == {
        "record": 1,
        "place": "line 1",
        "alias": "t1",
        "class": "org.apache.kafka.connect.transforms.MaskField$Value",
        "predicate": None,
        "outcome": "changed",
        "changed": ["value"],
        "error": None,
        "result": {
            "topic": "t",
            "partition": None,
            "timestamp": None,
            "key": None,
            "keySchema": None,
            "value": {"id": 7, "card": ""},
            "valueSchema": None,
            "headers": [],
        },
    }
    assert second["predicate"] == {"alias": "p", "negate": True, "held": False}
    assert (second["outcome"], second["changed"], second["result"]["topic"]) == ("changed", ["topic"], "eu-t")
    assert (third["outcome"], third["changed"]) == ("changed", ["value"])  # the number is the same, its type is not


def test_a_record_that_fails_says_where_why_and_what_to_do(tmp_path: Path) -> None:
    file = manifest(tmp_path, {"topic": "t", **chain("Cast$Value", "Filter", t1_spec="n:int32")})
    code, printed = tried(file, '{"n": "many"}\n{"n": "1"}\n')
    assert code == 1
    assert "     ! DataError: " in printed
    assert "at stage TRANSFORMATION, org.apache.kafka.connect.transforms.Cast$Value" in printed
    assert "In a task this record fails the task (errors.tolerance: none)." in printed
    assert "Correct transforms.t1.* or the data, or keep such records from t1 with a predicate." in printed
    assert printed.endswith("2 records: 0 went through, 1 dropped, 1 failed\n")
    (failed, *_) = lines(tried(file, '{"n": "many"}', as_json=True)[1])
    assert (failed["outcome"], failed["result"]) == ("failed", None)
    assert failed["error"]["stage"] == "TRANSFORMATION"
    assert failed["error"]["class"] == "DataError"


def test_a_dropped_record_is_no_failure_and_later_stages_do_not_see_it(tmp_path: Path) -> None:
    file = manifest(tmp_path, {"topic": "t", **chain("Filter", "HoistField$Value", t2_field="x")})
    code, printed = tried(file, "1", as_json=True)
    assert code == 0
    assert [(line["alias"], line["outcome"]) for line in lines(printed)] == [("t1", "dropped")]


def test_a_failing_predicate_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moody.py").write_text(
        "from penstock import Predicate\n"
        "class Moody(Predicate):\n"
        "    def test(self, record):\n"
        "        raise ValueError('not today')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    config = {"predicates": "p", **chain("Filter", t1_predicate="p", p_type="moody:Moody")}
    file = manifest(tmp_path, {"topic": "t", **config})
    code, printed = tried(file, "1")
    assert code == 1
    assert "! ValueError: not today" in printed
    assert "predicate p of org.apache.kafka.connect.transforms.Filter" in printed
    assert "Correct predicates.p.*" in printed


def test_everything_that_is_wrong_with_a_chain_is_reported_together(tmp_path: Path) -> None:
    config = {"topic": "t", **chain("MaskField$Value", "NoSuch", "RegexRouter", t1_fields="a,a", t3_regex="(")}
    found = problems(manifest(tmp_path, config))
    assert len(found) == 4
    for name in ("transforms.t1.fields", "transforms.t2.type", "transforms.t3.regex", "transforms.t3.replacement"):
        assert sum(f"{name}: Invalid" in text or f"{name}: Missing" in text for text in found) == 1, name


def test_a_name_that_is_likely_mistyped_is_shown_with_what_is_missing(tmp_path: Path) -> None:
    found = problems(manifest(tmp_path, chain("HoistField$Value", t1_feild="x")))
    assert any("transforms.t1.field: Missing" in text and "Was transforms.t1.feild meant?" in text for text in found)


def test_variables_outside_of_the_chain_need_no_value(tmp_path: Path) -> None:
    config = {"topic": "${env:NOT_SET_ANYWHERE}", "file": "${secret:a:b}", "value.converter": "${file:/no:x}", **HOIST}
    code, printed = tried(manifest(tmp_path, config), "1", as_json=True)
    assert code == 0
    assert lines(printed)[0]["result"]["topic"] == "sample"


def test_variables_of_the_chain_need_one(tmp_path: Path) -> None:
    config = {**chain("InsertField$Value", t1_static_field="f", t1_static_value="${secret:shop:word}")}
    (found,) = problems(manifest(tmp_path, config))
    assert "transforms.t1.static.value: ${secret:shop:word} cannot be resolved" in found


def test_a_secret_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "word").write_text("sesame")
    config = chain(
        "InsertField$Value", "Cast$Value", t1_static_field="f", t1_static_value="${secret:shop:word}", t2_spec="f:int32"
    )
    for as_json in (False, True):
        code, printed = tried(manifest(tmp_path, config), "{}", secrets=tmp_path, as_json=as_json)
        assert code == 1
        assert "sesame" not in printed
        assert "${secret:shop:word}" in printed


def test_of_several_connectors_one_is_named(tmp_path: Path) -> None:
    one, two = manifest(tmp_path, HOIST, "one"), manifest(tmp_path, chain("Filter"), "two")
    both = tmp_path / "both.yaml"
    both.write_text(one.read_text() + "---\n" + two.read_text())
    assert problems(both) == ["--connector: is missing: there are several connectors: one, two; name one"]
    assert problems(both, connector="three") == ["--connector: there is no connector three; available: one, two"]
    assert lines(tried(both, "1", connector="two", as_json=True)[1])[0]["outcome"] == "dropped"


def test_a_document_of_another_kind_next_to_the_connector_is_ignored(tmp_path: Path) -> None:
    one = manifest(tmp_path, HOIST, "one")
    one.write_text("kind: TopicCreationPolicy\nmetadata: {name: p}\n---\n" + one.read_text())
    assert tried(one, "1")[0] == 0


def test_kafka_connects_own_form_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("name=c\nconnector.class=FileStreamSource\n" + "".join(f"{n}={t}\n" for n, t in HOIST.items()))
    assert lines(tried(file, "1", as_json=True)[1])[0]["result"]["value"] == {"line": 1}


def test_a_connector_that_is_not_installed_here_does_not_keep_its_chain_from_being_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = manifest(tmp_path, {"topics": "a,b", **chain("InsertField$Value", t1_offset_field="o")}, cls="org.acme.Sink")
    (line,) = lines(tried(file, "{}", as_json=True)[1])
    assert (line["result"]["topic"], line["result"]["value"]) == ("a", {"o": 0})
    assert "tried as those of a sink" in caplog.text


def test_records_of_a_sink_have_an_offset_and_those_of_a_source_have_none(tmp_path: Path) -> None:
    config = chain("InsertField$Value", t1_offset_field="o", t1_partition_field="p")
    sink = manifest(tmp_path, {"topics": "t", "file": "f", **config}, "sink", "FileStreamSink")
    values = [line["result"]["value"] for line in lines(tried(sink, '{}\n{"value": {}, "offset": 5}', as_json=True)[1])]
    assert values == [{"p": 0, "o": 0}, {"p": 0, "o": 5}]
    source = manifest(tmp_path, {"topic": "t", **config}, "source")
    code, printed = tried(source, '{}\n{"value": {}, "offset": 5}', as_json=True)
    assert code == 1
    assert "omit it" in lines(printed)[1]["error"]["message"]


def test_the_topic_of_the_command_line_counts(tmp_path: Path) -> None:
    assert "topic other" in tried(manifest(tmp_path, {"topic": "t", **HOIST}), "1", topic="other")[1]


def test_without_transforms_records_pass_and_a_warning_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert tried(manifest(tmp_path, {"topic": "t"}), "1")[0] == 0
    assert "there are no transforms" in caplog.text


def test_without_records_a_warning_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert tried(manifest(tmp_path, HOIST), "\n\n") == (0, "")
    assert "there were no records" in caplog.text


def test_records_come_from_a_file_where_the_manifest_is_standard_input(tmp_path: Path) -> None:
    file = manifest(tmp_path, HOIST)
    (tmp_path / "r.json").write_text("[1, 2]")
    out = io.StringIO()
    options = TransformOptions("-", records=str(tmp_path / "r.json"))
    assert transform(options, io.StringIO(file.read_text()), out) == 0
    assert out.getvalue().endswith("2 records: 2 went through, 0 dropped, 0 failed\n")
    assert problems(Path("-")) == ["--records: is missing: standard input has the manifest; pass a file of records"]
    assert "cannot be read" in problems(file, records=str(tmp_path / "none.json"))[0]


def test_records_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(b'"\xff"')
    assert "not UTF-8" in problems(manifest(tmp_path, HOIST), records=str(tmp_path / "r.json"))[0]


def test_a_schema_is_shown_with_the_value(tmp_path: Path) -> None:
    file = manifest(tmp_path, {"topic": "t", **HOIST})
    record = '{"schema": {"type": "int32", "optional": true}, "payload": 5}'
    printed = tried(file, record)[1]
    assert "     ~ schema of value  int32? -> struct{line: int32?}\n" in printed
    assert "value schema int32?\n" in printed
    (line,) = lines(tried(file, record, as_json=True)[1])
    assert line["changed"] == ["value", "valueSchema"]
    assert line["result"]["valueSchema"] == {"type": "struct", "fields": {"line": {"type": "int32", "optional": True}}}
    (line,) = lines(tried(file, record, as_json=True, schemas=Schemas.NEVER)[1])
    assert line["result"]["value"] == {"line": {"schema": {"type": "int32", "optional": True}, "payload": 5}}


def test_what_a_terminal_would_obey_is_shown_as_text(tmp_path: Path) -> None:
    printed = tried(manifest(tmp_path, HOIST), json.dumps({"topic": "a\x1b[2J", "value": 1}))[1]
    assert "topic a\\x1b[2J\n" in printed
    assert "\x1b" not in printed


def test_ctrl_c_ends_it_without_a_trace(tmp_path: Path) -> None:
    class Typing(io.StringIO):
        def __next__(self) -> str:  # type: ignore[override]
            raise KeyboardInterrupt

    assert transform(TransformOptions(str(manifest(tmp_path, HOIST))), Typing(), io.StringIO()) == 130


def test_every_line_of_json_has_the_same_fields(tmp_path: Path) -> None:
    good, bad = lines(tried(manifest(tmp_path, HOIST), "1\nnonsense\n", as_json=True)[1])
    assert good.keys() == bad.keys()
    assert bad["error"]["stage"] == "INPUT"


def test_text_that_yaml_changes_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = manifest(tmp_path, chain("InsertField$Value", t1_static_field="f", t1_static_value="X"))
    file.write_text(file.read_text().replace("value: X", "value: 010"))
    tried(file, "{}")
    assert "transforms.t1.static.value: YAML reads this value as a number" in caplog.text


def test_half_a_character_is_printed_as_what_it_is(tmp_path: Path) -> None:
    file = manifest(tmp_path, HOIST)
    for as_json in (False, True):
        printed = tried(file, '"\\ud83d"', as_json=as_json)[1]
        assert printed.encode()
        assert "d83d" in printed
