"""Prose of a model: what it may do to a page (nothing), and what it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_nb.render.blocks import LIMIT, Blocks, split
from cosh_nb.render.markdown import to_html
from render.safe_html import PAYLOADS, Reader, words, wrong


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_that_acts_survives(payload):
    for text in (payload, f"before {payload} after", f"- {payload}", f"| a |\n|---|\n| {payload} |", f"**{payload}**"):
        assert wrong(to_html(text)) == []


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([*PAYLOADS, "\n", "\n\n", "`", "```", "$", "| ", "<", "[", "](", ")", "\\", "  ", "x"]),
        max_size=12,
    )
)
def test_no_mixture_of_payloads_survives_either(parts):
    assert wrong(to_html("".join(parts))) == []


def test_a_link_leads_to_the_web_and_says_where():
    html = to_html("See [the docs](https://x.org/a/b?c=1).")

    assert Reader(html).links == ["https://x.org/a/b?c=1"]
    assert 'rel="noopener"' in html
    assert words(html).strip() == "See the docs (x.org/a/b?c=1)."


def test_a_link_that_says_another_address_is_given_away():
    assert "(evil.example)" in words(to_html("[https://good.example](https://evil.example)"))


def test_a_link_whose_words_are_its_target_is_not_said_twice():
    for text in ("<https://x.org>", "https://x.org", "[x.org](https://x.org)", "[https://x.org/](https://x.org)"):
        assert "(" not in words(to_html(text))


def test_bare_addresses_become_links_without_the_full_stop():
    assert Reader(to_html("Look at https://x.org/a_(b), or (https://y.org/c).")).links == [
        "https://x.org/a_(b)",
        "https://y.org/c",
    ]


def test_an_image_becomes_its_words_and_a_link():
    html = to_html("![a plot](https://x.org/p.png)")

    assert "<img" not in html
    assert words(html).strip() == "image: a plot (x.org/p.png)"


def test_links_to_files_are_words():
    assert words(to_html("[report](out/report.html)")).strip() == "report (out/report.html)"


def test_formulas_reach_the_page_as_they_were_written():
    html = to_html(r"Mean $\bar{x}_1 = \frac{1}{n}\sum_i x_i$ and \(a_b * c_d\), \[ e^{*} \]")

    assert r"$\bar{x}_1 = \frac{1}{n}\sum_i x_i$" in html
    assert r"\(a_b * c_d\)" in html
    assert r"\[ e^{*} \]" in html
    assert "<em>" not in html


def test_a_formula_over_several_lines_keeps_its_rulers_and_dashes():
    source = "$$\na\n= b\n- c\n\\\\\n$$"

    assert words(to_html(source)).strip() == source


def test_prices_are_not_formulas():
    html = to_html("It costs $5 and $10, not $5,000.")

    assert words(html).strip() == "It costs $5 and $10, not $5,000."
    assert 'class="math"' not in html
    assert html.count("<span>$</span>") == 3  # each alone, so that MathJax finds no pair


def test_a_formula_that_would_link_or_style_is_shown_as_code():
    assert to_html(r"$\href{https://x.org}{x}$").strip() == r"<p><code>$\href{https://x.org}{x}$</code></p>"


def test_headings_are_two_levels_down():
    assert to_html("# One\n\n#### Four").split() == ["<h3>One</h3>", "<h6>Four</h6>"]


def test_code_is_highlighted_with_classes():
    html = to_html("```python\ndef f():\n    return 'x'  # y\n```")

    assert "<span class=hk>def</span>" in html
    assert "style=" not in html
    assert words(html).strip() == "def f():\n    return 'x'  # y"


def test_task_lists_show_boxes():
    assert words(to_html("- [x] done\n- [ ] open")).split() == ["☑", "done", "☐", "open"]


def test_a_table_of_ten_thousand_columns_shows_forty():
    table = "|" + "a|" * 1500 + "\n|" + "-|" * 1500 + "\n|" + "b|" * 1500
    html = to_html(table)

    assert html.count("<td>") + html.count("<th>") < 200
    assert wrong(html) == []
    assert len(to_html("|" + "a|" * 10_000 + "\n|" + "-|" * 10_000)) < 200_000


def test_right_to_left_text_cannot_turn_the_line_round():
    assert words(to_html("run \u202egnp.exe")).strip() == "run ⟨U+202E⟩gnp.exe"


def test_a_list_from_right_to_left_begins_at_the_right():
    assert to_html("- שלום").startswith('<ul dir="auto">')
    assert to_html("- peace").startswith("<ul>")


def test_lone_surrogates_become_a_sign_that_can_be_sent():
    to_html("x\ud83d y").encode("utf-8")


@pytest.mark.parametrize(
    "source",
    [
        "x" * 300_000,
        "word " * 60_000,
        "[" * 50_000,
        "*a " * 30_000,
        "`" * 50_000,
        "> " * 20_000,
        "- " * 20_000,
        "<" * 50_000,
        "$" * 50_000,
        "![" * 30_000,
        "|" * 50_000,
        "\\(" * 30_000,
        "https://x " * 20_000,
        "&amp;" * 30_000,
        "</div>" * 50_000,
    ],
)
def test_floods_are_drawn_in_bounded_time(source):
    import time

    started = time.process_time()
    html = to_html(source)

    assert time.process_time() - started < 8
    assert len(html) < 40 * len(source)


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_a_block_ends_at_a_blank_line_outside_a_fence():
    assert split("a\n\nb\n\n```\nc\n\nd\n```\ne\n") == ["a\n\n", "b\n\n", "```\nc\n\nd\n```\n", "e\n"]


def test_a_list_stays_one_block():
    assert split("1. a\n\n   more\n\n2. b\n\nafter") == ["1. a\n\n   more\n\n2. b\n\n", "after"]


def test_a_long_fence_goes_on_as_a_fence_in_the_next_block():
    source = "```python\n" + "x = 1\n" * 2_000 + "```\nafter"
    blocks = split(source)

    assert len(blocks) > 3
    assert all(block.startswith("```python\n") and block.rstrip().endswith("```") for block in blocks[:-1])
    assert sum(block.count("x = 1\n") for block in blocks) == 2_000


def test_a_long_table_repeats_its_head():
    source = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 1_000
    blocks = split(source)

    assert len(blocks) > 2
    assert all(block.startswith("| a | b |\n|---|---|\n") for block in blocks)
    assert sum(block.count("| 1 | 2 |") for block in blocks) == 1_000


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab \n`#-1.|$\\>", max_size=400), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_blocks_do_not_depend_on_how_the_text_arrives(source, steps):
    blocks = Blocks()
    found, at, turn = [], 0, 0
    while at < len(source):
        size = steps[turn % len(steps)]
        found += blocks.feed(source[at : at + size])
        at, turn = at + size, turn + 1
    found += blocks.close()

    assert found == split(source)
    assert all(len(block) < LIMIT * 2 for block in found)
