"""HTML as Markdown: what a reader sees, from any HTML at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosh_tools.web.cleaning import cleaned
from cosh_tools.web.markdown import to_markdown


def markdown(html: str) -> str:
    return to_markdown(html, "https://example.org/docs/")[0]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two", "one\n\ntwo"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol start=3><li>x<li>y</ol>", "3. x\n4. y"),
        ("<dl><dt>t<dd>d</dl>", "t\n:   d"),
        ("<a href=x.html>x</a> <a href='#top'>y</a>", "[x](https://example.org/docs/x.html) [y](https://example.org/docs/#top)"),
        ("<img src=/i.png alt=pic><img src='data:image/png;base64,AAAA' alt=inline>", "![pic](https://example.org/i.png)inline"),
        ("<h1>Only</h1>", "# Only"),
        ("<title>T</title><p>x", "# T\n\nx"),
        ("<title>T</title><h1>H</h1>", "# H"),
        ("a &amp; b &lt;c&gt; &nbsp;d", "a & b <c> \N{NO-BREAK SPACE}d"),
        ("<p hidden>no<p>yes", "yes"),
        ("<div style='DISPLAY : none'><div>no</div></div>yes", "yes"),
        ("<style>p{}</style><script>if (a < b) { '</p>' }</script><noscript>no</noscript>yes", "yes"),
        ("<!-- no --><p>yes</p><![CDATA[x]]>", "yes"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("<blockquote>q</blockquote>", "> q"),
        ("<pre>  keep\n    this</pre>", "```\n  keep\n    this\n```"),
        ("</p></div>stray", "stray"),
        ("<b>never <i>closed", "**never *closed***"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_piece_of_html_becomes_the_markdown_a_person_would_write(html, text):
    assert markdown(html) == text


def test_nesting_without_end_neither_fails_nor_takes_long():
    started = time.monotonic()
    assert markdown("<div><b>" * 20_000 + "deep" + "</b></div>" * 20_000).strip("*") == "deep"
    assert time.monotonic() - started < 20


def test_a_huge_page_is_read_as_far_as_anyone_will_be_shown():
    text, whole = to_markdown("<p>some words and <b>more</b></p>" * 40_000, "https://example.org/")
    assert (whole, 100_000 < len(text) < 400_000) == (False, True)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *"<p> </p> <ul> <li> </ul> <table> <tr> <td> </table> <b> </b> </div> <script> </script>".split(),
                *"<!-- --> <pre> </pre> <br/> <title> </title> < > <h1 &#x0; <svg><p> </svg> \0 é </a> &amp;".split(),
                *("<a href='x'>", "<img src=x>", "<div hidden>", "text "),
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_whatever_comes_it_is_balanced_and_never_fails(html):
    small, _whole = cleaned(html, "https://example.org/")
    assert small.count("<div") == small.count("</div>")
    assert small.count("<li") == small.count("</li>")
    assert "<script" not in small
    markdown(html)
