"""A module for each task, and in it all that is known about it.

`task` is what is asked for in torch: its statement, its cases, right implementations, the book's
own tests and the known bugs. `by_hand`, if there is one, is the same on plain lists, for the page.
A module is found because it is here.
"""
