"""What every suite checks: that a plugin can be made, and that its configuration is documented."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.errors import ConfigError
from penstock.plugin import API_VERSION, Plugin
from penstock.testing._harness import make, parsed

__all__ = ["PluginSuite"]


class PluginSuite:
    """The base of all suites.

    Attributes:
        plugin: the class under test.
        properties: an example of its configuration; a fixture where it depends on one.
    """

    plugin: ClassVar[type[Any]]
    properties: Any = {}  # noqa: RUF012 (a mapping, or a fixture of the subclass)

    def example(self, request: Any) -> Mapping[str, str]:
        """The example properties, whether they are an attribute or a fixture."""
        if isinstance(self.properties, Mapping):
            return self.properties
        found: Mapping[str, str] = request.getfixturevalue("properties")
        return found

    def test_it_is_made_without_arguments_and_written_for_this_runtime(self) -> None:
        """A plugin object is made from its class alone."""
        assert isinstance(make(self.plugin), Plugin), f"{self.plugin.__name__} is no penstock.Plugin"
        assert self.plugin.api_version <= API_VERSION, "api_version is newer than the penstock that is installed"

    def test_every_property_is_documented(self) -> None:
        """Users read the name, the type, the default and the sentences of each property."""
        properties = self.plugin.Config.properties()
        names = [p.name for p in properties]
        assert len(set(names)) == len(names), f"two properties have the same name: {sorted(names)}"
        for each in properties:
            assert len(each.doc.split()) > 1, f"property {each.name} is not documented: {each.doc!r}"
            assert re.fullmatch(r"[A-Za-z0-9_.-]+", each.name), f"{each.name!r} is no name for a property"

    def test_the_example_is_a_good_configuration(self, request: Any) -> None:
        """It parses, alone and among properties that the plugin does not know."""
        parsed(self.plugin, self.example(request))
        parsed(self.plugin, {**self.example(request), "a.property.of.somebody.else": "x"})

    def test_a_missing_property_is_named(self, request: Any) -> None:
        """Each required property that is missing is reported under its name, with its prefix."""
        for each in self.plugin.Config.properties():
            if not each.required:
                continue
            rest = {name: text for name, text in self.example(request).items() if name != each.name}
            try:
                self.plugin.Config.parse(rest, "its.prefix.")
            except ConfigError as e:
                named = [p.property for p in e.problems]
                assert f"its.prefix.{each.name}" in named, f"{each.name} is missing, reported were {named}"
            else:
                raise AssertionError(f"{each.name} is required, and may be missing all the same")
