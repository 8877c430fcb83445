"""Every state of a turn as a picture, on a plain page: light, dark, narrow, with our style alone, and without it."""

from __future__ import annotations

import pytest

from looks import pages, scenes
from looks.pictures import check, picture

pytestmark = pytest.mark.browser

WANTED = [
    *((name, "light", 1000) for name in scenes.SCENES),
    *((name, "dark", 1000) for name in ("waiting", "finished", "prose", "running", "failed")),
    *((name, "light", 400) for name in ("waiting", "finished", "prose", "failed")),
    *((name, "bare", 800) for name in ("finished",)),
    *((name, "none", 700) for name in ("waiting", "finished", "prose")),
]


@pytest.fixture(scope="module")
def sheet(browser):
    """A page to put outputs on."""
    page = browser.page()
    browser.do(lambda: page.set_content(pages.empty()))
    yield page
    browser.do(page.context.close)


def outputs(name):
    view = scenes.view()
    for event in scenes.SCENES[name]():
        view.feed(event)
    return view.outputs()


@pytest.mark.parametrize(("name", "theme", "width"), WANTED, ids=str)
def test_each_state_looks_as_reviewed(browser, sheet, name, theme, width):
    html = pages.page(outputs(name), theme)

    def take():
        sheet.set_viewport_size({"width": width, "height": 120})
        sheet.evaluate(pages.PUT, html)
        return picture(sheet)

    check(browser, f"{name}-{theme}-{width}", browser.do(take))


@pytest.mark.parametrize("theme", ["light", "dark", "bare"])
@pytest.mark.parametrize("width", [1000, 400])
def test_axe_finds_nothing_serious(browser, sheet, theme, width):
    from axe_playwright_python.sync_playwright import Axe

    html = pages.page([slot for name in scenes.SCENES for slot in outputs(name)], theme)

    def look():
        sheet.set_viewport_size({"width": width, "height": 900})
        sheet.evaluate(pages.PUT, html)
        sheet.evaluate("() => document.querySelectorAll('details').forEach(each => each.open = true)")
        return Axe().run(sheet).response["violations"]

    found = [
        (each["id"], each["impact"], [node["html"][:200] for node in each["nodes"]][:5])
        for each in browser.do(look)
        if each["impact"] in ("serious", "critical")
    ]
    assert found == []


@pytest.mark.parametrize("width", [250, 400, 1000])
def test_nothing_is_wider_than_the_page(browser, sheet, width):
    html = pages.page([slot for name in scenes.SCENES for slot in outputs(name)])

    def measure():
        sheet.set_viewport_size({"width": width, "height": 900})
        sheet.evaluate(pages.PUT, html)
        return sheet.evaluate("() => document.documentElement.scrollWidth")

    assert browser.do(measure) <= width


def test_every_step_costs_one_line(browser, sheet):
    def measure():
        sheet.set_viewport_size({"width": 900, "height": 900})
        sheet.evaluate(pages.PUT, pages.page(outputs("finished")))
        return sheet.evaluate("() => [...document.querySelectorAll('summary')].map(each => each.offsetHeight)")

    heights = browser.do(measure)
    assert [height for height in heights if height] == [24] * len([height for height in heights if height])
