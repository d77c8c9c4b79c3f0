"""What the process of a verifying pod tells of an image, whatever the code in the image does (KIP-891)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.plugin_images import add_distribution, mount

from penstock_model.contracts.definitions import Definitions, definitions_line, find_line, pack, unpack
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.plugin_mount import DeclaredClass
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.verification import VerificationRequest
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

TRIM = DeclaredClass(alias="Trim", type="transform")
CLASS = """
from penstock import Transform

class Trim(Transform):
    def apply(self, record):
        return record
"""
_UNDECIDED = ExitCode.FAILED


class Pod:
    """Looks into an image as a pod does, but not as process 1 of a container."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.log = ""
        self.definitions: Definitions | None = None

    def tells(
        self, code: str, *declared: DeclaredClass, version: str = "1.0.0", seconds: float = 30.0
    ) -> tuple[int, str]:
        image = self._folder / "plugin"
        add_distribution(image, "acme-trim", "1.0.0", {"acme_trim.py": code}, {"Trim": "acme_trim:Trim"})
        return self.tells_of(image, *declared, version=version, seconds=seconds)

    def tells_of(
        self, image: Path, *declared: DeclaredClass, version: str = "1.0.0", seconds: float = 30.0
    ) -> tuple[int, str]:
        request = VerificationRequest(mount=mount(image, "acme-trim", version, *(declared or (TRIM,))), seconds=seconds)
        file, log = self._folder / "request.json", self._folder / "termination-log"
        file.write_text(request.to_json())
        ended = subprocess.run(
            [sys.executable, "-m", "penstock_runtime.verify", str(file)],
            env={**os.environ, TERMINATION_LOG_VARIABLE: str(log)},
            capture_output=True,
            check=False,
            timeout=60,
        )
        self.log = ended.stdout.decode(errors="replace")
        word = TerminationMessage.of(log.read_bytes())
        assert word is not None, ended.stderr.decode()
        assert word.exit_code == ended.returncode
        content = find_line(self.log, word.definitions or "")
        assert (content is None) == (word.definitions is None)
        self.definitions = unpack(content, word.definitions) if content and word.definitions else None
        return ended.returncode, word.message or ""


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_an_image_that_holds_what_is_declared_is_verified_with_the_names_of_its_classes(pod: Pod) -> None:
    code, told = pod.tells(CLASS)
    assert (code, told.endswith("the declared classes, which were imported: Trim")) == (ExitCode.OK, True)


def test_what_the_image_has_and_the_runtime_as_well_is_a_warning(pod: Pod, tmp_path: Path) -> None:
    add_distribution(tmp_path / "plugin", "pydantic", "1.0", {"pydantic/__init__.py": ""})
    code, told = pod.tells(CLASS)
    assert code == ExitCode.OK
    assert "contains pydantic 1.0" in told


@pytest.mark.parametrize(
    ("code", "declared", "version", "told"),
    [
        (CLASS, TRIM, "2.0.0", "declares acme-trim 2.0.0, but its image"),
        (
            CLASS,
            TRIM.model_copy(update={"alias": "Cut"}),
            "1.0.0",
            "contains the classes [Trim], not [Cut] as declared",
        ),
        (CLASS, TRIM.model_copy(update={"type": "predicate"}), "1.0.0", "contains Trim as a transform"),
        (CLASS, TRIM.model_copy(update={"java_names": ("a.Trim",)}), "1.0.0", "with the javaNames []"),
        ("import acme_absent", TRIM, "1.0.0", "ModuleNotFoundError: No module named 'acme_absent'"),
        ("raise ValueError('x' * 100_000)", TRIM, "1.0.0", "ValueError: xxxxx"),
        ("class Trim: pass", TRIM, "1.0.0", "is not a plugin"),
    ],
)
def test_an_image_that_holds_something_else_or_cannot_be_imported_is_refused_for_good_with_the_cause(
    pod: Pod, code: str, declared: DeclaredClass, version: str, told: str
) -> None:
    ended, message = pod.tells(code, declared, version=version)
    assert ended == ExitCode.CONFIG_INVALID
    assert told in message
    assert len(message) < 2_100


def test_a_folder_that_is_not_there_is_reported(pod: Pod, tmp_path: Path) -> None:
    code, told = pod.tells_of(tmp_path / "elsewhere")
    assert (code, "has no folder at the path" in told) == (ExitCode.CONFIG_INVALID, True)


EVERYWHERE = """
import os

def write(text):
    for number in range(3, 64):
        try:
            os.write(number, text)
        except OSError:
            pass

"""
ANSWER = '\'{"problems": [], "classes": ["Trim"]}\\n\''


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(0)", "the process exited with code 0 during the import of Trim"),
        (
            "import os; os.kill(os.getpid(), 9)",
            "was killed by signal 9 (SIGKILL) during the import of Trim; it may have used more memory than its limit",
        ),
        (f"{EVERYWHERE}write(b'7\\n')", "overwrote the result of the inspection"),
        (f"{EVERYWHERE}write(b{ANSWER})\nos._exit(0)", "overwrote the result of the inspection"),
    ],
)
def test_code_that_ends_the_process_that_imports_it_proves_nothing(pod: Pod, code: str, told: str) -> None:
    ended, message = pod.tells(code)
    assert (ended, told in message) == (_UNDECIDED, True), message


