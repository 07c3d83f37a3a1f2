"""Checkpoints: complete or refused, never half-written, and made by their recipes."""

import contextlib
import json
import os
import signal
from dataclasses import replace

import babel
import pytest
import torch
from safetensors.torch import load_file, save, save_file

from attnbook.models import checkpoint_files
from attnbook.models.progress_bar import Bar
from attnbook.models.training import Plan, train
from attnbook.models.translator.checkpoints import (
    BOOK,
    FOLDER,
    book_model,
    load_checkpoint,
    read_notes,
    save_checkpoint,
)
from attnbook.models.translator.config import Config
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import Vocabulary
from tools.models.checkpoints import RECIPES, Recipe, main, make, right

TEXTS = ["cab", "abcabc", "b"]
SIZES = {"embedding_size": 3, "written_size": 5, "num_hiddens": 14, "score_hiddens": 7}
TINY = Recipe(Config(**SIZES), Plan(epochs=2), locales=("en",), train=50, validation=20, test=20)
INVALID = r"model.safetensors is not a whole checkpoint \(.*\); install attnbook again, or make"


def make_model(**kind):
    return Translator(Vocabulary("abc"), Vocabulary("01"), Config(**(SIZES | kind)), seed=3)


@pytest.fixture
def path(tmp_path):
    save_checkpoint(tmp_path / "model.safetensors", make_model(), {"seed": 3})
    return tmp_path / "model.safetensors"


def rewrite(path, change):
    """Change the metadata or weights of a checkpoint, and its digest with them."""
    about, weights = checkpoint_files.read_weights(path)
    change(about, weights)
    metadata = {"about": about, "digest": checkpoint_files._digest(about, weights)}
    path.write_bytes(save(weights, {checkpoint_files.KEY: json.dumps(metadata)}))


def translate_all(model, texts):
    return [found.output for found in model.translate(texts)]


def check_equal_weights(one, other):
    pairs = zip(one.named_parameters(), other.named_parameters(), strict=True)
    for (name, weight), (other_name, other_weight) in pairs:
        assert name == other_name
        assert weight.dtype == other_weight.dtype, name
        assert other_weight.requires_grad, name
        assert torch.equal(weight, other_weight), name


# Saved and loaded


@pytest.mark.parametrize(
    "kind",
    [{"encoder": "recurrent"}, {"encoder": "convolutional"}, {"attention": False}],
    ids=["recurrent", "convolutional", "without attention"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.few(3)
def test_a_loaded_model_equals_the_saved_one(tmp_path, kind, dtype):
    model = make_model(**kind).to(dtype)
    save_checkpoint(tmp_path / "a", model, {"exact match": 0.5})
    loaded = load_checkpoint(tmp_path / "a", source=Vocabulary("abc"))
    assert (loaded.config, loaded.source, loaded.target) == (
        model.config, model.source, model.target,
    )  # fmt: skip
    assert not loaded.training
    check_equal_weights(model, loaded)
    assert translate_all(loaded, TEXTS) == translate_all(model, TEXTS)
    assert read_notes(tmp_path / "a") == {"exact match": 0.5}


@pytest.mark.parametrize(
    ("notes", "read"),
    [
        ({2: 1, "b": 2, None: 3}, {"2": 1, "b": 2, "null": 3}),
        ({"several": (1, {4: 5})}, {"several": [1, {"4": 5}]}),
    ],
)
def test_notes_are_read_as_json_stores_them(path, notes, read):
    save_checkpoint(path, make_model(), notes)
    assert read_notes(path) == read
    load_checkpoint(path)


def test_a_model_is_loaded_to_the_requested_device(path, device):
    assert load_checkpoint(path, device).device.type == device.type


# Never half-written


def test_a_symbolic_link_is_replaced_and_its_target_is_not(path):
    before, link = path.read_bytes(), path.with_name("link")
    link.symlink_to(path)
    save_checkpoint(link, make_model(attention=False))
    assert not link.is_symlink()
    assert not load_checkpoint(link).config.attention
    assert path.read_bytes() == before


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_failed_save_leaves_the_old_file_and_no_other(path, monkeypatch, call):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(path, make_model(attention=False))
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_checkpoint(path, make_model(), {"device": torch.device("cpu")})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_new_file_is_complete_before_it_replaces_the_old(path, monkeypatch):
    has_attention, replace = [], os.replace

    def spy(new, old):
        has_attention.append(load_checkpoint(new).config.attention)
        assert os.path.dirname(new) == str(path.parent)  # noqa: PTH120 - a string is given
        replace(new, old)

    monkeypatch.setattr(os, "replace", spy)
    save_checkpoint(path, make_model(attention=False))
    assert has_attention == [False]
    assert not load_checkpoint(path).config.attention


def test_a_signal_waits_until_the_file_is_complete(tmp_path, monkeypatch):
    files = []

    def handle(*_):
        files.append([*tmp_path.iterdir()])

    before = signal.signal(signal.SIGTERM, handle)
    try:
        monkeypatch.setattr(os, "fsync", lambda _: signal.raise_signal(signal.SIGTERM))
        checkpoint_files.write_weights(tmp_path / "new", {}, {"weight": torch.ones(2)})
        assert signal.getsignal(signal.SIGTERM) is handle
    finally:
        signal.signal(signal.SIGTERM, before)
    assert files == [[tmp_path / "new"]]
    assert torch.equal(checkpoint_files.read_weights(tmp_path / "new")[1]["weight"], torch.ones(2))


def test_the_umask_sets_the_permissions_of_a_file(path):
    before = os.umask(0o077)
    try:
        save_checkpoint(path, make_model())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


# Refusals


def test_a_file_that_is_cut_short_or_changed_anywhere_is_refused(path):
    whole = path.read_bytes()
    changed = []
    for position in range(0, len(whole), 499):
        damaged = bytearray(whole)
        damaged[position] ^= 4
        changed += [bytes(damaged), whole[:position]]
    for content in changed:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=INVALID):
            load_checkpoint(path)


@pytest.mark.parametrize(
    "metadata",
    [None, {checkpoint_files.KEY: "[1, 2]"}, {checkpoint_files.KEY: "[" * 99999 + "]" * 99999}],
    ids=["no metadata", "other JSON", "deep JSON"],
)
def test_another_kind_of_file_is_refused(path, metadata):
    save_file({"weight": torch.ones(2)}, path, metadata)
    with pytest.raises(ValueError, match=INVALID):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, _: about.update(source="abcd"),
        lambda about, _: about.pop("target"),
        lambda about, _: about["config"].update(num_hiddens=16),
        lambda about, _: about["config"].update(speed=2),
        lambda _, weights: weights.pop("output.bias"),
    ],
)
def test_weights_that_do_not_fit_the_metadata_are_refused(path, change):
    rewrite(path, change)
    with pytest.raises(ValueError, match="weights, characters and config do not belong together"):
        load_checkpoint(path)


