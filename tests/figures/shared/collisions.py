"""What overlaps, is cut off or leaves its plane in a figure, in all states of its controls."""

from __future__ import annotations

# The faults of a figure as it is now. Each piece of text has a box for each line, as high as its
# letters; `box` is what the elements around the text show of it. Tables and code may scroll.
COLLISIONS = """figure => {
    const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const boxOf = (e) => e.getBoundingClientRect();
    const within = (a, b) => ({
        left: Math.max(a.left, b.left), right: Math.min(a.right, b.right),
        top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom),
    });
    const size = ({ left, right, top, bottom }) => Math.min(right - left, bottom - top);
    const isBeyond = (a, b) =>
        ['left', 'right', 'top', 'bottom'].some((side) => Math.abs(a[side] - b[side]) > 1);
    const cuts = new Map([[figure, null]]);
    const cutOf = (e) => {
        if (!cuts.has(e)) {
            const isOpen = getComputedStyle(e).overflowX === 'visible' || e.matches('svg');
            const outer = cutOf(e.parentElement);
            cuts.set(e, isOpen ? outer : outer ? within(boxOf(e), outer) : boxOf(e));
        }
        return cuts.get(e);
    };
    const texts = [], walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, e = node.parentElement, text = node.data.trim();
        if (!text || e.closest('option, textarea, table, pre, .scroll') || !shown(e)) continue;
        const range = document.createRange(), cut = cutOf(e);
        if (cut && size(cut) <= 1) continue; // for screen readers only
        range.selectNodeContents(node);
        for (const { left, right, top, bottom } of range.getClientRects()) {
            const middle = (top + bottom) / 2;
            const high = Math.min(middle - top, 0.36 * parseFloat(getComputedStyle(e).fontSize));
            const whole = { left, right, top: middle - high, bottom: middle + high };
            const box = cut ? within(whole, cut) : whole;
            texts.push({ node, e, text: text.slice(0, 30), whole, box });
        }
    }
    const faults = new Set();
    texts.sort((a, b) => a.box.top - b.box.top);
    texts.forEach(({ node, e, text, whole, box }, i) => {
        if (isBeyond(whole, box)) faults.add(`“${text}” is cut off`);
        const plane = e.closest('.plane, .heat-picture, .picture') ?? figure;
        if (isBeyond(box, within(box, within(boxOf(figure), boxOf(plane)))))
            faults.add(`“${text}” leaves its ${plane.className}`);
        for (let j = i + 1; j < texts.length && texts[j].box.top < box.bottom; j += 1)
            if (node !== texts[j].node && size(within(box, texts[j].box)) > 1)
                faults.add(`“${text}” and “${texts[j].text}” overlap`);
    });
    const all = (selector) => [...figure.querySelectorAll(selector)].filter(shown);
    const bars = all('.bars, .total, .sum, .graph, .heat-cells, .values');
    for (const e of all('button, select, summary, .stepper, .plane, [type=text], [type=checkbox]'))
        for (const bar of bars)
            if (!e.contains(bar) && size(within(boxOf(e), boxOf(bar))) > 1)
                faults.add(`${e.className} “${e.textContent}” is on ${bar.getAttribute('class')}`);
    for (const e of figure.querySelectorAll('*'))
        for (const { name, value } of e.attributes)
            if (/\\b(NaN|Infinity|undefined)\\b/.test(value))
                faults.add(`${e.localName} ${name}: ${value}`);
    return [...faults];
}"""
# The same after each control is set to its ends, or to each of its choices, and back.
IN_ALL_STATES = f"""async (figure) => {{
    const found = {{}};
    const note = async (state) => {{
        await null; // a figure may paint once for several changes
        await null;
        for (const fault of ({COLLISIONS})(figure)) found[fault] ??= state;
    }};
    await note('at first');
    const folded = figure.querySelectorAll('.more-controls');
    for (const e of folded) e.open = true;
    await new Promise(setTimeout); // a figure may show more, too
    await note('unfolded');
    const controls = 'input[type=range], input[type=checkbox], select';
    for (const e of figure.querySelectorAll(controls)) {{
        const key = e.type === 'checkbox' ? 'checked' : 'value', first = e[key];
        const states = e.type === 'checkbox' ? [!first]
            : e.type === 'range' ? [e.min, e.max] : [...e.options].map(({{ value }}) => value);
        for (const state of [...states, first]) {{
            e[key] = state;
            for (const type of ['input', 'change'])
                e.dispatchEvent(new Event(type, {{ bubbles: true }}));
            await note(`${{e.ariaLabel ?? e.closest('label')?.textContent}}: ${{state}}`);
        }}
    }}
    for (const e of folded) e.open = false;
    return Object.entries(found).map(([fault, state]) => `${{fault}} (${{state}})`);
}}"""
