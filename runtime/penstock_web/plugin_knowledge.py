"""Plugins of a namespace, as far as they are known without running them."""

from penstock_model.validation.connector import PluginKnowledge
from penstock_web.source import Document, WebSource

__all__ = ["knowledge_of", "plugin_versions_of"]


def plugin_versions_of(source: WebSource, namespace: str) -> list[Document]:
    """Return the PluginVersions of a namespace; those without a namespace belong to `""`."""
    return [d for d in source.plugin_versions() if str(d["metadata"].get("namespace") or "") == namespace]


def knowledge_of(source: WebSource, namespace: str) -> PluginKnowledge:
    """Return the knowledge of the plugins of a namespace. Its `published` may block."""
    return PluginKnowledge.of(
        plugin_versions_of(source, namespace),
        lambda name: source.definitions(namespace, name),
        source.release(),
    )
