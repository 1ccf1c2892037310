import itertools
import math
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

import sdpa_lib as sdpa

from .conftest import drag, state, wait_for_quiet, wait_for_state

ERROR = 0.1  # of 400 queries or more: other draws of the same thing

NAMES = {"none": "undivided", "sqrt_d_k": "√d_k", "k_mean": "k_mean", "k_total": "k_total"}
"""The divisors that are compared, and what the panels call them."""


def measures(rescaling, n, d_k, a=1.0):
    """Effective keys and gradient, of draws of the test's own with keys a times as long."""
    q, k, v = (
        sdpa.sample(40, size, d, seed=1, stream=s, device="cpu")
        for s, (size, d) in enumerate(((100, d_k), (n, d_k), (n, 64)))
    )
    gradient = sdpa.attention_gradients(q, a * k, v, rescaling=rescaling).query.norm(dim=-1)
    weights = sdpa.attention_weights(q, a * k, rescaling=rescaling)
    return [sdpa.effective_keys(weights).mean().item(), gradient.median().item()]


def told(figure, panel):
    """What a panel says of every divisor."""
    label = figure.locator(f"[data-panel={panel}] svg").get_attribute("aria-label")
    return {
        name: float(re.search(rf"{re.escape(text)} (<? ?[\d.]+)", label)[1].lstrip("< "))
        for name, text in NAMES.items()
    }


def places(figure, panel="evenness"):
    """Where every divisor's marker stands, from the left."""
    marks = figure.locator(f"[data-panel={panel}] .along path[transform]")
    return dict(zip(NAMES, marks.evaluate_all(PLACES), strict=True))


PLACES = "paths => paths.map(path => path.transform.baseVal[0].matrix.e)"


def moved(before, after):
    """Whose markers have been moved."""
    return {name for name in NAMES if abs(after[name] - before[name]) > 2}


def drawn_curve(figure, panel):
    """The points of a curve: their divisors, and how far they are from the top, in pixels."""
    svg = figure.locator(f"[data-panel={panel}] svg")
    points = np.array(svg.locator("path.curve").evaluate(POINTS))
    (_, low), *_, (_, high) = ticks = svg.locator(".axis").last.evaluate(TICKS)
    decades = len(ticks) - 1  # from 0.1
    return 10 ** (decades * (points[:, 0] - low) / (high - low) - 1), points[:, 1]


POINTS = (
    "path => path.getAttribute('d').slice(1).split('L').map(pair => pair.split(',').map(Number))"
)
TICKS = """axis => [...axis.querySelectorAll('.tick')].map(tick => {
    const { e, f } = tick.transform.baseVal[0].matrix;
    return [tick.textContent, Math.max(e, f) - 0.5]; // D3 draws them half a pixel further on
})"""


LENGTH, KEYS, COMPONENTS = "length of the keys, a", "keys, n", "components, dk"
"""What the sliders are called."""


def slide(page, figure, label, key, part):
    """Press a key on a slider, until all has arrived."""
    figure.get_by_label(label, exact=True).press(key)
    wait_for_state(page, part)
    wait_for_quiet(figure)


def said(figure):
    """The sentence about the slider that was moved last."""
    return figure.locator(".explorable-formula").text_content().replace("\N{NO-BREAK SPACE}", " ")


def asked(figure):
    """The question, or its answer."""
    return figure.locator(".explorable-asked").text_content()


def picks(figure):
    """The buttons of the divisors."""
    return figure.get_by_role("group", name="divisors that move").get_by_role("button")


def go_on(figure, name):
    figure.get_by_role("button", name=name, exact=True).click()
    wait_for_quiet(figure)


@pytest.mark.parametrize("setting", [(32, 64, 1), (32, 64, 10), (256, 16, 0.1), (4, 4, 2)])
def test_what_every_divisor_does_with_longer_keys_is_the_librarys(explorable, setting):
    n, d_k, a = setting
    _, figure = explorable("scalings", f"a={a},n={n},d_k={d_k}")
    keys, gradients = told(figure, "evenness"), told(figure, "gradient")
    for name in NAMES:
        theirs = measures(sdpa.get_rescaling(name), n, d_k, a)
        assert keys[name] == pytest.approx(theirs[0], rel=ERROR)
        if theirs[1] > 0.01:
            assert gradients[name] == pytest.approx(theirs[1], rel=0.15)


