"""Questions to the person: one to four of them, with options, several choices, free text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, ConfigDict, Field, field_validator, model_validator

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolError, ToolInput, ToolKind, ToolResult
from cosh_tools.hosts import Choice, Question

_SINGLE = ("question", "header", "options", "multiSelect", "multi_select")


class Option(ToolInput):
    """One answer to choose from."""

    label: str = Field(min_length=1, description="The words on the button.")
    description: str = Field(
        "", validation_alias=AliasChoices("description", "value"), description="What choosing it means."
    )


class OneQuestion(ToolInput):
    """One question and its answers to choose from."""

    question: str = Field(min_length=1, description="The question, in one sentence.")
    header: str = Field("", description="A label of one or two words.")
    options: list[Option] = Field(
        default_factory=list, description="Two to four answers; the person can always type another one."
    )
    multi_select: bool = Field(
        False,
        validation_alias=AliasChoices("multiSelect", "multi_select"),
        description="Whether several answers may be chosen.",
    )

    @field_validator("options", mode="before")
    @classmethod
    def _labels(cls, value: Any) -> Any:
        return [{"label": item} if isinstance(item, str) else item for item in value] if _is_list(value) else value


def _only_the_list(schema: dict[str, Any]) -> None:
    """The model is told of one shape; the other one is understood."""
    for name in ("question", "header", "options", "multiSelect"):
        schema["properties"].pop(name, None)


class AskUserQuestionInput(ToolInput):
    """Arguments of AskUserQuestion. A single `question` with `options` is taken as a list of one."""

    model_config = ConfigDict(json_schema_extra=_only_the_list)

    questions: list[OneQuestion] = Field(min_length=1, max_length=4, description="One to four questions.")
    question: str = Field("", description="The question, where there is only one.")
    header: str = Field("", description="Its label.")
    options: list[Any] = Field(default_factory=list, description="Its answers to choose from.")
    multi_select: bool = Field(
        False,
        validation_alias=AliasChoices("multiSelect", "multi_select"),
        description="Whether several may be chosen.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or "question" not in data or data.get("questions"):
            return data
        single = {name: data[name] for name in _SINGLE if name in data}
        return {**data, "questions": [single]}


class AskUserQuestion(Tool[AskUserQuestionInput]):
    """Waits for the person's answer."""

    name = "AskUserQuestion"
    description = (
        "Ask the person one to four questions and wait for the answers. Use it where the request is open and the "
        "choice changes the result; do not ask for permission with it, the tools do that themselves. The person can "
        "always answer in own words."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    always_allowed = True
    verb = "ask"
    keywords = ("question", "clarify", "choice", "user")

    def target(self, call: AskUserQuestionInput, ctx: ToolContext) -> str:
        """The first question."""
        del ctx
        return call.questions[0].question

    async def execute(self, call: AskUserQuestionInput, ctx: ToolContext) -> ToolResult:
        """Put the questions, hand back the answers."""
        asked = [
            Question(
                text=each.question,
                header=each.header,
                choices=tuple(Choice(option.label, option.description) for option in each.options),
                multi_select=each.multi_select,
            )
            for each in call.questions
        ]
        answers = await _ask(asked, ctx)
        lines = [
            f"{question.text}\n-> {', '.join(answer) or '(left empty)'}"
            for question, answer in zip(asked, answers, strict=True)
        ]
        result = ToolResult.success("The user answered.\n\n" + "\n\n".join(lines))
        return result.with_metadata(_for_the_card(asked, answers))


class AskUserQuestionCoshInput(ToolInput):
    """Arguments of ask_user_question, checked as cosh does: the first fault is named by its code."""

    question: str = Field(description="The question, not empty.")
    options: list[Option] = Field(default_factory=list, description="Answers to choose from.")
    allow_free_text: bool = Field(True, description="Whether the person may answer in own words.")
    multi_select: bool = Field(False, description="Whether several options may be chosen.")

    @model_validator(mode="before")
    @classmethod
    def _first_fault(cls, data: Any) -> Any:
        if code := _fault(data):
            raise ValueError(code)
        return data


class AskUserQuestionCosh(Tool[AskUserQuestionCoshInput]):
    """AskUserQuestion under cosh's name: one question, the plain answer."""

    name = "ask_user_question"
    description = "Ask the user one question and wait for the answer."
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    always_allowed = True
    verb = "ask"
    keywords = AskUserQuestion.keywords

    def target(self, call: AskUserQuestionCoshInput, ctx: ToolContext) -> str:
        """The question."""
        del ctx
        return call.question.strip()

    async def execute(self, call: AskUserQuestionCoshInput, ctx: ToolContext) -> ToolResult:
        """Put the question, hand back the answer as it is."""
        question = Question(
            text=call.question.strip(),
            choices=tuple(Choice(option.label, option.description) for option in call.options),
            multi_select=call.multi_select,
            free_text=call.allow_free_text,
        )
        answers = await _ask([question], ctx)
        return ToolResult.success(", ".join(answers[0])).with_metadata(_for_the_card([question], answers))


async def _ask(questions: Sequence[Question], ctx: ToolContext) -> Sequence[Sequence[str]]:
    answers = await ctx.ask.ask(questions)
    if answers is None:
        raise ToolError(
            "The user did not answer (interrupted or disconnected). Go on with the safest choice, and say which."
        )
    return answers


def _for_the_card(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> dict[str, Any]:
    pairs = {question.text: list(answer) for question, answer in zip(questions, answers, strict=True)}
    return {
        "questions": [question.text for question in questions],
        "answers": pairs,
        "summary": "; ".join(", ".join(answer) for answer in answers),
    }


def _fault(data: Any) -> str:
    """Cosh's code and words for the first fault of the arguments; empty where there is none."""
    if not isinstance(data, Mapping):
        return "root_not_object: send an object"
    if not data:
        return "empty_arguments: send at least 'question'"
    if data.get("questions") is not None:
        return "unsupported_nested_questions: send one question as 'question', not a list"
    question = data.get("question")
    if "question" not in data:
        return "missing_question: send the question as 'question'"
    if not isinstance(question, str):
        return "question_wrong_type: 'question' is a text"
    if not question.strip():
        return "empty_question: 'question' holds no words"
    options = data.get("options", [])
    if not _is_list(options):
        return "options_wrong_type: 'options' is a list"
    for option in options:
        if not _is_option(option):
            return (
                "option_invalid: each option is an object with a 'label' and, if you like, a 'description', both texts"
            )
    for flag in ("allow_free_text", "multi_select"):
        if not isinstance(data.get(flag, True), bool):
            return f"{flag}_wrong_type: '{flag}' is true or false"
    if data.get("allow_free_text") is False and not options:
        return "no_answer_path: without free text there must be options"
    return ""


def _is_option(option: Any) -> bool:
    return (
        isinstance(option, Mapping)
        and isinstance(option.get("label"), str)
        and bool(option["label"].strip())
        and isinstance(option.get("description", ""), str)
    )


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
