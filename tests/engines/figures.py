"""Use a figure of any kind: read its numbers, move its sliders, press keys, click."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from tests.engines.engine import Engine, until

ANSWER = 10  # seconds until a figure counts as unresponsive
MET = 2  # seconds until a click counts as missed

# JavaScript that each of the functions below can use.
TOOLS = """
const figures = () => [...document.querySelectorAll('figure[data-attnbook-figure]')];
const isUsable = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled;
const all = (figure, what) => [...figure.querySelectorAll(what)].filter(isUsable);
const sliders = (figure) => all(figure, 'input[type=range]');
const kind = (figure) => figure.dataset.attnbookFigure;
const words = (figure) => figure.textContent.replace(/\\s+/g, ' ').trim();
// A slider always changes its own value, so only other changes of the figure count.
const state = (figure) => figure.outerHTML + (sliders(figure).length ? ''
    : [...figure.querySelectorAll('input, textarea')].map(e => e.value));
// Options of a prediction, the right one last: after it nothing can be chosen.
const options = (figure) => {
    const stored = JSON.parse(document.querySelector('script.attnbook-state')?.textContent ?? '{}');
    const own = stored[figure.closest('[data-attnbook-view]').dataset.attnbookView];
    const right = own?.options?.indexOf(own.right);
    const all = [...figure.querySelectorAll('.option')];
    return [...all.filter((_, i) => i !== right), ...all.filter((_, i) => i === right)];
};
"""


def using(body: str) -> str:
    """A function of JavaScript that can use the tools."""
    return f"async (...values) => {{ {TOOLS} return ({body})(...values); }}"


KINDS = using("() => figures().map(kind)")
# Each view has a figure, or the reason why the figure did not start.
MOUNTED = using("""() => {
    const views = [...document.querySelectorAll('[data-attnbook-view]')];
    return views.every(e => e.querySelector('figure, :scope > [role=status]'));
}""")
STILL = """() => [...document.querySelectorAll('[data-attnbook-view] > [role=status]')]
    .map(e => e.textContent)"""

# Numbers of a figure with one slider at some positions and the others at their start. The output of
# a model on the page is painted in a microtask.
NUMBERS = using("""async (index, parts) => {
    const figure = figures()[index], found = {};
    const read = () => ({
        cells: [...figure.querySelectorAll('[data-value]')].map(e => e.dataset.value),
        texts: [...figure.querySelectorAll('[aria-valuetext]')].map(
            e => e.getAttribute('aria-valuetext')),
    });
    const move = async (slider, value) => {
        slider.value = value;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        await null;
    };
    found.still = read();
    for (const [i, slider] of sliders(figure).entries()) {
        const before = slider.value, [low, high, step] = [slider.min, slider.max, slider.step];
        for (const part of parts) {
            const steps = Math.round((high - low) / step * part);
            await move(slider, String(+(+low + steps * step).toFixed(9)));
            found[`${i} ${slider.ariaLabel} at ${slider.value}`] = read();
        }
        await move(slider, before);
    }
    return found;
}""")


def slider_positions(seed: int, drawn: int = 2) -> list[float]:
    """Positions of a slider as fractions: both ends, the middle and some random ones."""
    draw = Random(seed)  # noqa: S311 - nothing secret
    return [0, 1, 0.5, *(draw.random() for _ in range(drawn))]


def numbers(engine: Engine, index: int, seed: int) -> dict[str, Any]:
    """The numbers that a figure shows, by slider and position."""
    return dict(engine.evaluate(NUMBERS, index, slider_positions(seed)))


CLOSE = 1e-12  # relative


def differ(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The differences between the numbers of two engines."""
    if [*one] != [*other]:
        return [f"other sliders: {[*one]} and {[*other]}"]
    wrong = []
    for slider, read in one.items():
        theirs = other[slider]
        if read["texts"] != theirs["texts"]:
            wrong.append(f"{slider}: {read['texts']} and {theirs['texts']}")
        pairs = [*zip(read["cells"], theirs["cells"], strict=False)]
        far = [pair for pair in pairs if not near(*pair)]
        if len(read["cells"]) != len(theirs["cells"]) or far:
            wrong.append(f"{slider}: {far[:3]} of {len(read['cells'])}, {len(theirs['cells'])}")
    return wrong


