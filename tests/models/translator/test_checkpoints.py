"""Checkpoints: whole or refused, never half-written, and made again from their recipes."""

import json
import os
from itertools import pairwise

import babel
import pytest
import torch
from safetensors.torch import load_file, save, save_file

from attnbook.models import files
from attnbook.models.training import Plan
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
every_kind = pytest.mark.parametrize(
    "kind",
    [{"encoder": "recurrent"}, {"encoder": "convolutional"}, {"attention": False}],
    ids=["recurrent", "convolutional", "without attention"],
)
TINY = Recipe(Config(**SIZES), Plan(epochs=2), locales=("en",), train=150, validation=20, test=20)


def make_model(**kind):
    return Translator(Vocabulary("abc"), Vocabulary("01"), Config(**(SIZES | kind)), seed=3)


@pytest.fixture
def path(tmp_path):
    save_checkpoint(tmp_path / "model.safetensors", make_model(), {"seed": 3})
    return tmp_path / "model.safetensors"


def rewrite(path, change):
    """Change what a checkpoint says about itself, with a digest that fits again."""
    about, weights = files.read_weights(path)
    change(about, weights)
    metadata = {"about": about, "digest": files._digest(about, weights)}
    path.write_bytes(save(weights, {files.KEY: json.dumps(metadata)}))


# There and back


@every_kind
def test_what_is_loaded_is_what_was_saved(tmp_path, kind):
    model = make_model(**kind)
    save_checkpoint(tmp_path / "a", model, {"exact match": 0.5})
    loaded = load_checkpoint(tmp_path / "a", source=Vocabulary("abc"))
    assert (loaded.config, loaded.source, loaded.target) == (
        model.config, model.source, model.target,
    )  # fmt: skip
    assert not loaded.training
    for (name, weight), other in zip(
        model.state_dict().items(), loaded.state_dict().values(), strict=True
    ):
        assert torch.equal(weight, other), name
    for found, expected in zip(loaded.translate(TEXTS), model.translate(TEXTS), strict=True):
        assert found.output == expected.output
    assert read_notes(tmp_path / "a") == {"exact match": 0.5}


@every_kind
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_a_model_comes_back_in_its_own_precision(tmp_path, kind, dtype):
    model = make_model(**kind).to(dtype)
    save_checkpoint(tmp_path / "a", model)
    loaded = load_checkpoint(tmp_path / "a")
    for (name, weight), other in zip(
        model.named_parameters(), loaded.named_parameters(), strict=True
    ):
        assert other[1].dtype == dtype, name
        assert torch.equal(weight, other[1]), name
        assert other[1].requires_grad, name
    for found, expected in zip(loaded.translate(TEXTS), model.translate(TEXTS), strict=True):
        assert found.output == expected.output


@pytest.mark.parametrize(
    ("notes", "read"),
    [
        ({2: 1, 10: 2}, {"2": 1, "10": 2}),
        ({2: 1, "b": 2, None: 3}, {"2": 1, "b": 2, "null": 3}),
        ({"several": (1, {4: 5})}, {"several": [1, {"4": 5}]}),
    ],
)
def test_notes_are_read_as_json_holds_them(path, notes, read):
    save_checkpoint(path, make_model(), notes)
    assert read_notes(path) == read
    load_checkpoint(path)


def test_a_symbolic_link_is_replaced_and_its_target_is_not(path):
    before, link = path.read_bytes(), path.with_name("link")
    link.symlink_to(path)
    save_checkpoint(link, make_model(attention=False))
    assert not link.is_symlink()
    assert not load_checkpoint(link).config.attention
    assert path.read_bytes() == before


def test_a_file_holds_the_same_bytes_each_time(path):
    before = path.read_bytes()
    save_checkpoint(path, make_model(), {"seed": 3})
    assert path.read_bytes() == before


def test_a_model_is_loaded_to_where_it_is_asked_for(path, device):
    assert load_checkpoint(path, device).device.type == device.type


# Never half-written


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_save_that_fails_leaves_the_old_file_and_no_other(path, monkeypatch, call):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="the disk is full"):
        save_checkpoint(path, make_model(attention=False))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_new_file_is_whole_before_it_takes_its_place(path, monkeypatch):
    whole, replace = [], os.replace

    def spy(new, old):
        whole.append(load_checkpoint(new).config.attention)
        assert os.path.dirname(new) == str(path.parent)  # noqa: PTH120 - what a string says
        replace(new, old)

    monkeypatch.setattr(os, "replace", spy)
    save_checkpoint(path, make_model(attention=False))
    assert whole == [False]
    assert not load_checkpoint(path).config.attention


def test_notes_that_json_cannot_hold_are_refused(path):
    before = path.read_bytes()
    with pytest.raises(TypeError, match="not JSON serializable"):
        save_checkpoint(path, make_model(), {"device": torch.device("cpu")})
    assert path.read_bytes() == before


# Refused


def test_a_file_cut_short_anywhere_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match="is not a whole checkpoint"):
            load_checkpoint(path)


