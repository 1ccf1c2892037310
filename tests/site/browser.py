"""The built site, served with compression, and a headless Chromium to look at it."""

import gzip
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest

try:
    from playwright.sync_api import Browser, Page, sync_playwright
except ModuleNotFoundError as error:
    needs = "the tests in a browser need requirements-tools.txt, which `make test-site` installs"
    raise pytest.UsageError(needs) from error

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build" / "html"
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
OpenPage = Callable[..., tuple[Page, list[str]]]
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
COMPRESSED = {".html", ".css", ".js", ".svg", ".json", ".ipynb"}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files as a web server sends them: text compressed."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".woff2": "font/woff2",
        ".webp": "image/webp",
    }
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        exists = file.is_file()
        content = (file if exists else SITE / "404.html").read_bytes()
        self.send_response(200 if exists else 404)
        self.send_header("Content-Type", self.guess_type(str(file)) if exists else "text/html")
        if file.suffix in COMPRESSED:
            content = gzip.compress(content, 9)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Cache-Control", "max-age=600")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="session")
def base() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        pytest.exit(
            "the site's tests need Chromium: sudo apt-get install chromium, or any Chrome on the "
            "path",
            returncode=2,
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


DRAWN = "new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))"


def unfold(page: Page) -> None:
    """Open all that is folded, and wait until it is drawn."""
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.evaluate(DRAWN)


@pytest.fixture
def tab(browser: Browser) -> Iterator[OpenPage]:
    """A function that opens a page: its tab, and what went wrong while it loaded."""
    contexts = []

    def open_page(
        url: str, *, width: int = 1280, theme: Literal["light", "dark"] = "light", **settings: Any
    ) -> tuple[Page, list[str]]:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **settings
        )
        contexts.append(context)
        page = context.new_page()
        wrong: list[str] = []
        page.set_default_timeout(20_000)  # a busy machine is slow
        home = (
            url.split("/book/")[0].rsplit("/", 1)[0]
            if url.startswith("file:")
            else "/".join(url.split("/")[:3])
        )
        page.on(
            "console",
            lambda message: (
                wrong.append(f"console: {message.text}") if message.type == "error" else None
            ),
        )
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        # Leaving a page cuts off what it was still loading; that is no failure.
        page.on(
            "requestfailed",
            lambda r: None if r.failure == "net::ERR_ABORTED" else wrong.append(f"failed: {r.url}"),
        )
        page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((home, "data:", "blob:"))
                else wrong.append(f"foreign: {r.url}")
            ),
        )
        page.on(
            "response", lambda r: wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None
        )
        page.goto(url)
        page.wait_for_load_state("load")
        # Without scripts nothing is drawn later, and no frame would answer.
        if settings.get("java_script_enabled", True):
            page.evaluate(DRAWN)
        return page, wrong

    yield open_page
    for context in contexts:
        context.close()
