"""The site in another browser: a smoke run in Firefox, where it is installed."""

import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

from tests.site.browser import SITE

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
PAGES = sorted((SITE / "book").rglob("*.html"))

# What is said of a formula that is drawn before all of it is read.
HALF_READ = "Invalid markup: Incorrect number of children"
BROKEN = """[...document.querySelectorAll("msub, msup, mover, munder, mfrac, msubsup, munderover")]
    .filter(({ localName, children }) => children.length !== (localName.length < 7 ? 2 : 3))
    .map(part => part.outerHTML)"""

pytestmark = pytest.mark.skipif(FIREFOX is None, reason="no Firefox on the path")


class Firefox:
    """A window of Firefox, by the protocol WebDriver BiDi, and what went wrong on its pages."""

    def __init__(self, address: str) -> None:
        self.socket = websocket.create_connection(
            f"{address}/session", timeout=20, suppress_origin=True
        )
        self.ids = itertools.count()
        self.wrong: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        (window,) = self.call("browsingContext.getTree")["contexts"]
        self.window = window["context"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What a command answers; messages of the page that come before it are kept."""
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.wrong.append(message["params"]["text"])
            if message.get("id") == number:
                assert message["type"] == "success", message
                answer: dict[str, Any] = message["result"]
                return answer

    def open(self, url: str, width: int) -> None:
        """Load a page in a window so wide."""
        self.wrong.clear()
        size = {"width": width, "height": 900}
        self.call("browsingContext.setViewport", context=self.window, viewport=size)
        self.call("browsingContext.navigate", context=self.window, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """What an expression, or a promise, gives on the page."""
        answer = self.call(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then(JSON.stringify)",
            target={"context": self.window},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    assert FIREFOX
    profile = tmp_path_factory.mktemp("profile")
    command = [FIREFOX, "--headless", "--profile", str(profile), "--remote-debugging-port=0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        where = profile / "WebDriverBiDiServer.json"
        for _ in range(300):
            if where.exists() and (text := where.read_text(encoding="utf-8")):
                break
            time.sleep(0.1)
        else:
            pytest.fail("Firefox did not start")
        server = json.loads(text)
        window = Firefox(f"ws://{server['ws_host']}:{server['ws_port']}")
        yield window
        window.socket.close()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(SITE).as_posix())
def test_a_page_reads_in_firefox_from_a_folder(firefox: Firefox, page: Path) -> None:
    for width in (1280, 390):
        firefox.open(page.as_uri(), width)
        assert firefox.evaluate("document.documentElement.scrollWidth") <= width
    assert firefox.evaluate("document.fonts.check('1em \"STIX Two Math\"')")
    roots = firefox.evaluate(
        "[...document.querySelectorAll('article msqrt')]"
        ".filter(root => root.offsetParent || root.getClientRects().length)"
        ".map(root => root.getBoundingClientRect().height)"
    )
    assert all(height > 8 for height in roots)
    assert firefox.evaluate(BROKEN) == []
    assert [text for text in firefox.wrong if not text.startswith(HALF_READ)] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "data-explorable=" in page.read_text(encoding="utf-8")],
    ids=lambda page: page.relative_to(SITE).as_posix(),
)
def test_an_explorable_starts_in_firefox(firefox: Firefox, page: Path) -> None:
    for name in re.findall(r'data-explorable="(\w+)"', page.read_text(encoding="utf-8")):
        firefox.open(f"{page.as_uri()}#{name}:", 1280)
        figure = f"document.querySelector('[data-explorable={name}]')"
        started = firefox.evaluate(
            "new Promise(resolve => { const look = n => "
            f"{figure}.querySelector('.explorable-app svg > *') ? resolve(true) "
            ": n ? setTimeout(look, 100, n - 1) : resolve(false); look(50); })"
        )
        assert started, name
        sentence = firefox.evaluate(f"{figure}.querySelector('.explorable-sentence').textContent")
        assert sentence
        assert not re.search("NaN|undefined", sentence)
    assert firefox.wrong == []


def test_the_search_answers_in_firefox(firefox: Firefox) -> None:
    firefox.open(f"{(SITE / 'search.html').as_uri()}?q=square+root", 1280)
    results = firefox.evaluate(
        "new Promise(resolve => { const look = n => { const all = "
        "[...document.querySelectorAll('main a[href*=\"book/\"]')].map(a => a.textContent); "
        "all.length || !n ? resolve(all) : setTimeout(look, 100, n - 1); }; look(50); })"
    )
    assert results
    assert firefox.wrong == []
