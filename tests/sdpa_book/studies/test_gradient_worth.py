"""What a gradient is worth: the stored figures come out again, and agree with other ways."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from sdpa_book.studies import gradient_worth
from sdpa_book.studies.gradient_worth.plan import Question
from sdpa_book.studies.gradient_worth.run import RATES, SIZES, at_start, in_training, make
from sdpa_book.studies.tasks import TASKS
from sdpa_book.studies.training.plan import Cell, Run
from sdpa_book.studies.training.run import make_model

PLAN = gradient_worth.load_plan()
STORED = gradient_worth.load_worth()
TINY = Question("tiny", "?", (4,), ("recall 8",), ("none",), seeds=2)
RUN = Run(Cell("recall 8", 16), "sqrt_d_k", -2.0, 0)


def test_what_is_declared_is_stored():
    for question in PLAN.values():
        for name, runs in question.models():
            figures = STORED[question.name][name]
            assert {len(values) for values in figures.values()} == {len(runs)}
            if question.looks:
                assert all(len(one) == len(question.looks) for one in figures["pattern"])


@pytest.mark.parametrize(("task", "scaling"), [("recall 8", "none"), ("digits", "sqrt_d_k")])
def test_a_stored_start_comes_out_again(task, scaling):
    """In double precision also undivided models repeat, from one processor to the next."""
    figures = STORED["start"][f"{task}, d_k 16, {scaling}"]
    start = at_start(Run(Cell(task, 16), scaling, 0.0, 3))
    for name, value in start.items():
        assert value == pytest.approx(figures[name][3], rel=2e-3, abs=1e-6), name


def test_the_agreement_is_that_of_two_gradients():
    task, start, gradients = TASKS["recall 8"], at_start(RUN), []
    for step in (0, 1):
        model = make_model(RUN).double()
        inputs, answers = task.batch(0, step)
        logits = model(*inputs)[:, -8:]
        F.cross_entropy(logits.transpose(1, 2), answers).backward()
        gradients.append(torch.cat([b.attention.query.weight.grad.flatten() for b in model.blocks]))
    first, second = gradients
    assert start["gradient"] == pytest.approx(first.norm().item())
    assert start["shared"] == pytest.approx((first @ second).item())
    assert start["agreement"] == pytest.approx(
        (first @ second / first.norm() / second.norm()).item()
    )


def test_a_step_of_adam_is_what_adam_does():
    """The first step moves each parameter by the rate, against the sign of its gradient."""
    task, model, start = TASKS["recall 8"], make_model(RUN).double(), at_start(RUN)
    optimiser = torch.optim.Adam(model.parameters(), 10 ** RATES[0], eps=1e-30)

    def loss(inputs, answers):
        return F.cross_entropy(model(*inputs)[:, -8:].transpose(1, 2), answers)

    before = loss(*task.held_out(0)).item()
    loss(*task.batch(0, 0)).backward()
    optimiser.step()
    change = loss(*task.held_out(0)).item() - before
    assert start["loss"] == pytest.approx(before)
    assert start["adam"][0] == pytest.approx(change, rel=1e-4)
    assert start["size"] in SIZES
    assert start["fall"] > 0


def test_the_pattern_starts_whole_and_is_lost_faster_at_a_higher_rate():
    slow, quick = (in_training(RUN._replace(rate=rate), (0, 10)) for rate in (-3.0, -1.5))
    assert slow["pattern"][0] == pytest.approx(1.0)
    assert slow["top"][0] == 1.0
    assert quick["pattern"][1] < slow["pattern"][1] - 0.1
    assert quick["top"][1] < slow["top"][1] < 1.0


def test_the_study_goes_on_where_it_was_interrupted(tmp_path):
    make(tmp_path, {"tiny": TINY})
    path = tmp_path / gradient_worth.read.STORED.name
    (figures,) = gradient_worth.load_worth(path)["tiny"].values()
    assert len(figures["gradient"]) == 2
    path.write_text(path.read_text().replace(f'"loss": [{figures["loss"][0]}', '"loss": [5.0'))
    wider = replace(TINY, scalings=("none", "d_k"))
    make(tmp_path, {"tiny": wider})
    both = gradient_worth.load_worth(path)["tiny"]
    assert list(both) == ["recall 8, d_k 4, none", "recall 8, d_k 4, d_k"]
    assert both["recall 8, d_k 4, none"]["loss"][0] == 5.0  # what is there is not made again
