"""The cheat sheet: its code runs, its tables hold, and it is one sheet of paper."""

from __future__ import annotations

import ast
import re
from math import inf, sqrt

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attnbook
from attnbook.practice import TASKS
from tools import ROOT
from tools.site.reference import cheat_sheet

TEXT = (ROOT / f"{cheat_sheet.PAGE}.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S))
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
# Sizes of the axes by the names that the sheet has for them.
SIZES = {"batch": 2, "heads": 11, "num_queries": 3, "num_keys": 5, "num_hiddens": 17}
SIZES |= {"query_size": 7, "key_size": 7, "value_size": 13}
# Each bug of the sheet is one of the registry, whose symptom it has.
BUGS = [
    ("causal-mask", "mask inverted"),
    ("scaled-dot-attention", "not scaled"),
    ("softmax", "softmax over the queries"),
    ("masked-softmax", "filled with minus a billion"),
    ("split-heads", "split by a reshape"),
]


def table(section: str) -> list[list[str]]:
    """The rows of a section's table below its head."""
    rows = re.findall(r"^\| (.*) \|$", SECTIONS[section], re.M)
    return [row.split(" | ") for row in rows[1:]]


@pytest.fixture(scope="module")
def names():
    """The names after the code of the section Layers has run; each shape that it states holds."""
    torch.manual_seed(0)
    names, code = {}, "".join(CODE.findall(SECTIONS["Layers"]))
    exec(code, names)  # noqa: S102 - our own page
    stated = re.findall(r"^(\S.*?)  # (\(\d+(?:, \d+)*\))$", code, re.M)
    assert len(stated) == 5
    for expression, shape in stated:
        found = eval(expression, names).shape  # noqa: S307 - our own page
        assert tuple(found) == ast.literal_eval(shape), expression
    return names


def shapes(stated: str) -> list[tuple[int, ...]]:
    """The shapes of a cell, with the axis of heads, which may be missing."""
    spans = [span for span in SPAN.findall(stated) if span.startswith("(")]
    return [tuple(SIZES[axis] for axis in re.findall(r"\w+", span)) for span in spans]


# What the sheet states


def test_the_layer_has_the_shapes_of_the_table():
    rows = {name: shapes(cell) for cells, cell in table("Shapes") for name in SPAN.findall(cells)}
    assert len(rows) == 9
    layer = attnbook.DotProductAttention()
    inputs = [torch.randn(rows[name][0]) for name in ("queries", "keys", "values")]
    scores = attnbook.scaled_dot_score(*inputs[:2])
    assert (scores.shape,) == (*rows["scores"],) == (*rows["weights"],)
    for lens in rows["valid_lens"]:
        assert layer(*inputs, torch.ones(lens).long()).shape == rows["output"][0]
    for shape in (*rows["mask"], scores.shape):
        assert layer(*inputs, mask=torch.rand(shape) > 0.5).shape == rows["output"][0]
        assert layer(*inputs, bias=torch.rand(shape)).shape == rows["output"][0]
    assert layer.attention_weights.shape == rows["weights"][0]
    x = torch.randn(3, 8)
    with pytest.raises(ValueError, match="queries"):
        layer(x, x, x)
    assert layer(x[None], x[None], x[None]).shape == (1, 3, 8)


def test_a_scale_replaces_the_root_and_a_score_of_your_own_makes_a_layer(names):
    queries, keys, values = names["queries"], names["keys"], names["values"]
    assert torch.allclose(names["lean"].score(queries, keys), queries @ keys.mT, atol=1e-6)
    weights = (queries @ keys.mT).softmax(-1)
    assert torch.allclose(names["Unscaled"]()(queries, keys, values), weights @ values, atol=1e-6)


def softmax_to(scores, lens):
    hidden = torch.arange(scores.shape[-1]) >= lens[:, None, None]
    return scores.double().masked_fill(hidden, -inf).softmax(-1)


def multi_head(heads, queries, keys, values):
    """The formula, head by head."""
    size, outputs = 16 // 4, []
    for i in range(4):
        part = slice(i * size, (i + 1) * size)
        q, k, v = queries @ heads.W_q.weight[part].T, keys @ heads.W_k.weight[part].T, values
        outputs.append((q @ k.mT / sqrt(size)).softmax(-1) @ (v @ heads.W_v.weight[part].T))
    return torch.cat(outputs, -1) @ heads.W_o.weight.T


def test_each_formula_is_that_of_the_code_next_to_it(names):
    queries, keys, values = names["queries"], names["keys"], names["values"]
    scores, matrix, w_v, width = torch.randn(2, 3, 5), torch.randn(8, 8), torch.randn(16), 0.7
    to_hiddens, weights = [nn.Linear(8, 16), nn.Linear(8, 16)], scores.softmax(-1)
    known = names | {"scores": scores, "W": matrix, "w_v": w_v, "width": width, "weights": weights}
    known |= dict(zip(["W_q", "W_k"], to_hiddens, strict=True))
    pairs = to_hiddens[0](queries)[:, :, None] + to_hiddens[1](keys)[:, None]
    expected = {
        r"\mathbf q^\top \mathbf k": queries @ keys.mT,
        r"\mathbf q^\top \mathbf k / \sqrt d": queries @ keys.mT / sqrt(8),
        r"\tanh(": (pairs.tanh() * w_v).sum(-1),
        r"\mathbf q^\top \mathbf W \mathbf k": queries @ matrix @ keys.mT,
        r"-\lVert": -(torch.cdist(queries, keys) ** 2) / 2 / width**2,
        r"\alpha_i = e^": softmax_to(scores, names["valid_lens"]).float(),
        r"\mathbf o = \sum_i": torch.einsum("bqk,bkv->bqv", weights, values),
        r"\mathbf W_o\,[": multi_head(names["heads"], queries, keys, values),
    }
    rows = table("Formulas")
    assert len(rows) == len(expected)
    for (code, formula), (part, result) in zip(rows, expected.items(), strict=True):
        assert part in formula
        given = eval(SPAN.search(code)[1], known)  # noqa: S307 - our own page
        assert torch.allclose(given, result, atol=1e-5), code


def test_the_masks_run_and_hide_what_their_comments_say(names):
    masks, names = [], names.copy()
    code = CODE.search(SECTIONS["Masks"])[1]
    for line in code.splitlines():
        exec(line, names)  # noqa: S102 - our own page
        if line.startswith("mask ="):
            masks.append(names["mask"].expand(2, 3, 5).int().tolist())
    # Queries are at positions 2, 3 and 4.
    left, window, documents, prefix, own, joined = masks
    assert left == [[[1, 1, 1, 1, 1]] * 3, [[0, 0, 0, 1, 1]] * 3]
    assert window == [[[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]] * 2
    assert documents == [[[0, 0, 1, 1, 1]] * 3] * 2
    assert prefix == [[[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]] * 2
    assert own == [[[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]] * 2
    assert joined == [[[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]] * 2
    dot, inputs = names["dot"], names["inputs"]
    dot(*inputs, causal=True)
    assert (dot.attention_weights[0] > 0).int().tolist() == own[0]


# What other libraries do


def run_sdpa(x, mask):
    return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def run_flex(x, mask):
    blocks = create_block_mask(lambda _b, _h, q, k: mask[q, k], None, None, 4, 4, device="cpu")
    return flex_attention(x[:, None], x[:, None], x[:, None], block_mask=blocks)[:, 0]


def run_multihead(x, mask):
    torch.manual_seed(1)
    return nn.MultiheadAttention(8, 2, batch_first=True).eval()(x, x, x, attn_mask=mask)[0]


RUNS = {
    "attnbook": lambda x, mask: attnbook.DotProductAttention()(x, x, x, mask=mask),
    "F.scaled_dot_product_attention": run_sdpa,
    "flex_attention": run_flex,
    "nn.MultiheadAttention": run_multihead,
}


@pytest.mark.filterwarnings("ignore:flex_attention called without torch")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.weekly] * ("flex" in name)) for name in RUNS]
)
def test_true_means_and_an_empty_row_gives_what_the_table_states(name):
    rows = table("True and empty rows")
    ((meaning, empty),) = (stated for cell, *stated in rows if cell.startswith(f"`{name}`"))
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(2))
    visible = torch.ones(4, 4, dtype=torch.bool)
    visible[:, 3] = False
    other = x.clone()
    other[:, 3] += 1
    # Key 3 is marked. If True hides, then it may change without any effect on query 0.
    outcome = {}
    for mark in ("visible", "hidden"):
        mask = visible if mark == "visible" else ~visible
        first, second = (RUNS[name](each, mask)[0, 0] for each in (x, other))
        outcome[mark] = torch.equal(first.nan_to_num(), second.nan_to_num())
    assert outcome == {"visible": meaning == "visible", "hidden": meaning == "hidden"}
    visible[1] = False
    row = RUNS[name](x, visible if meaning == "visible" else ~visible)[0, 1]
    expected = torch.full_like(row, 0.0 if empty == "0" else torch.nan)
    assert torch.equal(row.nan_to_num(9), expected.nan_to_num(9))


