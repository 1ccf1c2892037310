import pytest
import torch

from .conftest import drag, read, state, wait_for_state


def test_blend_by_keyboard_and_mouse(explorable):
    page, figure = explorable("blend", "z1=1.2,z2=0.8,z3=-0.2,T=1")

    def shown():
        return [read(figure, "x"), read(figure, "y")]

    def expected():
        now = {name: float(value) for name, value in state(figure).items()}
        scores = torch.tensor([now[f"z{j}"] for j in (1, 2, 3)], dtype=torch.float64)
        values = torch.tensor([[now[f"{c}{j}"] for c in "xy"] for j in (1, 2, 3)]).double()
        return (torch.softmax(scores / now["T"], -1) @ values).tolist()

    assert shown() == pytest.approx(expected(), rel=1e-6)
    figure.get_by_label("score of key 1").press("End")
    wait_for_state(page, "z1=10,")
    assert shown() == pytest.approx(expected(), rel=1e-6)
    before = state(figure)
    drag(page, figure.get_by_role("slider", name="value 2"), -40, -30)
    assert float(state(figure)["x2"]) < float(before["x2"])
    assert float(state(figure)["y2"]) > float(before["y2"])
    assert shown() == pytest.approx(expected(), rel=1e-6)
