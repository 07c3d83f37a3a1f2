"""A softmax that has not seen all scores yet: one step."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

N = float  # so that five of them stand in a line
Three = tuple[N, N, N]


def _seen(highest: N, score: N) -> Three:
    new = max(highest, score)
    return new, math.exp(highest - new), math.exp(score - new)  # highest, factor, power


def _carried(highest: N, total: N, weighted: N, power: N, value: N) -> Three:
    """One more key in both sums, which are corrected already."""
    return highest, total + power, weighted + power * value


task = ListTask(
    name="online-softmax-by-hand",
    in_torch="online-softmax",
    statement=(
        "Keys come one by one. Carried so far are `highest`, the highest score, `total`, the sum "
        "of `math.exp(score - highest)` over all keys so far, and `weighted`, the same sum with "
        "each power times its key's value. Write `update(highest, total, weighted, score, value)`: "
        "one more key comes, and all are numbers. Return the new highest, total and weighted, in "
        "this order, as if the new highest had been known from the start. Scores may be 1000."
    ),
    starter="import math\n\ndef update(highest, total, weighted, score, value):\n    ...",
)


task.case("a higher score")(lambda: (1.0, 1.5, 20.0, 2.0, 30.0))
task.case("a lower score")(lambda: (2.0, 1.5, 20.0, 1.0, 30.0))
task.case("an equal score")(lambda: (0.5, 1.0, 10.0, 0.5, -4.0))
task.case("scores below 0, and a higher one")(lambda: (-3.0, 1.25, -6.0, -1.0, 5.0))
task.case("scores near 1000")(lambda: (1000.0, 1.0, 7.0, 999.0, 4.0))
task.case("a score 1000 above the highest")(lambda: (0.0, 2.0, 3.0, 1000.0, 4.0))
task.case("a score 1000 below the highest")(lambda: (1000.0, 2.0, 3.0, 0.0, 4.0))
task.case("sums of thousands")(lambda: (3.0, 2500.0, -70000.0, 2.5, 1200.0))


@task.right("where the highest stays, its correction is e to the power of 0, which is 1.")
def by_one_factor(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    new, factor, power = _seen(highest, score)
    return new, factor * total + power, factor * weighted + power * value


@task.right("either the past is corrected, or the new key's power is below 1, never both.")
def two_branches(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    if score > highest:
        factor = math.exp(highest - score)
        return score, total * factor + 1, weighted * factor + value
    power = math.exp(score - highest)
    return highest, total + power, weighted + power * value


@task.right("a sum of powers has a logarithm, and the average so far is a share of it.")
def by_logarithms(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    new, past = max(highest, score), highest + math.log(total)
    old, power = math.exp(past - new), math.exp(score - new)
    return new, old + power, weighted / total * old + power * value


@task.bug(
    symptom="It is right while the highest score comes first, and else nearly right.",
    origin="a common slip",
    mend="multiply both sums by `math.exp(highest - new_highest)`, and replace the highest after.",
    case="a higher score",
)
def no_correction(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the old sums are not corrected, or corrected only after the highest has been replaced."""
    new, _, power = _seen(highest, score)
    return _carried(new, total, weighted, power, value)


