import itertools
import math

import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps

from .conftest import check_labels, drag, state, wait_for_state

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}


LINES = {"fresh scores": "start", "descent step": "SGD", "Adam step": "Adam"}


def factors(figure):
    """By line the number at its end, which stands below its name."""
    rows = figure.locator("[data-panel=lines] .curves text").evaluate_all(
        "texts => texts.map(text => [...text.children].map(part => part.textContent))"
    )
    return {LINES[name]: times for name, times in rows}


def power(figure):
    """The handle of the upright line."""
    return figure.get_by_role("slider", name="p, where the line stands")


def written(size):
    """In two digits, or all of those before the point; below 1 as a part."""
    part = size < 0.95
    size = 1 / size if part else size
    text = f"{size:.0f}" if size >= 9.95 else f"{size:.1f}".removesuffix(".0")
    return "×1/" + text if part else "×" + text


def ends(figure):
    """By line the heights at which it begins and ends."""
    return dict(
        figure.locator("[data-panel=lines] path.curve").evaluate_all(
            "paths => paths.map(path => [path.dataset.line, [0, path.getTotalLength()]"
            ".map(at => path.getPointAtLength(at).y)])"
        )
    )


@pytest.mark.parametrize("p", [0, 0.25, 0.5, 0.7, 1])
def test_sizes_are_those_of_the_theorem(explorable, p):
    _, figure = explorable("power", f"p={p}")
    start = math.sqrt(4096) / 4096**p / (math.sqrt(16) / 16**p)
    expected = {"start": start} | {name: 256 ** exponent(p) for name, exponent in STEP.items()}
    assert factors(figure) == {name: written(size) for name, size in expected.items()}


@pytest.mark.parametrize(("p", "flat"), [(0, []), (0.5, ["SGD", "start"]), (1, ["Adam"])])
def test_the_flat_lines_are_named(explorable, p, flat):
    _, figure = explorable("power", f"p={p}")
    level = [name for name, (begin, end) in ends(figure).items() if abs(begin - end) < 0.01]
    assert sorted(level) == flat
    said = figure.locator(".explorable-formula").inner_text()
    assert said.startswith("At p = 0 both steps grow alike.") == (not flat)
    assert ("at p = 1 Adam step." in said) == (flat == ["Adam"])


@pytest.mark.parametrize(
    ("setting", "here"),
    [
        ("p=0.3", "At p = 0.3: all three growing."),
        ("p=0.45", "At p = 0.45: fresh scores nearly flat, the others growing."),
        ("p=0.5", "At p = 0.5: Adam step growing, the others flat."),
        (
            "p=0.55",
            "At p = 0.55: fresh scores nearly flat, descent step shrinking, Adam step growing.",
        ),
        ("p=0.95", "At p = 0.95: Adam step nearly flat, the others shrinking."),
        ("p=1", "At p = 1: Adam step flat, the others shrinking."),
        ("p=0.2,query=zero", "All scores start at 0. At p = 0.2: both growing."),
    ],
)
@pytest.mark.parametrize("width", [360, 1280])
def test_what_goes_on_at_p_is_said_wherever_the_line_stands(explorable, setting, here, width):
    page, figure = explorable("power", "")
    page.set_viewport_size({"width": width, "height": 800})
    said = figure.locator(".explorable-formula")
    height = "said => said.offsetHeight"
    before = said.evaluate(height)
    marks = "guess_start=0.45,guess_SGD=0.75,guess_Adam=0.65"
    page.evaluate(f"location.hash = '#power:{setting},{marks}'")
    wait_for_state(page, setting.split(",")[0])
    assert said.inner_text().startswith(here)
    assert "Now drag" not in said.inner_text()
    assert said.evaluate(height) == before, "what stands below does not move"
    page.evaluate(f"location.hash = '#power:p=1,{marks}'")
    wait_for_state(page, "p=1,")
    page.evaluate(f"location.hash = '#power:{setting},{marks}'")
    wait_for_state(page, setting.split(",")[0])
    assert said.inner_text().startswith(here)
    assert "Flat: at p = 0.5" in said.inner_text()
    assert said.evaluate(height) == before


