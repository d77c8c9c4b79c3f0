"""Base of all test suites: a plugin can be created, and its configuration is documented."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.config import nearest
from penstock.errors import ConfigError
from penstock.plugin import API_VERSION, Plugin
from penstock.testing._making import make, parsed

__all__ = ["PluginSuite"]


class PluginSuite:
    """Base class of all suites.

    Attributes:
        plugin: the class under test.
        properties: an example of its configuration, or a fixture that returns it.
    """

    plugin: ClassVar[type[Any]]
    properties: Any = {}  # noqa: RUF012 (a mapping, or a fixture of the subclass)

    def example(self, request: Any) -> Mapping[str, str]:
        """Return the example properties, from the attribute or the fixture."""
        if isinstance(self.properties, Mapping):
            return self.properties
        properties: Mapping[str, str] = request.getfixturevalue("properties")
        return properties

    def test_it_is_made_without_arguments_and_written_for_this_runtime(self) -> None:
        """A plugin object is created from its class, without arguments."""
        assert isinstance(make(self.plugin), Plugin), f"{self.plugin.__name__} is not a penstock.Plugin"
        assert self.plugin.api_version <= API_VERSION, "api_version is newer than the installed version of penstock"

    def test_what_the_suite_reads_is_spelled_as_it_reads_it(self) -> None:
        """A misspelled attribute or method would be ignored."""
        suites = [c for c in type(self).__mro__ if c.__module__.startswith("penstock.testing.")]
        read = {"stored"} & set(dir(suites[0])) | {name for suite in suites for name in inspect.get_annotations(suite)}
        own = {name for c in type(self).__mro__ if c is not object and c not in suites for name in vars(c)}
        for name in sorted(own - read):
            near = None if name.startswith(("_", "test")) else nearest(name, read - own)
            assert near is None, (
                f"{type(self).__name__} has `{name}`, which {suites[0].__name__} does not read: did you mean `{near}`? "
                "If not, choose a name that is less similar."
            )

    def test_every_property_is_documented(self) -> None:
        """Users see the name, type, default and description of each property."""
        properties = self.plugin.Config.properties()
        names = [p.name for p in properties]
        assert len(set(names)) == len(names), f"two properties have the same name: {sorted(names)}"
        for prop in properties:
            assert len(prop.doc.split()) > 1, f"property {prop.name} is not documented: {prop.doc!r}"
            assert re.fullmatch(r"[A-Za-z0-9_.-]+", prop.name), f"{prop.name!r} is not a valid property name"

    def test_the_example_is_a_good_configuration(self, request: Any) -> None:
        """The example can be parsed, with and without properties that the plugin does not define."""
        parsed(self.plugin, self.example(request))
        parsed(self.plugin, {**self.example(request), "a.property.of.somebody.else": "x"})

    def test_a_missing_property_is_named(self, request: Any) -> None:
        """Each missing required property is reported by name, with its prefix."""
        for prop in self.plugin.Config.properties():
            if not prop.required:
                continue
            rest = {name: text for name, text in self.example(request).items() if name != prop.name}
            try:
                self.plugin.Config.parse(rest, "its.prefix.")
            except ConfigError as e:
                named = [p.property for p in e.problems]
                assert f"its.prefix.{prop.name}" in named, (
                    f"{prop.name} is required and missing, but the problems name only {named}"
                )
            else:
                raise AssertionError(f"{prop.name} is required, but the configuration without it is accepted")