@task.bug(
    symptom="Outputs are too large as soon as the highest score rises.",
    origin="a common slip",
    mend="multiply the weighted sum by the same factor as the total.",
    case="a higher score",
)
def only_the_total_is_corrected(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the total is corrected when the highest rises, and the weighted sum is not."""
    new, factor, power = _seen(highest, score)
    return _carried(new, factor * total, weighted, power, value)


@task.bug(
    symptom="Early keys weigh too much, the more so the more the scores rise.",
    origin="a common slip",
    mend="take `math.exp(highest - new_highest)`, which is at most 1.",
    case="a higher score",
)
def the_factor_upside_down(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the factor is upside down, and the old sums grow where they should shrink."""
    new = max(highest, score)
    factor = math.exp(new - highest)
    return _carried(new, factor * total, factor * weighted, math.exp(score - new), value)


@task.bug(
    symptom="The first step is right, and all after it are not.",
    origin="a common slip",
    mend="return the new highest: `max(highest, score)`.",
    case="a higher score",
)
def the_old_highest_returned(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the sums are right, and the old highest is returned with them."""
    _, factor, power = _seen(highest, score)
    return _carried(highest, factor * total, factor * weighted, power, value)


@task.bug(
    symptom="It stops as soon as scores rise far.",
    origin="a common slip",
    mend="let the highest rise, `max(highest, score)`, and see all powers from there.",
    case="a higher score",
)
def the_highest_never_rises(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the highest never rises, and powers are seen from the old one for ever."""
    return _carried(highest, total, weighted, math.exp(score - highest), value)


@task.bug(
    symptom="It stops where scores fall steeply.",
    origin="a common slip",
    mend="compare with the highest so far: `max(highest, score)`.",
    case="a lower score",
)
def the_score_replaces_the_highest(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """each score replaces the highest, which falls where it should stay."""
    factor = math.exp(highest - score)
    return _carried(score, factor * total, factor * weighted, 1, value)


@task.bug(
    symptom="Values of low scores count as much as any.",
    origin="a common slip",
    mend="add `power * value` to the weighted sum.",
    case="a lower score",
)
def value_not_weighted(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the new value is added without its power."""
    new, factor, power = _seen(highest, score)
    return new, factor * total + power, factor * weighted + value


@task.bug(
    symptom="The output is right after one key, and wrong after two.",
    origin="a common slip",
    mend="return the weighted sum itself; whoever asks divides, after the last key.",
    case="a higher score",
)
def divided_too_early(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the weighted sum is divided by the total at each step, not once at the end."""
    new, factor, power = _seen(highest, score)
    total = factor * total + power
    return new, total, (factor * weighted + power * value) / total


@task.bug(
    symptom="Keys after the highest are never counted.",
    origin="a new reader's first try",
    mend="add the new key's power and its value where the highest stays, too.",
    case="a lower score",
)
def lower_scores_left_out(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """a key that does not raise the highest is left out."""
    new, factor, _ = _seen(highest, score)
    return _carried(new, factor * total, factor * weighted, float(score > highest), value)


@task.bug(
    symptom="Keys before the highest are forgotten.",
    origin="a new reader's first try",
    mend="keep the old sums, times `math.exp(highest - new_highest)`.",
    case="a higher score",
)
def the_past_thrown_away(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the sums begin anew when the highest rises."""
    if score > highest:
        return score, 1.0, value
    return _carried(highest, total, weighted, math.exp(score - highest), value)


@task.bug(
    symptom="Outputs are upside down: the total divided by the weighted sum.",
    origin="a new reader's first try",
    mend="return the total second, and the weighted sum third.",
    case="a higher score",
)
def the_sums_exchanged(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the weighted sum comes second, and the total third."""
    new, factor, power = _seen(highest, score)
    return new, factor * weighted + power * value, factor * total + power


@task.bug(
    symptom="A key that raises the highest counts too much, and where scores rise far, it stops.",
    origin="a new reader's first try",
    mend="take `math.exp(score - new_highest)`: let the highest rise before.",
    case="a higher score",
)
def seen_from_the_old_highest(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the new key's power is seen from the old highest, though the old sums are corrected."""
    new, factor, _ = _seen(highest, score)
    return _carried(new, factor * total, factor * weighted, math.exp(score - highest), value)


@task.bug(
    symptom="Keys that come later count far too much, and large scores stop it.",
    origin="a new reader's first try",
    mend="subtract the new highest from the score: `math.exp(score - new_highest)`.",
    case="a higher score",
)
def nothing_subtracted(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """nothing is subtracted from the new key's score before its power is taken."""
    new, factor, _ = _seen(highest, score)
    return _carried(new, factor * total, factor * weighted, math.exp(score), value)


@task.bug(
    symptom="Values count more and more, the more keys have come.",
    origin="a new reader's first try",
    mend="multiply the value by its own key's power: `power * value`.",
    case="a higher score",
)
def total_times_the_value(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the value is multiplied by the total, where its own key's power belongs."""
    new, factor, power = _seen(highest, score)
    total = factor * total + power
    return new, total, factor * weighted + total * value


@task.bug(
    symptom="It stops where a score is far above the highest.",
    origin="a new reader's first try",
    mend="turn the fraction round: multiply by `math.exp(highest - new_highest)`, at most 1.",
    case="a score 1000 above the highest",
)
def divided_by_the_factor(highest: N, total: N, weighted: N, score: N, value: N) -> Three:
    """the old sums are divided by a power, which overflows where scores rise far."""
    new, _, power = _seen(highest, score)
    factor = math.exp(new - highest)
    return _carried(new, total / factor, weighted / factor, power, value)
