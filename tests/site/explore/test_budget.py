"""A study that stops early can't know what comes later."""

import pytest

from sdpa_book.studies.training import (
    load_plan,
    load_study,
    median_time,
    reported,
    survival,
)

from .conftest import go, numbers, said

CELLS = {"16-32": "recall, d_k 16", "64-32": "recall, d_k 64", "64-64": "recall, 64 pairs"}


@pytest.fixture(scope="module")
def study():
    """By cell and rescaling the runs that report."""
    comparisons, records = load_plan(), load_study()[1]
    return {cell: reported(records, comparisons[name]) for cell, name in CELLS.items()}


def by_rescaling(figure, selector, what):
    """Of each rescaling what a part of the drawing has."""
    return dict(
        figure.locator(f"[data-panel=models] {selector}[data-rescaling]").evaluate_all(
            f"all => all.map(part => [part.dataset.rescaling, part.{what}])"
        )
    )


@pytest.mark.parametrize("cell", CELLS)
def test_counts_medians_and_intervals_are_the_studys(explorable, study, cell):
    figure = explorable("budget", f"cell={cell}")
    for stop in (20, 80, 200, 400, 600):
        go(figure, f"stop={stop},cell={cell}")
        counts = by_rescaling(figure, "text", "textContent")
        bars = by_rescaling(figure, "rect", "height.baseVal.value")
        assert len(counts) == len(bars) == 4
        units = []
        for name, text in counts.items():
            runs = study[cell][name]
            learned = sum(run.learned_at is not None and run.learned_at <= stop for run in runs)
            assert text.split()[0] == str(learned)
            half = median_time(runs).steps
            median = figure.locator(f"[data-readout={name}]").inner_text()
            assert median.isdigit() == (half <= stop), "later than the stop nothing is known"
            assert numbers(median) == [half if half <= stop else stop]
            curve = survival(runs)
            at = sum(step <= stop for step in curve.steps) - 1
            units.append(bars[name] / (curve.high[at] - curve.low[at]))
        assert units == pytest.approx([units[0]] * 4, rel=1e-3)


@pytest.mark.parametrize(("button", "right"), [(0, "wrong"), (1, "right")])
def test_what_came_later_is_hidden_until_the_reader_has_answered(explorable, study, button, right):
    figure = explorable("budget", "stop=200,cell=64-64")
    times = [run.learned_at for name in study["64-64"] for run in study["64-64"][name]]
    last = max(run.learned_at for run in study["64-64"]["none"])
    unseen = figure.locator("circle.unseen")
    assert unseen.count() == 0
    assert last not in numbers(said(figure))
    figure.locator(".explorable-buttons button").nth(button).click()
    unseen.first.wait_for()
    assert last in numbers(said(figure))
    assert right in said(figure)
    assert unseen.count() == sum(time is not None and time > 200 for time in times)
    figure.get_by_role("combobox").select_option("64-32")
    unseen.first.wait_for(state="detached")
