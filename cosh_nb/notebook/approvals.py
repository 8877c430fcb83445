"""Approval cards: what exactly would happen, and one click that decides. Implements PermissionHandler in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from cosh_nb.notebook import at_prompt
from cosh_nb.notebook.answers import STOPPED
from cosh_nb.notebook.asking import NO_BUTTONS, Asking, Reply
from cosh_nb.notebook.card import Card, Output
from cosh_nb.render import cards
from cosh_nb.render.markup import Rendered
from cosh_nb.render.rows import Row
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest, CodeOutcome, NobodyToAsk, Refused
from cosh_tools.results import ToolError

if TYPE_CHECKING:
    from cosh_nb.notebook.place import Place

Settle = Callable[[ApprovalRequest, ApprovalAnswer, str], Rendered]
"""What stays of an answered card: request, answer, the time of day."""
Preview = Callable[[str, float], Awaitable[CodeOutcome]]
"""Tries code in a copy of the kernel (KernelHost.preview)."""
_PREVIEW = 20.0
"""Seconds that a preview gets."""


class CellApprovals:
    """Asks in the cell of the turn. Set `asking.place` before each turn. With `preview`, code can be tried first."""

    def __init__(
        self,
        asking: Asking,
        settle: Settle = cards.answered,
        preview: Preview | None = None,
        runs_here: Callable[[ApprovalRequest], bool] = lambda _request: True,
    ) -> None:
        self.asking = asking
        self._runs_here = runs_here
        """Whether the code of a request would run in this kernel."""
        self._preview = preview
        self._settle = settle
        self._open: _ApprovalCard | None = None
        asking.moved.append(self._renumber)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put the question and wait. Cancelled, it leaves a row that says that the turn was stopped."""
        async with self.asking.one_at_a_time():
            chosen = self.asking.choose()
            match chosen.way:
                case "nobody":
                    return await NobodyToAsk(chosen.why).ask(request)
                case "prompt":
                    return await self._at_prompt(request)
                case "card":
                    return await self._in_card(request)

    def close_all(self, answer: ApprovalAnswer = STOPPED) -> None:
        """Main thread: end the open card, where a turn could not do it itself."""
        if self._open is not None:
            self._open.end(answer)

    async def _in_card(self, request: ApprovalRequest) -> ApprovalAnswer:
        asking = self.asking
        reply: Reply[ApprovalAnswer] = Reply(asking.mailbox)
        opened = _ApprovalCard(request, asking.note, self._settle, reply, lambda: asking.lend(request.call.id))
        tries: list[asyncio.Task[None]] = []
        if self._preview is not None and self._runs_here(request):
            loop, preview = asyncio.get_running_loop(), self._preview

            def begin() -> None:
                tries.append(loop.create_task(self._try(opened, preview)))

            opened.preview = lambda: loop.call_soon_threadsafe(begin)
        self._open = opened
        end: ApprovalAnswer = STOPPED
        try:
            await asyncio.wrap_future(asking.mailbox.call(opened.show, asking.place))
            if await asking.nobody_draws(opened.card, reply.future):
                await asyncio.wrap_future(asking.mailbox.call(opened.give_up))
                if not reply.future.done():
                    end = await self._without_buttons(request)
                    return end
            end = await reply.future
            return end
        finally:
            self._open = None
            for task in tries:
                task.cancel()
            asking.mailbox.call(opened.end, end)

    async def _try(self, opened: _ApprovalCard, preview: Preview) -> None:
        """Try the code of a card in a copy of the kernel, and show in the card what came of it."""
        try:
            outcome = await preview(cards.previewed_code(opened.request), _PREVIEW)
            said = outcome.text
        except ToolError as error:
            said = str(error)
        self.asking.mailbox.call(opened.show_preview, said)

    async def _without_buttons(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The card is closed: ask at a prompt, if the cell still has one."""
        if self.asking.place.background:
            return await NobodyToAsk(NO_BUTTONS).ask(request)
        return await self._at_prompt(request)

    async def _at_prompt(self, request: ApprovalRequest) -> ApprovalAnswer:
        said = await self.asking.prompt(at_prompt.approval(request))
        if said is None:
            return await NobodyToAsk("nobody answered at the prompt").ask(request)
        return at_prompt.read_approval(request, said)

    def _renumber(self) -> None:
        if self._open is not None:
            self.asking.mailbox.call(self._open.renumber, self.asking.note)


class _ApprovalCard:
    """The steps of one card, on the main thread: the question, a correction, a refusal with a reason."""

    def __init__(
        self,
        request: ApprovalRequest,
        note: str,
        settle: Settle,
        reply: Reply[ApprovalAnswer],
        output: Callable[[], Output | None],
    ) -> None:
        self.request = request
        self._note = note
        self._settle = settle
        self._reply = reply
        self._output = output
        self.preview: Callable[[], object] | None = None
        """Starts a preview; None where there is none."""
        self._previewed = ""
        self._step: Callable[[], None] = self._question
        self._last: ApprovalAnswer | None = None
        self._card: Card | None = None

    def show(self, place: Place) -> None:
        """Put it into the cell."""
        row = Row("not", "Not run", cards.target_of(self.request), "no answer yet", code=True).rendered()
        text = f"{cards.head(self.request).text}\nNo answer yet."
        self._card = Card(Rendered(row.html, text), risk=self.request.destructive)
        self._question()
        self._card.show(place, self._output())

    @property
    def card(self) -> Card:
        """The card, once it is shown."""
        if self._card is None:
            raise RuntimeError("The card is not shown yet.")
        return self._card

    def renumber(self, note: str) -> None:
        """How many wait has changed."""
        self._note = note
        if self._card is not None and self._card.open and self._step == self._question:
            self._question()

    def show_preview(self, said: str) -> None:
        """What a preview said."""
        self._previewed = cards.preview(said).html
        if self._card is not None and self._card.open and self._step == self._question:
            self._question()

    def give_up(self) -> None:
        """No front end draws it: close it, so that nothing is left to click while a prompt asks."""
        if self.card.open:
            asked = cards.head(self.request)
            self.card.settle(Rendered(asked.html, asked.text))

    def end(self, answer: ApprovalAnswer) -> None:
        """The question is over, by a click or otherwise; the first end counts."""
        if self._last is None:
            self._last = answer
            if self._card is None:
                return  # stopped before it was shown
            self._card.settle(self._settle(self.request, answer, f"{datetime.now().astimezone():%H:%M}"))

    def _answer(self, answer: ApprovalAnswer) -> None:
        if self._last is None:
            self.end(answer)
            self._reply.give(answer)

    def _question(self) -> None:
        self._step = self._question
        buttons = cards.buttons(self.request, previewable=self.preview is not None and not self._previewed)
        self.card.fill(cards.head(self.request, self._note).html + self._previewed, [self._button(b) for b in buttons])

    def _button(self, button: cards.Button) -> Any:
        match button.key:
            case "once":
                press: Callable[[], None] = lambda: self._answer(Allowed())  # noqa: E731  (one press of a table)
            case "edit":
                press = self._correct
            case "preview":
                press = self._try
            case "no":
                press = self._refuse
            case key:
                grant = self.request.grants[int(key.removeprefix("grant:"))]
                press = lambda: self._answer(Allowed(grant=grant))  # noqa: E731  (the same)
        return self.card.button(button.label, press, primary=button.primary, quiet=button.key == "no")

    def _try(self) -> None:
        if self.preview is not None:
            self.show_preview("Trying it in a copy of the kernel ...")
            self.preview()

    def _correct(self) -> None:
        found = cards.editable_text(self.request)
        if found is None:
            return
        self._step = self._correct
        name, text = found
        field = self.card.text(text)

        def run() -> None:
            changed = None if field.value == text else {**self.request.call.input, name: field.value}
            self._answer(Allowed(input=changed))

        self.card.fill(
            f'<div class="q"><span>Change the {name}, then run it</span></div>',
            [field],
            [self.card.button("Run this", run, primary=True), self.card.button("Back", self._question)],
        )

    def _refuse(self) -> None:
        self._step = self._refuse

        def send() -> None:
            # Enter may overtake the last letters on their way from the page: give them a moment to arrive.
            self._reply.later(0.15, lambda: self._answer(Refused(line.value.strip())))

        line = self.card.line("optional, e.g. use altair", send)
        self.card.fill(
            f'<div class="q"><span>{cards.instead(self.request)}</span></div>',
            [
                line,
                self.card.button("Send", send, primary=True),
                self.card.button("Just stop", lambda: self._answer(STOPPED)),
            ],
        )
