import itertools
import re

import pytest

from sdpa_book.studies.training import (
    load_plan,
    load_study,
    median_time,
    reported,
    survival,
)

from .conftest import drag, state, wait_for_state

CELLS = {"16-32": "recall, d_k 16", "64-32": "recall, d_k 64", "64-64": "recall, 64 pairs"}


@pytest.fixture(scope="module")
def study():
    """By cell and rescaling the runs that report."""
    comparisons, records = load_plan(), load_study()[1]
    return {cell: reported(records, comparisons[name]) for cell, name in CELLS.items()}


@pytest.fixture
def counts():
    """A function that reads the counts that are drawn, by rescaling."""

    def read_counts(figure):
        return dict(
            figure.locator("[data-panel=models] text[data-rescaling]").evaluate_all(
                "texts => texts.map(text => [text.dataset.rescaling, "
                "[...text.children].map(part => part.textContent).join(', ')])"
            )
        )

    return read_counts


@pytest.mark.parametrize("stop", [20, 80, 200, 400, 600])
@pytest.mark.parametrize("cell", CELLS)
def test_counts_and_medians_are_those_of_the_study(explorable, study, counts, cell, stop):
    _, figure = explorable("budget", f"stop={stop},cell={cell}")
    shown = counts(figure)
    assert list(shown) == ["none", "sqrt_d_k", "d_k", "k_total"]
    for name, text in shown.items():
        runs = study[cell][name]
        learned = sum(run.learned_at is not None and run.learned_at <= stop for run in runs)
        left = len(runs) - learned
        assert text == f"{learned} of {len(runs)} learned" + (f", {left} not yet" if left else "")
        half = median_time(runs).steps
        median = figure.locator(f"[data-readout={name}]").inner_text()
        assert median == (f"{half:.0f}" if half <= stop else f"later than {stop}")
        dots = figure.locator("[data-panel=models] circle.seen")
        assert dots.count() == sum(int(count.split()[0]) for count in shown.values())


def test_nobody_has_seen_that_a_model_never_learns(still, study, counts):
    page, figure = still("budget", "stop=200,cell=64-64,later=waiting")
    times = sorted(run.learned_at for run in study["64-64"]["none"])
    first, last = times[0], times[-1]
    said = figure.locator(".explorable-formula")
    assert counts(figure)["none"] == "0 of 10 learned, 10 not yet"
    assert said.inner_text().endswith(
        "“Not yet” is right: all 10 undivided models do, "
        f"the first at step {first}, the last at step {last}."
    )
    for stop in (400, times[-2]):
        left = sum(time > stop for time in times)
        page.evaluate(f"location.hash = '#budget:stop={stop},cell=64-64,later=waiting'")
        wait_for_state(page, f"stop={stop},cell=64-64,later=waiting")
        assert counts(figure)["none"] == f"{10 - left} of 10 learned, {left} not yet"
        assert said.inner_text().endswith(
            f"“Not yet” is right: the last one does at step {last}."
            if left == 1
            else f"“Not yet” is right: the other {left} do, the last of them at step {last}."
        )
    page.evaluate(f"location.hash = '#budget:stop={times[-2]},cell=64-64'")
    wait_for_state(page, f"stop={times[-2]},cell=64-64,later=hidden")
    assert "Will the last one never learn, or has it not learned yet?" in said.inner_text()
    page.evaluate(f"location.hash = '#budget:stop={last},cell=64-64'")
    wait_for_state(page, f"stop={last}")
    assert said.inner_text().startswith(f"By step {last} all 10 undivided models have learned.")
    page.evaluate("location.hash = '#budget:stop=20,cell=64-64'")
    wait_for_state(page, "stop=20,")
    assert "has seen no model learn" in said.inner_text()
    figure.get_by_role("button", name="They don’t learn").click()
    wait_for_state(page, "later=never")
    assert "has seen no model learn" in said.inner_text()
    assert "“They don’t learn” is wrong: all 10 undivided models do" in said.inner_text()
    figure.get_by_role("button", name="They don’t learn").click()
    wait_for_state(page, "later=hidden")
    assert "is wrong" not in said.inner_text()


def test_an_answer_moves_nothing_and_holds_for_its_cell(still):
    page, figure = still("budget", "stop=40,cell=64-64,later=hidden")
    box = figure.locator(".explorable-app")
    buttons = figure.get_by_role("group", name="those that have not learned")
    height = box.bounding_box()["height"]
    figure.get_by_role("button", name="Not yet").click()
    wait_for_state(page, "later=waiting")
    assert "is right" in figure.locator(".explorable-formula").inner_text()
    assert box.bounding_box()["height"] == height
    figure.get_by_label("what is trained").select_option("64-32")
    wait_for_state(page, "cell=64-32,later=hidden")
    assert figure.locator("circle.unseen").count() == 0
    assert buttons.is_visible()
    figure.get_by_role("slider", name="the study stops at").press("End")
    wait_for_state(page, "stop=600,")
    assert not buttons.is_visible()
    assert box.bounding_box()["height"] == height


