"""What ``make test-hands`` tries is in its table, and what it should find it finds."""

import hands
import matplotlib.pyplot as plt
import pytest

CHAPTERS = {
    path.relative_to(hands.BOOK).as_posix().removesuffix(".ipynb"): hands.code(path)
    for path in (*hands.BOOK.glob("[0-9]*.ipynb"), *hands.BOOK.glob("articles/*.ipynb"))
}
SIZES = {name for of_chapter in hands.TABLE["sizes"].values() for name in of_chapter}
LEAKS = "12_your_own_rescaling"


def test_the_table_has_every_chapter():
    assert sorted(hands.TABLE["sizes"]) == sorted(CHAPTERS)
    assert len(hands.TABLE["exempt"]) <= 3


@pytest.mark.parametrize("chapter", sorted(CHAPTERS))
def test_the_table_has_every_size_of_a_chapter(chapter):
    listed = hands.TABLE["sizes"][chapter]
    exempt = hands.TABLE["exempt"].get(chapter, {})
    given = {name for source in CHAPTERS[chapter].values() for name, _ in hands.numbers(source)}
    assert {x for x in given if x in SIZES or x.startswith(("n_", "d_"))} == {*listed, *exempt}
    for name, values in listed.items():
        assert len(values) >= 2
        for value in values:
            assert hands.with_size(CHAPTERS[chapter], name, value) != CHAPTERS[chapter]


def test_a_size_is_changed_where_it_is_named():
    cells = {"a": "r = 'ρ'; n, d_k = 2**3, 64  # of σ", "b": "n_keys, sizes = 4, [1, 2]\nn * 8"}
    changed = hands.with_size(hands.with_size(cells, "n", 5), "sizes", [7])
    assert changed["a"] == "r = 'ρ'; n, d_k = 5, 64  # of σ"
    assert changed["b"] == "n_keys, sizes = 4, [7]\nn * 8"
    for name in ("d_v", "n_keys"):
        with pytest.raises(ValueError, match=f"{name} must be given a number at one place"):
            hands.with_size(cells | {"c": "n_keys = 5"}, name, 1)


def test_every_seed_is_changed():
    source = "seed, n = 3, 4\nsample(n, 4, seed=1, stream=2)\nsample(n, seed=seed)"
    changed = "seed, n = 1003, 4\nsample(n, 4, seed=1001, stream=2)\nsample(n, seed=seed)"
    assert hands.with_other_seeds(source) == changed


@pytest.mark.parametrize(
    ("cell", "problems"),
    [
        ("torch.ones(n_keys).tolist()", []),
        ("torch.ones(n_keys).reshape(8, -1)", ["RuntimeError: shape '[8, -1]' is invalid"]),
        ("torch.ones(n_keys).var()", ["UserWarning: var(): degrees of freedom is <= 0"]),
        ("print((torch.ones(n_keys) / 0 * 0).mean())", ["tensor(nan)"]),
        ("display({'std': math.nan})", ["{'std': nan}"]),
        ("Table({'std': [math.nan]})", ["nan"]),
        ("plt.plot([math.nan], label='nan')\nplt.legend()\nplt.show()", ["nan"]),
    ],
)
def test_what_no_reader_expects_is_found(cell, problems, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", plt.show)
    imports = "import math, torch\nimport matplotlib.pyplot as plt\nfrom sdpa_book import Table"
    for n_keys, expected in (
        (8, [] if "reshape" in cell or "var" in cell else problems),
        (1, problems),
    ):
        cells = {"imports": f"{imports}\nn_keys = {n_keys}", "cell": cell}
        faults = hands.faults(tmp_path / "chapter.ipynb", cells)
        assert len(faults) >= len(expected)
        assert bool(faults) == bool(expected)
        for fault, words in zip(faults, expected, strict=False):
            assert fault.startswith("cell: ")
            assert words in fault


def names_of(n):
    """What chapter 12 has with texts of so many tokens, after its test for leaks."""
    cells, names = hands.with_size(CHAPTERS[LEAKS], "n", n), {}
    for cell in ("imports", "recipe", "leaky", "leaky-check", "leaks"):
        exec(cells[cell], names)
    return names


@pytest.mark.parametrize("n", [3, 4, 64, 65, 128])
def test_the_test_for_leaks_finds_one_at_every_length(n, capsys):
    names = names_of(n)
    for claim in hands.TABLE["holds"][LEAKS]:
        assert eval(claim, names)
    sound, leaking = capsys.readouterr().out.splitlines()[:2]
    assert sound.endswith("outputs move by 0.00")
    assert not leaking.endswith("outputs move by 0.00")


@pytest.mark.parametrize("n", [1, 2])
def test_a_text_too_short_for_a_leak_is_refused(n):
    with pytest.raises(ValueError, match=f"a leak shows from 3 tokens on, got n = {n}"):
        names_of(n)
