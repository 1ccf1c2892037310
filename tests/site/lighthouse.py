"""Measure the built site with Lighthouse: mobile preset, served with compression, median of five
runs. ``make lighthouse``.

Lighthouse comes from npm into a temporary folder; Chromium is the one on the path.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import ThreadingHTTPServer

from tests.site.browser import SITE, Handler

VERSION = "13.5.0"
RUNS = 5
FLAGS = "--headless=new --no-sandbox --disable-background-networking"


def pages() -> list[str]:
    """The start, the longest chapter, and the one with most explorables."""
    chapters = sorted((SITE / "book").glob("[0-9][0-9]_*.html"))
    longest = max(chapters, key=lambda page: page.stat().st_size)
    livelier = max(
        chapters, key=lambda page: page.read_text(encoding="utf-8").count("data-explorable")
    )
    return [f"book/{page.name}" for page in dict.fromkeys((chapters[0], longest, livelier))]


def main() -> int:
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if chromium is None or shutil.which("npm") is None:
        print(
            "Lighthouse needs npm and Chromium: sudo apt-get install npm chromium", file=sys.stderr
        )
        return 1
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        npm = [
            "npm",
            "install",
            "--prefix",
            folder,
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
            f"lighthouse@{VERSION}",
        ]
        subprocess.run(npm, check=True)
        lighthouse = f"{folder}/node_modules/.bin/lighthouse"
        for page in pages():
            scores: dict[str, list[float]] = {}
            weights = []
            for _ in range(RUNS):
                url = f"http://127.0.0.1:{server.server_port}/{page}"
                command = [lighthouse, url, "--quiet", "--output=json", f"--chrome-flags={FLAGS}"]
                done = subprocess.run(
                    command,
                    check=True,
                    capture_output=True,
                    env=os.environ | {"CHROME_PATH": chromium},
                )
                report = json.loads(done.stdout)
                for name, category in report["categories"].items():
                    scores.setdefault(name, []).append(100 * category["score"])
                weights.append(report["audits"]["total-byte-weight"]["numericValue"])
            medians = ", ".join(
                f"{name} {statistics.median(values):.0f}" for name, values in scores.items()
            )
            print(f"{page}: {medians}; {statistics.median(weights) / 1000:.0f} KB")
            failed = {
                a["id"]
                for a in report["audits"].values()
                if a.get("score") == 0 and a["scoreDisplayMode"] == "binary"
            }
            if failed:
                print(f"  failing: {', '.join(sorted(failed))}")
    server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
