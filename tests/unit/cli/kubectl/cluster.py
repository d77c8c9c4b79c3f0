"""Program in the place of kubectl, which answers for a cluster."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cluster"]

_PROGRAM = """\
#!{python}
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
words = sys.argv[1:]
files = [pathlib.Path(w.partition("=")[2]) for w in words if w.startswith("--patch-file=")]
given = json.loads(files[0].read_text()) if files else sys.stdin.read() if "--filename=-" in words else None
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps([words, given]) + "\\n")
answers = json.loads((folder / "answers.json").read_text())
for answer in answers:
    if set(answer["words"]) <= set(words):
        sys.stdout.write(answer["out"])
        sys.stderr.write(answer["err"])
        sys.exit(answer["code"])
"""


@dataclass(frozen=True)
class Cluster:
    """`kubectl` in a folder of the PATH, with its answers and the commands that it got."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> "Cluster":
        """Write the program; it answers nothing yet."""
        program = folder / "kubectl"
        program.write_text(_PROGRAM.format(python=sys.executable))
        program.chmod(0o755)
        (folder / "answers.json").write_text("[]")
        return cls(folder)

    def answers(self, *words: str, out: Any = "", err: str = "", code: int = 0) -> None:
        """Set the answer to commands with these words; the first answer that fits is given."""
        file = self.folder / "answers.json"
        text = out if isinstance(out, str) else json.dumps(out)
        answer = {"words": words, "out": text, "err": err, "code": code}
        file.write_text(json.dumps([*json.loads(file.read_text()), answer]))

    def calls(self) -> list[tuple[list[str], Any]]:
        """Return the words of each command, and its input."""
        file = self.folder / "calls"
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
