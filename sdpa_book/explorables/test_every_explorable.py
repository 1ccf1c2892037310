"""What holds for every explorable: it waits, weighs little, and works everywhere and for everyone,
by keyboard, mouse and finger.
"""

import gzip
import re
from functools import partial

import pytest
from playwright.sync_api import TimeoutError as NothingCame

from sdpa_book.explorables import EXPLORABLES
from tests.site.browser import AXE, DRAWN, SITE
from tests.site.letters import faint_letters

from .conftest import FOLDER, HERE, PLACES, act, go, slider, state, wait_for


def test_every_explorable_has_its_parts_and_a_place():
    folders = {path.parent.name for path in HERE.glob("[!_]*/__init__.py")}
    assert {*PLACES} == {*EXPLORABLES} == folders, "the chapters and sdpa_book/explorables"
    for name in EXPLORABLES:
        parts = ("__init__.py", f"{name}.js", f"{name}.css", f"test_{name}.py")
        assert all((HERE / name / part).exists() for part in parts), name
        assert f"export const {name} = {{" in (HERE / name / f"{name}.js").read_text("utf-8")


def test_what_a_style_sheet_calls_by_a_name_is_called_so_by_a_script():
    """Else it hides or places nothing."""
    scripts = "".join(path.read_text("utf-8") for path in HERE.rglob("*.js"))
    sheets = "".join(path.read_text("utf-8") for path in HERE.rglob("*.css"))
    names = set(re.findall(r'\[(?:aria-label|data-panel)="([^"]+)"\]', sheets))
    assert "divisor" in names
    assert [name for name in names if f'"{name}"' not in scripts] == []


def scripts_of(names):
    """Of some explorables, without what all share."""
    return {f"{name}{end}" for name in names for end in ("_data.js", ".min.js")}


