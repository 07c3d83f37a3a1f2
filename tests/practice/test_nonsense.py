"""Whatever a reader passes gets one readable verdict, in time."""
# ruff: noqa: ARG001, ARG005 - what a reader writes takes arguments, used or not

from __future__ import annotations

import copy
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn

import attnbook
from attnbook.practice import LIST_TASKS, TASKS, check, find_task, grade_tests
from attnbook.practice.judge import run_safely

TASK = "masked-softmax"


def right(scores, valid_lens):
    return attnbook.masked_softmax(scores, valid_lens)


def recursive(scores, valid_lens):
    return recursive(scores, valid_lens)


def resizing(scores, valid_lens):
    weights = right(scores, valid_lens)
    scores.data = scores.data[:1]
    return weights


def printing(scores, valid_lens):
    print("shape:", *scores.shape)  # noqa: T201 - as readers do
    return scores.softmax(-1)


def detached(scores, valid_lens):
    return right(scores, valid_lens).detach()


def of_three(scores, valid_lens, dim):
    return scores


class Weights(nn.Module):
    def forward(self, scores, valid_lens):
        return right(scores, valid_lens)


async def asynchronous(_):
    pass


def generator(_):
    yield


def filling(scores, valid_lens):
    padding = right(scores, valid_lens) == 0
    return scores.masked_fill(padding, -1e30).softmax(-1).masked_fill(padding, 0)


# Messages about ordinary mistakes are tested in test_wording.py.
MESSAGES = {
    recursive: "It raises RecursionError: maximum recursion depth exceeded",
    resizing: "It changes the caller's `scores`: write into a new tensor.",
    filling: "In float16 no number is below -65504: use `-torch.inf`",
    of_three: "It cannot be called with (scores, valid_lens): missing a required argument: 'dim'.",
    torch.softmax: "It raises TypeError: softmax()",
    abs: "What you wrote takes (x, /); the task says `masked_softmax(scores, valid_lens)`.",
}


@pytest.mark.parametrize("written", MESSAGES, ids=lambda it: it.__name__)
def test_nonsense_gets_one_readable_sentence(written):
    verdict = check(TASK, written)
    assert not verdict
    assert MESSAGES[written] in verdict.wrong
    assert len(verdict.wrong) < 450
    assert {bug.name for bug in verdict.bugs} <= {"written into the scores"}
    assert "Traceback" not in str(verdict)


class Reseeding(find_task("dot-product-layer").reference):
    def forward(self, *given):
        torch.manual_seed(0)
        return super().forward(*given)


class Training(find_task("dot-product-layer").reference):
    def forward(self, *given):
        output = super().forward(*given)
        self.train()
        return output


class TrainingBlock(find_task("transformer-block").reference):
    def forward(self, *given):
        return super().forward(*given) + 0 * self.train().training


class Copying(find_task("transformer-block").reference):
    def __init__(self, *parts):
        super().__init__(*map(copy.deepcopy, parts))


AROUND = {
    "dot-product-layer": lambda _: [Reseeding, Training],
    "transformer-block": lambda _: [TrainingBlock, Copying],
    "document-mask": lambda mask: [lambda documents: mask(documents.half())],
    "induction-score": lambda score: [lambda weights, tokens: score(weights, tokens.half())],
    "kernel-pool": lambda pool: [lambda *given: pool(*given[:3], max(given[3], 0.5))],
    "pool": lambda pool: [
        lambda weights, values: pool(weights.clamp(min=0), values),
        lambda weights, values: pool(weights, values.clamp(-1e30, 1e30)),
    ],
    "masked-softmax": lambda softmax: [
        lambda scores, lens: softmax(scores, None if lens is None else lens.clamp(max=200))
    ],
}


@pytest.mark.parametrize("name", AROUND)
def test_code_that_is_right_for_usual_inputs_only_is_refused(name):
    written = AROUND[name](find_task(name).reference)
    assert [number for number, each in enumerate(written) if check(name, each)] == []


