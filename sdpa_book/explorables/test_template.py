"""What a new explorable is copied from works as it stands."""

import importlib
import shutil
import subprocess

import matplotlib.pyplot as plt
import pytest

from sdpa_book import explorables
from sdpa_book.explorables.__main__ import TEMPLATE, copy

from .conftest import BUNDLER


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A copy of the template, which the package has, and its folder."""
    folder = copy("trial", tmp_path)
    monkeypatch.setattr(explorables, "__path__", [*explorables.__path__, str(tmp_path)])
    yield importlib.import_module("sdpa_book.explorables.trial"), folder
    plt.close("all")


@pytest.mark.skipif(
    shutil.which("node") is None or not (BUNDLER / "node_modules").exists(),
    reason="bundling needs Node and what `make explorables` installs",
)
def test_a_copy_of_the_template_is_an_explorable(tmp_path, trial, browser):
    module, folder = trial
    shutil.copytree(explorables.SHARED, tmp_path / "_shared")
    subprocess.run(["node", BUNDLER / "bundle.js", tmp_path, tmp_path], check=True)

    page = browser.new_page()
    page.set_content('<figure data-explorable="trial"><img class="explorable-static"></figure>')
    page.add_style_tag(content=explorables.style())
    page.add_style_tag(path=folder / "trial.css")
    page.add_script_tag(content=explorables.script("trial"))
    for file in ("explorables", "trial"):
        page.add_script_tag(path=tmp_path / "explore" / f"{file}.min.js")
    page.evaluate("Explorables.start(document.querySelector('figure'))")
    read = """figure =>
        Number(figure.querySelector(".explorable-sentence").textContent.match(/[\\d.]+(?=\\.$)/))"""
    figure = page.locator("figure")
    first, second = module.data()["std"][:2]
    assert figure.evaluate(read) == round(first, 1)
    ring = figure.locator(".explorable-hint")
    around, thumb = ring.bounding_box(), page.get_by_role("slider").bounding_box()
    assert around["x"] + around["width"] / 2 == pytest.approx(thumb["x"] + 8, abs=1)
    page.get_by_role("slider").press("ArrowRight")
    page.wait_for_function(
        f"second => ({read})(document.querySelector('figure')) === second", arg=round(second, 1)
    )
    assert ring.count() == 0
    page.close()


def test_its_picture_is_drawn(trial):
    module, _ = trial
    module.draw()
    assert plt.gcf().axes[0].lines
    assert module.ALT


def test_a_copy_has_the_parts_of_every_explorable_and_no_word_of_the_template(trial):
    _, folder = trial
    names = {"__init__.py", "trial.js", "trial.css", "test_trial.py"}
    assert {file.name for file in folder.iterdir() if file.is_file()} == names
    assert all("template" not in (folder / name).read_text("utf-8") for name in names)
    assert TEMPLATE.is_dir()


@pytest.mark.parametrize("name", ["", "Trial", "my trial", "_trial", "../trial", "growth", "looks"])
def test_a_name_that_is_no_word_or_taken_is_refused(name):
    with pytest.raises(ValueError, match=r"^name must be .*, got "):
        copy(name)