def test_missing_notes_are_refused_only_when_they_are_read(path):
    rewrite(path, lambda about, _: about.pop("notes"))
    load_checkpoint(path)
    with pytest.raises(ValueError, match=r"is not a whole checkpoint \(it holds no notes\)"):
        read_notes(path)


def test_another_vocabulary_is_refused(path):
    message = "must read the characters of source, but it lacks 'de' and reads 'b' in addition"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(path, source=Vocabulary("acde"))


# The book's models


@pytest.mark.few(3)
@pytest.mark.parametrize("name", RECIPES)
def test_a_model_of_the_book_is_small_and_matches_its_recipe(name, monkeypatch):
    recipe, model, path = RECIPES[name], book_model(name), FOLDER / f"{name}.safetensors"
    pairs, notes = recipe.pairs(), read_notes(path)
    monkeypatch.setattr(Recipe, "pairs", lambda _: pairs)
    untrained = recipe.model()
    assert sorted(RECIPES) == BOOK
    assert model.config == recipe.config
    assert (model.source, model.target) == (untrained.source, untrained.target)
    assert (notes["locales"], notes["seed"]) == ([*recipe.locales], recipe.seed)
    assert notes["epochs"] <= recipe.plan.epochs
    assert notes["babel"] == babel.__version__
    assert abs(right(model, pairs[2][:200]) - notes["exact match"]) < 0.05
    assert sum(weight.numel() for weight in model.parameters()) < 100_000
    assert path.stat().st_size < 300_000
    assert {weight.dtype for weight in load_file(path).values()} == {torch.float32}


@pytest.mark.weekly
def test_half_of_the_training_makes_a_model_that_writes_like_the_one_in_the_book():
    # The weights are equal on one kind of processor only; the dates are the same everywhere.
    recipe, stored = RECIPES["small"], book_model("small")
    model, (learned, judged, unseen) = recipe.model(), recipe.pairs()

    def stop(_, history):
        if len(history) == recipe.plan.epochs // 2:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        train(model, learned, judged, recipe.plan, stop)
    texts = [text for text, _ in unseen[:200]]
    both = zip(translate_all(model, texts), translate_all(stored, texts), strict=True)
    assert sum(one == other for one, other in both) >= 0.95 * len(texts)


# The tool


def test_a_recipe_makes_the_same_model_each_time_and_the_tool_writes_it(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr("tools.models.checkpoints.RECIPES", {"tiny": TINY, "other": TINY})
    (tmp_path / "tiny.unfinished").touch()  # left by an interrupted training
    assert main(["tiny"], tmp_path) == 0
    path = tmp_path / "tiny.safetensors"
    assert [*tmp_path.iterdir()] == [path]
    assert "tiny: " in capsys.readouterr().out
    model, notes = make(TINY)
    assert load_checkpoint(path).config == TINY.config
    check_equal_weights(model, load_checkpoint(path))
    assert {**read_notes(path), "seconds": 0} == {**notes, "seconds": 0}
    with pytest.raises(SystemExit):
        main(["nothing"], tmp_path)
    assert "no recipe named nothing; there are: tiny, other, copying, " in capsys.readouterr().err


@pytest.mark.parametrize("epochs", [0, 2])
def test_an_interrupt_saves_the_best_epoch_and_no_other_model(
    monkeypatch, tmp_path, capsys, epochs
):
    def interrupt(_bar, _share, history):
        if len(history) == epochs:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "__call__", interrupt)
    longer = TINY._replace(plan=replace(TINY.plan, epochs=4))
    monkeypatch.setattr("tools.models.checkpoints.RECIPES", {"tiny": longer, "other": longer})
    assert main(["tiny", "other"], tmp_path) == 130
    output, path = capsys.readouterr().out, tmp_path / "tiny.unfinished"
    assert [*tmp_path.iterdir()] == ([path] if epochs else [])
    if epochs:
        assert f"tiny: interrupted; the best of 2 epochs is {path}\n" in output
        assert read_notes(path)["interrupted after epoch"] == 2
    else:
        assert "tiny: interrupted in its first epoch; nothing is saved\n" in output
