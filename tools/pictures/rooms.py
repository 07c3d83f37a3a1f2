"""The map of the package: its rooms, the purpose of each, and their imports.

Rooms and arrows come from the imports. An import that another room already implies has no arrow,
and neither have `checks`, which nearly every room imports, and what only readers see: sentences
and colours.
"""

from __future__ import annotations

from functools import cache

import grimp

from tools.pictures.arithmetic import join
from tools.pictures.svg_shapes import HEIGHT, SLATE, path, strip, svg

# The order and the arrows come from the imports; here is the purpose of each room in six words.
ROOMS = {
    "selftest": "every path against formulas in float64",
    "figures": "live figures, in Python and JavaScript",
    "practice": "tasks, known bugs and the judge",
    "models": "the translator and the Transformer, trained",
    "costs": "operations and memory, in numbers",
    "tracing": "the shape of each intermediate tensor",
    "display": "pictures, heatmaps and sources in chapters",
    "timing": "how long a call takes",
    "conventions": "what any attention function does",
    "visibility": "what any model sees",
    "multihead": "several attentions side by side",
    "torch_weights": "weights from and to torch's layers",
    "cache": "keys and values of the tokens before",
    "position": "encodings of position, added or rotated",
    "layers": "dot-product and additive attention as layers",
    "heads": "splitting vectors into heads, and merging",
    "attention": "one layer: scoring, weighting and pooling",
    "fused": "fast paths with the same results",
    "pooling": "the values' sum, times their weights",
    "weighting": "a softmax that hides masked keys",
    "scoring": "how well a query fits keys",
    "masking": "which positions may attend to which",
    "checks": "what is refused, in which words",
    "reading": "whether numbers may be read now",
    "torch_private": "names that torch may change",
    "colors": "the colours of figures and pictures",
    "messages": "sentences that readers see, by key",
}
WITHOUT_ARROWS = ("messages", "colors", "checks")
LEFT, ROW, WIDTH = 140, 36, 658
LANE = 14  # between two lines next to the rooms


def room_of(module: str) -> str:
    """The room of a module by its dotted name; "" is the package itself."""
    return module.removeprefix("attnbook").removeprefix(".").partition(".")[0]


@cache
def imports() -> dict[str, set[str]]:
    """The imports of each room; an import of the package counts as all its imports."""
    graph = grimp.build_graph("attnbook", cache_dir=None, exclude_type_checking_imports=True)
    by_room: dict[str, set[str]] = {}
    for module in graph.modules:
        others = {room_of(other) for other in graph.find_modules_directly_imported_by(module)}
        by_room.setdefault(room_of(module), set()).update(others - {room_of(module)})
    package = by_room.pop("", set())
    for name in ("_version", "__main__"):  # a number, and the command line
        del by_room[name]
    if by_room.keys() != ROOMS.keys():
        raise ValueError(f"ROOMS must name each room once; the package has {sorted(by_room)}")
    names = ROOMS.keys() - {*WITHOUT_ARROWS}
    return {
        room: (others | (package if "" in others else set())) & names
        for room, others in by_room.items()
    }


def below(room: str) -> set[str]:
    """All rooms that a room imports, directly or indirectly."""
    return imports()[room].union(*(below(other) for other in imports()[room]))


def arrows() -> list[tuple[str, str]]:
    """The imports that no other imports imply."""
    return [
        (room, other)
        for room in ROOMS
        for other in sorted(imports()[room])
        if not any(other in below(between) for between in imports()[room])
    ]


def depth(room: str) -> int:
    """The number of rooms on the longest path down to this one."""
    above = [depth(other) for other in ROOMS if room in imports()[other]]
    return 1 + max(above) if above else 0


def order() -> list[str]:
    """The rooms from the top down, each above its imports."""
    names = ROOMS.keys() - {*WITHOUT_ARROWS}
    return [*sorted(names, key=lambda r: (depth(r), [*ROOMS].index(r))), *WITHOUT_ARROWS]


def line(start: float, end: float, lane: int) -> str:
    """Draw an arrow from one room down to another, `lane` lanes to the left of both."""
    x = LEFT - 12 - LANE * lane
    steps = path(f"M{LEFT - 2} {start:g}H{x:g}V{end:g}H{LEFT - 10}")
    head = f'<path d="M{LEFT - 11:g} {end - 6:g}v12l9-6z" fill="{SLATE}"/>\n'
    return steps + head


def rooms() -> str:
    """Draw the map."""
    tops = {room: 2 + ROW * i for i, room in enumerate(order())}
    body = "".join(
        strip(LEFT, y, WIDTH - LEFT - 2, room, ROOMS[room], column=132) for room, y in tops.items()
    )
    occupied: list[list[tuple[float, float]]] = []
    for room, other in sorted(arrows(), key=lambda arrow: tops[arrow[1]] - tops[arrow[0]]):
        start, end = tops[room] + 0.7 * HEIGHT, tops[other] + 0.3 * HEIGHT
        lane = next(
            (n for n, spans in enumerate(occupied) if all(b < start or a > end for a, b in spans)),
            len(occupied),
        )
        occupied += [[]] if lane == len(occupied) else []
        occupied[lane].append((start, end))
        body += line(start, end, lane)
    ways = [f"{room} → {other}" for room, other in arrows()]
    about = (
        f"The rooms of attnbook from the top down, each above all that it imports: "
        f"{join([f'{room}, {ROOMS[room]}' for room in order()])}. Arrows: {join(ways)}."
    )
    size = (WIDTH, ROW * len(tops))
    return svg("rooms", size, "The rooms of the package attnbook", about, body)