@pytest.mark.parametrize(("n", "d_k", "a"), [(4, 4, 1), (32, 64, 10), (256, 16, 0.1)])
@pytest.mark.parametrize("r", [0.3, 1, 20])
def test_the_curve_is_the_librarys(explorable, n, d_k, a, r):
    """Between the stored places, too, and where longer keys have brought it."""
    _, figure = explorable("scalings", f"a={a},n={n},d_k={d_k}")
    divisors, heights = drawn_curve(figure, "evenness")
    (_, none), *_, (_, every) = figure.locator("[data-panel=evenness] .axis").first.evaluate(TICKS)
    height = np.interp(math.log(r * a * d_k**0.5), np.log(divisors), heights)
    keys = n * (none - height) / (none - every)
    theirs = measures(r * a * sdpa.get_rescaling("sqrt_d_k"), n, d_k, a)[0]
    assert keys == pytest.approx(theirs, rel=ERROR)


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
def test_the_curve_has_no_corner(explorable, panel):
    _, figure = explorable("scalings", "a=1")
    points = np.array(figure.locator(f"[data-panel={panel}] path.curve").evaluate(POINTS))
    directions = np.degrees(np.arctan2(*np.diff(points, axis=0).T[::-1]))
    assert np.abs(np.diff(directions)).max() < 3