def loaded(page):
    """The explorables' scripts that a page has loaded, but for the loader."""
    urls = page.evaluate("performance.getEntriesByType('resource').map(file => file.name)")
    files = {url.rpartition("/")[2] for url in urls if "/explore/" in url}
    return {file for file in files if file.endswith(".js") and "loader" not in file}


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_waits_until_it_is_near_and_weighs_little(tab, base, name):
    """Another one may stand on its page, and be near."""
    beside = scripts_of(other for other in PLACES if PLACES[other] == PLACES[name])
    beside -= scripts_of([name])
    page, _ = tab(f"{base}{PLACES[name]}")
    figure = page.locator(f"[data-explorable={name}]")
    top = figure.evaluate("figure => figure.getBoundingClientRect().top")
    if top - 900 > 600:
        assert figure.locator(".explorable-app").count() == 0
        assert loaded(page) <= beside | ({"explorables.min.js"} if beside else set())
    figure.scroll_into_view_if_needed()
    figure.locator(".explorable-app").wait_for()
    needed = {*scripts_of([name]), "explorables.min.js"}
    assert loaded(page) - beside == needed
    files = [FOLDER / file for file in (*needed, "explorables_loader.js", "explorables.css")]
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
def test_an_explorable_is_accessible_legible_and_fits(begin, name, theme):
    figure, wrong = begin(name, theme=theme)
    page, app = figure.page, figure.locator(".explorable-app")
    assert not figure.locator("img").is_visible()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert faint_letters(app) == {}
        cut_off = app.evaluate("""app => {
            const { left, right } = app.getBoundingClientRect();
            return [...app.querySelectorAll("svg text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < left - 1 || box.right > right + 1;
            }).map((text) => text.textContent);
        }""")
        assert cut_off == []
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run('.explorable').then(r => r.violations.map(v => v.id + ': ' + "
        "v.nodes[0].html.slice(0, 200)))"
    )
    assert violations == wrong == []


@pytest.mark.parametrize("name", PLACES)
def test_a_page_for_lectures_fills_the_screen_and_keeps_the_setting(begin, tab, base, name):
    figure, _ = begin(name)
    there = figure.get_by_role("link", name="For a lecture")
    page, wrong = tab(there.evaluate("link => link.href"), width=1600)
    page.locator(".explorable-app").wait_for()
    page.wait_for_function("""() => {
        const { width, height } = document.querySelector(".explorable-app").getBoundingClientRect();
        return Math.max(width / innerWidth, height / innerHeight) > 0.9;
    }""")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1600
    wait_for(page.locator("figure"), figure.get_attribute("data-state").split(":")[1])
    page.evaluate(AXE)
    assert page.evaluate("axe.run().then(r => r.violations.map(v => v.id))") == []
    back = page.get_by_role("link", name="Back to the chapter").evaluate("link => link.href")
    assert back == base + PLACES[name] + figure.get_attribute("data-state")
    assert wrong == []


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_that_is_not_shown_draws_nothing_impossible(begin, name):
    """On paper its picture stands in its place, and a drawing has no width."""
    figure, wrong = begin(name)
    page = figure.page
    page.emulate_media(media="print")
    page.evaluate(DRAWN)
    assert not figure.locator(".explorable-app").is_visible()
    for way in ("min", "max"):
        figure.evaluate(
            """(figure, way) => {
                for (const button of figure.querySelectorAll("button")) button.click();
                for (const input of figure.querySelectorAll("[type=range]")) {
                    input.value = input[way];
                    input.dispatchEvent(new Event("input"));
                }
            }""",
            way,
        )
        page.evaluate(DRAWN)
    assert wrong == []


def test_coming_back_to_an_explorable_moves_nothing(begin):
    """It is not brought into view again, as it was when the address named it."""
    figure, _ = begin("blend", "z1=5")
    page = figure.page
    page.wait_for_function("scrollY > 0")
    page.evaluate("scrollTo(0, 0)")
    page.evaluate(DRAWN)
    page.evaluate("scrollTo(0, document.querySelector('[data-explorable]').offsetTop - 500)")
    page.evaluate(DRAWN)
    assert figure.bounding_box()["y"] == pytest.approx(500, abs=50)


# ---------------------------------------------------------------- what a reader can use

CONTROLS = """figure => [...figure.querySelectorAll(
    ":is(input, button, [role=slider], [role=button])"
)].filter((one) =>
    one.checkVisibility({ visibilityProperty: true }) && !one.closest(".explorable-foot")
)"""
"""An explorable's controls and handles, as they stand now."""

KEYS = f"""figure => ({CONTROLS})(figure).map((one) => [
    one.closest("[data-panel]")?.dataset.panel, one.parentNode.getAttribute("class"), one.id,
    [...one.parentNode.children].indexOf(one)
].join(" "))"""
"""By what they are known when all has been drawn again."""

APPEARANCE = """figure => {
    const app = figure.querySelector(".explorable-app").cloneNode(true);
    for (const part of app.querySelectorAll(
        ".explorable-handle, .explorable-control, .explorable-foot, .explorable-spoken"
    )) part.remove();
    const attributes = ["aria-label", "aria-pressed", "aria-checked", "d", "x", "y", "cx", "cy",
        "width", "height", "x1", "y1", "transform"];
    const shapes = [...app.querySelectorAll("svg, svg *, button")];
    const drawn = shapes.map((one) => attributes.map((name) => one.getAttribute(name)));
    const text = app.textContent + drawn;
    return text.replace(/\\d+\\.\\d+/g, (number) => Number(number).toFixed(1));
}"""
"""All that an explorable shows but its controls and handles: words, numbers and shapes."""


WORDS = "figure => [...figure.querySelectorAll('svg')].map((one) => one.ariaLabel).join()"
"""What is shown, whatever room it has: on a page for lectures that depends on the way there."""


WAYS = (60, 0), (0, -40), (-60, 0), (0, 120), (250, 0), (-250, 0)
"""How far a mouse drags a handle, across and down, in px: some go one way only."""


def uses(control, hand):
    """The ways in which a hand can use a control: one of them must do something."""
    page = control.owner_frame().page
    tag = control.evaluate("control => control.getAttribute('role') ?? control.localName")
    slides = tag == "slider" or control.get_attribute("type") == "range"
    if hand == "keyboard":
        ways = ["ArrowRight", "ArrowLeft", "Home", "End"] if slides else ["Space"]
        return [partial(control.press, key) for key in ways]
    if not slides:
        return [partial(control.click, force=True)]
    held = control.query_selector("rect.touch") or control

    def move(dx, dy):
        held.scroll_into_view_if_needed()
        box = held.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + dx, y + dy, steps=3)
        page.mouse.up()

    return [partial(move, *by) for by in WAYS]


