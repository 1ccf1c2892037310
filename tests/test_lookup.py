"""The lookup layer's study: what is declared and stored, and that it comes out again."""

import json

import pytest

from sdpa_book.studies.lookup.layer import steps_to_learn
from sdpa_book.studies.lookup.plan import Question, load_plan
from sdpa_book.studies.lookup.read import LEVELS, STORED, load_steps
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
