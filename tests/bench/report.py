"""What a row of the bench says, and how the table is printed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """One measured piece of work. `judged` is compared with `budget`; smaller is better."""

    work: str
    ours: float
    unit: str
    budget: float
    floor: float | None = None
    floor_name: str = ""
    judge: str = "ratio"
    """"ratio": ours / floor; "ours": the number itself; else a name in `extra`."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Further numbers: peers, exponents."""

    @property
    def ratio(self) -> float | None:
        """Ours over the floor."""
        return self.ours / self.floor if self.floor else None

    @property
    def judged(self) -> float:
        """The number that the budget is about."""
        match self.judge:
            case "ratio":
                if self.ratio is None:
                    raise ValueError(f"{self.work}: judged by a ratio, but there is no floor")
                return self.ratio
            case "ours":
                return self.ours
            case name:
                return self.extra[name]

    @property
    def ok(self) -> bool:
        """Whether the budget is met."""
        return self.judged <= self.budget


def table(lines: Sequence[Line]) -> str:
    """The lines as a Markdown table."""
    rows = [("work", "ours", "floor", "ratio", "budget", "verdict", "beside")]
    for line in lines:
        verdict = "ok" if line.ok else f"missed: {line.judged:.3g}, {line.judged / line.budget - 1:+.0%}"
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        floor = "" if line.floor is None else f"{line.floor_name} {line.floor:.3g} {line.unit}".strip()
        of = {"ratio": "x floor", "ours": line.unit}.get(line.judge, line.judge)
        beside = ", ".join(f"{name} {value:.3g}" for name, value in line.extra.items())
        rows.append((line.work, f"{line.ours:.3g} {line.unit}", floor, ratio, f"{line.budget:g} {of}", verdict, beside))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    told = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    told.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(told)


def medians(candidates: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each candidate's own measurements, taken in turns so that a busy machine hits all alike."""
    for run in candidates.values():
        run()  # the first time pays for imports and caches
    seen: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            seen[name].append(run())
    return {name: statistics.median(values) for name, values in seen.items()}