def does(figure, use):
    """Whether a use changes what is shown, where every number must be one."""
    page = figure.page
    before = figure.evaluate(APPEARANCE)
    use()
    page.evaluate(DRAWN)
    changed = figure.evaluate(APPEARANCE) != before
    if not changed:
        try:  # what it needs may be on its way
            asks = f"([figure, before]) => ({APPEARANCE})(figure) !== before"
            page.wait_for_function(asks, arg=[figure.element_handle(), before], timeout=500)
        except NothingCame:
            return False
    html = figure.locator(".explorable-app").evaluate("app => app.outerHTML")
    wrong = [word for word in ("NaN", "undefined", "Infinity", "∞") if word in html]
    assert wrong == [], figure.get_attribute("data-state")
    return True


@pytest.mark.parametrize("hand", ["keyboard", "mouse"])
@pytest.mark.parametrize("name", PLACES)
def test_every_control_does_something_and_the_address_keeps_it(begin, name, hand):
    """What stands already and what another control has taken away come in a later round."""
    alone = f"explore/{name}.html"
    figure, wrong = begin(name, page=alone)
    page, reset = figure.page, figure.get_by_role("button", name="Reset")
    assert figure.locator(".explorable-title").inner_text().strip()
    first = figure.get_attribute("data-state")
    words = figure.evaluate(WORDS)
    done, left = set(), set()
    for part in range(5):
        for key in figure.evaluate(KEYS):
            keys = figure.evaluate(KEYS)
            if key in done or key not in keys:
                continue
            control = figure.evaluate_handle(f"figure => ({CONTROLS})(figure)[{keys.index(key)}]")
            changed = [does(figure, use) for use in uses(control.as_element(), hand)]
            if changed:
                (done if any(changed) else left).add(key)
        if part == 0:
            state = figure.get_attribute("data-state")
            page.wait_for_function("state => location.hash === state", arg=state)
            page.reload()
            figure.locator(".explorable-app").wait_for()
            wait_for(figure, state.split(":")[1])
            again = figure.evaluate(APPEARANCE)
            lively, _ = begin(name, state.split(":")[1], page=alone, motion="no-preference")
            asks = f"([figure, again]) => ({APPEARANCE})(figure) === again"
            lively.page.wait_for_function(asks, arg=[lively.element_handle(), again])
        if not left - done:
            break
        if part:
            reset.click()
            page.evaluate(DRAWN)
    assert left <= done
    assert done
    reset.click()
    wait_for(figure, first.split(":")[1])
    page.evaluate(DRAWN)
    assert figure.evaluate(WORDS) == words
    assert wrong == []


# ---------------------------------------------------------------- what a page shares

SCRIPTS = {name: (HERE / name / f"{name}.js").read_text(encoding="utf-8") for name in EXPLORABLES}
SHARING = [name for name in PLACES if "shares: COMMON" in SCRIPTS[name]]


def beside(figure, name):
    """The other figures of an explorable's page that share with it, all of them begun."""
    others = [other for other in SHARING if other != name and PLACES[other] == PLACES[name]]
    assert others
    for other in others:
        page = figure.page.locator(f"[data-explorable={other}]")
        page.scroll_into_view_if_needed()
        page.locator(".explorable-app").wait_for()
        yield page


def written(figure):
    """The address, once it is that of a figure."""
    wanted = figure.get_attribute("data-state")
    figure.page.wait_for_function("wanted => location.hash === wanted", arg=wanted)
    return wanted


