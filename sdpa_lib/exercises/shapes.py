"""Exercises of a chapter."""

from sdpa_lib.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {}
