"""Weights of one row of scores."""

from __future__ import annotations

import math

from attnbook.practice.list_task import ListTask

Row = list[float]

task = ListTask(
    name="softmax-by-hand",
    in_torch="softmax",
    draws="weights of what is seen",
    statement=(
        "Write `softmax(scores)`: one query's scores, a list of numbers, become its weights. Each "
        "weight is e to the power of its score, `math.exp(score)`, divided by the sum of all these "
        "powers. It must also hold for scores of 1000, and for scores that are 1000 apart. The "
        "caller's list stays as it is."
    ),
    starter="import math\n\ndef softmax(scores):\n    ...",
)


task.case("three scores")(lambda: ([1.0, 2.0, 3.0],))
task.case("equal scores")(lambda: ([0.5, 0.5, 0.5, 0.5],))
task.case("one score")(lambda: ([2.0],))
task.case("scores below 0")(lambda: ([-1.0, 0.0, -3.0],))
task.case("scores of 1000")(lambda: ([1000.0, 999.0, 1001.0],))
task.case("scores of -1000")(lambda: ([-1000.0, -1001.0],))
task.case("scores 1000 apart")(lambda: ([0.0, 1000.0, 1.0, 2.0],))
task.case("12 scores")(lambda: ([x * 0.5 - 3 for x in range(12)],))


@task.right("a row's maximum, subtracted from all its scores, cancels.")
def by_the_formula(scores: Row) -> Row:
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / sum(powers) for power in powers]


@task.right("each weight is 1 over what all powers are, seen from its own score.")
def seen_from_each_score(scores: Row) -> Row:
    weights = []
    for score in scores:
        total = 0.0
        for other in scores:
            # More than 700 above it, and the weight is 0 as far as a float can say.
            total += math.exp(min(other - score, 700))
        weights.append(1 / total)
    return weights


@task.right("dividing by a sum is subtracting its logarithm, before the power is taken.")
def by_logarithms(scores: Row) -> Row:
    largest = max(scores)
    total = 0.0
    for score in scores:
        total += math.exp(score - largest)
    return [math.exp(score - largest - math.log(total)) for score in scores]


@task.bug(
    symptom="It works until training has made the scores large, and then it stops.",
    origin="a notebook for Understanding Deep Learning",
    mend="subtract `max(scores)` from each score first: it cancels.",
    case="scores of 1000",
)
def no_maximum_subtracted(scores: Row) -> Row:
    """no maximum is subtracted, so that the powers of large scores overflow."""
    powers = [math.exp(score) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


@task.bug(
    symptom="Weights are far above 1.",
    origin="a new reader's first try",
    mend="divide each power by the sum of all: `power / sum(powers)`.",
    case="three scores",
)
def never_divided(scores: Row) -> Row:
    """the powers are not divided by their sum, so that they are no shares."""
    largest = max(scores)
    return [math.exp(score - largest) for score in scores]


@task.bug(
    symptom="Weights look too small, and do not sum to 1.",
    origin="a new reader's first try",
    mend="divide by the sum of the powers, not by how many there are.",
    case="three scores",
)
def divided_by_the_count(scores: Row) -> Row:
    """the powers are divided by how many there are, not by their sum."""
    largest = max(scores)
    return [math.exp(score - largest) / len(scores) for score in scores]


@task.bug(
    symptom="Some weights are negative, or a division by 0 stops it.",
    origin="a common slip",
    mend="take `math.exp` of each score before you divide.",
    case="three scores",
)
def divided_by_the_sum_of_scores(scores: Row) -> Row:
    """the scores themselves are divided by their sum, and no power is taken."""
    return [score / sum(scores) for score in scores]


@task.bug(
    symptom="The largest score gets the smallest weight.",
    origin="a common slip",
    mend="subtract the maximum from the score, `score - largest`, not the other way round.",
    case="three scores",
)
def turned_round(scores: Row) -> Row:
    """the sign of the scores is turned, and the largest gets the smallest weight."""
    powers = [math.exp(min(scores) - score) for score in scores]
    return [power / sum(powers) for power in powers]


@task.bug(
    symptom="One key gets all the weight.",
    origin="a common slip",
    mend="give each key its share: the largest score gets most, not all.",
    case="three scores",
)
def the_largest_takes_all(scores: Row) -> Row:
    """the largest score gets all the weight, as in a look-up that is all or nothing."""
    return [float(score == max(scores)) for score in scores]


@task.bug(
    symptom="A key's weight does not depend on the other keys.",
    origin="a common slip",
    mend="let keys compete: divide by the sum over all keys.",
    case="three scores",
)
def sigmoid_of_each_score(scores: Row) -> Row:
    """each score goes through a sigmoid by itself, and keys do not share a weight of 1."""
    return [1 / (1 + math.exp(min(-score, 700))) for score in scores]


@task.bug(
    symptom="The weights are right; the scores printed after them have changed.",
    origin="a common slip",
    mend="make a new list, and leave `scores` as they are.",
    case="three scores",
)
def written_into_the_scores(scores: Row) -> Row:
    """the weights are written into the caller's own list of scores."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    for i in range(len(scores)):
        scores[i] = powers[i] / sum(powers)
    return scores


@task.bug(
    symptom="Weights do not sum to 1, the less so the more keys there are.",
    origin="a common slip",
    mend="finish the sum over all keys before you divide the first power by it.",
    case="three scores",
)
def divided_by_the_sum_so_far(scores: Row) -> Row:
    """each power is divided by the sum of the powers up to it, not of all."""
    largest, total, weights = max(scores), 0.0, []
    for score in scores:
        total += math.exp(score - largest)
        weights.append(math.exp(score - largest) / total)
    return weights


@task.bug(
    symptom="All weights are 0, or one is 1.",
    origin="a new reader's first try",
    mend="divide by `/`: `power / sum(powers)`.",
    case="three scores",
)
def divided_by_two_strokes(scores: Row) -> Row:
    """the division is `//`, which drops everything after the point."""
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power // sum(powers) for power in powers]


@task.bug(
    symptom="Weights do not sum to 1, and the later ones are too large.",
    origin="a new reader's first try",
    mend="take the sum once, before the loop: `total = sum(powers)`.",
    case="three scores",
)
def divided_while_the_sum_changes(scores: Row) -> Row:
    """the powers are divided in their own list, and their sum changes from one to the next."""
    powers = [math.exp(score - max(scores)) for score in scores]
    for i in range(len(powers)):
        powers[i] /= sum(powers)
    return powers


@task.bug(
    symptom="It works until one score is far above the others, and then it stops.",
    origin="a new reader's first try",
    mend="subtract the largest, `max(scores)`, so that no power is above 1.",
    case="scores 1000 apart",
)
def another_score_subtracted(scores: Row) -> Row:
    """it is not the largest score that is subtracted, and powers of far higher ones overflow."""
    powers = [math.exp(score - scores[0]) for score in scores]
    return [power / sum(powers) for power in powers]


@task.bug(
    symptom="The weights are right, and belong to other keys.",
    origin="a new reader's first try",
    mend="keep the order of `scores`: the first weight belongs to the first score.",
    case="scores below 0",
)
def sorted_by_size(scores: Row) -> Row:
    """the weights come back sorted, and no longer stand in the order of their scores."""
    powers = [math.exp(score - max(scores)) for score in sorted(scores)]
    return [power / sum(powers) for power in powers]
