import pytest
import torch

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_state


def measures(scores, temperature=1.0):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64) / temperature, -1)
    return sdpa.entropy(weights).item(), sdpa.jacobian_norm(weights).item() / temperature


def test_saturation_by_keyboard_and_mouse(explorable):
    page, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1,T=1")

    def shown():
        return read(figure, "entropy"), read(figure, "norm")

    assert shown() == pytest.approx(measures([2.0, 1, 0, -1]), rel=1e-6)
    figure.get_by_role("slider", name="score of key 3").press("PageUp")
    wait_for_state(page, "z3=1,")
    assert shown() == pytest.approx(measures([2.0, 1, 1, -1]), rel=1e-6)
    drag(page, figure.get_by_role("slider", name="score of key 1"), 0, -50)
    scores = [float(state(figure)[f"z{j}"]) for j in (1, 2, 3, 4)]
    assert scores[0] > 4
    assert shown() == pytest.approx(measures(scores), rel=1e-6)


def test_the_matrix_is_the_derivative_at_every_temperature(explorable):
    _, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1,T=0.5")
    assert read(figure, "norm") == pytest.approx(measures([2.0, 1, 0, -1], 0.5)[1], rel=1e-6)
    scores = torch.tensor([2.0, 1, 0, -1], dtype=torch.float64)
    rows = torch.autograd.functional.jacobian(lambda z: torch.softmax(z / 0.5, -1), scores)
    drawn = figure.locator("[data-panel=jacobian] .cells text:not([class])")
    shown = [float(text.replace("−", "-")) for text in drawn.all_text_contents()]
    assert shown == pytest.approx(rows.flatten().tolist(), abs=0.0051)
