"""A row whose weight lies on one key hardly moves, an even one more, and one split in two most."""

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import act, described, numbers, read, said, slider, state


def scores_of(figure):
    return torch.tensor([float(state(figure)[f"z{j}"]) for j in (1, 2, 3, 4)]).double()


def agrees(figure):
    """Readouts and matrix are the library's."""
    scores = scores_of(figure)
    weights = scores.softmax(-1)
    assert read(figure, "effective") == pytest.approx(sdpa.effective_keys(weights).item())
    assert read(figure, "norm") == pytest.approx(sdpa.jacobian_norm(weights).item())
    rows = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), scores)
    told = described(figure, "jacobian").split("row ")[1:]
    drawn = [number for row in told for number in numbers(row.split(": ")[1])]
    assert drawn == pytest.approx(rows.flatten().tolist(), abs=5.1e-4)


def test_readouts_and_the_matrix_are_the_librarys(explorable):
    figure = explorable("saturation")
    agrees(figure)
    act(figure, slider(figure, "score of key 3").press, "PageUp")
    assert state(figure)["z3"] == "1"
    agrees(figure)


def test_the_norm_of_the_three_rows_rises_first(explorable):
    figure = explorable("saturation")
    rows = torch.tensor([[0.25] * 4, [0.5, 0.5, 0, 0], [0.99, 0.01, 0, 0]]).double()
    norms = sdpa.jacobian_norm(rows).tolist()
    for button, norm in zip(figure.locator(".explorable-buttons button").all(), norms, strict=True):
        assert numbers(said(figure)) == [], "no answer before all were seen"
        act(figure, button.press, "Enter")
        assert read(figure, "norm") == pytest.approx(norm, abs=2e-4)
    shown = [number for number in numbers(said(figure)) if number != 0.99]
    assert shown == pytest.approx(norms, abs=0.006)
    assert norms[0] < norms[1] > norms[2]
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert numbers(said(figure)) == []


@pytest.mark.parametrize(
    ("setting", "beyond"),
    [("z1=3,z2=2", None), ("z1=1,z2=1,z3=-6,z4=-6", -12), ("z1=2,z2=0,z3=0,z4=0", 12)],
)
def test_a_row_stands_in_the_pale_region_and_at_its_edge_nothing_is_beyond(
    explorable, setting, beyond
):
    figure = explorable("saturation", setting)
    inside = figure.locator("[data-panel=visited] circle").evaluate(
        """(dot, beyond) => {
            const region = dot.ownerSVGElement.querySelector(".reach");
            const [x, y] = [dot.cx.baseVal.value, dot.cy.baseVal.value];
            return [0, beyond].map((by) => new DOMPoint(x, y + by))
                .map((at) => region.isPointInFill(at) || region.isPointInStroke(at));
        }""",
        beyond or 0,
    )
    assert inside == [True, beyond is None]
