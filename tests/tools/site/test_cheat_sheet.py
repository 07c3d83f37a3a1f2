"""The cheat sheet: its code runs, its tables hold, and it is one sheet of paper."""

from __future__ import annotations

import ast
import re
from contextlib import nullcontext
from math import inf, sqrt
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attnbook
from attnbook.practice import TASKS
from tools import ROOT
from tools.site import cheat_sheet

TEXT = (ROOT / f"{cheat_sheet.PAGE}.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S))
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
SHAPE = re.compile(r"# (\(\d+(?:, \d+)*\))")
# Sizes of the axes by the names that the sheet has for them.
SIZES = {"batch": 2, "heads": 11, "num_queries": 3, "num_keys": 5, "num_hiddens": 17}
SIZES |= {"query_size": 7, "key_size": 7, "value_size": 13}
# Each bug of the sheet is one of the registry, whose symptom it has.
BUGS = [
    ("causal-mask", "true means hidden"),
    ("scaled-dot-attention", "no scaling"),
    ("softmax", "softmax over the queries"),
    ("masked-softmax", "filled with minus a billion"),
    ("split-heads", "reshaped without a swap"),
]


def table(section: str) -> list[list[str]]:
    """The rows of a section's table below its head."""
    rows = re.findall(r"^\| (.*) \|$", SECTIONS[section], re.M)
    return [row.split(" | ") for row in rows[1:]]


def run_code(section: str, names: dict) -> int:
    """Run a section's code; compare each shape that it states, and return how many it states."""
    code = "".join(CODE.findall(SECTIONS[section]))
    lines, stated = code.splitlines(), 0
    for part in ast.parse(code).body:
        last = part
        while isinstance(last, ast.For | ast.With):
            last = last.body[-1]
        comment = SHAPE.search(lines[last.end_lineno - 1])
        if comment and isinstance(last, ast.Expr):
            last.value = ast.parse(f"_shape_of({ast.unparse(last.value)})", mode="eval").body
            names["_shape_of"] = lambda result: names.update(_shape=tuple(result.shape))
        exec(compile(ast.Module([part], []), section, "exec"), names)  # noqa: S102 - our own page
        if comment and isinstance(last, ast.Expr):
            assert names["_shape"] == ast.literal_eval(comment[1]), lines[last.lineno - 1]
            stated += 1
    return stated


@pytest.fixture
def names():
    """The names after the code of the section Layers has run, and this module's."""
    torch.manual_seed(0)
    names = {}
    assert run_code("Layers", names) == 6
    return names


def shapes(stated: str, *, heads: bool) -> list[tuple[int, ...]]:
    """The shapes of a cell; `[heads,]` is an axis that may be missing."""
    stated = stated.replace("[heads,]", "heads," if heads else "")
    return [
        tuple(SIZES[axis] for axis in re.findall(r"\w+", span))
        for span in SPAN.findall(stated)
        if span.startswith("(")
    ]


# What the sheet states


@pytest.mark.parametrize("heads", [False, True])
def test_the_layer_has_the_shapes_of_the_table(heads):
    rows = {
        name: shapes(cell, heads=heads)
        for cells, cell in table("Shapes")
        for name in SPAN.findall(cells)
    }
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


def test_a_score_of_your_own_makes_a_layer(names):
    queries, keys, values = names["queries"], names["keys"], names["values"]
    weights = (-torch.cdist(queries, keys)).softmax(-1)
    assert torch.allclose(names["Nearest"]()(queries, keys, values), weights @ values, atol=1e-6)


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


def test_a_scale_replaces_the_root_and_a_trace_shows_shapes(names, capsys):
    queries, keys = names["queries"], names["keys"]
    assert torch.allclose(names["lean"].score(queries, keys), queries @ keys.mT, atol=1e-6)
    run_code("Layers", {})
    assert "q (2, 4, 3, 4)" in capsys.readouterr().out


def test_each_formula_is_that_of_the_code_next_to_it(names):
    queries, keys, values = names["queries"], names["keys"], names["values"]
    scores, matrix, w_v, width = torch.randn(2, 3, 5), torch.randn(8, 8), torch.randn(16), 0.7
    to_hiddens, weights = [nn.Linear(8, 16), nn.Linear(8, 16)], scores.softmax(-1)
    names |= {"scores": scores, "W": matrix, "w_v": w_v, "width": width, "weights": weights}
    names |= dict(zip(["W_q", "W_k"], to_hiddens, strict=True))
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
        given = eval(SPAN.search(code)[1], names)  # noqa: S307 - our own page
        assert torch.allclose(given, result, atol=1e-5), code


def test_the_masks_run_and_hide_what_their_comments_say(names):
    masks = []
    code = CODE.search(SECTIONS["Masks"])[1]
    for line in code.splitlines():
        before = names.get("mask")
        exec(line, names)  # noqa: S102 - our own page
        if names.get("mask") is not before:
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


def torch_layer(kind):
    torch.manual_seed(1)
    layer = kind(8, 2, batch_first=True).eval()
    attention = getattr(layer, "self_attn", layer)
    nn.init.normal_(attention.out_proj.bias)
    return layer


def run_multihead(x, mask, **options):
    return torch_layer(nn.MultiheadAttention)(x, x, x, attn_mask=mask, **options)[0]


def run_multihead_padding(x, mask):
    """Padding is the same for every query: that of the row that hides most."""
    padding = mask[1][None]
    return torch_layer(nn.MultiheadAttention)(x, x, x, key_padding_mask=padding)[0]


@torch.no_grad()
def run_encoder(x, mask):
    return torch_layer(nn.TransformerEncoderLayer)(x, src_mask=mask)


@torch.no_grad()
def run_encoder_padding(x, mask):
    return torch_layer(nn.TransformerEncoderLayer)(x, src_key_padding_mask=mask[1][None])


def run_transformers(kind):
    """The self-attention of a small random model whose scores are all 0."""

    @torch.no_grad()
    def run(x, mask):
        transformers = pytest.importorskip("transformers")
        sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
        torch.manual_seed(1)
        config = transformers.BertConfig(**sizes, attn_implementation=kind)
        model = transformers.BertModel(config).eval()
        attention = model.encoder.layer[0].attention.self
        attention.query.weight.zero_()
        attention.query.bias.zero_()
        outputs = []
        attention.register_forward_hook(lambda *given: outputs.append(given[-1][0]))
        model(inputs_embeds=x, attention_mask=mask[1][None].long())
        return outputs[0]

    return run


RUNS = {
    "mask": lambda x, mask: attnbook.DotProductAttention()(x, x, x, mask=mask),
    "attn_mask F": run_sdpa,
    "mask_mod": run_flex,
    "attn_mask nn": run_multihead,
    "key_padding_mask": run_multihead_padding,
    "src_mask": run_encoder,
    "src_key_padding_mask": run_encoder_padding,
    "attention_mask sdpa": run_transformers("sdpa"),
    "attention_mask eager": run_transformers("eager"),
}


def arguments() -> dict[str, tuple[str, str]]:
    """What the sheet states of each argument: what True is, and what an empty row gives."""
    found = {}
    for cell, meaning, empty in table("True and empty rows"):
        for name in SPAN.findall(cell.partition(":")[2]):
            owner = re.search(r"^`(F|nn)\.|, (sdpa|eager):", cell)
            suffix = (owner[1] or owner[2]) if owner else ""
            key = name.removesuffix("=1")
            key += f" {suffix}" if f"{key} {suffix}" in RUNS else ""
            found[key] = (meaning, empty.strip("` *"))
    return found


def test_the_table_names_each_argument_that_is_tried():
    assert arguments().keys() == RUNS.keys()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch")
@pytest.mark.parametrize("name", RUNS)
def test_true_means_and_an_empty_row_gives_what_the_table_states(name):
    meaning, empty = arguments()[name]
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
    if empty == "mean":  # of all values: with equal scores that is what a full row gives, too
        expected = RUNS[name](x, torch.ones(4, 4, dtype=torch.bool))[0, 1]
    assert torch.allclose(row, expected, equal_nan=True, atol=1e-6)


def test_an_empty_row_of_torchs_layers_is_nan_in_evaluation_without_gradients_only():
    assert "default) always. Without weights" in SECTIONS["True and empty rows"]
    assert "only in evaluation without gradients" in SECTIONS["True and empty rows"]
    x, hidden = torch.randn(1, 4, 8), torch.zeros(4, 4, dtype=torch.bool)
    hidden[1] = True
    for evaluates in (True, False):
        for gradients in (True, False):
            layer = torch_layer(nn.MultiheadAttention).train(not evaluates)
            encoder = torch_layer(nn.TransformerEncoderLayer).train(not evaluates)
            with torch.set_grad_enabled(gradients):
                row = layer(x, x, x, attn_mask=hidden, need_weights=False)[0][0, 1]
                of_encoder = encoder(x, src_mask=hidden)[0, 1]
                with_weights = layer(x, x, x, attn_mask=hidden)[0][0, 1]
            assert with_weights.isnan().all()
            is_nan = evaluates and not gradients
            assert bool(row.isnan().all()) == bool(of_encoder.isnan().all()) == is_nan
            assert is_nan or torch.allclose(row, layer.out_proj.bias)


def test_a_key_padding_mask_is_converted_by_the_function_that_is_named():
    name = re.search(r"`([\w.]+)` converts a `key_padding_mask`", TEXT)[1]
    x, padding = torch.randn(2, 4, 8), torch.tensor([[0, 0, 0, 1], [0, 0, 0, 0]]) == 1
    theirs = torch_layer(nn.MultiheadAttention)
    ours = attnbook.MultiHeadAttention.from_torch(theirs)
    expected = theirs(x, x, x, key_padding_mask=padding)[0]
    assert torch.allclose(ours(x, x, x, mask=resolve_name(name)(padding)), expected, atol=1e-6)


def test_a_mask_of_floats_is_added():
    assert "added to the scores: 0 = visible, `-inf` = hidden" in TEXT
    x, visible = torch.randn(1, 4, 8), torch.ones(4, 4).tril() == 1
    added = torch.zeros(4, 4).masked_fill(~visible, -inf)
    assert torch.allclose(run_sdpa(x, added), run_sdpa(x, visible), atol=1e-6)
    assert torch.allclose(run_multihead(x, added), run_multihead(x, ~visible), atol=1e-6)


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


def test_the_sheet_has_a_link_only_if_there_is_a_pdf():
    page = '<p class="book-pdf"></p>'
    linked = cheat_sheet.with_link(page, linked=True)
    assert f'href="{cheat_sheet.PDF}"' in linked
    assert cheat_sheet.with_link(linked, linked=True) == linked
    assert cheat_sheet.with_link(linked, linked=False) == page


def written(folder, text):
    """A site with a sheet of this text."""
    page = folder / f"{cheat_sheet.PAGE}.html"
    page.parent.mkdir(exist_ok=True)
    (folder / "_static").mkdir(exist_ok=True)
    for name in (cheat_sheet.BUNDLE, cheat_sheet.STYLE):
        (folder / "_static" / name).touch()
    page.write_text(f'<p class="book-pdf"></p>{text}', "utf-8")
    return page


def test_without_a_chromium_a_sentence_says_so_and_nothing_is_linked(tmp_path, monkeypatch):
    def fail(*_arguments, **_options):
        raise cheat_sheet.Error("none")

    page, messages = written(tmp_path, "text"), []
    playwright = SimpleNamespace(chromium=None)
    monkeypatch.setattr(cheat_sheet, "sync_playwright", lambda: nullcontext(playwright))
    monkeypatch.setattr(cheat_sheet.chromium, "launch", fail)
    monkeypatch.setattr(cheat_sheet.logger, "info", messages.append)
    page.with_name(cheat_sheet.PDF).write_bytes(b"of an older page")
    assert not cheat_sheet.write_pdf(tmp_path, tmp_path / "digest")
    assert len(messages) == 1
    assert not page.with_name(cheat_sheet.PDF).exists()
    assert "href" not in page.read_text("utf-8")


def test_a_pdf_is_made_again_only_if_its_page_has_changed(tmp_path, monkeypatch):
    printed = []
    monkeypatch.setattr(
        cheat_sheet, "print_in_chromium", lambda page: printed.append(page) or b"%PDF"
    )
    page, stored = written(tmp_path, "text"), tmp_path / "digest"
    for _ in range(2):
        assert cheat_sheet.write_pdf(tmp_path, stored)
    assert len(printed) == 1
    assert "href" in page.read_text("utf-8")
    written(tmp_path, "other text")
    assert cheat_sheet.write_pdf(tmp_path, stored)
    assert len(printed) == 2


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
    page.close()


def test_the_pdf_that_the_page_offers_is_one_sheet(site):
    page = site / f"{cheat_sheet.PAGE}.html"
    offered = page.with_name(cheat_sheet.PDF).read_bytes()
    assert f'href="{cheat_sheet.PDF}"' in page.read_text("utf-8")
    assert len(cheat_sheet.SHEET.findall(offered)) == 1
