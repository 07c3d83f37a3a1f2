"""What a screen reader gets of each figure of the book: its name, its numbers, its answers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.figures.shared.page import open_in_book

MOST_LISTED, MOST_ANNOUNCED = 24, 6  # keys: in a band, after a change
NUMBER = re.compile(r" (-?\d[\d.]*(?:e-?\d+)?)(?=, |\.(?: |$))")
# What a figure shows. A row of a table: whether it is a key's, its name, its cells.
READ = """const read = (figure) => {
    const all = (selector, root = figure) => [...root.querySelectorAll(selector)];
    const exposed = (selector) => all(selector)
        .filter((e) => e.checkVisibility() && !e.closest('[aria-hidden=true]'))
        .map((e) => e.textContent);
    const tables = all('table').map((table) => {
        const columns = all('thead tr:first-child > *', table).map((e) => e.textContent);
        return all('tbody tr:not([hidden])', table).map((row) => [row.hasAttribute('data-key'),
            row.cells[0].textContent, Object.fromEntries(
                [...row.cells].slice(1).map((cell, i) => [columns[i + 1], cell.textContent]))]);
    });
    return {
        kind: figure.dataset.attnbookFigure,
        label: figure.ariaLabel,
        action: figure.querySelector('.action')?.textContent,
        names: [...all('figcaption'), ...all('.action, .ask')].map((e) => e.textContent),
        editor: all('textarea').map((e) => e.ariaLabel),
        bands: exposed('.stage > .spoken').join(' '),
        live: exposed('[role=status], [aria-live=polite]').join(' '),
        rows: all('.heat-rows button').map((e) => e.ariaLabel),
        shown: Object.fromEntries(['p.answer', '.mask-verdict', '.mask-empty', '.readout',
            '.output .number', '.story-answer > button', '[aria-label="Bytes read"] b',
            '.measure b', '.queries bdi', '.written b',
        ].map((selector) => [selector, all(selector).map((e) => e.textContent)])),
        tables,
    };
};"""
# Does what an action asks for, or a part of it.
ACT = r"""const act = async (figure, action) => {
    const all = (selector) => [...figure.querySelectorAll(selector)];
    const send = (e, event) => e.dispatchEvent(new Event(event, { bubbles: true }));
    const plain = action.replaceAll(/[“”]/g, '');
    const target = action.match(/to (-?\d+(\.\d+)?)/)?.[1];
    const [asked, sliders] = [all('.action code').map((e) => e.textContent), all('[type=range]')];
    const others = all('[type=radio]:not(:checked)');
    send(figure, 'focusin');
    if (/Next/.test(action)) return all('.stepper button')[1].click();
    if (/^Remove/.test(action)) return all('[type=checkbox]')[0].click();
    if (/^(Hide|Click)/.test(action)) return all('.token-row + .token-row > .token')[0].click();
    if (/^Choose the .* in the output/.test(action)) return all('.queries > .token').at(-1).click();
    if (/^(Choose|Run)/.test(action) && others.length) return others.at(-1).click();
    if (/^(Choose|Change)/.test(action)) {
        const select = all('select').filter((e) => e.checkVisibility()).at(-1);
        do select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
        while (select.selectedOptions[0].disabled);
        return send(select, 'change');
    }
    if (/^Type/.test(action)) {
        all('[type=text]')[0].value = 'abcabca';
        return send(all('[type=text]')[0], 'input');
    }
    const handle = sliders.find((e) => asked.includes(e.ariaLabel))
        ?? sliders.find((e) => e.ariaLabel.length > 1 && plain.includes(e.ariaLabel)) ?? sliders[0];
    const set = (value) => {
        handle.value = value;
        send(handle, 'input');
    };
    if (!target) return set(handle.value === handle.min ? handle.max : handle.min);
    const [low, high, step] = [handle.min, handle.max, handle.step].map(Number);
    for (let value = low; value <= high; value += step) {
        set(value);
        await null;
        if (handle.ariaValueText.replace(',', '') === target) return;
    }
};"""
RUN = f"""async (kinds) => {{ {READ} {ACT}
    const results = {{}};
    for (const view of document.querySelectorAll('[data-attnbook-view]')) {{
        const figure = view.querySelector('figure');
        const before = read(figure);
        const isAsked = kinds.includes(before.kind);
        if (isAsked) await act(figure, before.action);
        let after = read(figure);
        for (let i = 0; isAsked && i < 600 && after.live === before.live; i++) {{
            await new Promise(requestAnimationFrame);
            after = read(figure);
        }}
        results[view.dataset.attnbookView] = [before, after];
    }}
    return results;
}}"""


@pytest.fixture(scope="module")
def figures(browser, book_gallery) -> dict[str, list[dict[str, Any]]]:
    """Each figure of the book, before and after what its action asks for."""
    with open_in_book(browser, book_gallery) as (tab, _, _):
        return dict(tab.evaluate(RUN, [*ASKED]))


def test_each_figure_has_the_name_of_its_caption_its_action_or_its_question(figures):
    for name, (figure, _) in figures.items():
        assert figure["label"] in (figure["names"][0], *figure["editor"]), name


def columns(figure: dict[str, Any], what: str) -> list[list[str]]:
    """The scores or the weights that a figure shows, from its tables."""
    found = []
    for rows in figure["tables"]:
        keys = [numbers for is_key, _, numbers in rows if is_key]
        titles = [title for title in (keys or [{}])[0] if title.startswith(what)]
        found += [[key[title] for key in keys] for title in titles]
    return found


def test_scores_and_weights_can_be_read_without_the_tables(figures):
    for what in ("score", "weight"):
        seen = [(name, figure) for name, pair in figures.items() for figure in pair]
        for name, figure in seen:
            parts = re.split(r"(Scores|Weights):", figure["bands"])
            listed = [
                NUMBER.findall(text)
                for title, text in zip(parts[1::2], parts[2::2], strict=True)
                if title == f"{what.title()}s"
            ]
            expected = columns(figure, what)
            assert len(listed) >= len(expected), name
            for row, numbers in zip(expected, listed, strict=False):
                assert numbers == row or len(row) > MOST_LISTED >= len(numbers) > 0, name
        assert sum(bool(columns(figure, what)) for _, figure in seen) > 40


def of_keys(figure: dict[str, Any]) -> list[str]:
    """The weights, of many the largest; the outputs; scores if the action speaks of them."""
    expected = []
    for rows in figure["tables"]:
        keys = [(name, numbers) for is_key, name, numbers in rows if is_key]
        for what in ["score", "weight"] if "score" in figure["action"] else ["weight"]:
            listed = [(float(numbers[what]), f"{name} {numbers[what]}") for name, numbers in keys]
            expected += [
                text for _, text in (listed if len(listed) <= MOST_ANNOUNCED else [max(listed)])
            ]
        expected += [text for title, text in rows[-1][2].items() if title.startswith("value")]
    return expected


def of_mask(figure: dict[str, Any]) -> list[str]:
    if "code" in figure["action"]:
        return ["visible" if "hides" not in figure["live"] else "True hides"]
    counts = [list(numbers.values())[-1] for _, _, numbers in figure["tables"][0]]
    return [
        f"{', '.join(counts)}.",
        *figure["shown"][".mask-verdict"],
        *figure["shown"][".mask-empty"],
    ]


def of_translation(figure: dict[str, Any]) -> list[str]:
    """The output, and the key with most weight if the action asks for weights."""
    output = "".join(figure["shown"][".queries bdi"])
    if "weight" not in figure["action"]:
        return [output]
    keys = [(float(n["weight"]), name) for is_key, name, n in figure["tables"][0] if is_key]
    position, character = max(keys)[1].split(": ")
    return [output, f"“{character}” at {position} ("]


def of_story(figure: dict[str, Any]) -> list[str]:
    return [f"Its answer: {' '.join(figure['shown']['.story-answer > button'])}"]


# What the live region must say, by the kind of figure. Others answer what a reader writes.
ASKED = {
    "attention": of_keys,
    "cache": lambda figure: figure["shown"]["p.answer"],
    "cost": lambda figure: figure["shown"]['[aria-label="Bytes read"] b'][-1].split(" + "),
    "heads": lambda figure: figure["shown"]["p.answer"],
    "mask": of_mask,
    "online": lambda figure: figure["shown"][".readout"],
    "pooling": lambda figure: figure["shown"][".output .number"],
    "position": lambda figure: [list(figure["tables"][0][-1][2].values())[-1]],
    "scaling": lambda figure: figure["shown"][".measure b"][6:8],
    "story": of_story,
    "translator": of_translation,
    "writing": lambda figure: [f"“{figure['shown']['.written b'][0]}”"],
}


def test_after_a_change_the_live_region_says_what_the_action_asks_about(figures):
    wrong, kinds = {}, set()
    for name, (before, figure) in figures.items():
        if (kind := figure["kind"]) not in ASKED:
            continue
        kinds.add(kind)
        missing = [text for text in ASKED[kind](figure) if text not in figure["live"]]
        is_silent = figure["live"] == before["live"] and figure["bands"] != before["bands"]
        if missing or is_silent:
            wrong[name] = (figure["action"], missing, figure["live"])
    assert not wrong, "\n".join(map(str, wrong.items()))
    assert kinds == ASKED.keys()


def test_each_row_of_a_mask_says_what_its_query_sees(figures):
    masks = [figure for pair in figures.values() for figure in pair if figure["kind"] == "mask"]
    for figure in masks:
        for label, (_, name, numbers) in zip(figure["rows"], figure["tables"][0], strict=True):
            start, _, seen_keys = label.rstrip(".").partition(" sees ")
            spans = [
                (int(low), int(high or low))
                for low, high in re.findall(r"(\d+)(?: to (\d+))?", seen_keys)
            ]
            keys = {key for low, high in spans for key in range(low, high + 1)}
            seen = [text for text, cell in numbers.items() if cell == "True"]
            assert (start.lower(), {f"key {key}" for key in keys}) == (name, {*seen})
    assert len(masks) > 8
