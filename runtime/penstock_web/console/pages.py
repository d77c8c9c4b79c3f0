"""Pages of the console: their parts, and how these are rendered."""

from penstock_web.console.connector_list import Filter, list_view
from penstock_web.console.connector_view import connector_view
from penstock_web.console.list_rows import ListRows
from penstock_web.console.live import Snapshot
from penstock_web.console.plugin_view import plugin_views
from penstock_web.console.policy_view import Outcome, outcome_by_policy, outcome_for, policy_views, within_time
from penstock_web.console.rendering import Renderer
from penstock_web.source import WebSource

__all__ = ["ConsolePages"]

_PARTS = ("head", "figures", "conditions", "tasks", "versions", "topics", "requests")


class ConsolePages:
    """Renderer of the parts of all pages.

    Args:
        source: resources to show.
        render: templates.
        step: seconds between the points of plots.
    """

    def __init__(self, source: WebSource, render: Renderer, step: float) -> None:
        self._source = source
        self._render = render
        self._step = step
        self._rows = ListRows(source, render)

    def connectors(self, wanted: Filter) -> Snapshot:
        """Return the list of Connectors: the summary, and a part for each row."""
        view = list_view(self._rows.rows(), wanted)
        parts = {f"row:{row.key}": self._rows.html(row) for row in view.rows}
        return Snapshot({"summary": self._render("summary.html", view=view), **parts}, tuple(parts))

    def connector(self, namespace: str, name: str) -> Snapshot:
        """Return the page of a Connector. If it does not exist, only the head has content, which reports this."""
        document = self._source.connector(namespace, name)
        if document is None:
            gone = self._render("gone.html", namespace=namespace, name=name)
            return Snapshot(dict.fromkeys(_PARTS, "") | {"head": gone})
        view = connector_view(document, self._source.history(namespace, name), self._step)
        return Snapshot({part: self._render(f"connector_{part}.html", view=view) for part in _PARTS})

    def plugins(self) -> Snapshot:
        """Return the page of plugin versions."""
        views = plugin_views(self._source.plugin_versions(), self._source.connectors())
        return Snapshot({"plugins": self._render("plugins_list.html", views=views)})

    def policies(self, topic: str, connector: str) -> Snapshot:
        """Return the page of policies, with the outcome of each for a topic, and that of all policies of a Connector."""
        documents = self._source.policies()
        by_policy: dict[tuple[str, str], Outcome] = {}
        effective: Outcome | None = None
        with within_time():
            if topic:
                by_policy = {
                    (str(d["metadata"].get("namespace") or ""), str(d["metadata"]["name"])): outcome_by_policy(d, topic)
                    for d in documents
                }
            if topic and connector:
                namespace, _, name = connector.partition("/")
                document = self._source.connector(namespace, name)
                own = [d for d in documents if str(d["metadata"].get("namespace") or "") == namespace]
                effective = (
                    Outcome(topic, unknown=f"the Connector {connector} does not exist")
                    if document is None
                    else outcome_for(document, own, topic)
                )
        text = self._render(
            "policies_list.html",
            views=policy_views(documents),
            outcomes=by_policy,
            effective=effective,
            topic=topic,
            connector=connector,
        )
        return Snapshot({"policies": text})
