import pytest
import torch

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_state


def measures(scores):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), -1)
    return sdpa.effective_keys(weights).item(), sdpa.jacobian_norm(weights).item()


def shown(figure):
    return read(figure, "effective"), read(figure, "norm")


def scores_of(figure):
    return [float(state(figure)[f"z{j}"]) for j in (1, 2, 3, 4)]


def wait_for_norm(page, norm):
    page.wait_for_function(
        "norm => Math.abs(document.querySelector('[data-readout=norm]').dataset.value - norm)"
        " < 2e-4",
        arg=norm,
    )


def test_saturation_by_keyboard_and_mouse(explorable):
    page, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1")
    assert shown(figure) == pytest.approx(measures([2.0, 1, 0, -1]), rel=1e-6)
    figure.get_by_role("slider", name="score of key 3").press("PageUp")
    wait_for_state(page, "z3=1,")
    assert shown(figure) == pytest.approx(measures([2.0, 1, 1, -1]), rel=1e-6)
    drag(page, figure.get_by_role("slider", name="score of key 1"), 0, -50)
    scores = scores_of(figure)
    assert scores[0] > 4
    assert shown(figure) == pytest.approx(measures(scores), rel=1e-6)


def test_the_matrix_is_the_derivative(explorable):
    _, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1")
    scores = torch.tensor([2.0, 1, 0, -1], dtype=torch.float64)
    rows = torch.autograd.functional.jacobian(lambda z: torch.softmax(z, -1), scores)
    drawn = figure.locator("[data-panel=jacobian] .cells text:not([class])")
    texts = drawn.all_text_contents()
    shown = [float(text.replace("−", "-").replace("≈", "")) for text in texts]
    assert shown == pytest.approx(rows.flatten().tolist(), abs=0.0051)


def test_the_buttons_go_to_the_rows_of_the_question_and_leave_a_trail(explorable):
    page, figure = explorable("saturation")
    trail = figure.locator("[data-panel=visited] .visited circle")
    norms = []
    for label, weights in (
        ("even", [0.25] * 4),
        ("split in two", [0.5, 0.5, 0, 0]),
        ("0.99 on one", [0.99, 0.01, 0, 0]),
    ):
        before = trail.count()
        figure.get_by_role("button", name=label).press("Enter")
        norms.append(sdpa.jacobian_norm(torch.tensor(weights)).item())
        wait_for_norm(page, norms[-1])
        assert trail.count() > before + 5
    assert norms[0] < norms[1] > norms[2]  # as the caption asks
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "z1=2,z2=1,z3=0,z4=-1")
    assert trail.count() == 2  # now, and its own small dot


@pytest.mark.parametrize("key", ["ArrowUp", None])
def test_a_way_that_is_interrupted_strands_no_score(explorable, key):
    """A score that the reader takes is the reader's, and the others arrive; Reset ends it all."""
    page, figure = explorable("saturation")
    figure.get_by_role("button", name="split in two").press("Enter")
    page.wait_for_timeout(300)
    if key:
        figure.get_by_role("slider", name="score of key 4").press(key)
        wait_for_state(page, "z1=6,z2=6,z3=-6,")
        assert -6 < scores_of(figure)[3] < -1
    else:
        figure.get_by_role("button", name="Reset").click()
        page.wait_for_timeout(2000)
        assert scores_of(figure) == [2, 1, 0, -1]
