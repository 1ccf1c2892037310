import pytest
import torch

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_state


def measures(scores):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), -1)
    return sdpa.entropy(weights).item(), sdpa.jacobian_norm(weights).item()


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
