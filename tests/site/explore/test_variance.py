import itertools
import math
import re

import pytest
import torch
from playwright.sync_api import expect

import sdpa_lib as sdpa

from .conftest import check_labels, read, wait_for_quiet, wait_for_state


def derived(d_k, mu_q=0.0, mu_k=0.0):
    """The library's variance over d_k, for components that are independent."""
    normal = sdpa.get_distribution("normal")
    moments = sdpa.exact_moments(d_k, query=normal.shifted(mu_q), key=normal.shifted(mu_k))
    return moments.variance / d_k


def agrees(figure):
    """What is measured lies within four of its errors of what is derived, up to rounding."""
    text = figure.locator("[data-readout=measured]").inner_text()
    measured, error = (float(number) for number in text.split(" ± "))
    digit = 10.0 ** -len(text.split(".")[-1]) if "." in text else 1.0
    return abs(measured - read(figure, "derived")) < 4 * (error + digit / 2) + digit / 2


def drawn(figure):
    """Where the dots stand."""
    return figure.locator("[data-panel=dots] .dots circle").evaluate_all(
        "all => all.map(circle => circle.cx.baseVal.value)"
    )


@pytest.mark.parametrize("setting", ["", "mu_q=1,mu_k=1", "rho_q=0.3", "rho_q=0.3,rho_k=0.3"])
@pytest.mark.parametrize("name", sdpa.DISTRIBUTIONS)
def test_the_shape_of_components_does_not_matter(explorable, name, setting):
    page, figure = explorable("variance", f"d_k=32,{setting}")
    before = read(figure, "derived"), drawn(figure)
    figure.get_by_role("combobox", name="drawn from").select_option(name)
    wait_for_state(page, f"components={name}")
    assert read(figure, "derived") == before[0]
    assert agrees(figure)
    assert (drawn(figure) == before[1]) == (name == "normal")


def test_a_mean_moves_the_constant_by_the_keyboard(explorable):
    page, figure = explorable("variance", "d_k=64")
    assert read(figure, "derived") == pytest.approx(derived(64)) == 1
    figure.get_by_label("queries μq").press("Space")
    wait_for_state(page, "mu_q=1,")
    for d_k in (64, 128):
        assert read(figure, "derived") == pytest.approx(derived(d_k, mu_q=1))
        assert agrees(figure)
        figure.get_by_role("slider", name="components of a vector").press("ArrowRight")
        wait_for_state(page, "d_k=128,")
    assert "The constant is 2" in figure.locator(".explorable-formula").inner_text()


def test_correlation_breaks_the_power_where_both_sides_have_it(explorable):
    page, figure = explorable("variance", "d_k=64,rho_q=0.3")
    assert read(figure, "derived") == 1
    assert agrees(figure)
    figure.get_by_label("keys ρk").check()
    wait_for_state(page, "rho_k=0.3")
    assert read(figure, "derived") == pytest.approx(1 + 63 * 0.3 * 0.3)
    assert agrees(figure)
    said = figure.locator(".explorable-formula")
    assert "The power breaks: dk2 in place of dk." in said.inner_text()
    page.evaluate("location.hash = '#variance:d_k=16,rho_q=0.3,rho_k=0.3'")
    wait_for_state(page, "d_k=16,")
    assert "The power breaks at larger dk." in said.inner_text()


@pytest.mark.parametrize("name", sdpa.DISTRIBUTIONS)
def test_the_largest_variance_is_on_its_axis_and_dots_beyond_theirs_are_counted(explorable, name):
    _, figure = explorable(
        "variance", f"d_k=128,components={name},mu_q=1,mu_k=1,rho_q=0.3,rho_k=0.3"
    )
    assert read(figure, "derived") == pytest.approx(3 + 127 * (0.09 + 0.3 + 0.3))
    line = figure.locator("[data-panel=line] svg")
    tops = line.locator(".now > *").evaluate_all("all => all.map(one => one.getBBox().y)")
    assert min(tops) >= 28  # at the upper end of the axis a large point
    assert line.locator(".now circle").count() == 8
    levels = line.locator(".cursor text, .value text").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().y)"
    )
    assert levels[1] - levels[0] >= 14, "one number clear of the other"
    dots = figure.locator("[data-panel=dots] svg")
    out = dots.locator('.dots circle[style*="visibility: hidden"]').count()
    beyond = dots.locator(".bars text").all_text_contents()[1:]
    assert sum(int(text.strip("←→ more")) for text in beyond) == out <= 100
    assert dots.locator(".beyond").count() == out, "an arrow for each"
    for panel in (line, dots):
        assert "NaN" not in panel.inner_html()


