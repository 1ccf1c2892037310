"""A figure to move within a notebook: in a frame that holds all it needs."""

import pytest

from sdpa_book.explorables import EXPLORABLES, live, movable
from tests.site.browser import DRAWN


@pytest.fixture
def put_out(monkeypatch):
    """A function that gives what ``movable`` puts out in an open notebook, as HTML."""
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    calls = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: calls.append((bundle, raw)))

    def show(name):
        movable(name)
        (bundle, raw), *others = calls
        assert raw
        assert not others
        assert bundle["image/png"]
        return bundle["text/html"]

    return show


@pytest.mark.parametrize("name", EXPLORABLES)
def test_it_moves_in_a_frame_without_any_request(browser, put_out, name):
    page = browser.new_page(viewport={"width": 900, "height": 900})
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content(f"<body data-jp-theme-light='true'>{put_out(name)}")
    figure = page.frame_locator("iframe").locator("figure")
    figure.locator(".explorable-app").wait_for()
    app = figure.locator(".explorable-app")
    first = app.inner_html()
    moved = False
    for control in app.locator(":is(input, select, button, [role=slider])").all()[:-1]:
        for key in ("ArrowRight", "ArrowLeft", "Space"):
            control.press(key)
            page.evaluate(DRAWN)
            moved = moved or app.inner_html() != first
        if moved:
            break
    assert moved
    height = figure.evaluate("figure => figure.offsetHeight")
    page.wait_for_function(
        "height => document.querySelector('iframe').offsetHeight === height", arg=height
    )
    assert "Link to this setting" not in figure.inner_text()
    assert [url for url in asked if not url.startswith(("about:", "data:", "blob:"))] == wrong == []
    page.close()


def test_run_by_a_command_it_is_a_picture(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not live.is_live()