# Bugs


def test_each_bug_has_the_symptom_of_the_registry_and_its_lines_differ_as_stated():
    items = re.findall(r"^\d\. (.*?)(?=^\d\. |\Z)", SECTIONS["Five common bugs"], re.M | re.S)
    assert len(items) == len(BUGS) == 5
    for item, (task, bug) in zip(items, BUGS, strict=True):
        assert TASKS[task].bugs[bug].symptom in item
    wrong, right = (re.findall(rf"{mark} `([^`]+)`", TEXT) for mark in "✗✓")
    b, h, n, d = 2, 4, 5, 3
    queries, keys, scores = torch.randn(b, n, d), torch.randn(b, n, d), torch.randn(b, n, n)
    mask, x = torch.ones(n, n).tril() == 1, torch.randn(b, n, h * d)
    known = {"inf": inf, "b": b, "h": h, "n": n, "d": d, "queries": queries, "keys": keys}
    known |= {"scores": scores, "mask": mask, "x": x}
    expected = [
        torch.where(mask, scores, -inf),
        attnbook.scaled_dot_score(queries, keys),
        attnbook.masked_softmax(scores),
        torch.where(mask, scores, -inf),
        attnbook.split_heads(x, h),
    ]
    for bad, good, result in zip(wrong, right, expected, strict=True):
        assert torch.allclose(eval(good, known), result)  # noqa: S307 - our own page
        assert not torch.allclose(eval(bad, known), result)  # noqa: S307
    with pytest.raises(RuntimeError, match="overflow"):
        eval(wrong[3], known | {"scores": scores.half()})  # noqa: S307


