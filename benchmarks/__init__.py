"""What attention costs with each rescaling, and what watching it costs, on the device at hand.

``costs`` and ``watching`` hold a module for each thing that is timed, which has ``measure`` and the
tables that show what it measured. What they share lies beside them: ``machine``, ``timing``,
``contestants``, ``peak_memory``, ``tables`` and ``reports``. Contestants alternate in one process,
and what is reported is the ratio of each run to that of PyTorch's own function in the same round:
its median over the rounds, and its quartiles; for short inputs the difference. ``make bench`` runs
all of it and stores what it finds in ``results``: ``<device>.json``, which chapter 12 reads, and,
as tables to read, ``<device>.md``.
"""
