"""Measure what learning receives, in about half a minute, and store it for the figure."""

from __future__ import annotations

import json

from sdpa_book.explorables.learning import STORED, measure

STORED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
