"""A study that stops early can't know what comes later."""

import statistics

import pytest

from sdpa_book.explorables.budget import COMPARISON
from sdpa_book.studies.training import load_plan, load_study, reported

from ..conftest import go, numbers, sentence


@pytest.fixture(scope="module")
def runs():
    """By rescaling those that report."""
    return reported(load_study()[1], load_plan()[COMPARISON])


def test_what_is_counted_has_learned_by_the_stop(explorable, runs):
    figure = explorable("budget")
    counts = figure.locator("text[data-rescaling]")
    for stop in (20, 80, 200, 260):
        go(figure, f"stop={stop}")
        texts = dict(
            counts.evaluate_all("all => all.map((t) => [t.dataset.rescaling, t.textContent])")
        )
        assert len(texts) == 4
        for name, text in texts.items():
            learned = sum(
                run.learned_at is not None and run.learned_at <= stop for run in runs[name]
            )
            assert numbers(text) == [learned, len(runs[name])]
        assert figure.locator("circle.seen").count() == sum(
            numbers(text)[0] for text in texts.values()
        )


def test_late_is_told_from_never_only_by_waiting(explorable, runs):
    figure = explorable("budget")
    last = max(run.learned_at for run in runs["none"])
    assert "Late, or never? Such a study cannot tell." in sentence(figure)
    drawing = figure.locator("svg")
    go(figure, "stop=40")
    assert "not seen yet" in drawing.text_content()
    assert "sees no difference" in sentence(figure)
    go(figure, "stop=320")
    assert sentence(figure).endswith("One is left: late, or never?")
    go(figure, "stop=260")
    assert "2 learn later" in sentence(figure)  # of three, as the reader has seen to step 320
    go(figure, f"stop={last}")
    medians = [
        statistics.median(run.learned_at for run in runs[name])
        for name in ("none", "sqrt_d_k", "d_k", "k_total")
    ]
    assert numbers(sentence(figure)) == [last, *medians]
    assert "not seen yet" not in drawing.text_content()
    go(figure, "stop=300")
    assert "8 of 10 undivided models have learned; 2 learn later" in sentence(figure)
    assert "hollow dots:learned later" in drawing.text_content()
    hidden = [run for all in runs.values() for run in all if run.learned_at > 300]
    assert figure.locator("circle.unseen").count() == len(hidden)
