"""An error that a plugin raised says where: in the plugin's own code, whatever called it and whatever it called."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Config, ConnectError, prop, value_of
from penstock.schema import INT64
from penstock_runtime.process.plugin_place import place_of_error, raised_in


def code(module: str, file: str, text: str) -> dict[str, Any]:
    """The functions of a module that is written here."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(text, file, "exec"), names)
    return names


def raised(work: Callable[[], object]) -> Exception:
    """What `work` raises, with the trace from `work` on."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 (any)
        work()
    trace = caught.value.__traceback__
    return caught.value.with_traceback(trace and trace.tb_next)


DRIVER = code("driver.cursor", "/site/driver/cursor.py", "def execute():\n    raise KeyError('id')\n")
TABLES = code("shop.tables", "/shop/tables.py", "def read(execute):\n\n    return execute()\n")
RUNTIME = code(
    "penstock_runtime.source", "/penstock_runtime/source.py", "def step(read, more):\n    return read(more)\n"
)


def test_the_place_is_in_the_plugin_and_not_in_a_library_that_it_calls() -> None:
    error = raised(lambda: RUNTIME["step"](TABLES["read"], DRIVER["execute"]).__next__())
    error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    assert place_of_error(error) == "read (tables.py, line 3)"
    assert raised_in(error) == ", in read (tables.py, line 3)"


class StrictConfig(Config):
    size: int = prop("size", doc="A size.")

    def model_post_init(self, context: Any) -> None:
        raise ZeroDivisionError


def test_pydantic_which_calls_a_config_is_no_place() -> None:
    place = place_of_error(raised(lambda: StrictConfig.parse({"size": "1"})))
    assert place is not None
    assert place.startswith("StrictConfig.model_post_init (test_plugin_place.py, line ")


def test_an_error_of_the_runtime_has_no_place_in_a_plugin() -> None:
    error = raised(lambda: RUNTIME["step"](None, None))
    assert raised_in(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)) == ""


def test_what_penstock_refuses_of_a_plugin_has_the_place_of_the_call() -> None:
    row = code("shop.rows", "/shop/rows.py", "def row(make):\n    return make()\n")["row"]
    error = raised(lambda: row(lambda: value_of(None, INT64)))
    error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    assert (str(error), raised_in(error)) == ("The value is null", ", in row (rows.py, line 2)")


def test_a_connect_error_keeps_the_words_that_it_has_for_users() -> None:
    def refuse() -> None:
        raise ConnectError("there is no table")

    assert raised_in(raised(refuse)) == ""
