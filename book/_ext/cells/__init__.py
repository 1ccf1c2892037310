"""What cells and Markdown become on a page."""
