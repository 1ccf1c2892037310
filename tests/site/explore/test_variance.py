import itertools
import math
import re

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import check_labels, read, wait_for_state


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
    assert "this ratio grows like dk, the variance like dk2." in said.inner_text()
    page.evaluate("location.hash = '#variance:d_k=16,rho_q=0.3,rho_k=0.3'")
    wait_for_state(page, "d_k=16,")
    assert "The power will break: at larger dk this ratio grows like dk." in said.inner_text()


@pytest.mark.parametrize("name", sdpa.DISTRIBUTIONS)
def test_the_largest_variance_is_on_its_axis_and_dots_beyond_theirs_are_counted(explorable, name):
    _, figure = explorable(
        "variance", f"d_k=128,components={name},mu_q=1,mu_k=1,rho_q=0.3,rho_k=0.3"
    )
    assert read(figure, "derived") == pytest.approx(3 + 127 * (0.09 + 0.3 + 0.3))
    line = figure.locator("[data-panel=line] svg")
    tops = line.locator(".curves > *, .now > *").evaluate_all(
        "all => all.map(one => one.getBBox().y)"
    )
    assert min(tops) >= 0
    points = line.locator(".now circle").evaluate_all("all => all.map(c => c.cy.baseVal.value)")
    assert min(points) >= 30  # below the upper end of the axis
    assert len(points) == 8
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
    page.wait_for_timeout(200)
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
        ("mu_k=1", ["Var(q·k)/dk = 1 + μk2", "= 2", "The constant is 2"]),
        (
            "mu_q=1,rho_k=0.3",
            [
                "Var(q·k)/dk = 1 + μq2 + (dk − 1)μq2ρk",
                "= 2 + 63 · 0.3 = 20.9",
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
    shape = "Another distribution with the same mean and variance leaves the line where it is"
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
    assert names.all_text_contents() == ["none"]
    for boxes in ("0001", "1111", "0010"):
        page.evaluate(f"location.hash = '#variance:d_k=128,{address(boxes)}'")
        wait_for_state(page, address(boxes))
    assert names.all_text_contents() == ["ρk = ρq", "μqμkρqρk"], "those of one line together"
    bold = names.first.locator("tspan").evaluate_all(
        "all => all.filter(part => getComputedStyle(part).fontWeight === '700')"
        ".map(part => part.textContent).join('')"
    )
    assert bold == "ρq"
    for boxes in EVERY_SETTING:
        page.evaluate(f"location.hash = '#variance:d_k=128,{address(boxes)}'")
        wait_for_state(page, address(boxes))
    assert figure.locator("[data-panel=line] .been path").count() == len(EVERY_SETTING)
    assert names.count() == 8, "so many lines differ at their ends"
    check_labels(page, figure, "[data-panel=line] .been text", width)


def test_the_next_question_is_answered_before_it_is_drawn(explorable):
    page, figure = explorable("variance")
    asked = figure.locator(".explorable-asked")
    said = figure.locator(".explorable-formula")
    buttons = figure.get_by_role("group", name="what the line does")
    height = figure.locator(".explorable-app").bounding_box()["height"]
    chain = [
        ("μq and μk", "1100", "stays at 1", "No: lifted, but flat. The constant is 3"),
        ("ρq alone", "0010", "stays at 1", "Yes: stays at 1. A correlation on one side alone"),
        ("ρq and ρk", "0011", "rises with dk", "Yes: rises with dk. The power breaks"),
        ("μq and ρk", "1001", "lifted, but flat", "No: rises with dk. The power breaks"),
    ]
    for names, boxes, answer, heard in chain:
        assert asked.inner_text() == f"Guess before it is drawn: the line with {names} …"
        buttons.get_by_role("button", name=answer).press("Enter")
        wait_for_state(page, address(boxes))
        assert heard in said.inner_text()
        ticked = figure.get_by_role("checkbox").evaluate_all("all => all.map(box => box.checked)")
        assert ticked == [on == "1" for on in boxes] + [False]
        now = figure.locator(".explorable-app").bounding_box()["height"]
        assert now == pytest.approx(height, abs=0.5)
    assert not buttons.is_visible()
    assert asked.inner_text().startswith("A μ lifts the line.")
    figure.get_by_label("queries μq").uncheck()
    wait_for_state(page, "mu_q=0")
    assert not re.search("Yes:|No:", said.inner_text()), "of another line nothing was said"
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "rho_k=0,")
    assert "the line with μq and μk" in asked.inner_text()
    assert buttons.is_visible()


def test_what_was_seen_already_is_not_asked(explorable):
    page, figure = explorable("variance")
    asked = figure.locator(".explorable-asked")
    for name in ("queries μq", "keys μk"):
        figure.get_by_label(name).check()
    wait_for_state(page, "mu_q=1,mu_k=1")
    assert "the line with ρq alone" in asked.inner_text()


@pytest.mark.parametrize("width", [360, 1280])
def test_the_question_stands_on_top_and_is_seen_with_all_it_moves(explorable, width):
    page, figure = explorable("variance")
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    parts = ("formula", "asked", "buttons", "controls", "panels", "readouts")
    places = [figure.locator(f".explorable-{part}").bounding_box() for part in parts]
    tops = [place["y"] for place in places]
    assert tops == sorted(tops)
    ends = [place["y"] + place["height"] for place in places]
    app = figure.locator(".explorable-app").bounding_box()["y"]
    assert ends[parts.index("panels")] - app <= {360: 740, 1280: 720}[width]
    header = 60  # it covers so much of the screen
    assert ends[-1] - tops[1] <= 800 - header
    answers = figure.locator(".explorable-buttons button")
    heights = answers.evaluate_all("all => all.map(one => one.getBoundingClientRect().y)")
    assert len(set(heights)) == 1, "all in a row"


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
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "mu_q=0,")
    assert been.count() == 1


@pytest.mark.parametrize("setting", ["", "rho_q=0.3,rho_k=0.3", "rho_k=0.3"])
def test_less_its_rows_mean_the_mean_of_the_keys_is_not_seen(explorable, setting):
    """With independent components, as the chapter measures within rows; else as with no mean."""
    page, figure = explorable("variance", f"d_k=64,mu_q=1,{setting}")
    before = read(figure, "derived"), drawn(figure)
    page.evaluate(f"location.hash = '#variance:d_k=64,mu_q=1,mu_k=1,{setting}'")
    wait_for_state(page, "mu_k=1")
    assert read(figure, "derived") > before[0]
    figure.get_by_label("minus the row’s mean").check()
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
