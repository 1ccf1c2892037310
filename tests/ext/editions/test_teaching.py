"""The lab asks what the chapters ask, holds no solution, and its solutions pass."""

import re

import nbformat
import pytest
import torch
from editions import teaching
from nbclient import NotebookClient
from outputs import stored

from sdpa_book import check
from sdpa_book.studies import lookup

CHAPTER = stored.path_of("00")


@pytest.fixture(scope="module")
def notebooks():
    labs = {solved: teaching.lab(solved=solved) for solved in (False, True)}
    for notebook in labs.values():
        nbformat.validate(notebook)
        NotebookClient(notebook, kernel_name="python3", timeout=600).execute()
    return labs


@pytest.mark.parametrize("solved", [False, True])
def test_the_lab_says_of_its_kernel_what_a_chapter_says(solved):
    assert teaching.lab(solved=solved).metadata == nbformat.read(CHAPTER, as_version=4).metadata


def marks(notebook):
    """What the checks say."""
    texts = [
        output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    return [text[:1] for text in texts]


CHECKS = 7  # the first of the six exercises has two


def test_the_lab_asks_four_exercises_in_an_hour_two_at_home_and_answers_none(notebooks):
    lab = notebooks[False]
    assert marks(lab) == ["…"] * CHECKS
    text = "\n".join(cell.source for cell in lab.cells)
    assert len(re.findall(r"^## \d\. ", text, re.M)) == 6
    listed, _, at_home = lab.cells[0].source.partition("**If you are early, or at home:**")
    assert sum(map(int, re.findall(r"^\| (\d+) \|", listed, re.M))) == 60
    assert len(re.findall(r"^\| \d+ \|", at_home, re.M)) == 2
    assert "Solution" not in text
    for cell in notebooks[True].cells[2:]:
        if cell.source.startswith("**Solution.**") or 'check("' in cell.source:
            assert cell.source not in text


def test_no_exercise_takes_the_name_of_another_ones_answer(notebooks):
    code = "\n".join(c.source for c in notebooks[False].cells if c.cell_type == "code")
    named = re.findall(r"^(?:def )?(\w+)(?:\(| = \.\.\.)", code, re.M)
    answers = [name for name in named if name not in ("check", "print")]
    assert len(answers) == len(set(answers)) > 8


def printed(notebook):
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output["text"] for output in outputs if output.output_type == "stream")


def test_the_lab_imports_only_what_it_or_its_solutions_use(notebooks):
    cells = [c.source for of in notebooks.values() for c in of.cells if c.cell_type == "code"]
    named = re.findall(r"^(?:from .* )?import (.*)$", cells[0], re.M)
    names = {name.split()[-1] for line in named for name in line.split(", ")}
    code = re.sub(r"^(from|import) .*$", "", "\n".join(cells), flags=re.M)
    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()


def test_without_answers_the_lab_says_what_is_missing_and_asks_for_guesses(notebooks):
    lab = printed(notebooks[False])
    assert "in place of the dots first: train" in lab
    assert "in place of the dots first: spread_of exponent" in lab
    assert "in place of the dots first: together" in lab
    assert lab.count("no guess") == 7
    assert "divided by d_k, there at: no guess" in lab
    assert "Ellipsis" not in lab
    assert all("guesses[" not in cell.source for cell in notebooks[True].cells)


def test_what_the_solution_says_of_the_training_is_what_it_prints(notebooks):
    text = printed(notebooks[True])
    for rate, divisor, when in (
        ("0.003", "sqrt_d_k", "after 34"),
        ("0.003", "none", "after 71"),
        ("0.003", "d_k", "not in 120"),
        ("0.012", "sqrt_d_k", "after 10"),
        ("0.012", "none", "after 27"),
        ("0.012", "d_k", "after 34"),
    ):
        assert f"rate {rate}, {divisor}: below 0.3 {when} steps" in text


def test_what_the_solutions_say_of_spreads_batches_and_found_keys_is_printed(notebooks):
    text = printed(notebooks[True])
    spreads = re.findall(r"^\d+: ([\d.]+), divided (1.00|0.99|1.01)$", text, re.M)
    assert [round(float(std)) for std, _ in spreads] == [4, 8, 16, 32]
    measured, expected = zip(
        *re.findall(r"undivided batches: ([\d.]+), expected ([\d.]+)", text), strict=True
    )
    assert float(measured[2]) < 0.23 < float(measured[3])  # 15 batches, and 20
    assert all(abs(float(a) - float(b)) < 0.02 for a, b in zip(measured, expected, strict=True))
    cosines = re.findall(r"cosine of two batches ([\d.]+)", text)
    rows = "cosine of two batches, undivided", "cosine of two batches, root"  # the lecture's, too
    assert [f"{float(cosine):.2g}" for cosine in cosines] == [
        stored.number(f"05 worth [{row}]") for row in rows
    ]
    lookups = re.findall(r"weight ([\d.]+); a wrong .* ([\d.]+); effective keys (\S+)\n", text)
    undivided, root, d_k = lookups[::3], lookups[1::3], lookups[2::3]
    assert undivided == [
        ("0.107", "0.708", "2.15"),
        ("0.330", "0.801", "1.5"),
        ("0.768", "0.870", "1.12"),
    ]
    assert [keys for *_, keys in root] == ["386", "356", "267"]
    assert root[2][0] == "0.045"
    assert all(float(wrong) < 0.02 for _, wrong, _ in root)
    assert all(weight == "0.001" and float(keys) > 1000 for weight, _, keys in d_k)