@pytest.mark.parametrize("width", [360, 1280])
def test_a_larger_variance_never_looks_narrower(still, width):
    page, figure = still("variance", "d_k=64")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    svg = figure.locator("[data-panel=dots] svg")
    ticks = ["−12", "−8", "−4", "0", "4", "8", "12"]
    bars = []
    for setting in ("mu_q=0", "mu_q=1,mu_k=1", "rho_q=0.3,rho_k=0.3", "mu_q=1,rho_k=0.3"):
        page.evaluate(f"location.hash = '#variance:d_k=64,{setting}'")
        wait_for_state(page, setting.split(",")[-1])
        assert svg.locator(".axis .tick").all_text_contents() == ticks
        bars.append(svg.locator(".bar").evaluate("bar => bar.getBBox().width"))
    stds = [1, math.sqrt(3), math.sqrt(6.67), math.sqrt(20.9)]
    assert [bar / bars[0] for bar in bars] == pytest.approx(stds, rel=1e-3)


GLIDES = """figure => {
    figure.gliding = new Set();
    figure.addEventListener("transitionrun", ({ target, propertyName }) =>
        figure.gliding.add(`${target.closest("g").classList[0]} ${propertyName}`));
}"""
"""Keeps from now on what has begun to glide, by its layer."""


def test_dots_bar_line_and_points_glide_to_where_a_box_brings_them(explorable):
    page, figure = explorable("variance", "d_k=64")
    figure.evaluate(GLIDES)
    figure.get_by_label("keys μk").check()
    wait_for_state(page, "mu_k=1")
    everything = ["dots cx", "now cy", "now d", "spans d"]
    page.wait_for_function(
        "([figure, all]) => all.every((one) => figure.gliding.has(one))",
        arg=[figure.element_handle(), everything],
    )
    page.wait_for_function(
        """figure => [...figure.querySelectorAll(".dots circle")].every((dot) =>
            Math.abs(parseFloat(getComputedStyle(dot).cx) - dot.cx.baseVal.value) < 0.01)""",
        arg=figure.element_handle(),
    )


def test_nothing_glides_for_those_who_want_no_motion(still):
    page, figure = still("variance", "d_k=64")
    figure.evaluate(GLIDES)
    figure.get_by_label("keys μk").check()
    wait_for_state(page, "mu_k=1")
    page.evaluate("new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))")
    assert figure.evaluate("figure => figure.gliding.size") == 0


def test_heights_of_dots_know_nothing_of_the_draws(explorable):
    """Of places and heights neither the correlation nor that of the heights with distance from
    the middle is larger than chance makes it for 400 dots.
    """
    _, figure = explorable("variance", "d_k=16,components=rademacher,mu_q=1,rho_q=0.3,rho_k=0.3")
    places = figure.locator("[data-panel=dots] .dots circle").evaluate_all(
        "all => all.map(c => [c.cx.baseVal.value, c.cy.baseVal.value])"
    )
    x, y = torch.tensor(places, dtype=torch.float64).T
    for pair in ((x, y), ((x - x.mean()).abs(), y)):
        assert torch.corrcoef(torch.stack(pair))[0, 1].abs().item() < 4 / math.sqrt(len(places))


def test_the_bar_is_one_standard_deviation(explorable):
    _, figure = explorable("variance", "d_k=16,mu_q=1,mu_k=1")
    text = figure.locator("[data-panel=dots] .bars text").first.text_content()
    assert text == f"±{math.sqrt(derived(16, 1, 1)):.2f}"


@pytest.mark.parametrize(
    ("setting", "lines"),
    [
        ("", ["Var(q·k)/dk = 1", "All assumptions of the proof hold"]),
        ("rho_q=0.3", ["Var(q·k)/dk = 1", "A correlation on one side alone moves nothing."]),
        ("within=row", ["Var(q·k − row’s mean)/dk = 1", "Without μk the row’s mean is 0 already"]),
        ("mu_k=1", ["Var(q·k)/dk = 1 + μk2 = 2", "The constant is 2"]),
        (
            "mu_q=1,rho_k=0.3",
            [
                "Var(q·k)/dk = 1 + μq2 + (dk − 1)μq2ρk = 2 + 63 · 0.3 = 20.9",
                "The power breaks",
            ],
        ),
    ],
)
def test_the_formula_has_the_terms_that_are_not_zero(explorable, setting, lines):
    _, figure = explorable("variance", setting)
    said = figure.locator(".explorable-line").all_text_contents()
    assert len(said) == len(lines)
    assert all(text.startswith(line) for text, line in zip(said, lines, strict=True))


