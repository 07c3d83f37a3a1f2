"""What to do with a figure, whatever it shows: read it, move it, touch it."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from tests.engines.engine import Engine, until

ANSWER = 10  # seconds until a control is said not to answer
MET = 2  # seconds until a click is said to have gone elsewhere

# What each of the functions below can use.
TOOLS = """
const figures = () => [...document.querySelectorAll('figure[data-attnbook-figure]')];
const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled;
const all = (figure, what) => [...figure.querySelectorAll(what)].filter(shown);
const sliders = (figure) => all(figure, 'input[type=range]');
const kind = (figure) => figure.dataset.attnbookFigure;
const words = (figure) => figure.textContent.replace(/\\s+/g, ' ').trim();
// A slider moves by itself, whoever hears of it: there only what the figure does is an answer.
const state = (figure) => figure.outerHTML + (sliders(figure).length ? ''
    : [...figure.querySelectorAll('input')].map(e => e.value));
// Options of a prediction, the right one last: after it there is nothing left to choose.
const options = (figure) => {
    const known = JSON.parse(document.querySelector('script.attnbook-state')?.textContent ?? '{}');
    const own = known[figure.closest('[data-attnbook-view]').dataset.attnbookView];
    const right = own?.options?.indexOf(own.right);
    const found = [...figure.querySelectorAll('.option')];
    return [...found.filter((_, i) => i !== right), ...found.filter((_, i) => i === right)];
};
"""


def using(body: str) -> str:
    """A function of the page that knows the tools."""
    return f"async (...given) => {{ {TOOLS} return ({body})(...given); }}"


KINDS = using("() => figures().map(kind)")
# In each place of the page stands a figure, or why it stands still.
MOUNTED = using("""() => {
    const places = [...document.querySelectorAll('[data-attnbook-view]')];
    return places.every(e => e.querySelector('figure, :scope > [role=status]'));
}""")
STILL = """() => [...document.querySelectorAll('[data-attnbook-view] > [role=status]')]
    .map(e => e.textContent)"""

# Numbers of a figure with each slider at some places, the others at rest. What a model of the page
# writes is painted in a microtask.
NUMBERS = using("""async (place, parts) => {
    const figure = figures()[place], found = {};
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


def places(seed: int, drawn: int = 2) -> list[float]:
    """Where a slider is looked at, as parts of its way: ends, middle and some that are drawn."""
    draw = Random(seed)  # noqa: S311 - nothing secret
    return [0, 1, 0.5, *(draw.random() for _ in range(drawn))]


def numbers(engine: Engine, place: int, seed: int) -> dict[str, Any]:
    """What a figure shows wherever its sliders are looked at, by slider and place."""
    return dict(engine.evaluate(NUMBERS, place, places(seed)))


CLOSE = 1e-12  # relative


def differ(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Where two engines do not show the same."""
    if [*one] != [*other]:
        return [f"other places: {[*one]} and {[*other]}"]
    wrong = []
    for place, read in one.items():
        beside = other[place]
        if read["texts"] != beside["texts"]:
            wrong.append(f"{place}: {read['texts']} and {beside['texts']}")
        pairs = [*zip(read["cells"], beside["cells"], strict=False)]
        far = [pair for pair in pairs if not near(*pair)]
        if len(read["cells"]) != len(beside["cells"]) or far:
            wrong.append(f"{place}: {far[:3]} of {len(read['cells'])}, {len(beside['cells'])}")
    return wrong


def near(one: str, other: str) -> bool:
    """Whether two numbers, as they are written, are as good as equal; NaN and words must be."""
    try:
        return one == other or math.isclose(float(one), float(other), rel_tol=CLOSE)
    except ValueError:
        return False


# Which control stands for a figure. What a key chose is not chosen again by the pointer.
TARGET = using("""(place, by) => {
    const figure = figures()[place];
    if (kind(figure) === 'code') return by === 'key'
        ? all(figure, '.cm-content, textarea')[0] : all(figure, '.run')[0];
    const slider = sliders(figure).find(each => each.checkVisibility()); // one is for phones
    if (slider) return slider;
    const choices = options(figure), others = all(figure, 'input, select, button');
    return by === 'key' ? choices[0] ?? others[0] : choices[1] ?? others.at(-1);
}""")
FOCUS = using(f"""async (place) => {{
    const target = await ({TARGET})(place, 'key');
    target?.focus();
    if (!target || target.localName === 'textarea') return false; // an editor takes its place
    window.before = state(figures()[place]);
    const high = +target.value >= +target.max;
    return {{ kind: target.type === 'range' ? 'range' : target.localName, high }};
}}""")
# A place on the control that nothing lies upon, once it no longer moves; of a slider, one where
# its handle is not.
AIM = using(f"""async (place) => {{
    const target = await ({TARGET})(place, 'pointer');
    if (!target) return null;
    target.scrollIntoView({{ block: 'center', behavior: 'instant' }});
    const box = target.getBoundingClientRect();
    const full = (target.value - target.min) / (target.max - target.min);
    const part = target.type !== 'range' || full < 0.5 ? 0.75 : 0.25;
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
REMEMBER = using("(place) => { window.before = state(figures()[place]); }")
ANSWERED = using("(place) => state(figures()[place]) !== before")


def deaf_to_key(engine: Engine, place: int) -> str:
    """What is wrong with how a figure answers a key, if anything is."""
    focused = until(engine, FOCUS, place, patience=ANSWER)
    if not focused:
        return "has no control"
    by_kind = {"range": "ArrowLeft" if focused["high"] else "ArrowRight", "button": "Enter"}
    engine.press(by_kind.get(focused["kind"], "1"))
    return "" if until(engine, ANSWERED, place, patience=ANSWER) else "does not answer a key"


def pointed(engine: Engine, place: int) -> bool:
    """Click on a figure's control, again where it moved away meanwhile; whether it was met."""
    for _ in range(3):
        aim = until(engine, AIM, place, patience=ANSWER)
        if not aim:
            break
        engine.point(*aim)
        if until(engine, "() => met", patience=MET):
            return True
    return False


def deaf_to_pointer(engine: Engine, place: int) -> str:
    """What is wrong with how a figure answers the pointer, if anything is."""
    if not until(engine, AIM, place, patience=ANSWER):
        return "has no control that can be reached"
    # Once, before all clicks: on a busy machine a click may come only when the next one is aimed,
    # and what it changed would be taken for what was there before.
    engine.evaluate(REMEMBER, place)
    if not pointed(engine, place):
        return "has no control that can be reached"
    return "" if until(engine, ANSWERED, place, patience=ANSWER) else "does not answer the pointer"
