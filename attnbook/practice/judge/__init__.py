"""The judge: run an answer, read the result, compare it, name its bug, and report.

`run_safely` and `world` run a reader's code, `reading` reads its result. `tensors` and `lists`
compare and describe what is wrong, each for its kind of task; `judging` goes through the cases and
searches for the bug, for both. `verdicts` are what the reader sees.
"""