def test_divisors_are_the_librarys(data):
    table = data["scalings"]
    for name, of_name in table["compared"].items():
        for n, row in zip(table["n"], of_name, strict=True):
            for d_k, ratio in zip(table["d_k"], row, strict=True):
                key = sdpa.sample(2**12 // n, n, d_k, seed=1, device="cpu")
                theirs = sdpa.get_rescaling(name)(key).mean().item() / d_k**0.5
                assert ratio == pytest.approx(theirs, rel=0.03)


QUESTIONS = [
    ("a", (1, 32, 64), (10, 32, 64), "The keys become ten times as long", "Make them longer"),
    ("n", (1, 32, 64), (1, 256, 64), "The row gets 256 keys in place of 32.", "Add the keys"),
    ("d_k", (1, 32, 4), (1, 32, 256), "dk grows from 4 to 256", "Make dk larger"),
]
"""A slider, (a, n, d_k) before and after, how the question begins, and the button to its answer."""

MOVES = [{"k_mean", "k_total"}, {"k_total"}, {"sqrt_d_k", "k_mean", "k_total"}]
"""Which divisors move in each."""


@pytest.mark.parametrize(("question", "moves"), [*zip(QUESTIONS, MOVES, strict=True)])
def test_the_divisors_that_move_are_the_librarys(question, moves):
    _, before, after, *_ = question

    def sizes(a, n, d_k):
        key = a * sdpa.sample(200, n, d_k, seed=1, device="cpu")
        return {
            name: float(torch.as_tensor(sdpa.get_rescaling(name)(key)).mean()) for name in NAMES
        }

    old, new = sizes(*before), sizes(*after)
    assert {name for name in NAMES if abs(new[name] / old[name] - 1) > 0.05} == moves


def test_each_question_is_guessed_drawn_and_judged_and_the_next_waits(explorable):
    _, figure = explorable("scalings")
    for number, ((slider, before, after, question, button), moves) in enumerate(
        zip(QUESTIONS, MOVES, strict=True)
    ):
        assert asked(figure).startswith(question)
        for value in before:
            assert str(value) in state(figure).values()
        old = places(figure)
        wrong = "none" if number else "k_mean"
        guess = moves ^ {wrong}
        for name, pick in zip(NAMES, picks(figure).all(), strict=True):
            if name in guess:
                pick.click()
            expect(pick).to_have_attribute("aria-pressed", str(name in guess).lower())
        assert judged(figure) == []
        assert arrows(figure) == pytest.approx(sorted(old[name] for name in guess))
        assert faint(figure) == []
        go_on(figure, button)
        assert arrows(figure) == pytest.approx(sorted(old[name] for name in guess))
        assert faint(figure) == pytest.approx([old[name] for name in guess - moves])
        assert state(figure) == dict(
            zip(("a", "n", "d_k"), (f"{value}" for value in after), strict=True)
        )
        assert moved(old, places(figure)) == moves
        for name, text in zip(NAMES, picks(figure).all_text_contents(), strict=True):
            signs = ["✓" if name in moves else "✗"] if name in guess else []
            assert re.findall("[✓✗]", text) == signs
            assert ("moved" if name in moves else "stayed") in text
            assert ("→" in text) == (name in moves)
        score = f"{len(guess & moves)} of {len(moves)} found{', 1 wrong' if guess - moves else ''}."
        assert asked(figure).endswith(score)
        heading = figure.locator("[data-panel=evenness] .explorable-panel-title")
        start = before[("a", "n", "d_k").index(slider)]
        assert f"dotted: {slider.replace('_', '')} = {start})" in heading.text_content()
        picks(figure).first.click(force=True)  # too late
        wait_for_quiet(figure)
        expect(picks(figure).first).to_have_attribute("aria-pressed", str("none" in guess).lower())
        last = number == len(QUESTIONS) - 1
        assert ("So kmean alone moved with a and dk" in asked(figure)) == last
        go_on(figure, "Start again" if last else "Next question")
        assert arrows(figure) == []
    assert asked(figure).startswith(QUESTIONS[0][3])
    for pick in picks(figure).all():
        expect(pick).to_have_attribute("aria-pressed", "false")


def arrows(figure, group="g"):
    """Where divisors stood that are guessed to move: the middles of the arrows there."""
    return sorted(
        figure.locator(f"[data-panel=evenness] .along > {group} > path").evaluate_all(
            "heads => heads.map(({ previousElementSibling: line }) => line.x1.baseVal.value + 11)"
        )
    )


def faint(figure):
    """Those of the arrows whose divisors stayed."""
    return arrows(figure, '[style*="opacity: 0.25"]')


def judged(figure):
    """The signs on the buttons, and what their divisors did."""
    return re.findall("✓|✗|moved|stayed", "".join(picks(figure).all_text_contents()))


def test_without_a_guess_nothing_is_judged(still):
    _, figure = still("scalings", "a=1,")
    go_on(figure, "Make them longer")
    assert asked(figure) == "Longer keys: kmean and ktotal move with the curves."
    assert judged(figure) == ["stayed", "stayed", "moved", "moved"]


def test_a_drag_before_the_guess_says_only_what_is_drawn(still):
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    slide(page, figure, LENGTH, "End", "a=10,")
    assert said(figure).startswith("Divided by √dk a query attends to 1.4 of 32 keys")
    assert "→" not in "".join(picks(figure).all_text_contents())
    go_on(figure, "Make them longer")
    assert said(figure).startswith("By kmean")


def test_the_answer_is_drawn_from_where_the_question_begins(explorable):
    """Also for those who have been there already."""
    page, figure = explorable("scalings", "a=10,n=32,d_k=64")
    wait_for_quiet(figure)
    at = page.evaluate("""async () => {
        const figure = document.querySelector("[data-explorable=scalings]");
        const seen = new Set();
        [...figure.querySelectorAll("button")].find(b => b.textContent.startsWith("Make")).click();
        for (let i = 0; i < 90; i++) {
            await new Promise(requestAnimationFrame);
            seen.add(figure.querySelector("path.curve").getAttribute("d"));
        }
        return seen.size;
    }""")
    assert at > 5


def test_the_verdict_waits_until_the_curves_have_arrived(explorable):
    page, figure = explorable("scalings")
    picks(figure).last.click()
    seen = page.evaluate("""async () => {
        const figure = document.querySelector("[data-explorable=scalings]");
        const curve = () => figure.querySelector("path.curve").getAttribute("d");
        const text = () => figure.querySelector(".explorable-picks").textContent;
        [...figure.querySelectorAll("button")].find(b => b.textContent.startsWith("Make")).click();
        const seen = [];
        for (let i = 0; i < 120; i++) {
            await new Promise(requestAnimationFrame);
            seen.push([curve(), text().includes("moved")]);
        }
        return seen;
    }""")
    curves = [curve for curve, _ in seen]
    arrived = curves.index(curves[-1])
    assert arrived > 4
    assert [judged for _, judged in seen].index(True) >= arrived


@pytest.mark.parametrize(("by", "part"), [(LENGTH, "a=0.1,"), (COMPONENTS, "d_k=4")])
def test_the_verdict_goes_when_a_slider_is_moved_and_reset_asks_anew(still, by, part):
    page, figure = still("scalings", "a=1,")
    picks(figure).last.click()
    go_on(figure, "Make them longer")
    assert judged(figure)[-2:] == ["moved", "✓"]
    slide(page, figure, by, "Home", part)
    for key in ("End", "Home"):  # what has gone does not come back
        assert judged(figure) == arrows(figure) == []
        assert asked(figure) == "Try other settings, or go on:"
        expect(picks(figure).last).to_have_attribute("aria-pressed", "false")
        before = figure.get_attribute("data-state")
        figure.get_by_label(by, exact=True).press(key)
        expect(figure).not_to_have_attribute("data-state", before)
        wait_for_quiet(figure)
    expect(figure.get_by_role("button", name="Next question")).to_be_visible()
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "a=1,n=32,")
    assert asked(figure).startswith(QUESTIONS[0][3])


