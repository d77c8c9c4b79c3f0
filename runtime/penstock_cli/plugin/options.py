"""Options of `penstock plugin`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock_cli.plugin.runtime_image import ARCHITECTURES

__all__ = ["KINDS", "add_plugin"]

KINDS: Final = ("source", "sink", "transform", "predicate", "converter")
_CHECKED: Final = """\
exit codes: 0 all is well, 1 tests of the project failed, 2 a pod would refuse the plugins; all problems are printed"""


def add_plugin(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", run: Callable[[argparse.Namespace], int]
) -> None:
    """Add `penstock plugin`."""
    plugin = commands.add_parser(
        "plugin",
        allow_abbrev=False,
        help="start a project of plugins, check it, build images of plugins",
        description="Start a project of plugins, check it, build its image; or build an image of plugins of Kafka Connect. "
        "Needs no Docker and no registry.",
    )
    verbs = plugin.add_subparsers(required=True, metavar="VERB", dest="verb", title="verbs")

    init = verbs.add_parser(
        "init",
        allow_abbrev=False,
        help="start a project whose tests pass",
        description="Writes a project with one plugin, its tests and a manifest into a new folder of that name.",
        epilog="penstock plugin init ticker --kind source && cd ticker && pytest",
    )
    init.add_argument(
        "name", metavar="NAME", help="of the distribution, such as acme-files; its folder has that name too"
    )
    init.add_argument("--kind", required=True, choices=KINDS, help="what the plugin is")
    init.add_argument(
        "--form",
        choices=("function", "class"),
        help="how it is written (default: function, of a source, sink or transform): the class of a sink delivers exactly "
        "once, that of a source is a PollingSource",
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
        help="write a project, or plugins of Kafka Connect, as an image, with its PluginVersion",
        description="Writes a project and its dependencies, except those that the runtime has, or published plugins of "
        "Kafka Connect, as the image of a PluginVersion: an OCI archive, and the manifest. Prints the image's name by "
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
        help="a folder with a pyproject.toml, or a wheel; or plugins of Kafka Connect, which may be several for one image: "
        "archives (.zip, .tar.gz), jars, folders with jars",
    )
    build.add_argument(
        "--image", metavar="NAME", required=True, help="the image's name without a tag: registry.example/ticker"
    )
    build.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("build"), help="where to write them (default: %(default)s)"
    )
    check.add_argument(
        "--architecture", choices=[*ARCHITECTURES], help="of the nodes that will run it (default: this machine's)"
    )
    build.add_argument(
        "--architecture",
        choices=[*ARCHITECTURES],
        help="of the nodes that will run it (default: this machine's; for plugins of Kafka Connect amd64, for all nodes)",
    )
