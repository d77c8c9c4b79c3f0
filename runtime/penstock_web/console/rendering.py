"""HTML of the console, from its views. All values are escaped."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from penstock_web.console.static_files import StaticFiles

__all__ = ["Renderer"]


class Renderer:
    """Renderer of templates.

    Args:
        files: script and styles to which pages refer.
        title: name of the program that runs the connectors.
        is_cluster: whether the connectors run in pods, so that pages show commands of `kubectl`.
    """

    def __init__(self, files: StaticFiles, title: str, *, is_cluster: bool) -> None:
        self._environment = Environment(
            loader=PackageLoader("penstock_web.console", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals |= {"file": files.url, "title": title, "path": _path, "query": _query}
        self._environment.globals |= {"is_cluster": is_cluster}
        self._environment.filters |= {"time": _time, "plural": _plural}

    def __call__(self, template: str, **values: Any) -> str:
        """Return the text of a template."""
        return self._environment.get_template(template).render(values)


def _path(*parts: str) -> str:
    """Return the path of a page, with its parts encoded."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _query(values: Mapping[str, str]) -> str:
    """Return a query string without empty values; empty if all are."""
    given = {name: value for name, value in values.items() if value}
    return f"?{urlencode(given)}" if given else ""


_TIME: Final = Markup('<time datetime="{}">{}</time>')


def _time(at: str | float | None) -> Markup:
    """Return a time in UTC. The console's script shows how long ago it is."""
    if at in ("", None):
        return Markup("")
    try:
        moment = datetime.fromtimestamp(at, UTC) if isinstance(at, (int, float)) else datetime.fromisoformat(str(at))
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return Markup("{}").format(at)
    return _TIME.format(moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%Y-%m-%d %H:%M:%S UTC"))


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
