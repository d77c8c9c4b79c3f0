"""Classes that protoc generates, for bytes of Protobuf's own library."""

import importlib.util
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from google.type import date_pb2

__all__ = ["generated"]


def generated(text: str) -> Any:
    """Return the Python module that protoc generates for a .proto file, under a package of its own."""
    name = f"g{uuid.uuid4().hex[:10]}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.proto").write_text(text.replace("package shop;", f"package {name};"))
        google_types = Path(date_pb2.__file__).parents[2]
        subprocess.run(
            [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"-I{google_types}", f"--python_out={folder}",
             f"{name}.proto"],
            check=True,
        )  # fmt: skip
        spec = importlib.util.spec_from_file_location(f"{name}_pb2", Path(folder) / f"{name}_pb2.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
