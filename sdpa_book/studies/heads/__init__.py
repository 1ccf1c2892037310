"""Trained heads: a small decoder on the source of Python's standard library, under several
scalings, and what its queries and keys are like.
"""