def test_each_slider_moves_the_curve_and_some_divisors(explorable):
    page, figure = explorable("scalings", "a=1")
    for label, part, whose, by in (
        (LENGTH, "a=10,", {"k_mean", "k_total"}, 10),
        (KEYS, "n=256,", {"k_total"}, 1),
        (COMPONENTS, "d_k=256", {"sqrt_d_k", "k_mean", "k_total"}, 2),
    ):
        before, half = places(figure), half_of_the_keys(figure)
        slide(page, figure, label, "End", part)
        assert moved(before, places(figure)) == whose
        assert half_of_the_keys(figure) / half == pytest.approx(by, rel=0.3)


def half_of_the_keys(figure):
    """The divisor with which a query attends to half of its keys."""
    divisors, heights = drawn_curve(figure, "evenness")
    return np.interp(-np.mean([heights.min(), heights.max()]), -heights, divisors)


def test_the_constants_stay_where_they_are_on_the_axis(explorable):
    page, figure = explorable("scalings", "a=1")
    ones = set()
    for key in ("Home", "End"):
        slide(page, figure, LENGTH, key, f"a={'0.1' if key == 'Home' else '10'},")
        (label, low), (_, at), *_ = figure.locator("[data-panel=evenness] .axis").last.evaluate(
            TICKS
        )
        assert label == "0.1"
        stands = places(figure)
        assert stands["none"] == pytest.approx(at, abs=0.1)
        assert stands["sqrt_d_k"] == pytest.approx(at + math.log10(8) * (at - low), abs=0.1)
        ones.add(stands["k_mean"] > stands["sqrt_d_k"])
    assert ones == {True, False}


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
@pytest.mark.parametrize("by", ["handle", "anywhere"])
def test_a_curve_is_dragged_sideways_and_stays_under_the_pointer(explorable, panel, by):
    """Wherever it is taken; up and down nothing changes."""
    page, figure = explorable("scalings", "a=1")
    answer_and_return(page, figure, "a=1,n=32,d_k=64")
    svg = figure.locator(f"[data-panel={panel}] svg")
    taken = svg.locator(".explorable-handle circle").last if by == "handle" else svg
    svg.scroll_into_view_if_needed()
    before, half = places(figure, panel), half_of_the_keys(figure)
    drag(page, taken, 60, 30)
    wait_for_quiet(figure)
    after = places(figure, panel)
    assert moved(before, after) == {"k_mean", "k_total"}
    assert after["k_mean"] - before["k_mean"] == pytest.approx(60, abs=3)
    a = float(state(figure)["a"])
    assert half_of_the_keys(figure) / half == pytest.approx(a, rel=0.01)
    assert said(figure).startswith("By kmean")
    slider = figure.get_by_label(LENGTH, exact=True)
    assert slider.get_attribute("aria-valuetext") == f"× {a:.2g}"


def test_a_press_without_a_drag_moves_nothing(explorable):
    page, figure = explorable("scalings", "n=256")
    svg = figure.locator("[data-panel=evenness] svg")
    svg.scroll_into_view_if_needed()
    slide(page, figure, KEYS, "Home", "n=4,")
    before = figure.get_attribute("data-state"), said(figure)
    svg.click(position={"x": 60, "y": 60})
    wait_for_quiet(figure)
    assert (figure.get_attribute("data-state"), said(figure)) == before


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
def test_a_curve_is_moved_by_keys(explorable, panel):
    page, figure = explorable("scalings", "a=1")
    handle = figure.locator(f"[data-panel={panel}] .explorable-handle")
    assert handle.get_attribute("aria-label") == "the curve, moved by the length of the keys, a"
    for key, part, text in (
        ("ArrowRight", "a=1.059", "× 1.1"),
        ("PageUp", "a=1.88", "× 1.9"),
        ("End", "a=10,", "× 10"),
        ("Home", "a=0.1,", "× 0.10"),
    ):
        handle.press(key)
        wait_for_state(page, part)
        assert handle.get_attribute("aria-valuetext") == text