def test_a_changed_byte_anywhere_is_refused(path):
    whole = path.read_bytes()
    for place in range(0, len(whole), 101):
        changed = bytearray(whole)
        changed[place] ^= 4
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="is not a whole checkpoint"):
            load_checkpoint(path)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.write_bytes(b"not at all"),
        lambda path: save_file({"weight": torch.ones(2)}, path),
        lambda path: save_file({"weight": torch.ones(2)}, path, {"format": "pt"}),
        lambda path: save_file({"weight": torch.ones(2)}, path, {files.KEY: "[1, 2]"}),
        lambda path: save_file(
            {"weight": torch.ones(2)}, path, {files.KEY: "[" * 99999 + "]" * 99999}
        ),
        lambda path: torch.save(make_model().state_dict(), path),
    ],
    ids=["noise", "no metadata", "other metadata", "other JSON", "deep JSON", "torch's own"],
)
def test_another_kind_of_file_is_refused(path, write):
    write(path)
    message = r"model.safetensors is not a whole checkpoint \(.*\); install attnbook anew, or make"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, _: about.update(source="abcd"),
        lambda about, _: about.update(source=""),
        lambda about, _: about.pop("target"),
        lambda about, _: about["config"].update(num_hiddens=16),
        lambda about, _: about["config"].update(encoder="lstm"),
        lambda about, _: about["config"].update(speed=2),
        lambda _, weights: weights.pop("output.bias"),
    ],
)
def test_weights_that_do_not_fit_what_the_file_says_are_refused(path, change):
    rewrite(path, lambda *_: None)
    load_checkpoint(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match="weights, characters and config do not belong together"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda about, _: about.pop("notes"),
        lambda about, _: about.update(notes=[1]),
    ],
)
def test_a_file_without_notes_is_refused_by_whoever_wants_them(path, change):
    rewrite(path, change)
    load_checkpoint(path)
    message = r"model.safetensors is not a whole checkpoint \(it holds no notes\)"
    with pytest.raises(ValueError, match=message):
        read_notes(path)


def test_another_vocabulary_than_is_needed_is_refused(path):
    message = "must read the characters of source, but it lacks 'de' and reads 'b' besides"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(path, source=Vocabulary("acde"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no checkpoint .*nothing"):
        load_checkpoint(tmp_path / "nothing")


def test_an_unknown_model_of_the_book_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of convolutional, joined, .*got 'big'"):
        book_model("big")


# The book's models


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_of_the_book_is_what_its_recipe_says(name):
    recipe, model, notes = (
        RECIPES[name],
        book_model(name),
        read_notes(FOLDER / f"{name}.safetensors"),
    )
    untrained = recipe.model()
    assert model.config == recipe.config
    assert (model.source, model.target) == (untrained.source, untrained.target)
    assert (notes["locales"], notes["seed"]) == ([*recipe.locales], recipe.seed)
    assert notes["epochs"] <= recipe.plan.epochs
    sample = recipe.pairs()[2][:300]
    assert abs(right(model, sample) - notes["exact match"]) < 0.05


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_of_the_book_is_small(name):
    assert sum(weight.numel() for weight in book_model(name).parameters()) < 100_000
    assert (FOLDER / f"{name}.safetensors").stat().st_size < 300_000
    assert {weight.dtype for weight in load_file(FOLDER / f"{name}.safetensors").values()} == {
        torch.float32
    }


def test_there_is_a_recipe_for_every_model_of_the_book():
    assert sorted(RECIPES) == BOOK


def test_a_recipe_makes_the_same_model_each_time():
    (first, notes), (second, again) = make(TINY), make(TINY)
    for (name, weight), other in zip(
        first.state_dict().items(), second.state_dict().values(), strict=True
    ):
        assert torch.equal(weight, other), name
    assert {**notes, "seconds": 0} == {**again, "seconds": 0}


@pytest.mark.slow
def test_the_small_model_made_again_is_the_one_in_the_book():
    # The weights are equal on one kind of processor only; what must be equal everywhere is
    # what it is made of, and all but a few of the dates that it writes.
    recipe, stored = RECIPES["small"], book_model("small")
    notes = read_notes(FOLDER / "small.safetensors")
    model, again = make(recipe)
    assert (model.config, model.source, model.target) == (
        stored.config, stored.source, stored.target,
    )  # fmt: skip
    varying = {"seconds", "torch", "exact match", "epochs"}
    assert {k: v for k, v in again.items() if k not in varying} == {
        k: v for k, v in notes.items() if k not in varying
    }
    texts = [text for text, _ in recipe.pairs()[2]]
    both = zip(model.translate(texts), stored.translate(texts), strict=True)
    assert sum(one.output == other.output for one, other in both) >= 0.98 * len(texts)
    assert again["exact match"] >= 0.97


def test_the_checkpoints_were_made_with_the_locked_babel():
    assert {read_notes(FOLDER / f"{name}.safetensors")["babel"] for name in BOOK} == {
        babel.__version__
    }


# The tool


def test_the_tool_makes_what_it_is_asked_for(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("tools.models.checkpoints.RECIPES", {"tiny": TINY, "other": TINY})
    assert main(["tiny"], tmp_path) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["tiny.safetensors"]
    assert load_checkpoint(tmp_path / "tiny.safetensors").config == TINY.config
    assert "tiny: " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nothing"], tmp_path)
    assert "no recipe named nothing; there are: tiny, other, copying, " in capsys.readouterr().err


def test_a_recipe_starts_from_its_seed():
    models = [TINY.model(), TINY.model(), TINY._replace(seed=1).model()]
    first, same, other = (model.output.weight for model in models)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert not any(torch.equal(a, b) for a, b in pairwise([same, other]))