# Paper


def written(folder, text):
    """A site with a sheet of this text."""
    page = folder / f"{cheat_sheet.PAGE}.html"
    page.parent.mkdir(exist_ok=True)
    (folder / "_static").mkdir(exist_ok=True)
    for name in (cheat_sheet.BUNDLE, cheat_sheet.STYLE):
        (folder / "_static" / name).touch()
    page.write_text(f'<p class="book-pdf"></p>{text}', "utf-8")
    return page


def test_a_pdf_is_made_again_only_if_its_page_has_changed(tmp_path, monkeypatch):
    printed = []
    monkeypatch.setattr(
        cheat_sheet, "print_in_chromium", lambda page: printed.append(page) or b"%PDF"
    )
    page, stored = written(tmp_path, "text"), tmp_path / "digest"
    for _ in range(2):
        assert cheat_sheet.write_pdf(tmp_path, stored)
    assert len(printed) == 1
    assert f'href="{cheat_sheet.PDF}"' in page.read_text("utf-8")
    written(tmp_path, "other text")
    assert cheat_sheet.write_pdf(tmp_path, stored)
    assert len(printed) == 2
    # Without a Chromium nothing is linked, and the PDF of the older page goes.
    monkeypatch.setattr(cheat_sheet, "print_in_chromium", lambda _page: None)
    written(tmp_path, "third text")
    assert not cheat_sheet.write_pdf(tmp_path, stored)
    assert not page.with_name(cheat_sheet.PDF).exists()
    assert "href" not in page.read_text("utf-8")


# What leaves its box on paper, in the width of a sheet: tables, code and formulas.
CUT_OFF = """() => [...document.querySelectorAll('#cheat-sheet :is(section, pre, td, li)')]
    .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.trim().slice(0, 60))"""


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_built_sheet_is_one_sheet_of_paper_with_all_its_sections(browser, site, paper):
    page = browser.new_page(color_scheme="dark")  # paper is light all the same
    page.goto((site / f"{cheat_sheet.PAGE}.html").as_uri())
    page.evaluate("document.fonts.ready")
    printed = page.pdf(format=paper, landscape=True)
    assert len(cheat_sheet.SHEET.findall(printed)) == 1
    # In pixels, less the margins of 6 mm.
    width, height = {"A4": (1077, 748), "Letter": (1010, 770)}[paper]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(media="print")
    assert page.evaluate(CUT_OFF) == []
    assert page.locator("#cheat-sheet > section:visible").count() == len(SECTIONS) == 6
    offered = page.locator(".book-pdf a").get_attribute("href")
    page.close()
    pdf = (site / f"{cheat_sheet.PAGE}.html").with_name(offered).read_bytes()
    assert len(cheat_sheet.SHEET.findall(pdf)) == 1
