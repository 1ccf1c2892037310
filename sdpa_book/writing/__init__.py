"""How the book writes numbers, tables and the names of things."""
