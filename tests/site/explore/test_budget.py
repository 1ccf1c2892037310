import pytest

from sdpa_lib.book.training.plan import load_comparisons
from sdpa_lib.book.training.results import load_study
from sdpa_lib.book.training.summary import median_time, reported

from .conftest import drag, state, wait_for_state

CELLS = {"16-32": "recall, d_k 16", "64-32": "recall, d_k 64", "64-64": "recall, 64 pairs"}


@pytest.fixture(scope="module")
def study():
    """By cell and rescaling the runs that report."""
    comparisons, records = load_comparisons(), load_study()[1]
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


def test_nobody_has_seen_that_a_model_never_learns(explorable, study, counts):
    page, figure = explorable("budget", "stop=200,cell=64-64,later=shown")
    first, *_, last = sorted(run.learned_at for run in study["64-64"]["none"])
    said = figure.locator(".explorable-formula")
    assert counts(figure)["none"] == "0 of 10 learned, 10 not yet"
    assert said.inner_text().endswith(f"not learned yet, and the first does at step {first}.")
    page.evaluate("location.hash = '#budget:stop=400,cell=64-64,later=shown'")
    wait_for_state(page, "stop=400")
    assert counts(figure)["none"] == "3 of 10 learned, 7 not yet"
    assert said.inner_text().endswith(
        f"other 7 had not learned yet, and the last does at step {last}."
    )
    page.evaluate(f"location.hash = '#budget:stop={last},cell=64-64'")
    wait_for_state(page, f"stop={last}")
    assert said.inner_text().startswith(f"By step {last} all 10 undivided models have learned.")
    page.evaluate("location.hash = '#budget:stop=20,cell=64-64'")
    wait_for_state(page, "stop=20,")
    assert "has seen no model learn" in said.inner_text()


@pytest.mark.parametrize("stop", [20, 200, 400])
def test_what_came_later_is_hidden_until_it_is_asked_for(explorable, study, stop):
    page, figure = explorable("budget", f"stop={stop},cell=64-64")
    panel = figure.locator("[data-panel=models] svg")
    line = panel.locator(".cursor line").evaluate("line => line.x1.baseVal.value")
    drawn = panel.locator(".under path").evaluate_all(
        "all => all.map(path => path.getBBox()).map(box => box.x + box.width)"
    )
    assert len(drawn) == 2 * 4
    assert max(drawn) <= line + 0.1
    assert panel.locator("circle.unseen").count() == 0
    figure.get_by_role("combobox", name="what came later").select_option("shown")
    wait_for_state(page, "later=shown")
    runs = [run for name in ("none", "sqrt_d_k", "d_k", "k_total") for run in study["64-64"][name]]
    later = [run for run in runs if run.learned_at is not None and run.learned_at > stop]
    assert panel.locator("circle.unseen").count() == len(later) > 0


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