@pytest.mark.parametrize("query", ["random", "zero"])
def test_names_stand_in_the_order_of_the_ends_and_leaders_do_not_cross(explorable, query):
    page, figure = explorable("power", f"query={query}")
    page.set_viewport_size({"width": 360, "height": 800})
    for at in range(21):
        named = figure.locator("[data-panel=lines] .curves text").evaluate_all(
            "all => all.map(text => [text.firstChild.textContent, text.y.baseVal[0].value])"
        )
        levels = {name: end for name, (_, end) in ends(figure).items()}
        in_order = [levels[LINES[name]] for name, _ in sorted(named, key=lambda one: one[1])]
        assert in_order == pytest.approx(sorted(in_order), abs=0.01)
        leaders = figure.locator("[data-panel=lines] .under line").evaluate_all(
            "all => all.slice(1).map(line => [line.y1.baseVal.value, line.y2.baseVal.value])"
        )
        assert len(leaders) == len(named)
        leaders.sort(key=lambda leader: leader[1])
        starts = [start for start, _ in leaders]
        assert starts == pytest.approx(sorted(starts), abs=0.01)
        if at < 20:
            power(figure).press("ArrowRight")
            wait_for_state(page, f"p={(at + 1) / 20:g},")


def test_the_points_are_the_measurements(explorable, data):
    first = steps.load_steps()["first steps"]
    kinds = {"start": ("SGD", "start"), "SGD": ("SGD", "one step"), "Adam": ("Adam", "one step")}
    for name, (optimiser, kind) in kinds.items():
        for p in steps.FIRST_POWERS:
            means = torch.tensor(first[optimiser][f"{p:g}"][kind]).mean(0)
            stored = data["power"]["lines"][name]["measured"][f"{p:g}"]
            torch.testing.assert_close(torch.tensor(stored), means / means[0], rtol=5e-4, atol=0)
    assert data["power"]["measured_at"] == list(steps.WIDTHS)
    page, figure = explorable("power", "p=0")
    points = figure.locator("[data-panel=lines] path.measured")
    for p in steps.FIRST_POWERS:
        assert float(state(figure)["p"]) == p
        assert points.count() == 3 * len(steps.WIDTHS)
        power(figure).press("ArrowRight")
        wait_for_state(page, f"p={min(1, p + 0.05):.2g}")


def test_the_answer_waits_until_a_flat_line_was_found_and_reset_takes_it_back(explorable):
    page, figure = explorable("power", "p=0")
    said = figure.locator(".explorable-formula")
    been = figure.locator("[data-panel=p] path.been[data-line=SGD]")
    width = "path => path.getBBox().width"
    slider = power(figure)
    slider.press("ArrowRight")
    wait_for_state(page, "p=0.05")
    assert "Which p makes each line flat?" in said.inner_text()
    assert (short := been.evaluate(width)) > 0
    page.evaluate("location.hash = '#power:p=0.6'")
    wait_for_state(page, "p=0.6")
    assert said.inner_text() == (
        "At p = 0.6: Adam step growing, the others shrinking. "
        "Flat: at p = 0.5 fresh scores and descent step. "
        "Is Adam’s step flat anywhere?"
    ), "what was passed over counts"
    slider.press("End")
    wait_for_state(page, "p=1")
    assert said.inner_text() == (
        "At p = 1: Adam step flat, the others shrinking. "
        "Flat: at p = 0.5 fresh scores and descent step, "
        "at p = 1 Adam step. "
        "No p keeps all three."
    )
    assert been.evaluate(width) == pytest.approx(20 * short)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "p=0")
    assert "Which p makes each line flat?" in said.inner_text()
    assert been.evaluate(width) == 0