@pytest.mark.parametrize("name", SHARING)
def test_what_is_chosen_in_one_figure_is_chosen_in_all(begin, name):
    figure, wrong = begin(name, "d_k=16,divisor=d_k")
    others = [*beside(figure, name)]  # they come later
    for other in others:
        wait_for(other, "d_k=16,divisor=d_k")
    act(figure, slider(figure, "width").press, "ArrowRight")
    act(figure, figure.get_by_role("button", name="÷ √d").click)
    assert {"d_k=32", "divisor=sqrt_d_k"} <= set(re.split("[:,]", written(figure)))
    for other in others:
        wait_for(other, "d_k=32,divisor=sqrt_d_k")
    act(others[0], slider(others[0], "width").press, "Home")
    wait_for(figure, "d_k=4,divisor=sqrt_d_k")
    assert "d_k=4,divisor=sqrt_d_k" in written(others[0])
    go(others[0], "d_k=8,divisor=none")
    wait_for(figure, "d_k=8,divisor=none")
    act(others[0], others[0].get_by_role("button", name="Reset").click)
    for one in (figure, *others):
        wait_for(one, "d_k=64,divisor=none")
    assert wrong == []


@pytest.mark.parametrize("name", SHARING)
def test_a_figure_keeps_what_it_does_not_share(begin, name):
    figure, _ = begin(name)
    own = {key: value for key, value in state(figure).items() if key not in ("d_k", "divisor")}
    other = next(beside(figure, name))
    act(other, slider(other, "width").press, "ArrowLeft")
    wait_for(figure, "d_k=32")
    assert {key: state(figure)[key] for key in own} == own


# ---------------------------------------------------------------- fingers

WITH_HANDLES = [name for name in EXPLORABLES if "_shared/handles.js" in SCRIPTS[name]]
PRESSABLE = [name for name in WITH_HANDLES if re.search("draw(Cursor|Sideways)", SCRIPTS[name])]
"""Those whose drawing has one handle, which comes to where one presses."""


@pytest.fixture
def phone(begin):
    """A function that opens an explorable where there is a finger and no mouse."""
    return partial(begin, width=360, has_touch=True)


def swipe(figure, start, dx, dy):
    """A finger comes down at a place and moves by so many pixels: the states on the way."""
    page = figure.page
    finger = page.context.new_cdp_session(page)
    states = []
    for share in range(6):
        place = {"x": start[0] + share / 5 * dx, "y": start[1] + share / 5 * dy}
        kind = "touchMove" if share else "touchStart"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
        page.evaluate(DRAWN)
        states.append(figure.get_attribute("data-state"))
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    return states


def place_in(shape, across=0.5, down=0.5):
    """A place in a shape, which is brought into view."""
    shape.scroll_into_view_if_needed()
    box = shape.bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


@pytest.mark.parametrize("name", WITH_HANDLES)
def test_a_finger_takes_a_handle_all_the_way(phone, name):
    figure, _ = phone(name)
    held = figure.locator(".explorable-handle rect.touch").first
    assert (figure.locator("svg.explorable-pressable").count() == 1) == (name in PRESSABLE)
    ways = ((120, 0), (0, 50), (-60, 0), (0, -50))
    followed = (len({*swipe(figure, place_in(held), *way)}) for way in ways)
    assert any(states > 2 for states in followed)


@pytest.mark.parametrize("name", PRESSABLE)
def test_a_finger_in_the_drawing_moves_the_handle_or_scrolls_the_page(phone, name):
    figure, _ = phone(name)
    page, svg = figure.page, figure.locator("svg.explorable-pressable")
    place = place_in(svg, 0.6, 0.9)  # where one has lanes of their own for other handles
    scrolled = page.evaluate("scrollY")
    assert len({*swipe(figure, place, 3, -120)}) == 1
    page.wait_for_function("before => scrollY > before + 50", arg=scrolled)
    act(figure, page.touchscreen.tap, *place_in(svg, 0.75, 0.9))
    scrolled = page.evaluate("scrollY")
    act(figure, swipe, figure, place_in(svg, 0.75, 0.9), -100, 3)
    assert page.evaluate("scrollY") == scrolled


@pytest.mark.parametrize("name", PRESSABLE)
def test_a_press_in_the_drawing_brings_the_handle_there_for_the_keys(begin, name):
    figure, _ = begin(name)
    page, svg = figure.page, figure.locator("svg.explorable-pressable")
    for across in (0.75, 0.25, 0.6):
        act(figure, page.mouse.click, *place_in(svg, across, 0.9))
    act(figure, page.keyboard.press, "ArrowLeft")
    assert page.evaluate("getSelection().toString()") == ""
