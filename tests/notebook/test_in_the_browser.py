"""`%%cosh` as a person meets it: real JupyterLab and Notebook 7, real clicks, both ipykernels."""

from __future__ import annotations

import json
import re
import sys
import time

import pytest

from support.modelserver import call, text, turn

pytestmark = pytest.mark.browser

LOAD = "%load_ext cosh_nb"
BASH = {"command": "printf hello > out.txt; cat out.txt"}


@pytest.fixture
def opened(lab, model_server, kernel_envs, request):
    """`opened(cells, app, kernel)` opens a notebook of its own, with the model server behind `%%cosh`."""
    pages = []

    def begin(cells, app="lab", kernel="", **options):
        name = re.sub(r"\W+", "-", request.node.name)
        python = kernel_envs[kernel] if kernel else sys.executable
        lab.kernel(name, python, model_server.env())
        page = lab.open(lab.notebook(f"{name}/book.ipynb", [LOAD, *cells], name), app, **options)
        page.run(0)
        assert page.cell(0).text == ""
        pages.append(page)
        return page

    yield begin
    for page in pages:
        page.close()
    lab.shut_down_kernels()


@pytest.mark.parametrize(
    ("app", "kernel"),
    [
        ("lab", "ipykernel6"),
        ("lab", "ipykernel7"),
        pytest.param("notebook", "ipykernel6", marks=pytest.mark.slow),
        ("notebook", "ipykernel7"),
    ],
)
def test_the_main_job_in_one_cell(opened, lab, model_server, app, kernel):
    script = [[text("I write **it**."), call("Bash", BASH)], turn(text("All done, `out.txt` holds hello."), pause=0.02)]
    model_server.script(*script)
    page = opened(["%%cosh\nwrite hello to out.txt", "print('next', open('out.txt').read())"], app, kernel)

    page.run_all(wait=False)
    page.wait_button("Run once")
    page.wait_for(lambda: page.status() == "busy", 5, "the kernel was not shown as busy")
    assert page.cell(2).outputs == ()
    page.click("Run once")
    page.wait_done()

    assert page.cell(2).text == "next hello"
    assert page.cell(2).count == page.cell(1).count + 1
    assert page.buttons() == []
    page.save()
    name = re.search(r"([\w-]+/book\.ipynb)", page.url)[1]
    book = lab.saved(name)
    assert "widgets" not in book.metadata
    assert {kind for o in book.cells[1].outputs for kind in o.get("data", {})} <= {"text/html", "text/plain"}
    said = "\n".join("".join(o.data["text/plain"]) for o in book.cells[1].outputs)
    assert "All done, `out.txt` holds hello." in said
    assert "you allowed it once" in said

    lab.shut_down_kernels()
    page.reload()
    shown = page.do(lambda p: p.locator(".jp-OutputArea").all_inner_texts())
    assert "All done, out.txt holds hello." in "\n".join(shown)
    assert page.controls() == []


def test_stop_while_the_card_waits_leaves_no_button_and_the_next_cell_works(opened, model_server):
    model_server.script([call("Bash", BASH)], "Works again.")
    page = opened(["%%cosh\ngo", "print('must not run')", "%%cosh\nagain"])
    page.run_all(wait=False)
    page.wait_button("Run once")

    began = time.monotonic()
    page.interrupt()
    page.wait_done()

    assert time.monotonic() - began < 3
    assert page.cell(1).error.startswith("KeyboardInterrupt: cosh: interrupted")
    assert page.cell(2).outputs == ()
    assert page.controls() == []
    page.run(3)
    assert "Works again." in page.cell(3).text


def test_a_card_still_works_after_the_page_was_loaded_again(opened, model_server, lab):
    model_server.script([call("Bash", BASH)], "Done after the reload.")
    page = opened(["%%cosh\ngo", "print(open('out.txt').read())"])
    page.run(1, wait=False)
    page.wait_button("Run once")
    page.save()

    page.reload(wait=False)
    page.click("Run once", 60)
    page.wait_idle()

    model_server.wait_for(2)
    page.run(2)
    assert page.cell(2).text == "hello"


