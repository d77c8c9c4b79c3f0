"""docs/first-plugin.md, from the first line to the last: a new author writes each file and types each command."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from ..machine_time import Deadline

pytestmark = pytest.mark.slow

PAGE: Final = Path(__file__).parents[3] / "docs" / "first-plugin.md"
STEP: Final = re.compile(r"(?:^`([^`\n]+)`[^\n]*\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ENTRY_POINTS: Final = re.compile(r'^\[project\.entry-points\."penstock\.plugins"\]\n(?:.+\n)*', re.MULTILINE)


@dataclass
class Author:
    """Somebody who follows the page."""

    folder: Path
    site: Path
    running: "subprocess.Popen[bytes] | None" = None
    done: list[str] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        if name == "pyproject.toml":
            text, count = ENTRY_POINTS.subn(text + "\n", file.read_text())
            assert count == 1
        file.write_text(text)

    def type(self, command: str, shown: list[str]) -> None:
        """Run a command; what the page shows under it is what it prints, perhaps after more."""
        self.done.append(command)
        if command.startswith("cd "):
            self.folder /= command.removeprefix("cd ")
        elif command.startswith("penstock run"):
            self.running = subprocess.Popen(command.split(), cwd=self.folder, env=self._environment)
        elif self.running is None:
            assert self._printed(command)[-len(shown) :] == shown or not shown
        else:
            deadline = Deadline(180.0)
            while (printed := self._printed(command, check=False)) != shown:
                assert self.running.poll() is None, "penstock run has ended"
                assert not deadline.passed(), printed
                time.sleep(0.2)  # nobody tells of a file that grows
            self.running.send_signal(signal.SIGINT)
            assert self.running.wait(60) == 0
            self.running = None

    @property
    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(self.site)}

    def _printed(self, command: str, *, check: bool = True) -> list[str]:
        # Beside Penstock, and not into it: this environment is the tests'.
        installing = f"--no-build-isolation --quiet --upgrade --target {self.site}"
        command = command.replace("pip install --no-deps --editable", f"pip install --no-deps {installing}")
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self._environment,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0 or not check, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout.splitlines()


@pytest.fixture
def author(tmp_path: Path) -> Iterator[Author]:
    (tmp_path / "work").mkdir()
    made = Author(tmp_path / "work", tmp_path / "site")
    yield made
    if made.running is not None:
        made.running.kill()


def test_a_new_author_gets_from_nothing_to_an_image_with_only_the_page(author: Author) -> None:
    for name, language, text in STEP.findall(PAGE.read_text()):
        if language != "console":
            author.write(name, text)
            continue
        for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, *shown = block.splitlines()
            author.type(command, shown)
    assert author.done[0] == "penstock plugin init shop --kind source"
    assert sum(command.startswith("penstock run") for command in author.done) == 2
    assert (author.folder / "build" / "shop.tar").stat().st_size > 0
    assert "@sha256:" in (author.folder / "build" / "pluginversion.yaml").read_text()
