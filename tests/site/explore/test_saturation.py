import pytest
import torch

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_state


def measures(scores, temperature=1.0):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64) / temperature, -1)
    norm = sdpa.jacobian_norm(weights).item()
    return sdpa.effective_keys(weights).item(), norm, norm / temperature


def test_saturation_by_keyboard_and_mouse(explorable):
    page, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1,T=1")

    def shown():
        return tuple(read(figure, name) for name in ("effective", "norm", "product"))

    assert shown() == pytest.approx(measures([2.0, 1, 0, -1]), rel=1e-6)
    figure.get_by_role("slider", name="score of key 3").press("PageUp")
    wait_for_state(page, "z3=1,")
    assert shown() == pytest.approx(measures([2.0, 1, 1, -1]), rel=1e-6)
    drag(page, figure.get_by_role("slider", name="score of key 1"), 0, -50)
    scores = [float(state(figure)[f"z{j}"]) for j in (1, 2, 3, 4)]
    assert scores[0] > 4
    assert shown() == pytest.approx(measures(scores), rel=1e-6)


def test_the_matrix_over_t_is_the_derivative_at_every_temperature(explorable):
    _, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1,T=0.5")
    assert read(figure, "product") == pytest.approx(measures([2.0, 1, 0, -1], 0.5)[2], rel=1e-6)
    scores = torch.tensor([2.0, 1, 0, -1], dtype=torch.float64)
    rows = torch.autograd.functional.jacobian(lambda z: torch.softmax(z / 0.5, -1), scores)
    drawn = figure.locator("[data-panel=jacobian] .cells text:not([class])")
    texts = drawn.all_text_contents()
    shown = [float(text.replace("−", "-").replace("≈", "")) / 0.5 for text in texts]
    assert shown == pytest.approx(rows.flatten().tolist(), abs=0.0051 / 0.5)


def test_the_buttons_go_to_the_rows_of_the_question_and_leave_a_trail(explorable):
    page, figure = explorable("saturation")
    trail = figure.locator("[data-panel=visited] .visited circle")
    for label, weights in (
        ("even", [0.25] * 4),
        ("split in two", [0.5, 0.5, 0, 0]),
        ("0.99 on one", [0.99, 0.01, 0, 0]),
    ):
        before = trail.count()
        figure.get_by_role("button", name=label).press("Enter")
        norm = sdpa.jacobian_norm(torch.tensor(weights)).item()
        page.wait_for_function(
            "norm => Math.abs(document.querySelector('[data-readout=norm]').dataset.value - norm)"
            " < 2e-4",
            arg=norm,
        )
        assert trail.count() > before + 5