def test_without_a_start_each_optimiser_keeps_its_step_at_its_own_power(explorable, data):
    """The exponents are those of the other start: halves of the same claims."""
    page, figure = explorable("power", "p=0.5,query=zero")
    assert set(factors(figure)) == {"SGD", "Adam"}
    assert figure.locator("[data-panel=lines] path.measured").count() == 0
    title = figure.locator("[data-panel=lines] .explorable-panel-title")
    assert title.inner_text() == "size over that at dk = 16; the theorem alone"
    said = figure.locator(".explorable-formula")
    assert said.inner_text() == (
        "All scores start at 0. At p = 0.5: descent step flat, Adam step growing. "
        "Flat: at p = 0.5 descent step. "
        "Is Adam’s step flat anywhere?"
    )
    page.evaluate("location.hash = '#power:p=1,query=zero'")
    wait_for_state(page, "p=1,query=zero")
    assert factors(figure)["Adam"] == "×1"
    assert said.inner_text().endswith(
        "Only the step is left to keep now, and under either optimiser one p keeps it."
    )
    figure.get_by_role("checkbox").uncheck()
    wait_for_state(page, "query=random")
    assert "start" in factors(figure)
    assert title.inner_text() == "size over that at dk = 16; points: measured"


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
def test_a_query_matrix_of_zeros_leaves_the_exponent(optimiser):
    kind = steps.OPTIMISERS[optimiser]
    for p in (0.5, 1.0):
        moved = []
        for d_k in (256, 4096):
            problem = steps.make_problem(d_k, seed=0)
            problem.w_q.data.zero_()
            before = steps.scores(problem, p)
            assert not before.any()
            steps.excess(before, problem.partner).backward()
            kind.make([problem.w_q, problem.w_k], kind.rate).step()
            moved.append(steps.scores(problem, p).norm().item())
        assert math.log(moved[1] / moved[0], 16) == pytest.approx(kind.step(p), abs=0.05)


def test_the_handle_sets_the_power(explorable):
    page, figure = explorable("power", "p=0")
    handle = power(figure)
    handle.press("ArrowRight")
    wait_for_state(page, "p=0.05,")
    drag(page, handle, 150, 0)
    assert 0.15 < float(state(figure)["p"]) < 0.6


def lane(figure, name):
    """Where a line's mark can be pressed."""
    return figure.locator("[data-panel=p] .lanes rect").nth(list(LINES.values()).index(name))


def guesses(figure):
    """By line where its mark stands; -0.1 while it is not set."""
    return {name: float(state(figure)[f"guess_{name}"]) for name in LINES.values()}


def test_guesses_are_set_first_and_the_answer_compares_them(explorable):
    page, figure = explorable("power")
    said = figure.locator(".explorable-formula")
    bars = figure.locator("[data-panel=p] .found")
    marks = figure.get_by_role("slider", name="your guess")
    question = said.inner_text()
    assert "Set the three marks" in question
    assert marks.nth(0).get_attribute("aria-valuetext") == "not set"
    marks.nth(0).press("ArrowRight")  # by keyboard
    for _ in range(10):
        marks.nth(0).press("ArrowRight")
    wait_for_state(page, "guess_start=0.5,")
    assert said.inner_text().startswith("Set the other marks too")
    box = lane(figure, "SGD").bounding_box()
    inside = {"x": box["width"] - 8, "y": 12}
    lane(figure, "SGD").click(position=inside)  # by a press
    wait_for_state(page, "guess_SGD=1,")
    assert marks.nth(1).evaluate("mark => mark === document.activeElement")
    drag(page, marks.nth(2), 0.6 * box["width"], 0)  # by dragging
    adam = guesses(figure)["Adam"]
    assert 0.3 < adam < 0.7
    assert said.inner_text().startswith("Your marks are set.")
    assert state(figure)["p"] == "0"
    assert bars.count() == 0
    power(figure).press("End")
    wait_for_state(page, "p=1,")
    assert said.inner_text() == (
        "At p = 1: Adam step flat, the others shrinking. "
        "Flat: at p = 0.5 fresh scores (as you said) and descent step "
        f"(you said 1), at p = 1 Adam step (you said {adam:g}). No p keeps all three."
    )
    assert bars.count() == 3
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "p=0,")
    assert set(guesses(figure).values()) == {-0.1}
    assert said.inner_text() == question


def test_a_press_in_a_lane_sets_its_mark_until_its_line_was_found(explorable):
    page, figure = explorable("power")
    lane(figure, "Adam").scroll_into_view_if_needed()
    box = lane(figure, "Adam").bounding_box()
    place = box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2
    page.mouse.click(*place)
    page.wait_for_function(
        "figure => !figure.dataset.state.includes('guess_Adam=-0.1')", arg=figure.element_handle()
    )
    assert state(figure)["p"] == "0", "the upright line stays"
    page.evaluate("location.hash = '#power:p=1,guess_Adam=0.75'")
    wait_for_state(page, "p=1,")
    before = guesses(figure)
    page.mouse.click(*place)  # now the upright line comes
    page.wait_for_function(
        "figure => !figure.dataset.state.includes('p=1,')", arg=figure.element_handle()
    )
    assert guesses(figure) == before


