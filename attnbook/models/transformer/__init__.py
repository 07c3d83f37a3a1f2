"""A Transformer that can be opened: blocks, a decoder made of them, and heads that are graded.

`block` is the block, `decoder` a model that predicts the next token, made by a `config`;
`repeats` are the sequences that it learns to continue. `checkpoints` has trained ones with
snapshots of their training, `grading` measures what each head does, and `removal` removes heads.
"""
