"""The judge: run what was written, read the result, compare it, name its bug, and say so.

`run_safely` and `world` run a reader's code, `reading` reads what it gives. `tensors` and `lists`
compare and say what is wrong, each for its kind of task; `judging` goes through the cases and
looks for the bug, for both. `verdicts` are what the reader sees.
"""
