"""The command line: what is wrong with its options is said in one line, before anything is started."""

from pathlib import Path

import pytest

from .command import penstock

MANIFEST = """apiVersion: penstock.dev/v1alpha1
kind: Connector
metadata: {name: NAME}
spec: {class: Datagen, config: {topic: x}}
"""


def test_a_policy_is_valid_and_yet_nothing_is_run_without_the_operator_that_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(MANIFEST.replace("NAME", "a").replace("{class:", "{topicCreationPolicyRef: {name: shop}, class:"))
    assert penstock("validate", file).returncode == 0
    done = penstock("run", file)
    assert done.returncode == 2
    assert "spec.topicCreationPolicyRef: cannot apply shop: only the operator applies policies" in done.stderr


@pytest.mark.parametrize("port", ["99999", "-3", "http"])
@pytest.mark.parametrize("command", [("run", "a.yaml", "--metrics-port"), ("kafka", "--port")])
def test_a_number_that_is_no_port_is_refused(command: tuple[str, ...], port: str) -> None:
    done = penstock(*command, port)
    assert done.returncode == 2
    assert f"error: argument {command[-1]}: {port} is not a port; use a number from 0 to 65535\n" in done.stderr


def test_a_first_port_that_leaves_none_for_later_tasks_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(f"{MANIFEST.replace('NAME', 'a')}---\n{MANIFEST.replace('NAME', 'b')}")
    done = penstock("run", file, "--metrics-port", "65535", "--data-dir", tmp_path / "data")
    assert done.returncode == 5
    assert (
        "cannot assign metrics ports to 2 tasks: --metrics-port 65535 is too high; use 65534 or less, or omit it "
        "to use any free ports" in done.stderr
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", [("run", "a.yaml"), ("kafka",)])
def test_a_log_level_that_there_is_not_is_refused(command: tuple[str, ...]) -> None:
    done = penstock(*command, "--log-level", "loud")
    assert done.returncode == 2
    assert "error: argument --log-level: invalid choice: 'LOUD'" in done.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("list", "FILE"), "--bootstrap-servers: is missing; set the brokers that have the offsets"),
        (("reset", "FILE", "--secrets", "nowhere"), "--secrets: nowhere is not a folder"),
        (("alter", "-", "--offsets", "-", "--bootstrap-servers", "k:1"), "--offsets: is missing: standard input has"),
        (
            ("alter", "FILE", "--offsets", "gone.json", "--bootstrap-servers", "k:1"),
            "gone.json: cannot be read: No such",
        ),
        (("alter", "FILE", "--bootstrap-servers", "k:1"), "the following arguments are required: --offsets"),
        (("list", "gone.yaml", "--bootstrap-servers", "k:1"), "gone.yaml: cannot be read: No such file"),
        (("list", "FILE", "--connector", "b", "--bootstrap-servers", "k:1"), "there is no connector b; available: a"),
    ],
)
def test_wrong_options_of_offsets_are_reported_before_kafka_is_asked(
    tmp_path: Path, command: tuple[str, ...], told: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(MANIFEST.replace("NAME", "a"))
    done = penstock("offsets", *(str(file) if word == "FILE" else word for word in command))
    assert done.returncode == 2
    assert told in done.stderr
