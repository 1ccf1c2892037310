"""The lookup layer's study: what is declared and stored, and that it comes out again."""

import itertools
import json
import math

import pytest
import torch

from sdpa_book.studies.lookup import layer, read
from sdpa_book.studies.lookup.layer import steps_to_learn
from sdpa_book.studies.lookup.plan import Question, load_plan
from sdpa_book.studies.lookup.read import LEVELS, STORED, best_steps, load_steps
from sdpa_book.studies.lookup.run import make, settings


def test_what_is_declared_is_stored_and_made_with_these_settings():
    plan, stored = load_plan(), json.loads(STORED.read_text(encoding="utf-8"))
    assert stored.pop("provenance")["settings"] == settings(plan)
    assert list(stored) == list(plan)
    for name, question in plan.items():
        assert list(stored[name]) == list(question.pairs)


def test_a_stored_row_comes_out_again():
    """What rounding decides may move a layer by a step."""
    none, root = (
        steps_to_learn(name, *load_plan()["steps"].pairs["0.01, 32"]).double()
        for name in ("none", "sqrt_d_k")
    )
    for place, level in enumerate(LEVELS):
        for steps, stored in zip(
            (none[place], root[place], none[place] - root[place]),
            load_steps()["0.01, 32"][level],
            strict=True,
        ):
            mean, error = map(float, stored.split(" ± "))
            assert steps.mean().item() == pytest.approx(mean, abs=0.5)
            assert steps.std().item() / len(steps) ** 0.5 == pytest.approx(error, abs=0.2)


def test_the_study_goes_on_where_it_was_interrupted(tmp_path):
    tiny, path = Question("tiny", "?", (0.03,), (8, 16), d_k=16), tmp_path / STORED.name
    make(tmp_path, {"tiny": tiny})
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert list(whole["tiny"]) == ["0.03, 8", "0.03, 16"]
    part = json.loads(path.read_text(encoding="utf-8"))
    part["tiny"].pop("0.03, 16")
    part["tiny"]["0.03, 8"]["half"] = "as it was"
    path.write_text(json.dumps(part), encoding="utf-8")
    make(tmp_path, {"tiny": tiny})
    again = json.loads(path.read_text(encoding="utf-8"))
    assert again["tiny"]["0.03, 8"]["half"] == "as it was"
    assert again["tiny"]["0.03, 16"] == whole["tiny"]["0.03, 16"]


def test_the_held_out_loss_is_the_layers_own():
    """By products as wide as a token, and as wide as the head."""
    held_out = layer._draw_batch(8, stream=4)
    for name, d_k in itertools.product(("none", "sqrt_d_k"), (4, 64)):
        W_Q, W_K = layer.matrices(d_k)
        quick = layer._held_out_loss(W_Q, W_K, held_out, name)
        whole = layer.lookup_loss(W_Q, W_K, *held_out, name).detach()
        torch.testing.assert_close(quick, whole)


def test_a_step_of_adam_moves_divided_scores_like_the_root_of_the_width():
    """And undivided ones like the width."""
    for name, power in (("none", 1.0), ("sqrt_d_k", 0.5)):
        narrow, wide = (layer.first_move(name, d_k).mean().item() for d_k in (64, 1024))
        assert math.log(wide / narrow, 16) == pytest.approx(power, abs=0.1)


def test_a_layer_that_is_not_there_yet_is_counted_and_not_averaged(monkeypatch, tmp_path):
    monkeypatch.setattr(layer, "MOST_STEPS", 3)
    steps = steps_to_learn("none", 16, 8, rate=1e-4)
    assert steps.isinf().all()
    make(tmp_path, {"tiny": Question("tiny", "?", (1e-4, 1.0), (8,), d_k=16)})
    assert load_steps("tiny", tmp_path / STORED.name)["0.0001, 8"]["0.3"] == ["8 of 8 not yet"] * 3


def test_the_best_rate_is_one_at_which_all_are_there(monkeypatch):
    at = {
        "0.1, 32": ["9.0 ± 1.0", "2 of 8 not yet", "?"],
        "0.2, 32": ["7.0 ± 0.5", "3.000 ± 0", "?"],
    }
    stored = {name: {"half": three, "0.3": three} for name, three in at.items()}
    monkeypatch.setattr(read, "load_steps", lambda question: stored)
    assert best_steps("mine") == [(0.2, (7.0, 0.5)), (0.2, (3.0, 0.0))]


def test_widths_part_by_saturation_when_scores_move_equally_far():
    """The declared guess: the root's steps are equal within a quarter, undivided ones grow."""
    by_width = {}
    for d_k in (16, 64, 256, 1024):
        at = load_steps(f"rates at {d_k}")[f"{0.003 * math.sqrt(64 / d_k):g}, 32"]["0.3"]
        by_width[d_k] = [float(three.split(" ± ")[0]) for three in at[:2]]
    none, root = zip(*by_width.values(), strict=True)
    assert max(root) < 1.25 * min(root)
    assert list(none) == sorted(none)
    assert none[-1] > 3 * none[0]
