"""The search page: the text of all pages, and what finds it."""
