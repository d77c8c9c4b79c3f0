"""Check `spec.java`: the heap and the options of the JVM of Java plugins."""

from collections.abc import Iterator, Mapping

from penstock import ConnectError, Plugin, Problem
from penstock_model.resources.java_options import refused_options, secret_options
from penstock_model.resources.task_settings import Java
from penstock_runtime.java_plugins.java_class import PREFIX
from penstock_runtime.java_plugins.jvm.options import unusable_options
from penstock_runtime.plugins.discovery import PluginRef

__all__ = ["check_java", "has_java", "java_warnings"]


def check_java(given: Java | None) -> tuple[Java | None, tuple[Problem, ...]]:
    """Return the settings of the JVM and their problems. The settings are None for the defaults, or if they are invalid."""
    if given in (None, Java()):
        return None, ()
    assert given is not None
    if any(refused_options(given.options)):  # reported with the other refused fields
        return None, ()
    try:
        problems = tuple(unusable_options(given))
    except ConnectError:  # Java is missing, which is reported when it is needed
        return given, ()
    return (None, problems) if problems else (given, ())


def has_java(places: Mapping[str, PluginRef[Plugin]]) -> bool:
    """Return whether any of these plugins runs in a JVM."""
    return any(ref.reference.startswith(PREFIX) for ref in places.values())


def java_warnings(given: Java, places: Mapping[str, PluginRef[Plugin]]) -> Iterator[Problem]:
    """Yield warnings if the settings have no effect or contain secrets."""
    if not has_java(places):
        yield Problem("spec.java", "has no effect: none of this connector's plugins runs in a JVM; remove it")
    yield from secret_options(given.options)
