"""Exceptions. The sentences are those of the command line, with keyword arguments for its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashlag._words import in_python

if TYPE_CHECKING:
    from flashlag._run import Run


class Error(Exception):
    """What could not be done: what, where, and what to try next."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(in_python(sentence))

    run: Run | None = None
    """What was measured before, if a run failed on its way."""


class InputError(Error, ValueError):
    """A name, a key or a value that does not exist, with those that do."""


class Interrupted(KeyboardInterrupt):
    """A run that Ctrl-C ended.

    What was measured is in `run`, and in its file if it has one.
    """

    def __init__(self, sentence: str, run: Run) -> None:
        super().__init__(sentence)
        self.run: Run = run
        """The run, whose `status` is `interrupted`."""