@pytest.mark.parametrize("name", sdpa.DISTRIBUTIONS)
def test_another_distribution_is_answered_while_nothing_is_dropped(explorable, name):
    page, figure = explorable("variance", f"components={name}")
    said = figure.locator(".explorable-formula")
    shape = "Another shape of the same mean and variance moves nothing"
    question = "All assumptions of the proof hold"
    assert (shape in said.inner_text()) == (name != "normal")
    assert (question in said.inner_text()) == (name == "normal")
    figure.get_by_label("keys μk").check()
    wait_for_state(page, "mu_k=1")
    assert said.inner_text().endswith("The constant is 2; the power holds: the line is level.")


def test_boxes_are_heard_with_what_they_set(explorable):
    _, figure = explorable("variance")
    heard = figure.get_by_role("checkbox").evaluate_all(
        "all => all.map(box => document.getElementById("
        "box.getAttribute('aria-describedby')).textContent)"
    )
    assert heard == ["mean 1", "mean 1", "correlation 0.3", "correlation 0.3", "pairs"]


EVERY_SETTING = ["".join(boxes) for boxes in itertools.product("01", repeat=4)]
"""For μ_q, μ_k, ρ_q, and ρ_k in this order, whether its box is ticked."""


def address(boxes):
    """The part of a state with these boxes ticked."""
    values = zip(("mu_q", "mu_k", "rho_q", "rho_k"), boxes, ("1", "1", "0.3", "0.3"), strict=True)
    return ",".join(f"{name}={value if on == '1' else 0}" for name, on, value in values)


@pytest.mark.parametrize("width", [360, 1280])
def test_all_lines_that_were_seen_stay_and_are_named_by_what_they_drop(explorable, width):
    page, figure = explorable("variance")
    names = figure.locator("[data-panel=line] .been text")
    for boxes in ("0001", "1111", "0010"):
        page.evaluate(f"location.hash = '#variance:d_k=128,{address(boxes)}'")
        wait_for_state(page, address(boxes))
    assert names.all_text_contents() == ["ρq", "μqμkρqρk"], "of one line the last"
    bold = "all => all.map(name => getComputedStyle(name).fontWeight === '700')"
    assert names.evaluate_all(bold) == [True, False]
    for boxes in EVERY_SETTING:
        page.evaluate(f"location.hash = '#variance:d_k=128,{address(boxes)}'")
        wait_for_state(page, address(boxes))
    assert figure.locator("[data-panel=line] .been path").count() == len(EVERY_SETTING)
    assert names.count() == 8, "so many lines differ at their ends"
    check_labels(page, figure, "[data-panel=line] .been text", width)
    edge = figure.locator("[data-panel=line] svg").bounding_box()
    ends = names.evaluate_all("all => all.map(name => name.getBoundingClientRect().right)")
    assert max(ends) <= edge["x"] + edge["width"]


CHAIN = [
    ("queries and keys get a mean μ of 1", "1100", "stays", "No: lifted, but flat."),
    ("queries get a correlation ρ of 0.3", "0010", "stays", "Yes: stays at 1."),
    ("queries and keys get a correlation ρ of 0.3", "0011", "rises", "Yes: rises with dk."),
    (
        "queries get a mean μ of 1, keys a correlation ρ of 0.3",
        "1001",
        "lifted",
        "No: rises with dk.",
    ),
]
"""The questions: what is asked, the boxes, a guess, and what is said of it."""


