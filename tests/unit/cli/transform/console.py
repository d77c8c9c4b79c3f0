"""`penstock transform` in this process, and the commands of a page."""

import io
import json
import re
from pathlib import Path
from typing import Any

import yaml

from penstock_cli.transform.command import TransformOptions, transform

ROOT = Path(__file__).parents[4]


def tried(file: Path, records: str, **options: Any) -> tuple[int, str]:
    """The exit code, and what is printed."""
    out = io.StringIO()
    code = transform(TransformOptions(file=str(file), **options), io.StringIO(records), out)
    return int(code), out.getvalue()


def manifest(folder: Path, config: dict[str, Any], name: str = "c", cls: str = "FileStreamSource") -> Path:
    """A file with this connector."""
    file = folder / f"{name}.yaml"
    document = {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": {"name": name}}
    file.write_text(yaml.safe_dump({**document, "spec": {"class": cls, "config": config}}))
    return file


def chain(*types: str, **properties: str) -> dict[str, str]:
    """The properties of transforms `t1`, `t2`, ...: `t1_field="x"` is `transforms.t1.field`."""
    config = {"transforms": ",".join(f"t{n}" for n in range(1, len(types) + 1))}
    config |= {f"transforms.t{n}.type": name for n, name in enumerate(types, 1)}
    for name, text in properties.items():
        alias, _, rest = name.partition("_")
        of = "transforms" if alias.startswith("t") else "predicates"
        config[f"{of}.{alias}.{rest.replace('_', '.')}"] = text
    return config


def lines(printed: str) -> list[dict[str, Any]]:
    """The lines of `--output json`."""
    return [json.loads(line) for line in printed.splitlines()]


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in that language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
