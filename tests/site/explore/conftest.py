"""What the tests of all explorables share: their chapters, their data, and how to open one."""

import itertools
import json
import re

import pytest
from conftest import ROOT, SITE

FOLDER = SITE / "_static" / "explore"
SOURCES = ROOT / "book" / "_explore"
PLACES = {
    name: f"book/{path.stem}.html"
    for path in sorted((ROOT / "book").glob("*.ipynb"))
    for name in re.findall(r":::\{explorable\} (\w+)", path.read_text(encoding="utf-8"))
}
"""The explorables by name, each with the page that shows it."""


SAMPLE = """(count, distribution, seed) =>
    Explorables.math.sample(count, distribution, Explorables.math.makeGenerator(seed))"""
"""So many components, from a generator of their own."""


@pytest.fixture(scope="module")
def scripts(browser):
    """A function that calls JavaScript once for each list of arguments, on a page with the
    explorables' scripts: the name of one of their mathematical functions, or an expression.
    """
    page = browser.new_page()
    for name in PLACES:
        page.add_script_tag(path=FOLDER / f"{name}_data.js")
    page.add_script_tag(path=FOLDER / "explorables.min.js")

    def call(function, trials=((),)):
        if function.isidentifier():
            function = f"Explorables.math.{function}"
        plain = "(_, x) => ArrayBuffer.isView(x) ? [...x] : x"
        text = page.evaluate(
            f"all => JSON.stringify(all.map(given => ({function})(...given)), {plain})",
            [list(given) for given in trials],
        )
        return json.loads(text)

    yield call
    page.close()


@pytest.fixture(scope="module")
def data(scripts):
    """What the build wrote for the explorables."""
    return scripts("() => explorableData")[0]


@pytest.fixture
def explorable(tab, base):
    """A function that opens an explorable in its chapter, at the setting of an address."""

    def begin(name, setting=""):
        page, wrong = tab(f"{base}{PLACES[name]}#{name}:{setting}")
        figure = page.locator(f"[data-explorable={name}]")
        figure.locator(".explorable-app").wait_for()
        # It stands at first as it comes, and a frame later at the setting of the address.
        page.evaluate("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")
        assert not figure.locator("img").is_visible()
        assert wrong == []
        return page, figure

    return begin


@pytest.fixture
def still(explorable):
    """A function that opens an explorable and goes to a setting, for those who want no motion."""

    def begin(name, setting):
        page, figure = explorable(name)
        page.emulate_media(reduced_motion="reduce")
        page.evaluate("address => (location.hash = address)", f"#{name}:{setting}")
        wait_for_state(page, setting)
        return page, figure

    return begin


def wait_for_quiet(figure):
    """Until nothing of an explorable has been drawn anew for 0.3 s."""
    figure.evaluate("""figure => new Promise((done) => {
        const begin = () => setTimeout(() => { observer.disconnect(); done(); }, 300);
        let timer = begin();
        const observer = new MutationObserver(() => { clearTimeout(timer); timer = begin(); });
        observer.observe(figure, { attributes: true, childList: true, subtree: true });
    })""")


def read(figure, name):
    """A readout, in full precision."""
    return float(figure.locator(f"[data-readout={name}]").get_attribute("data-value"))


def state(figure):
    """What an explorable's controls stand at, as text."""
    pairs = figure.get_attribute("data-state").split(":")[1].split(",")
    return dict(pair.split("=") for pair in pairs)


def wait_for_state(page, part):
    """Until the state of an explorable of the page has this part."""
    page.locator(f'[data-state*="{part}"]').wait_for(state="attached")


def drag(page, handle, dx, dy):
    """Drag a handle by so many pixels, and wait until the state has changed."""
    figure = handle.evaluate_handle("handle => handle.closest('[data-explorable]')")
    before = figure.evaluate("figure => figure.dataset.state")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "([figure, before]) => figure.dataset.state !== before", arg=[figure, before]
    )


def check_labels(page, figure, labels, width):
    """Labels under each other keep a line's distance, and end inside the explorable."""
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    places = figure.locator(labels).evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect()).map(r => [r.top, r.right])"
    )
    box = figure.locator(".explorable-app").bounding_box()
    assert max(right for _, right in places) <= box["x"] + box["width"]
    tops = sorted(top for top, _ in places)
    assert len(tops) > 1
    assert min(b - a for a, b in itertools.pairwise(tops)) >= 14
