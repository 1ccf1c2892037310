"""The studies: what took longer to compute than a reader waits, made once and stored.

Each is a package of one pattern. ``plan.toml`` declares it before a run is made, a table for each
question, and ``plan.py`` says what a table's fields mean. ``run.py`` makes one run, and with
``make`` the study: what is stored is not made again, so that an interrupted study goes on where it
was, and a plan with one more question makes that alone. ``read.py`` loads what is stored in
``results/`` and summarises it, for chapters; the package itself gives the names that they use.
Other modules hold the science of one study. Beside the packages stand the model and the tasks that
several share; and ``making`` and ``resuming``, the machinery of all.

``python -m sdpa_book.studies NAME`` makes one. A plan of one's own is another such TOML file::

    python -m sdpa_book.studies depth --plan mine.toml --out mine
"""

NAMES = (
    "lookup",
    "training",
    "crossing",
    "gradient_worth",
    "depth",
    "optimiser_steps",
    "heads",
    "published",
)
"""The studies: of chapter 5, chapter 9 (three), article B, article D and chapter 10 (two)."""
