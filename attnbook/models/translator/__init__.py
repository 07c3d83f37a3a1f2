"""A translator of dates that learns where to attend (Bahdanau, Cho and Bengio 2015).

`model` translates, made of `encoders` by a `config`; `dates` are what it learns from, written
in a `vocabulary`. `checkpoints` has trained ones, `grading` measures how well they attend, and
`interventions` change a text or its weights to see what follows.
"""