@pytest.mark.parametrize("setting", ["a=1", "a=0.1", "a=10,n=256,d_k=256", "a=1,n=4,d_k=4"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_handle_is_on_its_curve_and_hides_no_marker(explorable, setting, width):
    page, figure = explorable("scalings", setting)
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    for panel in ("evenness", "gradient"):
        handle = figure.locator(f"[data-panel={panel}] .explorable-handle")
        x, y = handle.evaluate(
            "handle => ['e', 'f'].map(key => handle.transform.baseVal[0].matrix[key])"
        )
        points = np.array(figure.locator(f"[data-panel={panel}] path.curve").evaluate(POINTS))
        assert np.interp(x, *points.T) == pytest.approx(y, abs=0.5)
        marks = figure.locator(f"[data-panel={panel}] .along path[transform]")
        assert min(abs(at - x) for at in marks.evaluate_all(PLACES)) > 15
        assert figure.locator(f"[data-panel={panel}] .handles ~ .along").count() == 1


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
def test_the_handle_goes_with_the_curve_and_not_with_a_divisor(explorable, panel):
    page, figure = explorable("scalings", "a=1,n=32,d_k=64")
    handle = figure.locator(f"[data-panel={panel}] .explorable-handle")

    def place():
        return handle.evaluate("handle => handle.transform.baseVal[0].matrix.e")

    before, of_mean = place(), places(figure)["k_mean"]
    slide(page, figure, KEYS, "End", "n=256")
    assert place() == pytest.approx(before, abs=0.1)
    slide(page, figure, LENGTH, "End", "a=10,")
    assert place() - before == pytest.approx(places(figure)["k_mean"] - of_mean, abs=1)


def test_at_rest_it_is_said_what_is_drawn(still):
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    rest = said(figure)
    keys = told(figure, "evenness")
    assert rest == (
        f"Divided by √dk a query attends to {keys['sqrt_d_k']:g} of 32 keys, by kmean to "
        f"{keys['k_mean']:g}; undivided to {keys['none']:g}, by ktotal to {keys['k_total']:g}."
    )
    go_on(figure, "Make them longer")
    slide(page, figure, LENGTH, "PageDown", "a=6.3")
    for part in ("a=3.9", "a=2.5", "a=1.5", "a=1,"):
        slide(page, figure, LENGTH, "PageDown", part)
    assert said(figure) == rest
    slide(page, figure, KEYS, "ArrowRight", "n=64,")
    assert said(figure).startswith("Only ktotal is a sum over the keys")
    slide(page, figure, KEYS, "ArrowLeft", "n=32,")
    assert said(figure) == rest


@pytest.mark.parametrize(
    ("slider", "key", "name", "panel", "numbers"),
    [
        (LENGTH, "End", "sqrt_d_k", "evenness", "by √dk {then:g} → {now:g}."),
        (KEYS, "End", "k_total", "gradient", "Its gradient {then:g} → {now:g}:"),
        (COMPONENTS, "Home", "none", "evenness", "Undivided knows no dk: {then:g} → {now:g}."),
    ],
)
def test_the_sentence_has_the_numbers_that_are_drawn(still, slider, key, name, panel, numbers):
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    answer_and_return(page, figure, "a=1,n=32,d_k=64")
    then = told(figure, panel)[name]
    before = figure.get_attribute("data-state")
    figure.get_by_label(slider, exact=True).press(key)
    page.wait_for_function(
        "before => document.querySelector('[data-explorable=scalings]').dataset.state !== before",
        arg=before,
    )
    wait_for_quiet(figure)
    assert numbers.format(then=then, now=told(figure, panel)[name]) in said(figure)


def answer_and_return(page, figure, setting):
    """After the first answer it is told what sliders do."""
    go_on(figure, "Make them longer")
    page.wait_for_function("location.hash.includes('a=10,')")
    page.evaluate("address => (location.hash = address)", f"#scalings:{setting}")
    wait_for_state(page, setting)
    wait_for_quiet(figure)


FACTOR = r"([÷×])\s([\d.]*\d)"
"""One of the two that a change of a gradient is made of."""


def factors(text):
    """Those in a sentence, as numbers."""
    return [float(x) if sign == "×" else 1 / float(x) for sign, x in re.findall(FACTOR, text)]


@pytest.mark.parametrize(
    ("slider", "name", "settings", "known"),
    [
        (LENGTH, "sqrt_d_k", [(32, 64, 1), (32, 64, 10)], 10),
        (KEYS, "k_total", [(32, 64, 1), (256, 64, 1)], 1 / 8),
    ],
)
def test_what_a_gradient_changes_by_is_the_librarys(still, slider, name, settings, known):
    """A factor that is known, and what the weights or their number do."""
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    answer_and_return(page, figure, "a=1,n=32,d_k=64")
    n, _, a = settings[1]
    slide(page, figure, slider, "End", f"a={a},n={n},")
    before, after = (measures(sdpa.get_rescaling(name), *setting)[1] for setting in settings)
    first, rest = factors(said(figure))
    assert first == pytest.approx(known, rel=0.02)
    assert first * rest == pytest.approx(after / before, rel=0.2)


def test_the_answer_to_n_says_that_the_curve_changes(still):
    """The same divisor leaves another gradient, where there are more keys."""
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    answer_and_return(page, figure, "a=1,n=4,d_k=64")
    slide(page, figure, KEYS, "End", "n=256")
    gradients = re.search(r"not its gradient: ([\d.]+) → ([\d.]+)\.", said(figure)).groups()
    for gradient, n in zip(gradients, (4, 256), strict=True):
        theirs = measures(sdpa.get_rescaling("k_mean"), n, 64)[1]
        assert float(gradient) == pytest.approx(theirs, rel=0.15)


def test_the_curve_glides_from_shape_to_shape(explorable):
    """As a share of the keys, on an axis that stays."""
    page, figure = explorable("scalings", "n=4")
    axis = figure.locator("[data-panel=evenness] .axis").first
    assert axis.locator(".tick text").all_text_contents() == ["0", "n/2", "n"]
    slider = figure.get_by_label(KEYS, exact=True)
    heights = """async () => {
        const path = () => document.querySelector("[data-panel=evenness] path.curve");
        const at = () => path().getPointAtLength(150).y;
        const seen = [at()];
        for (let i = 0; i < 60; i++) {
            await new Promise(requestAnimationFrame);
            seen.push(at());
        }
        return new Set(seen).size;
    }"""
    wait_for_quiet(figure)
    slider.press("End")
    assert page.evaluate(heights) > 4
    wait_for_quiet(figure)
    page.emulate_media(reduced_motion="reduce")
    slider.press("Home")
    assert page.evaluate(heights) <= 2


def test_marks_and_curve_stay_where_the_slider_was_moved_from(explorable):
    """Small and dotted, until it is there again or another is moved."""
    page, figure = explorable("scalings", "a=1")
    heading = figure.locator("[data-panel=evenness] .explorable-panel-title")
    past = figure.locator("[data-panel=evenness] .before path[transform]")
    assert past.count() == 0
    before, shape = (
        places(figure),
        figure.locator("[data-panel=evenness] path.curve").get_attribute("d"),
    )
    slider = figure.get_by_label(LENGTH, exact=True)
    slider.press("End")
    wait_for_state(page, "a=10,")
    assert dict(zip(NAMES, past.evaluate_all(PLACES), strict=True)) == pytest.approx(before)
    assert figure.locator("[data-panel=evenness] path.past").get_attribute("d") == shape
    assert heading.text_content() == "effective keys, of n (small, dotted: a = 1)"
    for _ in range(5):
        slider.press("PageDown")
    wait_for_state(page, "a=1,")
    assert past.count() == 0
    assert heading.text_content() == "effective keys, of n"
    slider.press("End")
    wait_for_state(page, "a=10,")
    before = places(figure)
    figure.get_by_label(KEYS, exact=True).press("End")
    wait_for_state(page, "n=256")
    wait_for_quiet(figure)
    assert dict(zip(NAMES, past.evaluate_all(PLACES), strict=True)) == pytest.approx(before)
    assert heading.text_content() == "effective keys, of n (small, dotted: n = 32)"
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "a=1,")
    assert past.count() == 0


def test_question_controls_and_upper_plot_are_seen_together_on_a_phone(explorable):
    page, figure = explorable("scalings", "a=10")
    page.set_viewport_size({"width": 360, "height": 800})
    wait_for_quiet(figure)
    parts = [
        ".explorable-asked",
        ".explorable-picks",
        ".explorable-controls",
        ".explorable-formula",
    ]
    boxes = [figure.locator(part).first.bounding_box() for part in parts]
    boxes.append(figure.locator("[data-panel=evenness]").bounding_box())
    for upper, lower in itertools.pairwise(boxes):
        assert upper["y"] + upper["height"] <= lower["y"]
    assert boxes[-1]["y"] + boxes[-1]["height"] - boxes[0]["y"] <= 800 - 52  # under the header


GAPS = """button => {
    const box = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    };
    const [name, verdict, , size] = [...button.children].slice(1).map(box);
    const right = button.getBoundingClientRect().right;
    const between = verdict.width ? [verdict.left - name.right] : [];
    return Math.min(...between, ...[name, verdict, size].map((part) => right - part.right));
}"""
"""The least distance between a divisor's name and what it did, and of its texts from the edge."""


@pytest.mark.parametrize("width", [360, 1280])
def test_a_button_holds_all_that_is_written_on_it(still, width):
    page, figure = still("scalings", "a=1,n=32,d_k=64")
    page.set_viewport_size({"width": width, "height": 800})
    for part in ("Make them longer", "Next question", "Add the keys", "Next question"):
        go_on(figure, part)
        for pick in picks(figure).all():
            pick.click(force=True)
            assert pick.evaluate(GAPS) >= 3
            heights = pick.locator("> *").evaluate_all("all => all.map(e => e.clientHeight)")
            assert max(heights) < 25  # a line each


@pytest.mark.parametrize("a", [1, 10])
def test_the_buttons_have_the_divisors_themselves(explorable, a):
    """Longer keys leave the constants as they are: it is the others that change."""
    _, figure = explorable("scalings", f"a={a},n=32,d_k=64")
    key = a * sdpa.sample(200, 32, 64, seed=1, device="cpu")
    sizes = figure.locator(".explorable-picks .explorable-size").all_text_contents()
    for name, text in zip(NAMES, sizes, strict=True):
        theirs = float(torch.as_tensor(sdpa.get_rescaling(name)(key)).mean())
        assert float(text.replace(",", "")) == pytest.approx(theirs, rel=0.03)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("n", [32, 4])
def test_what_lies_below_the_axis_is_an_arrow_there(still, n, width):
    """Its word is on no curve, the dotted one included."""
    page, figure = still("scalings", f"a=1,n={n},d_k=64")
    page.set_viewport_size({"width": width, "height": 800})
    slide(page, figure, LENGTH, "End", "a=10,")
    panel = figure.locator("[data-panel=gradient] svg")
    assert "undivided < 0.001" in panel.get_attribute("aria-label")
    assert panel.locator(".along path[transform]").count() == len(NAMES) - 1
    assert panel.locator(".along path:not([transform])").count() == 1
    word = panel.locator(".along text", has_text="below")
    assert word.count() == 1
    box = word.evaluate(
        "word => { const b = word.getBBox(); return [b.x, b.y, b.width, b.height]; }"
    )
    left, top, across, down = box
    for curve in panel.locator("path.curve, path.past").all():
        x, y = np.array(curve.evaluate(POINTS)).T
        assert not ((x > left) & (x < left + across) & (y > top) & (y < top + down)).any()


@pytest.mark.parametrize("width", [360, 1024, 1280])
def test_no_setting_changes_the_height(explorable, width):
    page, figure = explorable("scalings", "a=1")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    heights = [figure.bounding_box()["height"]]
    for label, part in ((COMPONENTS, "d_k=4"), (KEYS, "n=4,"), (LENGTH, "a=0.1,")):
        slide(page, figure, label, "Home", part)
        heights.append(figure.bounding_box()["height"])
    for pick in picks(figure).all():
        pick.click()
    for _, _, _, _, button in QUESTIONS:
        for part in (button, "Next question", "Start again"):
            if (there := figure.get_by_role("button", name=part, exact=True)).count():
                there.click()
                wait_for_quiet(figure)
                heights.append(figure.bounding_box()["height"])
                picks(figure).first.click(force=True)
    assert max(heights) - min(heights) < 1
