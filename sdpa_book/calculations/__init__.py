"""What a page and its notes both compute, or load, and no study does."""