@pytest.mark.parametrize(
    "written",
    [
        lambda *given: right(*given),  # noqa: PLW0108
        lambda scores, valid_lens, dim=-1: right(scores, valid_lens),
        Weights(),
    ],
)
def test_functions_with_any_fitting_parameters_and_modules_are_accepted(written):
    assert check(TASK, written)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check("atention", right), r"task must be one of additive-layer, .*got 'atention'"),
        (lambda: grade_tests("atention", right), "task must be one of"),
        (lambda: check(TASK, None), "written must be the function itself, got NoneType"),
        (lambda: check(TASK, right(torch.zeros(1, 1, 2), None)), "got Tensor: check.*masked_soft"),
        (lambda: grade_tests(TASK, []), "tests must hold at least one function, got none"),
        (lambda: grade_tests(TASK, [3]), "tests must hold functions, got int"),
        (lambda: grade_tests(TASK, [Weights]), "tests must hold functions, got <class"),
        (
            lambda: grade_tests(TASK, [lambda: None]),
            r"each test must take one argument, the implementation, got `<lambda>\(\)`",
        ),
        (lambda: grade_tests(TASK, [lambda one, two: None]), "each test must take one argument"),
        (lambda: grade_tests(TASK, [asynchronous]), "`asynchronous` is `async def`"),
        (lambda: grade_tests(TASK, [generator]), "`generator` has a `yield`"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.weekly
def test_the_first_check_imports_no_compiler():
    program = (
        "import sys, torch\nfrom attnbook.practice import check\n"
        "print(check('softmax', lambda scores: scores.softmax(-1)), 'torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().endswith("False\n")


def with_first(now, first):
    """The first numbers, with the gradients of those of now."""
    if isinstance(now, torch.Tensor) and now.is_floating_point():
        return now + (first - now).detach()
    return first


def shape_of(value):
    if isinstance(value, list):
        return [len(value), *map(shape_of, value[:1])]
    return (value.shape, value.dtype) if isinstance(value, torch.Tensor) else None


def storing(right, place, *, in_layer=False):
    """Right code that repeats an argument, or the result, of its first call with such shapes."""
    stored = {}

    def call(function, stored, arguments):
        shapes = str([*map(shape_of, arguments)])
        if place is None:
            result = function(*arguments)
            first = stored.setdefault(shapes, result)
            several = isinstance(result, tuple)
            return (*map(with_first, result, first),) if several else with_first(result, first)
        first = stored.setdefault(shapes, arguments)
        if place < len(arguments):
            argument = with_first(arguments[place], first[place])
            arguments = (*arguments[:place], argument, *arguments[place + 1 :])
        return function(*arguments)

    if not isinstance(right, type):
        return lambda *arguments: call(right, stored, arguments)

    class Storing(right):
        def forward(self, *arguments):
            own = vars(self).setdefault("stored", {})
            return call(super().forward, own if in_layer else stored, arguments)

    return Storing


@pytest.mark.few(1000)  # all: each task must repeat a case with other numbers
@pytest.mark.parametrize("name", [*TASKS, *LIST_TASKS])
def test_an_answer_that_stores_what_it_was_first_called_with_is_refused(name):
    task = find_task(name)
    right = task.reference
    given = [*task.cases.values()][-1].make()[: 4 if isinstance(right, type) else None]
    places = [None, *(place for place, argument in enumerate(given) if shape_of(argument))]
    answers = {place: storing(right, place) for place in places}
    if isinstance(right, type):
        in_layers = {f"{it} in the layer": storing(right, it, in_layer=True) for it in places}
        answers.update(in_layers)
    assert [place for place, answer in answers.items() if check(name, answer)] == []


def test_what_it_prints_is_only_in_the_verdict(capsys):
    verdict = check(TASK, printing)
    assert "It printed: shape: 2 3 5" in str(verdict)
    assert capsys.readouterr() == ("", "")


def test_a_warning_is_in_the_verdict_and_raises_nothing():
    verdict = check(TASK, lambda scores, valid_lens: nn.Softmax()(scores))
    assert "Implicit dimension choice for softmax has been deprecated" in str(verdict)


@pytest.mark.parametrize("name", [TASK, "softmax-by-hand"])
def test_a_call_that_never_ends_is_stopped(monkeypatch, name):
    monkeypatch.setattr(run_safely, "LIMIT", 0.3)
    before = threading.active_count()

    def endless(scores, valid_lens=None):
        while True:
            with suppress(Exception):
                time.sleep(0.001)

    wrong = check(name, endless).wrong
    assert wrong.startswith(
        "The call was stopped after 0.3 seconds: it never ends, or is very slow."
    )
    assert threading.active_count() == before


@pytest.mark.parametrize("entering", [True, False], ids=["entering the gate", "leaving it"])
def test_an_exception_thrown_while_the_work_ends_stays_in_its_thread(monkeypatch, entering):
    errors = []
    monkeypatch.setattr(threading, "excepthook", errors.append)

    class Late:
        """A gate at which an exception thrown just before is raised, once."""

        times = 0

        def throw(self, now):
            if now and not self.times:
                self.times += 1
                worker._throw()

        def __enter__(self):
            self.throw(entering)

        def __exit__(self, *error):
            self.throw(not entering)

    worker = run_safely._Worker(lambda: None)
    worker.gate = Late()
    worker.start()
    worker.work_for(60)
    worker.join(60)
    assert worker.gate.times == 1
    assert worker.over
    assert errors == []


def test_time_counts_from_when_the_work_begins():
    done = []
    worker = run_safely._Worker(lambda: done.append(True))
    gate = worker.may_begin

    class Late:
        """A machine so busy that the thread runs after the time limit only."""

        release = gate.release

        def acquire(self):
            gate.acquire()
            time.sleep(0.3)

    worker.may_begin = Late()
    worker.start()
    worker.work_for(0.1)
    assert worker.stop()
    assert done == [True]


TRACED = """
import sys, time
from attnbook.practice.judge import run_safely

def endless():
    while True:
        time.sleep(0.001)

run_safely.LIMIT = 0.05
for _ in range(3):
    assert run_safely.run(endless).endless
sys.setprofile(lambda *_: None)
(lambda: sys.setprofile(None))()
"""


LEFT = """
import torch
from attnbook.practice import check
from attnbook.practice.judge import run_safely

def slow(scores):
    copies = torch.zeros(10_000_000)
    for i in range(1_000):
        copies[i] = scores[0, 0, 0]  # the way back copies all of them, each time
    return scores.softmax(-1) + 0 * copies.sum()

run_safely.LIMIT, run_safely.COPIES = 3, False
print(check("softmax", slow).wrong)
"""


@pytest.mark.weekly
def test_python_ends_while_a_call_that_cannot_be_stopped_goes_on():
    done = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, check=True)
    assert b"cannot be stopped: restart Python" in done.stdout


@pytest.mark.weekly
def test_after_a_stopped_call_python_can_be_traced():
    # Python would wait forever for a thrown exception that never arrives.
    subprocess.run([sys.executable, "-c", TRACED], check=True, timeout=100)


def test_a_call_that_cannot_be_stopped_is_reported(monkeypatch):
    monkeypatch.setattr(run_safely, "LIMIT", 0.1)
    end = threading.Event()  # nothing can be thrown into a thread that waits for it
    verdict = check(TASK, lambda scores, valid_lens: end.wait())
    end.set()
    assert verdict.wrong == "The call does not end, and cannot be stopped: restart Python."


def test_two_tests_of_one_name_are_graded_separately():
    fair, unfair = (lambda softmax: None), (lambda softmax: 1 / 0)
    grade = grade_tests("softmax", [fair, unfair, *find_task("softmax").tests])
    assert [bool(each) for each in grade.failures[:2]] == [False, True]
    assert grade.share == 1
    assert not grade  # although every bug is caught


@pytest.mark.parametrize(
    ("owner", "name", "task"),
    [(attnbook, "pool", "pool"), (torch, "exp", "online-softmax")],
)
def test_a_function_that_a_reader_replaced_is_not_used_as_the_reference(
    monkeypatch, owner, name, task
):
    bug = next(iter(find_task(task).bugs.values())).function
    with monkeypatch.context() as replaced:
        replaced.setattr(owner, name, bug)
        assert not check(task, bug)
        assert getattr(owner, name) is bug
    assert not check(task, bug)
    assert check(task, find_task(task).reference)


def test_cases_are_made_without_the_functions_that_a_reader_replaced(monkeypatch):
    def no_tensor(*_, **__):
        raise ValueError("the reader's own")

    for name in ("tensor", "ones", "zeros", "randn", "rand", "arange"):
        monkeypatch.setattr(torch, name, no_tensor)
    verdict = check("softmax", lambda scores: scores.softmax(dim=-1))
    assert verdict.wrong == ""


def test_a_low_recursion_limit_changes_no_verdict():
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(120)
        verdict = check("softmax", find_task("softmax").reference)
        assert sys.getrecursionlimit() == 120
    finally:
        sys.setrecursionlimit(before)
    assert verdict.wrong == ""


def test_checks_in_four_threads_are_right_and_leave_the_streams_as_they_were():
    streams, verdicts = (sys.stdout, sys.stderr), []
    answers = [right, printing] * 2
    threads = [
        threading.Thread(target=lambda it=it: verdicts.append((it, bool(check(TASK, it)))))
        for it in answers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(it.__name__, holds) for it, holds in verdicts} == {
        ("right", True),
        ("printing", False),
    }
    assert len(verdicts) == len(answers)
    assert (sys.stdout, sys.stderr) == streams


def test_code_that_is_checked_cannot_call_check():
    verdict = check(TASK, lambda *given: check(TASK, right) and right(*given))
    assert "RuntimeError: check and grade_tests cannot be called by code that they run" in str(
        verdict
    )


def test_numbers_of_numpy_and_a_list_instead_of_a_tuple_are_accepted():
    by_hand = find_task("softmax-by-hand").reference
    assert check("softmax-by-hand", lambda scores: [np.float64(each) for each in by_hand(scores)])
    rule = find_task("causal-rule-by-hand").reference
    assert check("causal-rule-by-hand", lambda *given: np.bool_(rule(*given)))
    step = find_task("decoding-step").reference
    assert check("decoding-step", lambda *given: [*step(*given)])


def test_a_check_is_the_same_under_other_defaults():
    with torch.no_grad():
        assert check(TASK, right)
        assert not check(TASK, detached)
    try:
        torch.set_default_dtype(torch.float64)
        assert check(TASK, right)
    finally:
        torch.set_default_dtype(torch.float32)


# Nonsense on lists, and the names that it deserves

DESERVED = {
    "causal-rule-by-hand": {"nothing hidden"},
    "window-rule-by-hand": {"nothing hidden"},
    "attention-from-parts": {"returned inside the loop"},  # only the first key is used
}


def filled(value, number):
    """The same lists with one number everywhere."""
    several = isinstance(value, (list, tuple))
    return [filled(each, number) for each in value] if several else number


@pytest.mark.parametrize("name", LIST_TASKS)
def test_nonsense_gets_no_name_of_a_bug(name):
    right_answer = LIST_TASKS[name].reference
    answers = [
        *(lambda *it, n=n: filled(right_answer(*it), n) for n in (0, 1, 0.5, True)),
        *(lambda *it, at=at: it[at] for at in (0, -1)),
        lambda *it: next((one[0] for one in it[::-1] if isinstance(one, list)), 0),
        lambda *_: [],
        lambda *_: None,
    ]
    verdicts = [check(name, answer) for answer in answers]
    assert not any(verdicts)
    named = {bug.name for verdict in verdicts for bug in verdict.bugs}
    assert named <= DESERVED.get(name, set())


# Tests that are graded


def test_a_test_that_fails_on_right_code_is_reported_with_the_reason():
    def test_exact(masked_softmax):
        scores = torch.linspace(-3, 2, 35).reshape(1, 5, 7)
        rows = masked_softmax(scores, torch.tensor([7])).sum(-1)
        assert torch.equal(rows, torch.ones(1, 5) + 1e-7), "no number is that exact"

    def test_picky(masked_softmax):
        assert "package" in masked_softmax.__name__

    grade = grade_tests(TASK, [test_exact, test_picky])
    assert [len(each) for each in grade.failures] == [5, 4]
    text = str(grade)
    assert "`test_exact` fails on all correct code (AssertionError: no number is that exact" in text
    another = [*find_task(TASK).solutions.values()][1]
    assert "`test_exact`, `test_picky` fail on correct code." in text
    assert "by rounding" not in text
    assert f"`test_picky` fails on correct code, for example on {another.name!r}" in text
    assert another.why in text
    assert grade.share == 0, "what an unfair test catches does not count"
    assert not grade


def strict_softmax(softmax):
    scores = torch.linspace(0, 1000, 21).reshape(1, 3, 7)
    assert torch.equal(softmax(scores / 70), (scores / 70).softmax(-1))


def strict_decoding_step(decoding_step):
    task = find_task("decoding-step")
    given = next(iter(task.cases.values())).make()
    assert all(map(torch.equal, decoding_step(*given), task.reference(*given)))


def strict_additive_layer(layer):
    ours = find_task("additive-layer").reference(4, 4, 8)
    mine = layer(4, 4, 8)
    mine.load_state_dict(ours.state_dict())
    given = torch.randn(3, 2, 5, 4)
    assert torch.equal(mine(*given), ours(*given))


@pytest.mark.parametrize("strict", [strict_softmax, strict_decoding_step, strict_additive_layer])
def test_a_test_that_is_too_strict_is_reported_with_the_rounding_of_right_code(strict):
    name = strict.__name__.removeprefix("strict_").replace("_", "-")
    grade = grade_tests(name, [lambda it: it and None, strict])
    assert 0 < len(grade.failures[1]) < len(find_task(name).solutions)
    assert f"`{strict.__name__}` fails on correct code." in grade.paragraphs()[0]
    found = re.search(r"correct implementations differ by up to (\S+), by rounding", str(grade))
    assert 0 < float(found[1]) < 1e-5


def skipping(_):
    pytest.skip("no time")


def leaving(_):
    sys.exit()


OWN_FAULTS = {
    lambda _: undefined: "a name in the test is not defined",  # noqa: F821
    lambda _: __import__("no_such_module"): "the test imports a module that is not there",
    lambda _: exec("1 +"): "the test has a syntax error",  # noqa: S102
    lambda _: None: "it passes without a call of the implementation",
    lambda softmax: softmax(torch.zeros(1, 1, 2), None): "what it returns has no effect",
    lambda _: False: "it returns False, which has no effect. Write `assert`",
    skipping: "the test skips itself",
    leaving: "the test ends Python",
}


@pytest.mark.parametrize("test", OWN_FAULTS, ids=OWN_FAULTS.values())
def test_a_fault_of_a_test_itself_is_reported_as_one(test):
    grade = grade_tests(TASK, test)
    assert OWN_FAULTS[test] in str(grade)
    assert "rounded number" not in str(grade)
    assert not grade
    assert grade.share == 0


@pytest.mark.parametrize("known", ["solutions", "bugs"])
def test_a_test_that_hangs_once_is_not_run_again(monkeypatch, known):
    monkeypatch.setattr(run_safely, "LIMIT", 1)  # enough for all that does not hang
    hangs = {each.function for each in getattr(find_task(TASK), known).values()}
    calls = []

    def test_endless(masked_softmax):
        while masked_softmax in hangs:
            calls.append(masked_softmax) if masked_softmax not in calls else time.sleep(0.001)

    grade = grade_tests(TASK, test_endless)
    assert "the test does not end. It was stopped" in str(grade)
    assert len(calls) == 1


def test_changes_by_a_test_do_not_reach_other_tests():
    task = find_task("softmax")

    def test_spoiling(softmax):
        softmax.__code__ = (lambda scores: scores).__code__
        softmax.spoiled = torch.softmax = attnbook.masked_softmax = None

    assert grade_tests("softmax", [test_spoiling, *task.tests]).share == 1
    assert check("softmax", task.reference)
    assert not any(hasattr(right.function, "spoiled") for right in task.solutions.values())

    def test_spoiling_a_class(layer):
        layer.forward = None

    layers = find_task("dot-product-layer")
    grade_tests(layers.name, test_spoiling_a_class)
    assert check(layers.name, layers.reference)


# Verdicts as HTML


def test_html_has_the_same_paragraphs_and_escapes_what_it_quotes():
    def raising(scores, valid_lens):
        raise RuntimeError("<b> & `x`")

    html = check(TASK, raising)._repr_html_()
    assert "&lt;b&gt; &amp; <code>x</code>" in html
    assert "<b>" not in html
    assert html.count("<p>") == len(check(TASK, raising).paragraphs())


def test_a_verdict_never_shows_the_right_numbers():
    verdict = check(TASK, lambda scores, valid_lens: right(scores, valid_lens) * 0.999)
    scores, valid_lens = find_task(TASK).cases[verdict.failed.name].make()
    numbers = right(scores, valid_lens).flatten().tolist()
    assert not any(f"{number:.4g}" in str(verdict) for number in numbers if 0 < number < 1)