def near(one: str, other: str) -> bool:
    """Whether two written numbers are nearly equal; NaN and words must be equal."""
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=CLOSE)
    except ValueError:
        return False


# The control that is used for a figure. The pointer does not choose the option of the key again.
TARGET = using("""(index, by) => {
    const figure = figures()[index];
    if (kind(figure) === 'code') return by === 'key'
        ? all(figure, '.cm-content, textarea')[0] : all(figure, '.run')[0];
    if (kind(figure) === 'recognize')
        return all(figure, by === 'key' ? 'textarea' : 'button').at(-1);
    // A native list opens in one engine and changes in another.
    if (kind(figure) === 'story') return all(figure, 'button').at(by === 'key' ? 0 : -1);
    const slider = sliders(figure).find(each => each.checkVisibility()); // not that for phones
    if (slider) return slider;
    const choices = options(figure), others = all(figure, 'input, select, button');
    return by === 'key' ? choices[0] ?? others[0] : choices[1] ?? others.at(-1);
}""")
FOCUS = using(f"""async (index) => {{
    const target = await ({TARGET})(index, 'key');
    target?.focus();
    // An editor replaces the plain field of Python.
    const isPlain = kind(figures()[index]) === 'code' && target?.localName === 'textarea';
    if (!target || isPlain) return false;
    window.before = state(figures()[index]);
    const high = +target.value >= +target.max;
    return {{ kind: target.type === 'range' ? 'range' : target.localName, high }};
}}""")
# A point on the control that nothing covers, once the control no longer moves; on a slider, away
# from its handle.
AIM = using(f"""async (index) => {{
    const target = await ({TARGET})(index, 'pointer');
    if (!target) return null;
    target.scrollIntoView({{ block: 'center', behavior: 'instant' }});
    const box = target.getBoundingClientRect();
    const fraction = (target.value - target.min) / (target.max - target.min);
    const part = target.type !== 'range' || fraction < 0.5 ? 0.75 : 0.25;
    const upright = box.height > box.width; // then its high end is above
    const [x, y] = upright ? [box.left + box.width / 2, box.top + (1 - part) * box.height]
        : [box.left + part * box.width, box.top + box.height / 2];
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const now = target.getBoundingClientRect();
    const there = document.elementFromPoint(x, y);
    window.met = false;
    target.addEventListener('click', () => {{ window.met = true; }}, {{ once: true }});
    return now.top === box.top && target.contains(there) && [x, y];
}}""")
REMEMBER = using("(index) => { window.before = state(figures()[index]); }")
ANSWERED = using("(index) => state(figures()[index]) !== before")


def find_key_problem(engine: Engine, index: int) -> str:
    """The problem of a figure with a key, or an empty text."""
    focused = until(engine, FOCUS, index, patience=ANSWER)
    if not focused:
        return "has no control"
    by_kind = {"range": "ArrowLeft" if focused["high"] else "ArrowRight", "button": "Enter"}
    engine.press(by_kind.get(focused["kind"], "1"))
    return "" if until(engine, ANSWERED, index, patience=ANSWER) else "does not respond to a key"


def click_control(engine: Engine, index: int) -> bool:
    """Click on a figure's control, again if it moved meanwhile; whether the click reached it."""
    for _ in range(3):
        aim = until(engine, AIM, index, patience=ANSWER)
        if not aim:
            break
        engine.click(*aim)
        if until(engine, "() => met", patience=MET):
            return True
    return False


def find_pointer_problem(engine: Engine, index: int) -> str:
    """The problem of a figure with the pointer, or an empty text."""
    if not until(engine, AIM, index, patience=ANSWER):
        return "has no control that can be reached"
    # Once, before all clicks: on a busy machine a click may arrive only during the next attempt,
    # whose state before it would then contain the change.
    engine.evaluate(REMEMBER, index)
    if not click_control(engine, index):
        return "has no control that can be reached"
    return (
        "" if until(engine, ANSWERED, index, patience=ANSWER) else "does not respond to the pointer"
    )
