"""Questions as text for `input()`, and what a typed line means. Whatever is not a clear yes is a no."""

from __future__ import annotations

from cosh_nb.notebook.answers import STOPPED
from cosh_nb.render import cards
from cosh_nb.render.markup import plain
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, Question, Refused

_YES = frozenset({"y", "yes", "once"})
_NO = frozenset({"", "n", "no"})
_STOP = frozenset({"stop", "just stop"})


def approval(request: ApprovalRequest) -> str:
    """The card as text, and the words that answer it."""
    buttons = cards.buttons(request, editable=False)
    ways = [f"  {_word(button.key)}: {plain(button.label)}" for button in buttons]
    return "\n".join([cards.head(request).text, *ways, "  stop: end the turn", "Or say what to do instead: "])


def read_approval(request: ApprovalRequest, said: str) -> ApprovalAnswer:
    """The answer that a line gives. Other words are a no with that reason."""
    word = said.strip().lower()
    if word in _YES:
        return Allowed()
    if word in _NO:
        return Refused()
    if word in _STOP:
        return STOPPED
    for index, grant in enumerate(request.grants):
        if word == _word(f"grant:{index}") and not request.destructive:
            return Allowed(grant=grant)
    return Refused(said.strip())


def question(asked: Question, number: int, of: int) -> str:
    """One question as text."""
    lines = [f"{plain(asked.text)}{f' ({number} of {of})' if of > 1 else ''}"]
    lines += [
        f"  {index}. {plain(choice.label)}" + (f": {plain(choice.description)}" if choice.description else "")
        for index, choice in enumerate(asked.choices, 1)
    ]
    if asked.choices:
        many = "numbers with commas" if asked.multi_select else "a number"
        lines.append(f"Answer with {many}{', or in your own words' if asked.free_text else ''}: ")
    else:
        lines.append("Your answer: ")
    return "\n".join(lines)


def read_question(asked: Question, said: str) -> list[str] | None:
    """The chosen labels, or the person's own words; None where the line is neither."""
    parts = [part.strip() for part in said.split(",") if part.strip()]
    labels = {choice.label.lower(): choice.label for choice in asked.choices}
    numbers = {str(index): choice.label for index, choice in enumerate(asked.choices, 1)}
    chosen = [numbers.get(part) or labels.get(part.lower()) for part in parts]
    found = [label for label in chosen if label is not None]
    if found and len(found) == len(parts) and (len(found) == 1 or asked.multi_select):
        return list(dict.fromkeys(found))
    if asked.free_text and said.strip():
        return [said.strip()]
    return None


def _word(key: str) -> str:
    """What is typed for a button: y, n, and 1, 2, ... for the grants."""
    match key:
        case "once":
            return "y"
        case "no":
            return "n"
        case _:
            return str(int(key.removeprefix("grant:")) + 1)
