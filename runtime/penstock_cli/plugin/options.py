"""Options of `penstock plugin`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock_cli.plugin.runtime_image import ARCHITECTURES

__all__ = ["KINDS", "add_plugin"]

KINDS: Final = ("source", "sink", "transform", "predicate", "converter")
_CHECKED: Final = """\
exit codes: 0 no problems, 1 the project's tests failed, 2 a pod would reject the plugins; all problems are printed"""


def add_plugin(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", run: Callable[[argparse.Namespace], int]
) -> None:
    """Add `penstock plugin`."""
    plugin = commands.add_parser(
        "plugin",
        allow_abbrev=False,
        help="create and check plugin projects, build plugin images",
        description="Creates and checks a plugin project, and builds its image, or an image of Kafka Connect plugins. Needs "
        "neither Docker nor a registry.",
    )
    verbs = plugin.add_subparsers(required=True, metavar="VERB", dest="verb", title="verbs")

    init = verbs.add_parser(
        "init",
        allow_abbrev=False,
        help="create a project with passing tests",
        description="Writes a project with one plugin, its tests and a manifest into a new folder of that name.",
        epilog="penstock plugin init ticker --kind source && cd ticker && pytest",
    )
    init.add_argument("name", metavar="NAME", help="name of the distribution and of its folder, such as acme-files")
    init.add_argument("--kind", required=True, choices=KINDS, help="kind of the plugin")
    init.add_argument(
        "--form",
        choices=("function", "class"),
        help="form of the plugin's code (default: function for a source, sink or transform, otherwise class); a sink class "
        "delivers exactly once, and a source class is a PollingSource",
    )
    init.set_defaults(command=run)

    check = verbs.add_parser(
        "check",
        allow_abbrev=False,
        help="report all problems of a project",
        description="Builds the plugins of a project as `build` would, imports them, and runs the project's tests, in which "
        "each plugin must have a suite of penstock.testing. Writes nothing.",
        epilog=_CHECKED,
    )
    check.set_defaults(command=run)
    build = verbs.add_parser(
        "build",
        allow_abbrev=False,
        help="build an image of a project, or of Kafka Connect plugins, and its PluginVersion",
        description="Writes a project and its dependencies, except those that the runtime has, or published Kafka Connect "
        "plugins, as the image of a PluginVersion: an OCI archive, and the manifest. Prints the image's name by "
        "digest. The same sources give the same digest.",
        epilog="penstock plugin build . --image registry.example/ticker; "
        "penstock plugin build debezium-connector-postgres-3.6.1.Final-plugin.tar.gz --image registry.example/debezium",
    )
    build.set_defaults(command=run)
    check.add_argument("project", metavar="PROJECT", type=Path, help="a folder with a pyproject.toml, or a wheel")
    build.add_argument(
        "sources",
        metavar="PROJECT",
        type=Path,
        nargs="+",
        help="a folder with a pyproject.toml, or a wheel; or Kafka Connect plugins, several of which can share an image: "
        "archives (.zip, .tar.gz), jars, folders with jars",
    )
    build.add_argument(
        "--image", metavar="NAME", required=True, help="the image's name without a tag: registry.example/ticker"
    )
    build.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("build"), help="folder to write to (default: %(default)s)"
    )
    check.add_argument(
        "--architecture",
        choices=[*ARCHITECTURES],
        help="architecture of the nodes that run the plugins (default: this machine's)",
    )
    build.add_argument(
        "--architecture",
        choices=[*ARCHITECTURES],
        help="architecture of the nodes that run the plugins (default: this machine's; for Kafka Connect plugins amd64, for "
        "all nodes)",
    )
