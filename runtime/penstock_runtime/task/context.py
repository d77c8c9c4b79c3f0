"""Make the context of a task from its spec."""

from collections.abc import Callable
from pathlib import Path

from penstock_model.connect.variables import ProviderTable
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.source.context import SourceContext

__all__ = ["task_context"]


def task_context(
    spec: TaskSpec,
    *,
    slots_dir: Path,
    on_error: Callable[[str], None] = lambda text: None,
    providers: ProviderTable | None = None,
) -> SourceContext | SinkContext:
    """Return the context of a source or sink task, as made by `TaskContext.of`.

    Raises:
        ConfigError: variables cannot be resolved, or properties are invalid; it contains all problems.
        ConnectError: a config provider fails, or does not answer.
    """
    kind = SourceContext if spec.kind == "source" else SinkContext
    return kind.of(spec, slots_dir=slots_dir, on_error=on_error, providers=providers)