@pytest.mark.parametrize("width", [360, 1280])
def test_a_question_is_answered_in_the_drawing_and_stays_until_the_next_is_asked_for(still, width):
    page, figure = still("variance", "d_k=64")
    page.set_viewport_size({"width": width, "height": 800})
    asked = figure.locator(".explorable-asked")
    verdict = figure.get_by_role("group", name="questions").locator("span")
    sketches = figure.locator(".sketches .dashes")
    names = figure.locator("[data-panel=line] .been text")
    wait_for_quiet(figure)
    heights = {figure.locator(".explorable-app").bounding_box()["height"]}
    for number, (words, boxes, guess, heard) in enumerate(CHAIN, 1):
        expect(asked).to_have_text(f"Guess {number} of 4: {words}.")
        assert read(figure, "derived") == 1, "beside the textbook's line"
        assert sketches.count() == 3
        assert names.count() == 0, "nothing else stands at their ends"
        figure.locator(f".{guess} .pill").click()
        wait_for_state(page, address(boxes))
        expect(asked).to_have_text(f"Guess {number} of 4: {words}.")
        expect(verdict).to_have_text(heard)
        assert sketches.count() == 1, "what was guessed stays"
        assert ("guess" in names.all_text_contents()) == heard.startswith("No")
        ticked = figure.get_by_role("checkbox").evaluate_all("all => all.map(box => box.checked)")
        assert ticked == [on == "1" for on in boxes] + [False]
        heights.add(figure.locator(".explorable-app").bounding_box()["height"])
        label = "Next question" if number < len(CHAIN) else "The rule"
        figure.get_by_role("button", name=label).click()
        page.wait_for_function(
            "([asked, words]) => !asked.textContent.includes(words)",
            arg=[asked.element_handle(), words],
        )
        heights.add(figure.locator(".explorable-app").bounding_box()["height"])
    assert max(heights) - min(heights) < 0.5, "nothing jumps"
    expect(asked).to_have_text("A μ lifts the line. A ρ on one side alone leaves it flat.")
    expect(verdict).to_have_text("It rises if the other side has a ρ or a μ.")
    assert not figure.get_by_role("button", name="The rule").is_visible()
    assert sketches.count() == 0
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "rho_k=0,")
    expect(asked).to_contain_text(CHAIN[0][0])
    assert sketches.count() == 3


def test_a_guess_is_made_by_keys_alone(explorable):
    page, figure = explorable("variance")
    figure.get_by_role("button", name="lifted, but flat").press("Enter")
    wait_for_state(page, "mu_q=1,mu_k=1")
    assert figure.get_by_role("button", name="Next question").evaluate(
        "button => button === document.activeElement"
    )
    page.keyboard.press("Enter")
    wait_for_state(page, "mu_q=0,mu_k=0")
    first = figure.get_by_role("button", name="stays at 1")
    assert first.evaluate("button => button === document.activeElement")
    page.keyboard.press("Space")
    wait_for_state(page, "rho_q=0.3")


def test_a_dashed_line_is_pressed_itself_and_the_line_to_drag_stays(explorable):
    page, figure = explorable("variance", "d_k=64")
    lifted = figure.locator(".lifted .dashes")
    lifted.scroll_into_view_if_needed()
    box = lifted.bounding_box()
    page.mouse.click(box["x"] + 20, box["y"] + box["height"] / 2 + 4)
    wait_for_state(page, "d_k=64,mu_q=1,mu_k=1")
    expect(figure).to_contain_text("Yes: lifted, but flat.")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_true_line_comes_slowly_from_the_left(explorable, motion):
    page, figure = explorable("variance")
    page.emulate_media(reduced_motion=motion)
    figure.locator(".lifted .pill").click()
    moving = figure.evaluate(
        "figure => figure.getAnimations({ subtree: true }).map(one => one.effect.target)"
        ".map(target => target.getAttribute('class'))"
    )
    assert any("now" in (name or "") for name in moving) == (motion == "no-preference")
    lasts = figure.locator(".dots circle").evaluate_all(
        "all => [...new Set(all.map(dot => getComputedStyle(dot).transitionDuration))]"
    )
    assert lasts == ["1.2s" if motion == "no-preference" else "0s"], "the dots go along with it"


def test_boxes_work_between_questions_and_what_they_showed_is_not_asked(explorable):
    page, figure = explorable("variance")
    asked = figure.locator(".explorable-asked")
    figure.get_by_label("queries μq").check()
    wait_for_state(page, "mu_q=1,")
    expect(asked).to_have_text("Dropped: μq.")
    button = figure.get_by_role("button", name="Next question")
    assert button.bounding_box()["x"] == pytest.approx(asked.bounding_box()["x"], abs=1)
    assert figure.locator(".sketches .dashes").count() == 0
    figure.get_by_label("keys μk").check()
    wait_for_state(page, "mu_q=1,mu_k=1")
    button.click()
    wait_for_state(page, "mu_q=0,mu_k=0")
    expect(asked).to_have_text(f"Guess 2 of 4: {CHAIN[1][0]}.")
    figure.locator(".stays .pill").click()
    wait_for_state(page, "rho_q=0.3")
    figure.get_by_label("queries μq").check()
    wait_for_state(page, "mu_q=1,")
    expect(asked).to_have_text("Dropped: μq, ρq.")
    assert not re.search("Yes:|No:", figure.inner_text()), "of another line nothing was guessed"
    assert figure.locator(".sketches .dashes").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_the_plot_is_large_and_a_factor_of_2_is_seen(explorable, width):
    page, figure = explorable("variance", "mu_q=1")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    svg = figure.locator("[data-panel=line] svg")
    ends = svg.locator(".been path").evaluate_all("all => all.map(one => one.getBBox().y)")
    assert ends[0] - ends[1] >= 28
    across = svg.locator(".now .curve").evaluate("curve => curve.getBBox().width")
    assert across >= {360: 200, 1280: 500}[width]


