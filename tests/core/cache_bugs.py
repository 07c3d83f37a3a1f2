"""Known bugs of caches, planted into ours one at a time: random schedules must find each.

`python -m tests.core.cache_bugs` prints how long the shortest schedule was that found each bug.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from hypothesis import Phase, Verbosity
from hypothesis.stateful import run_state_machine_as_test

import attnbook.cache as cache_module
from attnbook import rotary_encoding
from attnbook.cache import KeyValueCache, LayerCache
from attnbook.slots import Slots
from tests.core import cache_machine
from tests.core.cache_machine import STEPS

SCHEDULES = 300
BUGS = {}
NOT_PLANTED = {
    "soft-cap after the mask": "no layer here caps its scores",
    "partial rotary on all dimensions": "the caller's function rotates; see test_position.py",
    "memory computed with the number of query heads": "`nbytes` adds up the tensors themselves",
    "angles in a table that is too short": "angles are computed from positions, without a table",
}


def bug(plant):
    """Register a function that plants a bug with a `MonkeyPatch`; its name says what is wrong."""
    BUGS[plant.__name__.replace("_", " ")] = plant
    return plant


def find_bug(plant, steps=STEPS, schedules=SCHEDULES):
    """Return how many changes the first schedule had that found the bug; None if none did."""
    machines = []

    class Recorded(cache_machine.CacheMachine):
        def __init__(self):
            super().__init__()
            machines[:] = [self]

    options = cache_machine.schedule_settings(
        schedules, steps, phases=[Phase.generate], verbosity=Verbosity.quiet
    )
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        try:
            run_state_machine_as_test(Recorded, settings=options)
        except (AssertionError, ValueError, RuntimeError):
            # Hypothesis runs the schedule that failed once more, as the last.
            driver = getattr(machines[0], "driver", None)
            return len(driver.log) if driver else 0
    return None


# What the helpers below change


def change_default_positions(patch, count):
    """Count positions otherwise where none are given, from the number of tokens so far."""
    reserve = KeyValueCache._reserve

    def changed(self, num_tokens, positions, valid, documents):
        if positions is None:
            real = torch.ones(self.batch, num_tokens, dtype=torch.bool)
            real = real if valid is None else valid.expand_as(real)
            positions = count(self, real, self.next_positions[:, None])
        return reserve(self, num_tokens, positions, valid, documents)

    patch.setattr(KeyValueCache, "_reserve", changed)


def change_step(patch, change):
    """Change what the layers are given for a step."""
    reserve = KeyValueCache._reserve

    def changed(self, *given):
        step, following, _ = reserve(self, *given)
        return change(self, following.slots, step), following, None

    patch.setattr(KeyValueCache, "_reserve", changed)


def change_visible(patch, change):
    """Hide more, by a mask that broadcasts to (batch, 1, tokens, slots)."""
    change_step(
        patch,
        lambda cache, new, step: step._replace(visible=step.visible & change(cache, new, step)),
    )


def change_mask(patch, change):
    """Change the arguments of the rule of what is visible."""
    rule = cache_module.see_positions

    def changed(query_positions, key_positions, **options):
        given = {"query_positions": query_positions, "key_positions": key_positions, **options}
        return rule(**given | change(given))

    patch.setattr(cache_module, "see_positions", changed)


def change_new(patch, change):
    """Change the keys and values that a layer stores."""
    append = LayerCache.append
    patch.setattr(
        LayerCache, "append", lambda self, *vectors: append(self, *change(self, *vectors))
    )


def change_rewind(patch, change):
    """Change how many tokens are taken back."""
    rewind = KeyValueCache.rewind

    def changed(self, counts):
        each = torch.as_tensor(counts).expand(self.batch)
        most = self._slots.counts
        if ((each < 0) | (each > most)).any():
            return rewind(self, counts)
        return rewind(self, change(each).minimum(most))

    patch.setattr(KeyValueCache, "rewind", changed)


def change_reorder(patch, change):
    """Change what is left in a cache when its rows have been replaced."""
    reorder = KeyValueCache.reorder

    def changed(self, rows):
        before = self._state.layers, self._slots
        reorder(self, rows)
        change(self, torch.as_tensor(rows), *before)

    patch.setattr(KeyValueCache, "reorder", changed)


def set_layers(cache, pairs):
    """Replace the keys and values of all layers."""
    cache._become(cache._state._replace(layers=tuple((keys, values) for keys, values in pairs)))


def set_slots(cache, slots):
    cache._become(cache._state._replace(slots=slots))


def slots_of(step):
    return torch.arange(step.visible.shape[-1])


# Positions


@bug
def positions_restart_in_each_step(patch):
    change_default_positions(patch, lambda _, real, start: real.cumsum(-1) - 1 + 0 * start)


@bug
def the_offset_is_counted_twice(patch):
    change_default_positions(patch, lambda _, real, start: real.cumsum(-1) - 1 + 2 * start)


@bug
def positions_are_one_too_high(patch):
    change_default_positions(patch, lambda _, real, start: real.cumsum(-1) + start)


@bug
def the_offset_grows_by_padding_too(patch):
    change_default_positions(
        patch, lambda _, real, start: torch.ones_like(real).cumsum(-1) - 1 + start
    )


@bug
def all_rows_have_the_positions_of_the_first(patch):
    change_default_positions(
        patch, lambda _, real, start: (real.cumsum(-1) - 1 + start)[:1].expand(real.shape)
    )


@bug
def positions_are_counted_from_the_number_of_stored_keys(patch):
    change_default_positions(
        patch, lambda cache, real, _: real.cumsum(-1) - 1 + cache.lengths[:, None]
    )


@bug
def positions_need_not_go_up_from_step_to_step(patch):
    patch.setattr(KeyValueCache, "_check_positions", lambda *_: None)


@bug
def the_slot_of_a_key_is_taken_for_its_position(patch):
    change_mask(
        patch,
        lambda given: {
            "key_positions": torch.arange(given["key_positions"].shape[-1]).expand_as(
                given["key_positions"]
            )
            - 1
        },
    )


# Storing


@bug
def the_first_token_is_never_stored(patch):
    def without_first(layer, *vectors):
        if layer.keys.any():
            return vectors
        return [torch.cat([0 * it[:, :, :1].nan_to_num(), it[:, :, 1:]], 2) for it in vectors]

    change_new(patch, without_first)


@bug
def the_write_index_leaves_a_gap(patch):
    def one_further(cache, _, step):
        return step._replace(slots=(step.slots + 1).clamp(max=cache.num_slots - 1))

    change_step(patch, one_further)


@bug
def values_are_one_token_late(patch):
    change_new(patch, lambda _, keys, values: (keys, values.roll(1, dims=2)))


@bug
def only_the_first_layer_is_cached(patch):
    layer_of = KeyValueCache.layer

    def forget(self, index):
        layer = layer_of(self, index)
        if index > 0:
            layer.keys.zero_(), layer.values.zero_()
        return layer

    patch.setattr(KeyValueCache, "layer", forget)


@bug
def all_layers_share_one_cache(patch):
    make = KeyValueCache.__init__

    def share(self, *given, **options):
        make(self, *given, **options)
        set_layers(self, [self._state.layers[0]] * self.num_layers)

    patch.setattr(KeyValueCache, "__init__", share)


@bug
def freed_slots_keep_their_keys(patch):
    patch.setattr(KeyValueCache, "_clear", lambda *_: None)


@bug
def a_step_that_fails_stays(patch):
    reserve, reserved = KeyValueCache._reserve, []

    def remember(self, *given):
        reserved[:] = reserve(self, *given)
        return reserved

    def stay(self, step):
        if self._state.step is step:
            self._become(reserved[1])

    patch.setattr(KeyValueCache, "_reserve", remember)
    patch.setattr(KeyValueCache, "_give_up", stay)


@bug
def a_layer_that_has_not_appended_is_not_noticed(patch):
    step = KeyValueCache.step

    @contextmanager
    def forgive(self, *given, **options):
        with step(self, *given, **options) as it:
            yield it
            for layer in self._layers:
                layer.has_appended = True

    patch.setattr(KeyValueCache, "step", forgive)


# Rotation


@bug
def new_keys_are_rotated_twice(patch):
    change_new(
        patch,
        lambda layer, keys, values: (rotary_encoding(keys, layer.step.positions), values),
    )


@bug
def stored_keys_are_rotated_again_in_each_step(patch):
    def rotate_all(layer, keys, values):
        layer.keys.copy_(rotary_encoding(layer.keys, torch.ones(layer.keys.shape[2])))
        return keys, values

    change_new(patch, rotate_all)


@bug
def keys_are_stored_without_rotation(patch):
    def turn_queries(vectors, at):  # the heads of queries come first, then those of keys
        return torch.cat([rotary_encoding(vectors[:, :-1], at), vectors[:, -1:]], dim=1)

    patch.setattr(cache_machine, "turn", turn_queries)


@bug
def new_keys_are_stored_rotated_and_used_unrotated(patch):
    append = LayerCache.append

    def unrotated(self, keys, values):
        all_keys, all_values = append(self, keys, values)
        plain = rotary_encoding(keys, -self.step.positions)
        at = self.step.slots[:, None, :, None].expand_as(plain)
        real = self.step.real[:, None, :, None]
        return all_keys.scatter(2, at, torch.where(real, plain, 0.0)), all_values

    patch.setattr(LayerCache, "append", unrotated)


@bug
def angles_are_reused_for_as_many_tokens(patch):
    known = {}

    def reuse(vectors, positions):
        key = vectors.shape[0], vectors.shape[2]
        return rotary_encoding(vectors, known.setdefault(key, positions))

    patch.setattr(cache_machine, "turn", reuse)


@bug
def the_base_changes_with_the_length(patch):
    def scaled(vectors, positions):
        return rotary_encoding(vectors, positions, base=10_000.0 + 500 * abs(int(positions[0, -1])))

    patch.setattr(cache_machine, "turn", scaled)


# What is visible


@bug
def padding_is_stored_as_a_token(patch):
    reserve = KeyValueCache._reserve

    def all_real(self, num_tokens, positions, _, documents):
        return reserve(self, num_tokens, positions, None, documents)

    patch.setattr(KeyValueCache, "_reserve", all_real)


@bug
def the_mask_lacks_the_padding_of_the_past(patch):
    change_mask(
        patch,
        lambda given: {"valid": given["valid"] | (torch.arange(given["valid"].shape[-1]) == 0)},
    )


@bug
def free_slots_are_visible(patch):
    change_mask(patch, lambda _: {"valid": None})


@bug
def the_mask_ignores_the_past(patch):
    change_visible(
        patch,
        lambda cache, _, step: ~cache.valid[:, None, None, : step.visible.shape[-1]],
    )


@bug
def a_chunk_attends_to_its_future(patch):
    change_mask(
        patch,
        lambda given: {
            "query_positions": given["query_positions"]
            .amax(-2, keepdim=True)
            .expand_as(given["query_positions"])
        },
    )


@bug
def the_first_query_is_aligned_with_the_first_key(patch):
    change_visible(
        patch,
        lambda _, __, step: slots_of(step) - 1 <= torch.arange(step.visible.shape[2])[:, None],
    )


@bug
def a_token_cannot_attend_to_itself(patch):
    change_visible(
        patch,
        lambda _, __, step: slots_of(step) != step.slots[:, None, :, None],
    )


@bug
def the_last_document_is_forgotten(patch):
    reserve = KeyValueCache._reserve

    def forget(self, num_tokens, positions, valid, documents):
        documents = torch.zeros(num_tokens).long() if documents is None else documents
        return reserve(self, num_tokens, positions, valid, documents)

    patch.setattr(KeyValueCache, "_reserve", forget)


@bug
def documents_are_ignored(patch):
    change_mask(patch, lambda _: {"query_documents": None, "key_documents": None})


# Windows


@bug
def the_window_has_one_key_too_many(patch):
    change_mask(patch, lambda given: {"window": given["window"] and given["window"] + 1})


@bug
def the_window_has_one_key_too_few(patch):
    change_mask(patch, lambda given: {"window": given["window"] and max(given["window"] - 1, 1)})


@bug
def a_single_query_ignores_the_window(patch):
    def without(given):
        single = given["query_positions"].shape[-2] == 1
        return {"window": None if single else given["window"]}

    change_mask(patch, without)


@bug
def keys_are_evicted_before_queries_attend(patch):
    def after_eviction(cache, new, step):
        if cache.window is None:
            return new.valid[:, None, None, : step.visible.shape[-1]]
        left = new.evict(cache.window, cache.sinks, cache.max_rewind)
        return left.valid[:, None, None, : step.visible.shape[-1]]

    change_visible(patch, after_eviction)


@bug
def the_newest_key_is_evicted(patch):
    evict = Slots.evict

    def newest(slots, *rule):
        left = evict(slots, *rule)
        if torch.equal(left.valid, slots.valid):
            return left
        last = slots.order == slots.counts[:, None] - 1
        return left._replace(valid=left.valid & ~last)

    patch.setattr(Slots, "evict", newest)


@bug
def a_ring_buffer_is_read_in_the_order_of_its_slots(patch):
    def last_slots(cache, new, step):
        valid = new.valid[:, : step.visible.shape[-1]]
        if cache.window is None:
            return valid[:, None, None]
        rank = valid.flip(-1).cumsum(-1).flip(-1)  # 1 for the last occupied slot
        near = rank <= cache.window + step.visible.shape[2] - 1
        sink = new.positions[:, : step.visible.shape[-1]] < cache.sinks
        return (near | sink)[:, None, None]

    change_visible(patch, last_slots)


@bug
def sinks_are_ignored(patch):
    change_mask(patch, lambda _: {"sinks": 0})


@bug
def sinks_are_evicted(patch):
    evict = Slots.evict
    patch.setattr(
        Slots, "evict", lambda slots, window, _, max_rewind: evict(slots, window, 0, max_rewind)
    )


# Beams and drafts


@bug
def keys_are_not_reordered_with_the_beams(patch):
    def keep(cache, rows, layers, _):
        same = torch.arange(len(rows)) % layers[0][0].shape[0]
        set_layers(cache, [(keys[same], values[same]) for keys, values in layers])

    change_reorder(patch, keep)


@bug
def beams_are_reordered_on_the_axis_of_heads(patch):
    def wrong_axis(cache, rows, layers, _):
        same = torch.arange(len(rows)) % layers[0][0].shape[0]
        heads = torch.arange(layers[0][0].shape[1])
        heads = rows[heads % len(rows)] % len(heads)
        set_layers(cache, [(k[same][:, heads], v[same][:, heads]) for k, v in layers])

    change_reorder(patch, wrong_axis)


@bug
def lengths_are_not_reordered_with_the_beams(patch):
    def keep(cache, rows, _, slots):
        same = torch.arange(len(rows)) % len(slots.counts)
        set_slots(cache, type(slots)(*(it[same] for it in slots)))

    change_reorder(patch, keep)


@bug
def rejected_drafts_stay_visible(patch):
    rewind = KeyValueCache.rewind

    def stay(self, counts):
        before = self._slots
        rewind(self, counts)
        set_slots(self, self._slots._replace(valid=before.valid))

    patch.setattr(KeyValueCache, "rewind", stay)


@bug
def rewinding_takes_back_one_too_many(patch):
    change_rewind(patch, lambda counts: counts + (counts > 0))


@bug
def all_rows_take_back_as_many(patch):
    change_rewind(patch, lambda counts: counts.amax().expand_as(counts))


# Copies


@bug
def a_copy_is_an_alias(patch):
    copied = KeyValueCache.copy

    def alias(self):
        other = copied(self)
        set_layers(other, self._state.layers)
        return other

    patch.setattr(KeyValueCache, "copy", alias)


@bug
def a_saved_state_is_an_alias(patch):
    save = KeyValueCache.state_dict

    def alias(self):
        state = save(self)
        for i, layer in enumerate(self._layers):
            state |= {f"keys.{i}": layer.keys, f"values.{i}": layer.values}
        return state

    patch.setattr(KeyValueCache, "state_dict", alias)


@bug
def a_loaded_state_is_an_alias(patch):
    load = KeyValueCache.load_state_dict

    def alias(self, state):
        load(self, state)
        names = [(f"keys.{i}", f"values.{i}") for i in range(self.num_layers)]
        set_layers(self, [(state[keys], state[values]) for keys, values in names])

    patch.setattr(KeyValueCache, "load_state_dict", alias)


# Heads


@bug
def query_heads_are_tiled(patch):
    def tiled(heads, num_kv_heads):
        batch, num_heads, num_queries, size = heads.shape
        groups = heads.reshape(batch, num_heads // num_kv_heads, num_kv_heads, num_queries, size)
        return groups.transpose(1, 2).reshape(batch, num_kv_heads, -1, size)

    def untiled(shared, num_heads):
        batch, num_kv_heads, num_rows, size = shared.shape
        count = num_heads // num_kv_heads
        groups = shared.reshape(batch, num_kv_heads, count, num_rows // count, size)
        return groups.transpose(1, 2).reshape(batch, num_heads, -1, size)

    patch.setattr("attnbook.layers.share_keys", tiled)
    patch.setattr("attnbook.layers.unshare_keys", untiled)


@bug
def heads_are_cut_along_positions(patch):
    def cut(vectors, num_heads):
        batch, num_positions, size = vectors.shape
        return vectors.reshape(batch, num_heads, num_positions, size // num_heads)

    patch.setattr("attnbook.multihead.split_heads", cut)


def shortest_schedule(plant):
    """Return the fewest changes that find a bug, of schedules that get longer."""
    for steps in range(1, STEPS + 1):
        length = find_bug(plant, steps, 100)
        if length is not None:
            return length
    return find_bug(plant)


def main():
    torch.set_num_threads(1)
    width = max(map(len, BUGS))
    for name, plant in BUGS.items():
        length = shortest_schedule(plant)
        print(f"{name:{width}}  {'not found' if length is None else length}", flush=True)  # noqa: T201
    for name, reason in NOT_PLANTED.items():
        print(f"{name}: not planted, as {reason}")  # noqa: T201


if __name__ == "__main__":
    main()
