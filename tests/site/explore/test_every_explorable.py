"""What holds for all explorables: they wait, weigh little, and work everywhere and for everyone."""

import gzip
from pathlib import Path

import pytest
from conftest import AXE, SITE
from letters import faint_letters

from sdpa_book.explorables import EXPLORABLES

from .conftest import FOLDER, PLACES, SOURCES


def test_every_explorable_has_its_source_picture_place_and_tests():
    made = {
        path.stem
        for path in (SOURCES / "src").glob("*.js")
        if f"export const {path.stem} = {{" in path.read_text(encoding="utf-8")
    }
    tested = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert made == set(EXPLORABLES), "book/_explore/src and sdpa_book/explorables"
    assert made == set(PLACES), "book/_explore/src and the chapters"
    assert made <= tested


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_stands_in_the_first_two_screens(tab, base, name):
    page, _ = tab(f"{base}{PLACES[name]}", width=1280)
    top = page.locator(f"[data-explorable={name}]").evaluate("e => e.getBoundingClientRect().top")
    assert top <= 2 * 800  # a small laptop


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_waits_until_it_is_near_and_weighs_little(tab, base, name):
    page, _ = tab(f"{base}{PLACES[name]}")
    figure = page.locator(f"[data-explorable={name}]")
    near = figure.evaluate("figure => figure.getBoundingClientRect().top - innerHeight <= 600")
    if not near:
        assert page.locator(".explorable-app").count() == 0
        assert not page.evaluate("'Explorables' in window")
    figure.scroll_into_view_if_needed()
    figure.locator(".explorable-app").wait_for()
    loaded = page.evaluate("performance.getEntriesByType('resource').map(file => file.name)")
    own_folder = [url.rpartition("/")[2] for url in loaded if "/explore/" in url]
    scripts = [file for file in own_folder if file.endswith(".js") and "loader" not in file]
    needed = {f"{name}_data.js", "explorables.min.js", f"{name}.min.js"}
    of_one_setting = {*scripts} - needed
    assert needed <= {*scripts}
    assert [file.rstrip("0123456789.js") for file in of_one_setting] in ([], [f"{name}_"])
    files = [FOLDER / file for file in (*scripts, "explorables_loader.js", "explorables.css")]
    assert sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) <= 150_000


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_runs_from_a_folder(tab, name):
    page, wrong = tab(f"{(SITE / PLACES[name]).as_uri()}#{name}:")
    page.locator(f"[data-explorable={name}] .explorable-app").wait_for()
    assert wrong == []


@pytest.mark.parametrize("name", PLACES)
def test_a_picture_stands_where_no_script_runs(browser, base, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + PLACES[name])
    picture = page.locator(f"[data-explorable={name}] img")
    picture.scroll_into_view_if_needed()
    assert picture.is_visible()
    assert len(picture.get_attribute("alt")) > 40
    assert picture.evaluate("image => image.complete && image.naturalWidth > 300")
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_is_accessible_and_fits_a_phone(browser, base, name, theme):
    context = browser.new_context(
        viewport={"width": 360, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{base}{PLACES[name]}#{name}:")
    page.locator(f"[data-explorable={name}] .explorable-app").wait_for()
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run('.explorable').then(r => r.violations.map(v => v.id + ': ' + "
        "v.nodes[0].html.slice(0, 200)))"
    )
    assert violations == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_every_text_of_an_explorable_has_a_contrast_of_4_5_to_its_ground(tab, base, name, theme):
    page, _ = tab(f"{base}{PLACES[name]}#{name}:", theme=theme, reduced_motion="reduce")
    app = page.locator(f"[data-explorable={name}] .explorable-app")
    app.wait_for()
    assert faint_letters(app) == {}


def test_coming_back_to_an_explorable_moves_nothing(tab, base):
    page, _ = tab(f"{base}{PLACES['blend']}#blend:z1=5", reduced_motion="reduce")
    figure = page.locator("[data-explorable=blend]")
    figure.locator(".explorable-app").wait_for()
    page.wait_for_function("scrollY > 0")  # to the explorable, as the address asks
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(200)
    page.evaluate("scrollTo(0, document.querySelector('[data-explorable]').offsetTop - 500)")
    page.wait_for_timeout(200)
    assert figure.bounding_box()["y"] == pytest.approx(500, abs=50)


@pytest.mark.parametrize("name", PLACES)
def test_a_page_for_lectures_fills_the_screen_and_keeps_the_setting(tab, base, name):
    chapter, _ = tab(f"{base}{PLACES[name]}#{name}:")
    figure = chapter.locator(f"[data-explorable={name}]")
    there = figure.get_by_role("link", name="For a lecture")
    there.wait_for()
    page, wrong = tab(there.evaluate("link => link.href"), width=1600)
    app = page.locator(".explorable-app")
    app.wait_for()
    page.wait_for_timeout(300)
    size = app.bounding_box()
    assert max(size["width"] / 1600, size["height"] / 900) > 0.9
    assert page.evaluate("document.documentElement.scrollWidth") <= 1600
    state = "figure => figure.dataset.state"
    assert page.locator("figure").evaluate(state) == figure.evaluate(state)
    page.evaluate(AXE)
    assert page.evaluate("axe.run().then(r => r.violations.map(v => v.id))") == []
    back = page.get_by_role("link", name="Back to the chapter").evaluate("link => link.href")
    assert back.split("#")[0] == base + PLACES[name]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "dx", "dy"),
    [
        ("saturation", 0, 50),
        ("blend", -50, 0),
        ("online", 0, 40),
        ("budget", 60, 0),
        ("row", 60, 0),
        ("phases", 60, -60),
        ("power", 60, 0),
        ("scalings", 40, 0),
    ],
)
def test_a_finger_takes_a_handle_all_the_way(phone, name, dx, dy):
    page, figure = phone(name)
    circle = figure.locator(".explorable-handle").first.locator("circle").last
    circle.scroll_into_view_if_needed()
    before = middle(circle)
    swipe(page, before, dx, dy)
    after = middle(circle)
    moved = after[0] - before[0], after[1] - before[1]
    assert moved == pytest.approx((dx, dy), abs=14)


WITH_ONE_HANDLE = ["budget", "depth", "phases", "power", "row", "variance"]


@pytest.mark.parametrize("name", WITH_ONE_HANDLE)
def test_a_press_in_the_drawing_brings_the_handle_there(explorable, name):
    page, figure = explorable(name)
    handle, svg = drawn_handle(figure)
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    y = box["y"] + 0.9 * box["height"]  # where one has lanes of their own for other handles
    for share in (0.25, 0.75):
        before = figure.get_attribute("data-state")
        page.mouse.click(box["x"] + share * box["width"], y)
        wait_for_another_state(page, figure, before)
        assert middle(handle)[0] == pytest.approx(box["x"] + share * box["width"], abs=90)
    before = figure.get_attribute("data-state")
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], y, steps=5)
    page.mouse.up()
    wait_for_another_state(page, figure, before)
    assert page.evaluate("getSelection().toString()") == ""
    before = figure.get_attribute("data-state")
    page.keyboard.press("ArrowRight")  # the handle has the focus
    wait_for_another_state(page, figure, before)