@pytest.mark.parametrize("stop", [20, 200, 300, 600])
def test_the_bar_at_the_line_is_the_studys_interval(still, study, stop):
    _, figure = still("budget", f"stop={stop},cell=64-64")
    heights = dict(
        figure.locator(".intervals rect").evaluate_all(
            "all => all.map(bar => [bar.dataset.rescaling, bar.height.baseVal.value])"
        )
    )
    assert list(heights) == ["none", "sqrt_d_k", "d_k", "k_total"]
    unit = (370 - 40 - 32) / 4 - 12  # from no model to all of them, in pixels
    for name, height in heights.items():
        curve = survival(study["64-64"][name])
        at = sum(step <= stop for step in curve.steps) - 1
        assert height == pytest.approx(unit * (curve.high[at] - curve.low[at]), abs=0.1)


@pytest.mark.parametrize("stop", [20, 200, 400])
def test_what_came_later_is_hidden_until_it_is_asked_for(still, study, stop):
    page, figure = still("budget", f"stop={stop},cell=64-64")
    panel = figure.locator("[data-panel=models] svg")
    line = panel.locator(".cursor line").evaluate("line => line.x1.baseVal.value")
    drawn = panel.locator(".under path").evaluate_all(
        "all => all.map(path => path.getBBox()).map(box => box.x + box.width)"
    )
    assert len(drawn) == 2 * 4
    assert max(drawn) <= line + 0.1
    assert panel.locator("circle.unseen").count() == 0
    figure.get_by_role("button", name="Not yet").click()
    wait_for_state(page, "later=waiting")
    runs = [run for name in ("none", "sqrt_d_k", "d_k", "k_total") for run in study["64-64"][name]]
    later = [run for run in runs if run.learned_at is not None and run.learned_at > stop]
    assert panel.locator("circle.unseen").count() == len(later) > 0
    # Dotted, what was not known: a line for each scaling of which a model is left.
    left = {name for name, of in study["64-64"].items() if any(run in later for run in of)}
    assert panel.locator(".never").count() == len(left)


def test_the_rest_is_uncovered_step_by_step_and_the_words_come_after_it(explorable):
    page, figure = explorable("budget", "stop=200,cell=64-64")
    page.evaluate(
        """() => {
            window.seen = [];
            const figure = document.querySelector("[data-explorable=budget]");
            const look = () => {
                const words = figure.querySelector(".explorable-formula").textContent;
                seen.push([figure.querySelectorAll("circle.unseen").length, words]);
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    figure.get_by_role("button", name="Not yet").click()
    page.wait_for_function("seen.at(-1)[1].includes('is right')")
    seen = page.evaluate("seen")
    dots = [count for count, _ in seen]
    assert dots == sorted(dots)
    assert len({*dots}) > 2
    assert {count for count, words in seen if "is right" in words} == {dots[-1]}


def test_the_study_is_stopped_by_slider_handle_and_mouse(explorable):
    page, figure = explorable("budget", "stop=200,cell=64-32")
    figure.get_by_role("slider", name="the study stops at").press("ArrowRight")
    wait_for_state(page, "stop=220")
    handle = figure.get_by_role("slider", name="the study stops here")
    handle.press("PageUp")
    wait_for_state(page, "stop=420")
    assert handle.get_attribute("aria-valuetext") == "step 420"
    handle.press("End")
    wait_for_state(page, "stop=600")
    before = handle.locator("circle").last.bounding_box()["x"]
    drag(page, handle, -150, 0)
    moved = handle.locator("circle").last.bounding_box()["x"]
    assert moved == pytest.approx(before - 150, abs=12)
    assert int(state(figure)["stop"]) < 600


@pytest.mark.parametrize("stop", [20, 300, 600])
def test_no_word_is_cut_off_on_a_phone(explorable, stop):
    page, figure = explorable("budget", f"stop={stop},cell=64-64")
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_timeout(200)
    box = figure.locator(".explorable-app").bounding_box()
    words = figure.locator("[data-panel=models] svg text").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect()).map(r => [r.left, r.right])"
    )
    assert min(left for left, _ in words) >= box["x"]
    assert max(right for _, right in words) <= box["x"] + box["width"]


def test_the_numbers_beside_two_rows_keep_their_distance(explorable):
    _, figure = explorable("budget")
    numbers = figure.locator("[data-panel=models] .under text").filter(
        has_text=re.compile(r"^\d+$")
    )
    tops = numbers.evaluate_all("texts => texts.map(text => text.getBoundingClientRect().top)")
    assert len(tops) == 2 * 4
    tops.sort()
    assert min(b - a for a, b in itertools.pairwise(tops)) > 18
