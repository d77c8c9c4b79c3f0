"""`python -m penstock_runtime.local.plugin build PROJECT --repository NAME --out FILE.tar`: a project as an image."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from penstock.errors import ConfigError
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.local.plugin.build import build_image

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> ExitCode:
    """Build the image, and print its name by digest."""
    options = _options(arguments)
    try:
        reference = build_image(options.project, options.repository, options.out)
    except ConfigError as e:
        sys.stderr.write(f"{e}\n")
        return ExitCode.CONFIG_INVALID
    except OSError as e:
        sys.stderr.write(f"The image cannot be written: {e}\n")
        return ExitCode.FAILED
    sys.stdout.write(f"{reference}\n")
    return ExitCode.OK


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock_runtime.local.plugin")
    build = parser.add_subparsers(required=True).add_parser("build", help="write a project of plugins as an image")
    build.add_argument("project", type=Path, help="a folder with a pyproject.toml, or a wheel")
    build.add_argument("--repository", required=True, help="the image's name without a tag: plugins.example/ticker")
    build.add_argument("--out", required=True, type=Path, help="the archive to write")
    return parser.parse_args(arguments)


def _end(number: int, frame: FrameType | None) -> None:
    """End as after an error, so that nothing half done stays."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main())
