"""What the tests of all explorables share: their pages, their data, and how to open one."""

import json
import re
from pathlib import Path

import pytest
from outputs.notebooks import stored

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "_build" / "html" / "_static" / "explore"
BUNDLER = ROOT / "book" / "_bundler"
PLACES = {
    name: path.relative_to(ROOT).with_suffix(".html").as_posix()
    for path in stored(ROOT / "book")
    for name in re.findall(r'movable\(\\"(\w+)\\"\)', path.read_text(encoding="utf-8"))
}
"""The explorables by name, each with the page that shows it."""


def are_named(config):
    """Whether the command line names these tests, or a folder of them: they need the built site and
    a browser, and so are none of ``make test``.
    """
    paths = (Path(path.split("::")[0]).resolve() for path in config.args)
    named = (path for path in paths if path.is_dir() or path.name.startswith("test_"))
    return any(path.is_relative_to(HERE) for path in named)


def pytest_configure(config):
    if are_named(config):
        config.pluginmanager.import_plugin("tests.site.browser")


def pytest_ignore_collect(collection_path, config):
    of_browser = collection_path.name.startswith("test_") and not are_named(config)
    return True if of_browser or collection_path.name == "_template" else None


SAMPLE = """(count, seed) =>
    Explorables.math.sampleNormal(count, Explorables.math.makeGenerator(seed))"""
"""So many normal components, from a generator of their own."""


@pytest.fixture(scope="module")
def scripts(browser):
    """A function that calls JavaScript once for each list of arguments, on a page with the
    explorables' scripts: the name of one of their mathematical functions, or an expression.
    """
    page = browser.new_page()
    for name in PLACES:
        page.add_script_tag(path=FOLDER / f"{name}_data.js")
    page.add_script_tag(path=FOLDER / "explorables.min.js")

    def call(function, trials=((),)):
        if function.isidentifier():
            function = f"Explorables.math.{function}"
        plain = "(_, x) => ArrayBuffer.isView(x) ? [...x] : x"
        text = page.evaluate(
            f"all => JSON.stringify(all.map(given => ({function})(...given)), {plain})",
            [list(given) for given in trials],
        )
        return json.loads(text)

    yield call
    page.close()


@pytest.fixture(scope="module")
def data(scripts):
    """What the build wrote for the explorables."""
    return scripts("() => explorableData")[0]


@pytest.fixture
def begin(tab, base):
    """A function that opens an explorable on its page, and says what went wrong meanwhile.
    Unless it is asked for, nothing moves by itself: what is asked for is there at once.
    """

    def open_explorable(name, setting="", *, page=None, motion="reduce", **settings):
        address = f"{base}{page or PLACES[name]}#{name}:{setting}"
        tab_, wrong = tab(address, reduced_motion=motion, **settings)
        figure = tab_.locator(f"[data-explorable={name}]")
        figure.locator(".explorable-app").wait_for()
        go(figure, setting)
        return figure, wrong

    return open_explorable


@pytest.fixture
def explorable(begin):
    """A function that opens an explorable at a setting on its page for lectures, which has
    nothing else on it.
    """

    def open_alone(name, setting=""):
        figure, wrong = begin(name, setting, page=f"explore/{name}.html")
        assert wrong == []
        return figure

    return open_alone


def go(figure, setting):
    """Bring an explorable to a setting by the address, and wait until it is drawn there; what the
    setting does not name gets its default.
    """
    figure.evaluate(
        "(figure, setting) => (location.hash = `#${figure.dataset.explorable}:${setting}`)", setting
    )
    wait_for(figure, setting)


def wait_for(figure, setting):
    """Until an explorable stands at a setting, of which not all has to be named."""
    figure.page.wait_for_function(
        """([figure, wanted]) => {
            const now = figure.dataset.state?.split(":")[1].split(",");
            return now && (!wanted || wanted.split(",").every((part) => now.includes(part)));
        }""",
        arg=[figure.element_handle(), setting],
    )


def act(figure, action, *arguments):
    """Do something to an explorable, and wait until it stands otherwise."""
    before = figure.get_attribute("data-state")
    action(*arguments)
    figure.page.wait_for_function(
        "([figure, before]) => figure.dataset.state !== before",
        arg=[figure.element_handle(), before],
    )


def slider(figure, label):
    """The slider or handle whose label contains this."""
    return figure.get_by_role("slider", name=label).first


def read(figure, name):
    """A readout, in full precision."""
    return float(figure.locator(f"[data-readout={name}]").get_attribute("data-value"))


def state(figure):
    """What an explorable's controls stand at, as text."""
    pairs = figure.get_attribute("data-state").split(":")[1].split(",")
    return dict(pair.split("=") for pair in pairs)


def sentence(figure):
    """The sentence under the drawing."""
    text = figure.locator(".explorable-sentence").text_content()
    return text.replace("\u2060", "").strip()


def described(figure, panel):
    """What a drawing is to those who do not see it."""
    return figure.locator(f"[data-panel={panel}] svg").get_attribute("aria-label")


def numbers(text):
    """The numbers in a text, with true minus signs and commas."""
    matches = re.findall(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?", text)
    return [float(number.replace("−", "-").replace(",", "")) for number in matches]
