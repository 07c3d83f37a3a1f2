"""What the search finds: queries, and the place that is among the first three hits of each."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.browsing import pages
from tools.site.assets.node import NODE
from tools.site.search.parts import read_synonyms, text_by_id

FIRST = 3
PROGRAM = Path(__file__).with_name("search_in_node.mjs")
TABLES = tomllib.loads(Path(__file__).with_name("search_queries.toml").read_text("utf-8"))
PLACES = {query: place for table in TABLES.values() for query, place in table.items()}
MISTYPED = {
    "sofmax": "softmax",
    "cuasal mask": "causal mask",
    "valid_lenz": "valid_lens",
    "MultiHeadAtention": "MultiHeadAttention",
}


# Names, and where each is used; that comes after what has the name.
USED = {
    "trace": ["recipes#recipe-shapes", "multi-head-attention#read-the-shapes-of-your-own-layer"],
    "keep_weights": ["recipes#recipe-weights-per-head"],
    "start_mask": ["masks#padding-on-the-right-and-on-the-left", "cheat-sheet#masks"],
    "prefix_mask": ["masks#a-prefix", "cheat-sheet#masks"],
}


VARIANTS = ["causal mask", "causal masks", "Causal Masks"]
QUERIES = [*PLACES, *USED, *MISTYPED, *MISTYPED.values(), *VARIANTS, "rope"]


def search(site: Path, queries: list[str]) -> list[list[str]]:
    """The addresses that the search of a built site finds for each query."""
    task = json.dumps({"site": str(site), "queries": queries})
    done = subprocess.run(
        [NODE, PROGRAM], input=task, capture_output=True, encoding="utf-8", check=True
    )
    return json.loads(done.stdout)["hits"]


@pytest.fixture(scope="module")
def found(site):
    """What the search of the built book finds for each query, and the pages' texts."""
    names = [f"{page}.html" for page in pages()]
    texts = {name: text_by_id((site / name).read_text("utf-8")) for name in names}
    hits = dict(zip(QUERIES, search(site, QUERIES), strict=True))
    return {"hits": hits, "pages": texts}


def addresses(place: str, pages: dict[str, list[list[str]]]) -> set[str]:
    """The addresses of a place, if it exists: a label comes after its section's own anchor."""
    page, _, anchor = place.partition("#")
    ids = [name for name, _ in pages.get(f"chapters/{page}.html", [])]
    if anchor not in ids:
        return set()
    at = ids.index(anchor)
    return {f"chapters/{page}#{name}" for name in ids[max(at - 1, 0) : at + 1] if name}


def test_each_query_finds_its_place_first(found):
    assert [
        (query, place, found["hits"][query][:FIRST])
        for query, place in PLACES.items()
        if not addresses(place, found["pages"]) & {*found["hits"][query][:FIRST]}
    ] == []


def test_a_name_also_finds_where_it_is_used(found):
    for name, places in USED.items():
        hits = found["hits"][name]
        assert hits[0].lower().endswith(f".{name}")
        assert [place for place in places if not addresses(place, found["pages"]) & {*hits}] == []


def test_a_figure_s_methods_come_after_the_layers(found):
    hits = found["hits"]["rope"]
    is_method = [hit.startswith("chapters/api-figures#") and hit.count(".") > 2 for hit in hits]
    assert True in is_method[5:]
    assert True not in is_method[:5]


def test_a_word_with_one_wrong_letter_a_plural_and_capitals_find_the_same(found):
    hits = found["hits"]
    for wrong, right in MISTYPED.items():
        assert hits[wrong] == hits[right] != []
    first, *others = (hits[query] for query in VARIANTS)
    assert others == [first, first]


def test_all_words_of_a_synonym_are_in_one_place_of_the_book(found):
    texts = [text.lower() for parts in found["pages"].values() for _, text in parts]
    phrases = {phrase.lower() for some in read_synonyms().values() for phrase in some}
    assert [
        phrase
        for phrase in sorted(phrases)
        if not any(all(word in text for word in phrase.split()) for text in texts)
    ] == []
