"""A chapter's page: its cells, folded answers, formulas, tables, minutes, and list of chapters."""