def test_a_finger_meets_one_mark_only(explorable):
    page, figure = explorable("power")
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_timeout(200)
    places = figure.locator("[data-panel=p] .explorable-handle rect.touch").evaluate_all(
        "all => all.map(rect => rect.getBoundingClientRect()).map(r => [r.top, r.bottom])"
    )
    assert len(places) == 4
    assert min(bottom - top for top, bottom in places) >= 30
    marks = places[1:]
    assert all(b[0] - a[1] >= 2 for a, b in itertools.pairwise(marks))


def test_lanes_tell_whether_a_line_has_grown_or_shrunk_where_one_has_been(explorable):
    _, figure = explorable("power", "p=1,guess_SGD=0.75")
    panel = figure.locator("[data-panel=p]")
    been = panel.locator(".been").evaluate_all(
        "all => all.map(path => [0, path.getTotalLength()].map(at => path.getPointAtLength(at).y))"
    )
    levels = panel.locator(".guesses .explorable-handle").evaluate_all(
        "all => all.map(mark => mark.transform.baseVal[0].matrix.f)"
    )
    exponents = [(0.5, -0.5), *((STEP[name](0), STEP[name](1)) for name in ("SGD", "Adam"))]
    for heights, level, grows in zip(been, levels, exponents, strict=True):
        for height, exponent in zip(heights, grows, strict=True):
            assert (level - height) == pytest.approx(13 * exponent, abs=0.1)


def test_bars_stand_where_the_lines_are_flat(explorable):
    _, figure = explorable("power", "p=1,guess_SGD=0.75")
    panel = figure.locator("[data-panel=p]")
    ticks = dict(
        panel.locator(".axis .tick").evaluate_all(
            "all => all.map(t => [t.textContent, t.transform.baseVal[0].matrix.e])"
        )
    )
    bars = panel.locator(".found").evaluate_all("all => all.map(bar => bar.x1.baseVal.value)")
    assert bars == pytest.approx([ticks["0.5"], ticks["0.5"], ticks["1"]], abs=1)
    marks = panel.locator(".guesses .explorable-handle").evaluate_all(
        "all => all.map(mark => mark.transform.baseVal[0].matrix.e)"
    )
    assert marks[1] == pytest.approx(ticks["0.75"], abs=1)
    assert marks[0] == marks[2] < ticks["0"] - 10


def test_without_a_start_its_mark_is_gone(explorable):
    _, figure = explorable("power", "query=zero")
    assert figure.get_by_role("slider", name="your guess").count() == 2
    names = figure.locator("[data-panel=p] .lanes text").all_text_contents()
    assert names == ["no start", "descent step", "Adam step"]
    assert "Set the two marks" in figure.locator(".explorable-formula").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_of_lines_can_be_read(explorable, theme):
    page, figure = explorable("power", "p=1")
    page.emulate_media(color_scheme=theme)
    contrasts = figure.evaluate("""figure => {
        const context = new OffscreenCanvas(1, 1).getContext("2d");
        const luminance = (colour) => {
            context.fillStyle = colour;
            context.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((part) =>
                part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const app = figure.querySelector(".explorable-app");
        const ground = luminance(getComputedStyle(app).backgroundColor);
        return [...figure.querySelectorAll(".curves text, .lanes text")].map((text) => {
            const own = luminance(getComputedStyle(text).fill);
            return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
        });
    }""")
    assert len(contrasts) == 6
    assert min(contrasts) >= 4.5


@pytest.mark.parametrize(("p", "together"), [(0, ["SGD", "Adam"]), (0.5, ["start", "SGD"])])
def test_lines_that_coincide_lie_at_their_value_and_are_told_apart_by_dashes(
    explorable, p, together
):
    _, figure = explorable("power", f"p={p}")
    looks = {
        line: (path, dashes)
        for line, path, dashes in figure.locator("[data-panel=lines] path.curve").evaluate_all(
            "paths => paths.map(p => "
            "[p.dataset.line, p.getAttribute('d'), getComputedStyle(p).strokeDasharray])"
        )
    }
    (first, dashes), (second, other) = (looks[name] for name in together)
    assert first == second
    assert dashes != other


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("p", [0, 0.5, 1])
def test_labels_stand_apart_and_inside(explorable, p, width):
    page, figure = explorable("power", f"p={p}")
    check_labels(page, figure, "[data-panel=lines] .curves tspan", width)
    check_labels(page, figure, "[data-panel=p] .lanes text", width)
