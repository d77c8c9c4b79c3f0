"""What the operator knows of the built-in plugins, which it does not hold."""

import pytest

from penstock_model.connect.built_in_definitions import built_in_definitions
from penstock_model.connect.plugin_names import BUILT_INS, PluginKind
from penstock_model.resources.plugin_offers import KINDS


@pytest.mark.parametrize("kind", BUILT_INS)
def test_each_built_in_plugin_is_defined_with_its_java_names_and_the_version_of_the_release(kind: PluginKind) -> None:
    defined = [c for c in built_in_definitions("1.2.3").classes if KINDS[c.type] == kind]
    assert {c.class_name: c.java_names for c in defined} == {n: tuple(java) for n, java in BUILT_INS[kind].items()}
    assert {c.version for c in defined} == {"1.2.3"}


def test_a_built_in_plugin_has_its_properties_with_values_and_the_variants_of_its_name() -> None:
    defined = {c.class_name: c for c in built_in_definitions("1.2.3").classes}
    operation = next(k for k in defined["HeaderFrom"].config if k.name == "operation")
    assert (operation.required, operation.values) == (True, ("move", "copy"))
    assert defined["HeaderFrom"].variants == ("Key", "Value")
