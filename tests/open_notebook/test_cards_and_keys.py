"""What the extension does for our outputs: names, keys, style; and how little for everybody else's."""

from __future__ import annotations

import nbformat
import pytest

from open_notebook.conftest import said, story

pytestmark = pytest.mark.browser

CARD = """
import ipywidgets as w
from IPython.display import display
pressed = []
yes = w.Button(description="Run once", button_style="primary")
no = w.Button(description="Don't run"); no.add_class("cn-quiet")
why = w.Text(placeholder="What should I do instead?")
for b in (yes, no):
    b.on_click(lambda b: pressed.append(b.description))
card = w.VBox([w.HTML("<details><summary>more</summary>x</details>"), w.HBox([yes, no]), why])
card.add_class("cn"); card.add_class("cn-card")
display(card)
"""
FOREIGN = "from IPython.display import HTML\nHTML('<button id=theirs>theirs</button>')"
OURS = "HTML('<div class=\"cn\"><details><summary id=ours>row</summary><input id=field></details></div>')"


def stamped(page, selector):
    return page.js(
        "return [...document.querySelectorAll(arg)].map(e => [e.dataset.lmSuppressShortcuts || '', "
        "e.getAttribute('aria-label') || ''])", selector,
    )  # fmt: skip


@pytest.mark.parametrize("app", ["notebook", pytest.param("lab", marks=pytest.mark.slow)])
def test_controls_of_ours_have_names_and_their_letters_stay_away_from_the_notebook(opens, app):
    page = opens(f"keys_{app}.ipynb", CARD, FOREIGN, OURS, "pressed", app=app)
    for index in (1, 2, 3):
        page.run(index)
    page.wait_button("Run once")

    page.wait_for(lambda: all(mark for mark, _ in stamped(page, ".cn-card button, .cn-card input")), 5, "no stamp")
    named = [["true", "What should I do instead?"]]
    page.wait_for(lambda: stamped(page, ".cn-card input") == named, 5, "the field got no name")
    assert stamped(page, "#ours, #field") == [["true", ""], ["true", ""]]
    assert stamped(page, "#theirs") == [["", ""]]
    before = [cell.source for cell in page.cells()]

    def letters(browser_page):
        browser_page.get_by_role("button", name="Don't run").focus()
        for key in ("m", "d", "d", "x", "r", "0"):
            browser_page.keyboard.press(key)
        field = browser_page.get_by_placeholder("What should I do instead?")
        field.click()
        browser_page.keyboard.type("my dxx")
        browser_page.keyboard.press("Shift+Enter")

    page.do(letters)

    kinds = page.js("return panel.context.model.toJSON().cells.map(c => c.cell_type);")
    assert kinds == ["code"] * 5
    assert [cell.source for cell in page.cells()] == before
    assert page.js("return document.querySelector('.cn-card input').value;") == "my dxx"
    assert page.cell(1).count == 2


def test_y_and_n_answer_the_card_that_has_the_focus(opens):
    page = opens("yes_no.ipynb", CARD, "print(pressed)")
    page.run(1)
    page.wait_button("Run once")
    page.wait_for(lambda: all(mark for mark, _ in stamped(page, ".cn-card button")), 5, "no stamp")

    def keys(browser_page):
        browser_page.get_by_role("button", name="Run once").focus()
        browser_page.keyboard.press("n")
        browser_page.keyboard.press("y")
        browser_page.locator("summary").focus()
        browser_page.keyboard.press("Y")
        browser_page.get_by_placeholder("What should I do instead?").click()
        browser_page.keyboard.type("yny")

    page.do(keys)
    page.run(2)

    assert page.cell(2).text == str(["Don't run", "Run once", "Run once"])


def test_a_notebook_that_is_not_trusted_is_styled_all_the_same(lab, opens):
    book = nbformat.v4.new_notebook()
    html = (
        '<div class="cn"><style>.cn{color:red}</style><details><summary><b class="v">read</b></summary></details></div>'
    )
    output = nbformat.v4.new_output("display_data", {"text/html": html})
    book.cells = [nbformat.v4.new_code_cell("1", outputs=[output])]
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, lab.root / "untrusted.ipynb")
    page = lab.open("untrusted.ipynb")
    try:
        assert page.js("return document.querySelectorAll('.jp-OutputArea-output style').length;") == 0

        shown = page.js(
            "const s = getComputedStyle(document.querySelector('.jp-OutputArea-output .cn summary'));"
            "return [s.display, s.minHeight];"
        )

        assert shown == ["flex", "24px"]
    finally:
        page.close()


def test_a_page_of_another_version_is_told_to_reload(opens):
    page = opens(
        "versions.ipynb",
        story("""
            from cosh_nb.notebook import bridge
            bridge.__version__ = "9.9.9"
            say((await edit(edit_mode="insert", new_source="x")).content)
        """),
    )

    page.run(1)

    assert "The page runs cosh_nb 0.1.0, the kernel 9.9.9: reload the page" in said(page, 1)
    page.wait_js(
        "() => document.body.innerText.includes('cosh_nb 9.9.9 runs in the kernel, 0.1.0 in this page')", 5, "no notice"
    )


def test_a_page_full_of_other_outputs_costs_the_extension_next_to_nothing(opens):
    page = opens("busy.ipynb", "from IPython.display import HTML, display\ndisplay(HTML('<i>x</i>'))")
    page.run(1)

    watched, free = page.js("""
        const spend = async place => {
          const began = performance.now();
          for (let n = 0; n < 2000; n++) {
            const row = document.createElement('div');
            row.innerHTML = '<span>a</span><b>b</b>';
            place.appendChild(row);
          }
          await new Promise(done => setTimeout(done));
          const took = performance.now() - began;
          place.replaceChildren();
          return took;
        };
        const inside = panel.node.querySelector('.jp-OutputArea-output').appendChild(document.createElement('div'));
        const outside = document.body.appendChild(document.createElement('div'));
        const best = [Infinity, Infinity];
        for (let round = 0; round < 5; round++) {
          best[0] = Math.min(best[0], await spend(inside));
          best[1] = Math.min(best[1], await spend(outside));
        }
        inside.remove(); outside.remove();
        return best;
    """)

    assert watched < 3 * free + 50
