"""The same states in JupyterLab, light and dark, in Notebook 7, without a kernel or trust, and in nbconvert's HTML."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from looks.pictures import check, fonts, picture

pytestmark = pytest.mark.browser

TESTS = Path(__file__).parents[1]
SHOWN = ("waiting", "finished", "prose", "failed")
FACES = (
    ":root,body{--jp-ui-font-family:'Looks'!important;--jp-content-font-family:'Looks'!important;"
    "--jp-code-font-family:'Looks Mono'!important}"
)


@pytest.fixture(scope="module")
def server(plain_lab):
    """JupyterLab without our extension, with a kernel that knows the scenes."""
    plain_lab.kernel("looks", env={"PYTHONPATH": str(TESTS)})
    return plain_lab


@pytest.fixture(scope="module")
def saved(server):
    """A notebook with every state shown by a real kernel, run and saved once."""
    name = server.notebook("looks.ipynb", [f"from looks.show import show; show({name!r})" for name in SHOWN], "looks")
    notebook = server.open(name)
    notebook.run_all()
    notebook.wait_text(len(SHOWN) - 1, "did not answer")
    notebook.save()
    notebook.close()
    return name


@pytest.fixture(scope="module")
def opened(server, saved):
    """The saved notebook, open in JupyterLab."""
    notebook = server.open(saved)
    yield notebook
    notebook.close()


def look(notebook, prefix, theme="Light"):
    """Hold each cell's outputs against its reviewed picture."""
    notebook.command("apputils:change-theme", {"theme": f"JupyterLab {theme}"})
    light = str(theme == "Light").lower()
    notebook.wait_js(f"() => document.body.dataset.jpThemeLight === '{light}'", 20, "the theme did not change")
    notebook.do(lambda page: page.add_style_tag(content=fonts() + FACES))
    for index, name in enumerate(SHOWN):

        def take(page, index=index, name=name):
            page.set_viewport_size({"width": 1100, "height": 1500})
            area = page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea").first
            area.scroll_into_view_if_needed()
            if name == "prose":  # MathJax sets its formulas, and loads their fonts, when it comes to them
                area.locator("mjx-container").first.wait_for()
                page.wait_for_load_state("networkidle")
            page.wait_for_timeout(300)
            return picture(page, area)

        check(notebook.browser, f"{prefix}-{name}", notebook.do(take))


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_in_jupyterlab(opened, theme):
    look(opened, f"lab-{theme.lower()}", theme)


def test_in_notebook_7(server, saved):
    notebook = server.open(saved, "notebook")

    look(notebook, "notebook")
    notebook.close()


def test_without_kernel_and_without_trust(server, saved):
    book = server.saved(saved)
    book.metadata["sent"] = "by mail"  # another content than the one that was signed
    nbformat.write(book, server.root / "sent.ipynb")
    notebook = server.open("sent.ipynb")
    notebook.js("await panel.context.sessionContext.shutdown();")

    assert notebook.js("return document.querySelectorAll('.jp-OutputArea style').length;") == 0
    look(notebook, "untrusted")
    text = notebook.js("return document.querySelector('.jp-Notebook').textContent;")
    assert "✓ Read sales.csv · 3 rows, 2 columns · 12 ms" in text
    notebook.close()


def test_in_the_html_of_nbconvert(server, saved, browser, tmp_path):
    made = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to=html", "--no-input", f"--output-dir={tmp_path}", server.root / saved],
        capture_output=True, text=True, check=False, timeout=90,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    html = (tmp_path / "looks.html").read_text("utf-8")
    page = browser.page(viewport={"width": 1100, "height": 1500})

    def take():
        page.context.set_offline(True)  # MathJax and require.js would come from the network
        page.set_content(html, wait_until="domcontentloaded")
        page.add_style_tag(content=fonts() + FACES)
        return picture(page)

    check(browser, "nbconvert", browser.do(take))
    browser.do(page.context.close)


