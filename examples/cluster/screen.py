"""Output of the demo: steps with their duration, and on a terminal a view that is updated in place."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

__all__ = ["Screen"]

Tell = Callable[[str], None]


class Screen:
    """Standard output."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self.live = self._console.is_terminal

    def say(self, text: str = "", style: str = "") -> None:
        """Print one or more permanent lines."""
        self._console.print(Text(text, style), soft_wrap=True)

    def ask(self, question: str) -> bool:
        """Ask a question, and return whether the answer is yes; any other answer is no."""
        try:
            return self._console.input(f"{question} [y/N] ", markup=False).strip().lower() in ("y", "yes")
        except EOFError:
            return False

    @contextlib.contextmanager
    def step(self, title: str, hint: str = "") -> Iterator[Tell]:
        """Show a step that takes seconds or minutes. Lines that are reported during the step remain above it.

        Args:
            title: the step, in at most 60 characters.
            hint: expected duration, shown during the step.
        """
        begun = time.monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True, disable=not self.live) as progress:
            progress.add_task(f"{title}{hint and f' ({hint})'}")
            try:
                yield lambda line: self.say(f"    {line}", "dim")
            except BaseException:
                self.say(f"✗ {title}", "red")
                raise
        self.say(f"✓ {title:<62} {time.monotonic() - begun:6.1f} s")

    @contextlib.contextmanager
    def view(self) -> Iterator[Callable[[RenderableType], None]]:
        """Show a view at the bottom whose content can be replaced; without a terminal, nothing is shown."""
        with Live(console=self._console, auto_refresh=False) if self.live else contextlib.nullcontext() as live:
            yield lambda content: live.update(content, refresh=True) if live is not None else None
