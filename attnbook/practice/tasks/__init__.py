"""A module for each task, with everything about it.

`task` is the task in torch: its statement, its cases, right implementations, the book's own tests
and the known bugs, but for those of its steps (`../mistakes.py`). `by_hand`, if there is one, is
the same on plain lists, for the page.
A module is found because it is in this folder.
"""
