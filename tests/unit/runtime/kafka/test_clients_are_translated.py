"""Every call of a Kafka client in the package stands where its exceptions become ours.

A raw `KafkaException` would pass by all who ask whether an error may pass, or whether somebody newer has taken over. The
source is read, so that a new call cannot be forgotten: each must stand under `translating` (or `renewed_after_silence`),
or in a `try` that catches `KafkaException` and does not let it on; or in a function that says in its docstring, or by a
leading underscore, that it does not, and then all that is said here holds for the calls of that function. A class may say
it for all its functions.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import penstock_kafka
import penstock_operator.kafka
import penstock_runtime.kafka

PACKAGES = (penstock_kafka, penstock_runtime.kafka, penstock_operator.kafka)
CLIENTS = re.compile(r"_?(consumer|producer|client|admin|other)$")
MAKING = {"Producer", "Consumer", "AdminClient"}
HARMLESS = {"get"}
"""Of mappings that have a client's name; so is what begins with an underscore, which no client offers."""
CATCHING = {"KafkaException", "Exception", "BaseException"}


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class Functions(ast.NodeVisitor):
    """The functions of a module, and what in each of them may raise without a guard."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.raw: dict[str, list[tuple[str, int]]] = {}  # function: (what is called, line)
        self.docs: dict[str, str] = {}
        self._function: list[str] = []
        self._class = ""
        self._guards: list[bool] = [False]
        self._ours: list[set[str]] = [set()]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._class = self._class, ast.get_docstring(node) or ""
        self.generic_visit(node)
        self._class = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function.append(node.name)
        self._guards.append(False)
        self._ours.append(
            {name_of(s.targets[0]) for s in ast.walk(node) if isinstance(s, ast.Assign) and made_of_ours(s)}
        )
        said = self._class if "KafkaException" in self._class else ""
        self.docs[node.name] = (ast.get_docstring(node) or "") + said
        self.raw.setdefault(node.name, [])
        self.generic_visit(node)
        self._ours.pop()
        self._guards.pop()
        self._function.pop()

    def visit_With(self, node: ast.With) -> None:
        guards = any(guarding(item.context_expr) for item in node.items)
        for item in node.items:
            self.visit(item)
        self._under(guards, node.body)

    def visit_Try(self, node: ast.Try) -> None:
        self._under(any(map(keeps, node.handlers)), node.body)
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        own = isinstance(node.func, ast.Attribute) and name_of(node.func.value) == "self"
        if isinstance(node.func, ast.Name) or own:
            self._note(name_of(node.func), node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Also a method that is handed on to be called."""
        receiver = name_of(node.value)
        call = not node.attr.startswith("_") and isinstance(node.ctx, ast.Load)
        if call and CLIENTS.search(receiver) and receiver not in self._ours[-1]:
            self._note(f"client.{node.attr}", node)
        self.generic_visit(node)

    def _under(self, guards: bool, body: list[ast.stmt]) -> None:
        self._guards.append(guards or self._guards[-1])
        for statement in body:
            self.visit(statement)
        self._guards.pop()

    def _note(self, called: str, node: ast.expr) -> None:
        if self._function and not self._guards[-1] and called.removeprefix("client.") not in HARMLESS:
            self.raw[self._function[-1]].append((called, node.lineno))


def made_of_ours(statement: ast.Assign) -> bool:
    return isinstance(statement.value, ast.Call) and name_of(statement.value.func) not in MAKING


def guarding(expression: ast.expr) -> bool:
    if not isinstance(expression, ast.Call):
        return False
    name = name_of(expression.func)
    return name in ("translating", "renewed_after_silence") or (
        name == "suppress" and any(name_of(a) in CATCHING for a in expression.args)
    )


def keeps(handler: ast.ExceptHandler) -> bool:
    """Whether it catches what clients raise, and does not raise it again as it is."""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
    again = any(isinstance(n, ast.Raise) and n.exc is None for n in ast.walk(handler))
    return bool(CATCHING & {name_of(t) for t in types}) and not again


def raising(modules: dict[str, Functions]) -> Iterator[tuple[str, str, list[str]]]:
    """The functions out of which a raw exception may come, with the calls that let it."""
    said = {name for f in modules.values() for name, text in f.docs.items() if "KafkaException" in text}
    found: set[tuple[str, str]] = set()
    while True:
        names = {name for _, name in found}
        more = {
            (module, name): why
            for module, functions in modules.items()
            for name, calls in functions.raw.items()
            if (
                why := [
                    f"line {line}: {c}"
                    for c, line in calls
                    if c.startswith("client.")
                    or c in MAKING
                    or ((module, c) in found and c.startswith("_"))
                    or (c in said and c in names)
                ]
            )
        }
        if more.keys() == found:
            break
        found = set(more)
    for (module, name), why in more.items():
        yield module, name, why


def read(text: str, module: str = "m") -> dict[str, Functions]:
    functions = Functions(module)
    functions.visit(ast.parse(text))
    return {module: functions}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_no_call_of_a_client_lets_its_exceptions_out_of_the_package(package: ModuleType) -> None:
    folder = Path(str(package.__file__)).parent
    modules = {p.name: read(p.read_text(), p.name)[p.name] for p in sorted(folder.glob("*.py"))}
    assert sum(map(bool, (calls for f in modules.values() for calls in f.raw.values()))) > 5
    bare = [
        f"{module} {name}: {', '.join(calls)}"
        for module, name, calls in raising(modules)
        if (not name.startswith("_") or name == "__init__") and "KafkaException" not in modules[module].docs[name]
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("def f(producer):\n  producer.poll(0)", True),
        ("def f():\n  return Producer({})", True),
        ("def f(self):\n  g(self._producer.commit_transaction)", True),
        ("def f(producer):\n  with translating('x'):\n    producer.poll(0)", False),
        ("def f(producer):\n  try:\n    producer.poll(0)\n  except KafkaException:\n    return", False),
        ("def f(producer):\n  try:\n    producer.poll(0)\n  except KafkaException:\n    raise", True),
        ("def f(producer):\n  try:\n    pass\n  except KafkaException:\n    producer.poll(0)", True),
        ("def _g(producer):\n  producer.poll(0)\ndef f(producer):\n  _g(producer)", True),
        ("def _g(producer):\n  producer.poll(0)\ndef f(producer):\n  with translating('x'):\n    _g(producer)", False),
    ],
)
def test_a_bare_call_is_found(text: str, bare: bool) -> None:
    assert ("f" in {name for _, name, _ in raising(read(text))}) is bare
