import pytest
from markdown_it import MarkdownIt

from cosh_tools.fences import fenced


@pytest.mark.parametrize("text", ["plain", "```\ninside\n```", "a ````` b\n ~~~~~~\n```diff", "`", "", "~~~\n- x"])
def test_nothing_in_a_text_closes_its_fence(text):
    tokens = MarkdownIt().parse(f"before\n\n{fenced(text, 'diff')}\n\nafter")

    assert [token.type for token in tokens if token.type == "fence"] == ["fence"]
    assert next(token.content for token in tokens if token.type == "fence") == f"{text}\n"
