"""What is made of the book besides the site: PDF, EPUB, lecture, lab, JupyterLab."""