def test_every_solution_passes(notebooks):
    assert marks(notebooks[True]) == ["✓"] * CHECKS


def test_the_lab_begins_with_what_is_needed_and_says_whether_it_is_there(notebooks):
    for lab in notebooks.values():
        first = next(cell for cell in lab.cells if cell.cell_type == "code")
        assert "Ready" in first.outputs[0].text
    before = notebooks[False].cells[1].source
    assert 'pip install -e ".[book]"' in before
    assert "{" not in before
    named = teaching.lab(None, "https://github.com/OWNER/NAME", solved=False).cells[1].source
    assert "git clone https://github.com/OWNER/NAME" in named


def test_a_downloaded_lab_has_no_link_that_leads_nowhere():
    for solved in (False, True):
        for pages, targets in ((None, []), ("https://a.b/book", ["https://a.b/book/"])):
            lab = teaching.lab(pages, solved=solved)
            links = re.findall(r"\]\((.*?book/)", "\n".join(cell.source for cell in lab.cells))
            assert sorted(set(links)) == targets
    text = "\n".join(cell.source for cell in teaching.lab(solved=True).cells)
    assert "*Break it* in chapter 2" in text


def spread(queries, keys):
    """Without a library's own."""
    products = torch.einsum("id,jd->ij", queries, keys)
    return products.square().mean() ** 0.5


def trained(order=("clear", "backward", "step"), optimiser=torch.optim.Adam):
    """As the lab's cell has it, with the three lines in an order."""

    def train(divisor, steps):
        W_Q, W_K = lookup.matrices(64)
        update = optimiser([W_Q, W_K], lr=0.003)
        losses = []
        for batch in lookup.draw_batches()[:steps]:
            loss = lookup.lookup_loss(W_Q, W_K, *batch, divisor)
            losses.append(loss.detach().mean())
            lines = {
                "clear": update.zero_grad,
                "step": update.step,
                "backward": loss.sum().backward,
            }
            for line in order:
                lines[line]()
        return torch.stack(losses)

    return train


def share_and_weight(d_k, divisor, seed=1, winner=False):
    """Keys drawn one by one, with numbers of one's own."""
    drawn = torch.Generator().manual_seed(seed)
    share, weight, queries = 0, 0, 300
    for _ in range(queries):
        q, noise = (torch.randn(d_k, generator=drawn) for _ in range(2))
        keys = torch.randn(1024, d_k, generator=drawn)
        keys[0] = 0.25 * q + 0.9375**0.5 * noise
        p = (keys @ q / divisor).softmax(0)
        share += (p[0] == p.max()).item() / queries
        weight += p[p.argmax() if winner else 0].item() / queries
    return [share, weight]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("lab.spread", spread),
        ("lab.power", 0.497),
        ("lab.together", lambda k, c: 1 / (1 + (1 - c) / (k * c))),
        ("lab.found", share_and_weight),
        *(
            ("growth.diagnosis", given)
            for given in ("b d a c", "B, D, A, C", ["b", "d", "a", "c"], "(b)(d)(a)(c)")
        ),
    ],
)
def test_a_right_answer_by_another_way_passes(name, answer):
    assert check(name, answer).passed, check(name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "hint"),
    [
        ("lab.spread", lambda q, k: (q * k).sum(-1).std(), "its own key alone"),
        ("lab.power", 0.25, "a root already"),
        (
            "lab.train",
            trained(("step", "clear", "backward")),
            "call update.step() after backward()",
        ),
        ("lab.train", trained(("clear", "step", "backward")), "right after backward() call"),
        ("lab.train", trained(("backward", "clear", "step")), "right after backward() call"),
        ("lab.train", trained(optimiser=torch.optim.SGD), "plain gradient descent"),
        ("lab.together", lambda k, c: (k * c / (1 + (k - 1) * c)) ** 0.5, "square it"),
        ("lab.found", lambda *of: share_and_weight(*of, winner=True), "the winner's weight"),
        ("lab.found", lambda *of: [100 * x for x in share_and_weight(*of)], "in per cent"),
    ],
)
def test_a_near_miss_has_a_hint_of_its_own(name, answer, hint):
    assert hint in check(name, answer).message


def test_an_answer_of_another_form_is_told_the_form():
    for given in (2413, [2, 4, 1, 3], {"1": "b"}):
        assert "letters, such as 'abc'" in check("growth.diagnosis", given).message


def test_what_stops_in_the_training_for_many_losses_is_told_why():
    def train(divisor, steps):
        torch.ones(8, requires_grad=True).backward()

    assert "one number, such as loss.sum()" in check("lab.train", train).message