def test_a_card_that_is_scrolled_out_of_view_waits_and_answers(opened, model_server):
    model_server.script(turn(call("Bash", BASH), delay=1.5), "Done.")
    far = [f"%md # Heading {n}\n\n" + "text " * 300 for n in range(40)]
    page = opened(["%%cosh\ngo", *far, "1"])
    page.run(1, wait=False)
    page.select(len(far) + 2)
    page.js("panel.content.scrollToItem(arg, 'start'); panel.content.activate();", len(far) + 2)
    model_server.wait_for(1)
    time.sleep(7)  # longer than a card waits for a page that draws nothing

    assert page.do(lambda p: p.locator(".jp-Stdin").count()) == 0
    page.select(1)
    page.js("panel.content.scrollToItem(1, 'start');")
    if page.do(lambda p: p.locator(".jp-Stdin").count()):
        assert page.buttons() == [], "the card must be closed before a prompt asks"
        page.do(lambda p: p.locator(".jp-Stdin-input").last.fill("y"))
        page.do(lambda p: p.locator(".jp-Stdin-input").last.press("Enter"))
    else:
        page.click("Run once")
    page.wait_done()
    assert "Done." in page.cell(1).text


def test_a_reason_that_is_typed_and_sent_with_enter_arrives_whole(opened, model_server):
    model_server.script([call("Bash", BASH)], "I use altair.")
    page = opened(["%%cosh\nplot it"])
    page.run(1, wait=False)

    page.click("Don’t run")
    page.type_into("optional, e.g. use altair", "use altair, and mind the months", enter=True)
    page.wait_done()

    assert "use altair, and mind the months" in json.dumps(model_server.requests[1]["messages"][-1])
    assert page.controls() == []


def test_a_command_is_corrected_on_the_card(opened, model_server, lab):
    model_server.script([call("Bash", {"command": "echo wrong"})], "Done.")
    page = opened(["%%cosh\ngo"])
    page.run(1, wait=False)

    page.click("Edit")
    page.do(lambda p: p.locator(".jp-OutputArea textarea").fill("printf right"))
    page.click("Run this")
    page.wait_done()

    assert "right" in json.dumps(model_server.requests[1]["messages"][-1])
    assert "you changed and allowed it" in page.cell(1).text


@pytest.mark.parametrize("kernel", ["ipykernel6", "ipykernel7"])
def test_a_background_turn_streams_into_its_own_cell_while_others_run(opened, model_server, kernel):
    model_server.script([text("Working."), call("Bash", BASH)], "Done in the background.")
    page = opened(["%%cosh -b\ngo", "import time; time.sleep(1.5); print('other')"], kernel=kernel)

    page.run(1, timeout=5)
    page.run(2, wait=False)
    page.wait_text(1, "Working.")
    page.wait_done()
    page.click("Run once")
    page.wait_text(1, "Done in the background.")

    assert page.cell(2).text == "other"
    page.wait_for(lambda: page.controls() == [], what="the card stayed")
    page.wait_for(lambda: page.status() == "idle", what="the kernel stayed busy")


HOSTILE = (
    "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>\n\n[click](javascript:window.hurt=3) "
    "![pic](http://127.0.0.1:9/leak.png)\n\n```html\n<script>window.hurt = 4</script>\n```\n\n"
    "| a | b |\n|---|---|\n| <img src=x onerror=window.hurt=5> | <iframe srcdoc='<script>parent.hurt=6</script>'> |\n"
)


def test_hostile_text_of_model_and_tool_does_nothing_in_the_live_page(opened, model_server, lab):
    code = f"print({HOSTILE!r})\nfrom IPython.display import HTML, Markdown, display\n"
    code += f"display(HTML({HOSTILE!r})); display(Markdown({HOSTILE!r}))"
    model_server.script([text(HOSTILE), call("Python", {"code": code})], HOSTILE + "The end.")
    page = opened(["%%cosh --allowed-tools Python\ngo"])

    page.run(1)
    page.wait_text(1, "The end.")
    page.do(lambda p: [row.click() for row in p.locator(".jp-OutputArea summary").all()])
    page.js("await new Promise(done => setTimeout(done, 500));")

    assert page.js("return window.hurt;") is None
    assert page.image_requests() == []
    assert page.do(lambda p: p.locator('.jp-OutputArea a[href^="javascript"]').count()) == 0
    assert page.do(lambda p: p.locator(".jp-OutputArea iframe, .jp-OutputArea script").count()) == 0


def test_a_restart_while_a_card_waits_leaves_a_row_and_no_button(opened, model_server):
    model_server.script([call("Bash", BASH)])
    page = opened(["%%cosh\ngo"])
    page.run(1, wait=False)
    page.wait_button("Run once")

    page.restart()

    page.wait_for(lambda: page.buttons() == [], 20, "a button is left")
    shown = page.do(lambda p: p.locator(".jp-OutputArea").all_inner_texts())
    assert "the kernel was restarted before an answer" in "\n".join(shown)
