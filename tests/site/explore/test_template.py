"""What a new explorable is copied from works as it stands."""

import shutil
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

from sdpa_book.explorables import script, template

from .conftest import SOURCES


@pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").exists(),
    reason="bundling needs Node and what `make explorables` installs",
)
def test_a_copy_of_the_template_is_an_explorable(tmp_path, monkeypatch, browser):
    monkeypatch.setitem(sys.modules, "sdpa_book.explorables.trial_explorable", template)
    sources = tmp_path / "_explore"
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("node_modules"))
    (sources / "node_modules").symlink_to(SOURCES / "node_modules")
    copy = (SOURCES / "template.js").read_text(encoding="utf-8").replace("template", "trial")
    (sources / "src" / "trial.js").write_text(copy, encoding="utf-8")
    subprocess.run(["node", sources / "bundle.js", tmp_path], check=True)

    page = browser.new_page()
    page.set_content('<figure data-explorable="trial"><img class="explorable-static"></figure>')
    page.add_style_tag(path=SOURCES.parent / "_static" / "explore" / "explorables.css")
    page.add_script_tag(content=script("trial"))
    for file in ("explorables", "trial"):
        page.add_script_tag(path=tmp_path / "explore" / f"{file}.min.js")
    page.evaluate("Explorables.start(document.querySelector('figure'))")
    read = """figure =>
        Number(figure.querySelector(".explorable-sentence").textContent.match(/[\\d.]+(?=\\.$)/))"""
    figure = page.locator("figure")
    first, second = template.data()["std"][:2]
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


def test_its_picture_is_drawn():
    template.draw()
    assert plt.gcf().axes[0].lines
    plt.close()
    assert template.ALT