@pytest.mark.parametrize("width", [360, 1280])
def test_the_question_stands_on_top_and_is_seen_with_the_drawings_and_boxes(explorable, width):
    page, figure = explorable("variance")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    parts = (
        ".explorable-asked",
        ".explorable-buttons",
        "[data-panel=line]",
        ".explorable-formula",
        "[data-panel=dots]",
        ".explorable-controls",
        ".explorable-readouts",
    )
    places = [figure.locator(part).bounding_box() for part in parts]
    tops = [place["y"] for place in places]
    assert tops == sorted(tops)
    header = 60  # it covers so much of the screen
    first = {360: 2, 1280: 0}[width]  # on a phone the boxes are seen with both drawings
    assert places[5]["y"] + places[5]["height"] - tops[first] <= 800 - header
    assert places[3]["y"] + places[3]["height"] - tops[0] <= 800 - header
    app = figure.locator(".explorable-app").bounding_box()["y"]
    plot = figure.locator("[data-panel=line] svg").bounding_box()
    assert plot["y"] - app <= 150


def test_on_a_phone_the_list_is_not_cut(explorable):
    page, figure = explorable("variance", "components=student_t")
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(200)
    choice = figure.get_by_role("combobox", name="drawn from")
    place, controls = choice.bounding_box(), figure.locator(".explorable-controls").bounding_box()
    assert place["x"] + place["width"] <= controls["x"] + controls["width"]
    assert choice.evaluate("""list => {
        const given = list.offsetWidth;
        list.style.width = "max-content";
        return given >= list.offsetWidth;
    }""")


def test_the_number_glides_with_its_dot(explorable):
    page, figure = explorable("variance", "d_k=64")
    figure.evaluate(GLIDES)
    figure.get_by_label("keys μk").check()
    page.wait_for_function(
        "figure => figure.gliding.has('value transform')", arg=figure.element_handle()
    )
    assert figure.locator(".value text").text_content() == "2.00"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_jumps_and_reset_forgets_the_lines(explorable, width):
    page, figure = explorable("variance")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    app = figure.locator(".explorable-app")
    height = app.bounding_box()["height"]
    been = figure.locator("[data-panel=line] .been path")
    for i, setting in enumerate(("mu_q=1", "rho_k=0.3", "mu_q=1,rho_q=0.3,mu_k=1,rho_k=0.3"), 2):
        page.evaluate(f"location.hash = '#variance:{setting}'")
        wait_for_state(page, setting.split(",")[-1])
        assert been.count() == i  # with the one of now
        assert app.bounding_box()["height"] == pytest.approx(height, abs=0.5)
    page.evaluate("location.hash = '#variance:components=student_t'")
    wait_for_state(page, "components=student_t")
    assert app.bounding_box()["height"] == pytest.approx(height, abs=0.5)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "components=normal")
    assert been.count() == 0, "none beside a question"
    figure.get_by_label("keys μk").check()
    wait_for_state(page, "mu_k=1")
    assert been.count() == 2


@pytest.mark.parametrize("setting", ["", "rho_q=0.3,rho_k=0.3", "rho_k=0.3"])
def test_less_its_rows_mean_the_mean_of_the_keys_is_not_seen(explorable, setting):
    """With independent components, as the chapter measures within rows; else as with no mean."""
    page, figure = explorable("variance", f"d_k=64,mu_q=1,{setting}")
    before = read(figure, "derived"), drawn(figure)
    page.evaluate(f"location.hash = '#variance:d_k=64,mu_q=1,mu_k=1,{setting}'")
    wait_for_state(page, "mu_k=1")
    assert read(figure, "derived") > before[0]
    figure.get_by_label("subtract row means").check()
    wait_for_state(page, "within=row")
    assert read(figure, "derived") == before[0]
    assert drawn(figure) == pytest.approx(before[1], abs=1e-6)
    assert agrees(figure)
    dots = figure.locator("[data-panel=dots]")
    assert "q·k − row’s mean" in dots.locator(".explorable-panel-title").text_content()
    assert "Var(q·k)" not in figure.locator(".explorable-formula").text_content()
    if not setting:
        rows = torch.randn(2000, 64, generator=torch.Generator().manual_seed(3)).double() + 1
        assert before[0] == pytest.approx((rows**2).sum(-1).mean().item() / 64, rel=0.02)
