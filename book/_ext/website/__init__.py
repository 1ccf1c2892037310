"""What the site has beside its pages: links, cards, search, index, addresses."""