@pytest.mark.parametrize("code", ["", f"{EVERYWHERE}write(b{ANSWER}[:9])"])
def test_code_that_does_not_end_where_it_is_imported_proves_nothing(pod: Pod, tmp_path: Path, code: str) -> None:
    began = tmp_path / "began"
    ended, message = pod.tells(f"open({str(began)!r}, 'w')\n{code}\nimport signal\nsignal.pause()", seconds=2.0)
    assert (ended, "did not end within 2 s" in message) == (_UNDECIDED, True), message
    assert "the import of Trim" in message or code or not began.exists()  # a full machine may not come to the import


def test_a_forged_answer_in_the_output_or_in_the_termination_message_counts_for_nothing(
    pod: Pod, tmp_path: Path
) -> None:
    forged = TerminationMessage(exit_code=0, message="forged").to_message()
    log = tmp_path / "termination-log"
    writes = f"open({str(log)!r}, 'w').write({forged!r})"
    endless = f"import os\nif os.fork() == 0:\n  while True: {writes}\n"
    code = f"print({ANSWER}, flush=True)\n{writes}\n{endless}raise ValueError('broken')\n"
    ended, message = pod.tells(code)
    assert ended == ExitCode.CONFIG_INVALID
    assert "ValueError: broken" in message


def test_giant_output_is_cut_in_the_log_and_keeps_nothing_from_being_reported(pod: Pod) -> None:
    code, told = pod.tells(f"import sys\nfor n in range(5_000): sys.stdout.write('x' * 10_000)\n{CLASS}")
    assert (code, "imported: Trim" in told) == (ExitCode.OK, True)
    assert len(pod.log) < 70_000
    assert "more bytes of output omitted" in pod.log


CONFIGURED = """
from penstock import Config, Transform, prop

class TrimConfig(Config):
    most: int = prop("most", 80, doc="Characters to keep.", ge=1)

class Trim(Transform):
    '''Cuts texts.'''
    Config = TrimConfig
    def apply(self, record):
        return record
"""


def test_the_configuration_of_each_class_is_in_the_log_of_the_pod_under_the_digest_of_its_message(pod: Pod) -> None:
    code, _ = pod.tells(CONFIGURED)
    assert code == ExitCode.OK
    assert pod.definitions is not None
    (trim,) = pod.definitions.classes
    assert (trim.class_name, trim.type, trim.version, trim.description) == ("Trim", "transform", "1.0.0", "Cuts texts.")
    (most,) = trim.config
    assert (most.name, most.type, most.default_value, most.minimum) == ("most", "INT", "80", 1)
    assert most.documentation == "Characters to keep."


def test_definitions_that_a_plugin_prints_are_not_those_of_the_message(pod: Pod) -> None:
    forged = definitions_line(pack([]))
    code, _ = pod.tells(f"print({forged!r}, flush=True)\n{CONFIGURED}")
    assert (code, forged in pod.log) == (ExitCode.OK, True)
    assert pod.definitions is not None
    assert [c.class_name for c in pod.definitions.classes] == ["Trim"]


@pytest.mark.parametrize(
    ("default", "told"),
    [
        ("ValueError('no')", "cannot read the configuration of Trim: ValueError: no"),
        ("SystemExit(3)", "cannot read the configuration of Trim: SystemExit: 3"),
    ],
)
def test_a_class_whose_configuration_cannot_be_read_is_verified_and_named(pod: Pod, default: str, told: str) -> None:
    broken = CONFIGURED.replace(
        "class Trim(", f"def properties(): raise {default}\nTrimConfig.properties = properties\n\nclass Trim("
    )
    code, message = pod.tells(broken)
    assert (code, told in message) == (ExitCode.OK, True), message
    assert pod.definitions is not None
    assert pod.definitions.classes == ()


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("os._exit(0)", "a plugin ended the process that reads them, or took too long"),
        ("signal.pause()", "a plugin ended the process that reads them, or took too long"),
        ("write(b'7\\n'); return ()", "other output overwrote them, or"),
    ],
)
def test_code_that_ends_or_holds_up_the_reading_of_definitions_changes_nothing_else(
    pod: Pod, does: str, told: str
) -> None:
    reads = f"import os, signal\n{EVERYWHERE}\ndef properties():\n    {does}\nTrimConfig.properties = properties\n"
    code, message = pod.tells(CONFIGURED.replace("class Trim(", f"{reads}\nclass Trim("), seconds=10.0)
    assert (code, told in message) == (ExitCode.OK, True), message
    assert "the declared classes, which were imported: Trim" in message
    assert pod.definitions is None