def test_a_saved_notebook_holds_html_and_plain_text_and_no_widget(server, saved):
    book = server.saved(saved)

    kinds = {kind for cell in book.cells for output in cell.outputs for kind in output.data}
    assert kinds == {"text/html", "text/plain"}
    assert "widgets" not in book.metadata
    assert "Done in 14.2 s" in book.cells[1].outputs[-1].data["text/plain"]


def settle_on(page, row):
    """Focus a row as a person would: once the notebook has done with taking the focus itself."""
    for _ in range(20):
        row.focus()
        page.wait_for_timeout(150)
        if row.evaluate("e => e === document.activeElement"):
            return
    raise AssertionError("the row did not keep the focus")


def test_a_letter_key_on_a_row_does_not_reach_the_notebook(opened):
    opened.select(1)

    def press(page):
        row = page.locator(".jp-Notebook .jp-Cell").nth(1).locator("summary").first
        settle_on(page, row)
        for key in ("d", "d", "m", "x", "b"):
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        return row.evaluate("e => e.parentElement.open")

    assert opened.do(press)
    assert len(opened.cells()) == len(SHOWN)
    assert "Done in 14.2 s" in opened.cell(1).text


def test_tab_reaches_every_row_in_order_and_enter_opens_it(opened):
    opened.select(1)

    def walk(page):
        area = page.locator(".jp-Notebook .jp-Cell").nth(1)
        rows = area.locator("summary:visible").all_inner_texts()
        settle_on(page, area.locator("summary").first)
        seen = []
        for _ in rows:
            seen.append(page.evaluate("() => document.activeElement.innerText"))
            page.keyboard.press("Enter")
            page.keyboard.press("Enter")
            page.keyboard.press("Tab")
        return rows, seen

    rows, seen = opened.do(walk)
    assert seen == rows
    assert len(rows) == 5


def test_axe_finds_nothing_serious_in_jupyterlab(opened):
    from axe_playwright_python.sync_playwright import Axe

    found = opened.do(lambda page: Axe().run(page, context=".jp-OutputArea .cn").response["violations"])

    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")] == []


def test_nothing_that_a_model_or_a_tool_says_acts_in_the_live_notebook(server):
    code = "from looks.show import attack; attack()"
    notebook = server.open(server.notebook("attack.ipynb", [code, "print('still here')"], "looks"))
    notebook.run_all()
    notebook.wait_text(0, "Done in")
    notebook.do(lambda page: page.wait_for_timeout(500))

    assert notebook.js("return window.pwned === undefined;")
    assert notebook.image_requests() == []
    assert notebook.js("return document.querySelectorAll('.cn iframe, .cn script, .cn svg, .cn form').length;") == 0
    assert notebook.js("return document.querySelectorAll('.jp-OutputArea .cn').length;") > 0
    notebook.close()


def test_floods_are_bounded_and_the_page_stays_responsive(server):
    code = "from looks.show import floods; floods()"
    notebook = server.open(server.notebook("floods.ipynb", [code], "looks"))
    notebook.run_all()
    notebook.wait_text(0, "Done in")

    assert len(notebook.cell(0).html) < 1_000_000
    slowest = notebook.js(
        "let last = performance.now(), slowest = 0, left = 30;"
        "await new Promise(done => { const next = () => { const now = performance.now();"
        "slowest = Math.max(slowest, now - last); last = now; panel.content.node.scrollBy(0, 200);"
        "left-- ? requestAnimationFrame(next) : done(); }; requestAnimationFrame(next); });"
        "return slowest;"
    )
    assert slowest < 1_500  # milliseconds of the slowest frame, on a machine that does other things too
    notebook.close()


def test_two_hundred_steps_and_a_long_answer_stay_under_fifty_outputs(server):
    code = "from looks.show import crowd; crowd()"
    notebook = server.open(server.notebook("crowd.ipynb", [code], "looks"))
    notebook.run_all()
    notebook.wait_text(0, "Done in")

    assert len(notebook.cell(0).outputs) < 50
    assert notebook.js("return document.querySelectorAll('.jp-OutputArea-trimmed').length;") == 0
    text = notebook.js("return document.querySelector('.jp-OutputArea').textContent;")
    assert "f199.txt" in text
    assert "Part 100" in text
    notebook.close()