@pytest.mark.parametrize("name", WITH_ONE_HANDLE)
def test_a_finger_in_the_drawing_moves_the_handle_or_scrolls_the_page(phone, name):
    page, figure = phone(name)
    _, svg = drawn_handle(figure)
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    place = box["x"] + 0.6 * box["width"], box["y"] + 0.9 * box["height"]
    before, scrolled = figure.get_attribute("data-state"), page.evaluate("scrollY")
    swipe(page, place, 3, -120)
    page.wait_for_function("before => scrollY > before + 50", arg=scrolled)
    page.wait_for_timeout(200)
    assert figure.get_attribute("data-state") == before
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    place = box["x"] + 0.75 * box["width"], box["y"] + 0.9 * box["height"]
    page.touchscreen.tap(*place)
    wait_for_another_state(page, figure, before)
    before, scrolled = figure.get_attribute("data-state"), page.evaluate("scrollY")
    swipe(page, place, -100, 3)
    wait_for_another_state(page, figure, before)
    assert page.evaluate("scrollY") == scrolled


@pytest.fixture
def phone(browser, base):
    """A function that opens an explorable where there is a finger and no mouse."""
    context = browser.new_context(
        viewport={"width": 360, "height": 800}, has_touch=True, reduced_motion="reduce"
    )

    def begin(name):
        page = context.new_page()
        page.goto(f"{base}{PLACES[name]}#{name}:")
        figure = page.locator(f"[data-explorable={name}]")
        figure.locator(".explorable-app").wait_for()
        return page, figure

    yield begin
    context.close()


def drawn_handle(figure):
    """An explorable's one handle, and the drawing that it is in."""
    svg = figure.locator("svg.explorable-pressable")
    return svg.locator("> .handles .explorable-handle circle").last, svg


def middle(shape):
    """Where a shape is on the screen."""
    box = shape.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def wait_for_another_state(page, figure, before):
    """Until an explorable does not stand any more as it did."""
    page.wait_for_function(
        "([figure, before]) => figure.dataset.state !== before",
        arg=[figure.element_handle(), before],
    )


def swipe(page, start, dx, dy):
    """A finger comes down at a place and moves by so many pixels."""
    finger = page.context.new_cdp_session(page)

    def touch(kind, *points):
        places = [{"x": start[0] + at * dx, "y": start[1] + at * dy} for at in points]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    touch("touchStart", 0)
    for share in range(1, 6):
        touch("touchMove", share / 5)
        page.wait_for_timeout(60)  # a frame, in which all is drawn again
    touch("touchEnd")
