"""Known bugs of the task checked-lengths."""

from __future__ import annotations

from torch import Tensor

from attnbook.practice.tasks.checked_lengths import (
    Shape,
    check_kind,
    check_range,
    check_shape,
    checked,
    task,
)


@task.bug(
    symptom="A length of 7 for 4 keys goes through, and padding of 3 is never missed.",
    origin="Dive into Deep Learning's masked softmax",
    mend="refuse lengths above `num_keys`, the last number of `shape`.",
    case="a length above the number of keys",
)
def too_long_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths above the number of keys are accepted."""
    return checked(valid_lens, shape, most=1000)


@task.bug(
    symptom="A length of -3 goes through, and its example sees nothing.",
    origin="Dive into Deep Learning's masked softmax",
    mend="refuse lengths below 0.",
    case="a length below 0",
)
def negative_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths below 0 are accepted."""
    return checked(valid_lens, shape, least=-1000)


@task.bug(
    symptom="A length of 2.5 goes through, and shows 3 keys.",
    origin="Dive into Deep Learning's masked softmax",
    mend="compare with what `round` gives: a whole number stays as it is.",
    case="a fraction",
)
def fractions_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """numbers that are not whole are accepted."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    check_range(valid_lens, 0, shape[-1])
    return valid_lens


@task.bug(
    symptom="A length that was lost in a division goes through, and its example sees nothing.",
    origin="a common slip",
    mend="ask for what must hold, `not (lengths >= 0).all()`: every comparison with NaN is false.",
    case="a length that is NaN",
)
def nan_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of NaN is accepted: it is neither below 0 nor above anything."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    if (valid_lens < 0).any() or (valid_lens > shape[-1]).any() or (valid_lens % 1 > 0).any():
        raise ValueError("valid_lens must be whole numbers in [0, num_keys]")
    return valid_lens


@task.bug(
    symptom="A mask handed over for lengths goes through; each query sees one key or none.",
    origin="a common slip",
    mend="refuse `torch.bool`: to torch, True is 1 and False is 0.",
    case="a mask of True and False",
)
def masks_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a mask of True and False is accepted, as if it were lengths of 1 and 0."""
    checked(valid_lens + 0, shape)
    return valid_lens


@task.bug(
    symptom="Lengths (3, 2) for 2 examples of 3 queries go through, and hide the wrong keys.",
    origin="Dive into Deep Learning's masked softmax",
    mend="compare the whole shape: a transposed tensor has as many numbers.",
    case="lengths of shape (num_queries, batch)",
)
def transposed_accepted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a shape of (3, 2) passes for (2, 3), as when lengths are only counted."""
    batch, num_queries, _ = shape
    if valid_lens.numel() not in (batch, batch * num_queries):
        raise ValueError("valid_lens must be as many as examples, or as queries")
    checked(valid_lens.flatten(), (valid_lens.numel(), *shape[1:]))
    return valid_lens


@task.bug(
    symptom="A batch with an empty example stops the training.",
    origin="a common slip",
    mend="let 0 pass: an example may have nothing to be seen.",
    case="a length of 0",
)
def zero_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of 0 is refused."""
    return checked(valid_lens, shape, least=1)


@task.bug(
    symptom="A batch without any padding is refused.",
    origin="a common slip",
    mend="let `num_keys` itself pass: a length is a count, not a position.",
    case="a length of all keys",
)
def all_keys_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """a length of all keys is refused, as if it were a position."""
    return checked(valid_lens, shape, most=shape[-1] - 1)


@task.bug(
    symptom="Lengths computed by a division, like 2.0, are refused.",
    origin="a common slip",
    mend="look at the numbers, not at the type: 2.0 is a whole number.",
    case="whole numbers of a float type",
)
def floats_refused(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths of a float type are refused, whole as they are."""
    if valid_lens.is_floating_point():
        raise TypeError("valid_lens must be of a whole type")
    return checked(valid_lens, shape)


@task.bug(
    symptom="It works as long as sequences attend to themselves, and fails between two.",
    origin="a common slip",
    mend="lengths count keys: compare with the last number of `shape`.",
    case="more keys to be seen than there are queries",
)
def queries_for_the_limit(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths are compared with the number of queries, where they count keys."""
    return checked(valid_lens, shape, most=shape[1])


@task.bug(
    symptom="Wrong lengths never stop anything; they come back as others.",
    origin="a common slip",
    mend="raise: a length that cannot be true says that something is wrong before this function.",
    case="a length above the number of keys",
)
def put_between_the_limits(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths outside the limits are put right in silence, not refused."""
    return checked(valid_lens.clamp(0, shape[-1]), shape)


@task.bug(
    symptom="Wrong lengths are found on one machine, and pass on another that runs `python -O`.",
    origin="a common slip",
    mend="raise a ValueError: `assert` is for tests, and can be switched off.",
    case="a length above the number of keys",
)
def asserted(valid_lens: Tensor, shape: Shape) -> Tensor:
    """lengths are looked at by `assert`, whose error is an AssertionError."""
    check_kind(valid_lens)
    check_shape(valid_lens, shape)
    assert ((valid_lens >= 0) & (valid_lens <= shape[-1]) & (valid_lens % 1 == 0)).all()
    return valid_lens
