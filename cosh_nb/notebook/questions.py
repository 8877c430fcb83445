"""Questions of the agent to the person, as a card in the cell. Implements AskHost in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosh_nb.notebook import at_prompt
from cosh_nb.notebook.asking import NO_BUTTONS, Asking, Reply
from cosh_nb.notebook.card import Card, Output
from cosh_nb.render import cards
from cosh_nb.render.markup import Rendered
from cosh_nb.render.steps import QUESTION
from cosh_tools.hosts import NoAsk, Question
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_nb.notebook.place import Place

Answers = Sequence[Sequence[str]]


class CellQuestions:
    """Asks in the cell of the turn, in turn with the approvals of the same `Asking`."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self._open: _QuestionCard | None = None

    async def ask(self, questions: Sequence[Question]) -> Answers | None:
        """The answers in order; None when the person declined."""
        async with self.asking.one_at_a_time():
            chosen = self.asking.choose()
            match chosen.way:
                case "nobody":
                    return await NoAsk().ask(questions)
                case "prompt":
                    return await self._at_prompt(questions)
                case "card":
                    return await self._in_card(questions)

    def close_all(self) -> None:
        """Main thread: end the open card, where a turn could not do it itself."""
        if self._open is not None:
            self._open.end(None)

    async def _in_card(self, questions: Sequence[Question]) -> Answers | None:
        asking = self.asking
        reply: Reply[Answers | None] = Reply(asking.mailbox)
        opened = _QuestionCard(questions, reply)
        self._open = opened
        end: Answers | None = None
        try:
            await asyncio.wrap_future(asking.mailbox.call(lambda: opened.show(asking.place, asking.lend(QUESTION))))
            if await asking.nobody_draws(opened.card, reply.future):
                await asyncio.wrap_future(asking.mailbox.call(opened.give_up))
                if not reply.future.done():
                    if asking.place.background:
                        raise ToolError(f"The user could not be asked: {NO_BUTTONS}.")
                    end = await self._at_prompt(questions)
                    return end
            end = await reply.future
            return end
        finally:
            self._open = None
            asking.mailbox.call(opened.end, end)

    async def _at_prompt(self, questions: Sequence[Question]) -> Answers | None:
        answers = []
        for index, asked in enumerate(questions):
            said = await self.asking.prompt(at_prompt.question(asked, index + 1, len(questions)))
            answer = at_prompt.read_question(asked, said) if said is not None else None
            if answer is None:
                return None
            answers.append(answer)
        return answers


class _QuestionCard:
    """One question after another in one card, on the main thread."""

    def __init__(
        self,
        questions: Sequence[Question],
        reply: Reply[Answers | None],
    ) -> None:
        self._questions = questions
        self._reply = reply
        self._answers: list[list[str]] = []
        self._card: Card | None = None
        self._over = False

    @property
    def card(self) -> Card:
        """The card, once it is shown."""
        if self._card is None:
            raise RuntimeError("The card is not shown yet.")
        return self._card

    def show(self, place: Place, output: Output | None = None) -> None:
        """Put it into the cell, where the turn shows that it asks."""
        waiting = cards.ask_answered(self._questions, None)
        asked = cards.ask_card(self._questions)
        self._card = Card(Rendered(waiting.html, f"{asked.text}\nNo answer yet."))
        self._next()
        self._card.show(place, output)

    def give_up(self) -> None:
        """No front end draws it: close it, so that nothing is left to click while a prompt asks."""
        if self.card.open:
            self.card.settle(cards.ask_card(self._questions))

    def end(self, answers: Answers | None) -> None:
        """It is over; the first end counts."""
        if not self._over:
            self._over = True
            if self._card is not None:
                self._card.settle(cards.ask_answered(self._questions, answers))

    def _finish(self, answers: Answers | None) -> None:
        if not self._over:
            self.end(answers)
            self._reply.give(answers)

    def _next(self) -> None:
        if len(self._answers) == len(self._questions):
            self._finish(self._answers)
            return
        asked = self._questions[len(self._answers)]
        # The buttons say the choices; the list above them is there for what they mean.
        told = asked if any(choice.description for choice in asked.choices) else replace(asked, choices=())
        head = cards.ask_card([told]).html
        if len(self._questions) > 1:
            head += f'<div class="why m">{len(self._answers) + 1} of {len(self._questions)}</div>'
        self.card.fill(head, *self._rows(asked))

    def _rows(self, asked: Question) -> list[list[Any]]:
        card = self.card
        skip = card.button("Skip", lambda: self._finish(None), quiet=True)
        if not asked.choices:
            line = card.line("your answer", lambda: self._soon(lambda: self._words(line)))
            send = card.button("Send", lambda: self._soon(lambda: self._words(line)), primary=True)
            return [[line, send, skip]]
        line = card.line("or in your own words", lambda: self._soon(submit)) if asked.free_text else None
        boxes = [card.check(choice.label) for choice in asked.choices] if asked.multi_select else []

        def submit() -> None:
            ticked = [box.description for box in boxes if box.value]
            own = line.value.strip() if line is not None else ""
            if ticked or own:
                self._answer([*ticked, *([own] if own else [])])

        def pick(label: str) -> Any:
            return card.button(label, lambda: self._answer([label]))

        fields = [line] if line is not None else []
        if not asked.multi_select:
            send = [card.button("Send", lambda: self._soon(submit))] if fields else []
            return [[pick(choice.label) for choice in asked.choices], [*fields, *send, skip]]
        send = [card.button("Send", lambda: self._soon(submit), primary=True)]
        return [boxes, [*fields, *send, skip]]

    def _words(self, line: Any) -> None:
        if line.value.strip():
            self._answer([line.value.strip()])

    def _answer(self, answer: list[str]) -> None:
        self._answers.append(answer)
        self._next()

    def _soon(self, work: Callable[[], None]) -> None:
        # Enter may overtake the last letters on their way from the page: give them a moment to arrive.
        count = len(self._answers)
        self._reply.later(0.15, lambda: work() if len(self._answers) == count and not self._over else None)
