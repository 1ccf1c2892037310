"""Training under every scaling: a small Transformer, two tasks, and a study whose results are
stored.
"""
