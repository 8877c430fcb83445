"""Questions to the person, in both dialects, and what happens where nobody answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cosh_tools.hosts import Choice, Question
from cosh_tools.registry import load
from support.coordination_desk import CoordinationDesk


class Person:
    """Answers as told; None declines."""

    def __init__(self, *answers: Sequence[str] | None) -> None:
        self.asked: list[Question] = []
        self._answers = answers

    async def ask(self, questions: Sequence[Question]) -> Sequence[Sequence[str]] | None:
        self.asked.extend(questions)
        if None in self._answers:
            return None
        return [answer for answer in self._answers if answer is not None]


def desk_with(person: Person, folder: Path) -> CoordinationDesk:
    return CoordinationDesk(folder, person=person)


async def test_several_questions_are_put_at_once(tmp_path):
    person = Person(["CSV"], ["tests", "docs"])
    desk = desk_with(person, tmp_path)
    result = await desk(
        "AskUserQuestion",
        questions=[
            {
                "question": "Which format?",
                "header": "Format",
                "options": [{"label": "CSV", "description": "plain"}, {"label": "JSON"}],
            },
            {"question": "What else?", "options": ["tests", "docs"], "multiSelect": True},
        ],
    )  # fmt: skip
    assert person.asked == [
        Question("Which format?", "Format", (Choice("CSV", "plain"), Choice("JSON"))),
        Question("What else?", "", (Choice("tests"), Choice("docs")), multi_select=True),
    ]
    assert "Which format?\n-> CSV" in result.content
    assert result.metadata["answers"] == {"Which format?": ["CSV"], "What else?": ["tests", "docs"]}


async def test_the_old_shape_of_one_question_is_understood(tmp_path):
    person = Person(["b"])
    result = await desk_with(person, tmp_path)("AskUserQuestion", question="a or b?", options=["a", "b"])
    assert person.asked[0].choices == (Choice("a"), Choice("b"))
    assert "-> b" in result.content
    assert "Ignored" not in result.content


async def test_five_questions_are_too_many_and_none_too_few(tmp_path):
    desk = desk_with(Person(), tmp_path)
    assert (await desk("AskUserQuestion", questions=[{"question": str(n)} for n in range(5)])).is_error
    assert (await desk("AskUserQuestion", questions=[])).is_error


async def test_nobody_there_is_an_error_that_says_what_to_do(tmp_path):
    desk = CoordinationDesk(tmp_path)
    for name in ("AskUserQuestion", "ask_user_question"):
        result = await desk(name, question="a?")
        assert result.is_error
        assert "Cannot ask user questions in non-interactive mode" in result.content


async def test_a_person_who_declines_is_said(tmp_path):
    result = await desk_with(Person(None), tmp_path)("ask_user_question", question="a?")
    assert result.is_error
    assert "did not answer (interrupted or disconnected)" in result.content


async def test_cosh_gets_the_plain_answer(tmp_path):
    person = Person(["blue"])
    result = await desk_with(person, tmp_path)("ask_user_question", question=" Which? ", allow_free_text=True)
    assert result.output == "blue"
    assert person.asked == [Question("Which?", free_text=True)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "empty_arguments"),
        ({"options": []}, "missing_question"),
        ({"question": ["a"]}, "question_wrong_type"),
        ({"question": {"a": 1}}, "question_wrong_type"),
        ({"question": ""}, "empty_question"),
        ({"question": " \n"}, "empty_question"),
        ({"question": "a", "options": "x"}, "options_wrong_type"),
        ({"question": "a", "options": {"label": "x"}}, "options_wrong_type"),
        ({"question": "a", "options": ["x"]}, "option_invalid"),
        ({"question": "a", "options": [{}]}, "option_invalid"),
        ({"question": "a", "options": [{"label": " "}]}, "option_invalid"),
        ({"question": "a", "options": [{"label": 3}]}, "option_invalid"),
        ({"question": "a", "options": [{"label": "x", "description": 1}]}, "option_invalid"),
        ({"question": "a", "options": [{"label": "x", "description": None}]}, "option_invalid"),
        ({"question": "a", "allow_free_text": "maybe"}, "allow_free_text_wrong_type"),
        ({"question": "a", "multi_select": 2}, "multi_select_wrong_type"),
        ({"question": "a", "allow_free_text": False}, "no_answer_path"),
        ({"questions": [{"question": "a"}]}, "unsupported_nested_questions"),
    ],
)
async def test_a_malformed_question_gets_its_code_and_is_not_put(tmp_path, arguments, code):
    person = Person(["x"])
    result = await desk_with(person, tmp_path)("ask_user_question", **arguments)
    assert result.is_error
    assert code in result.output
    assert person.asked == []


async def test_null_for_the_nested_form_is_ignored(tmp_path):
    assert not (await desk_with(Person(["x"]), tmp_path)("ask_user_question", question="a", questions=None)).is_error


def test_they_never_ask_for_leave():
    assert load("AskUserQuestion").always_allowed
    assert load("ask_user_question").always_allowed


def test_the_model_is_told_of_one_shape():
    schema = load("AskUserQuestion").input_schema()
    assert list(schema["properties"]) == ["questions"]
    assert schema["required"] == ["questions"]
