"""Which steps fold to one row when a turn is over."""

from __future__ import annotations

from collections.abc import Sequence

from cosh_nb.render.parts import Part, Plan, Thought
from cosh_nb.render.steps import Step

FOLD = 3
"""Steps between two pieces of prose that fold."""


def foldable(parts: Sequence[Part]) -> list[list[Step | Thought]]:
    """Steps that were only the way, gathered between prose; changes, pictures and refusals keep their own rows."""
    found: list[list[Step | Thought]] = [[]]
    for part in parts:
        match part:
            case Step() if part.outcome:
                continue
            case Step() | Thought():
                found[-1].append(part)
            case Plan():
                continue
            case _:
                found.append([])
    return [run for run in found if sum(isinstance(piece, Step) for piece in run) >= FOLD]
