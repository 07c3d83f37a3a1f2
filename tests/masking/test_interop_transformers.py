"""Masks for `transformers`, compared in small random models, where it is installed.

The weekly run installs it. Nothing is downloaded: a model is made from its configuration.
"""

import random

import pytest
import torch

from attnbook.masking.interop import MaskRules, for_transformers, from_attention_mask

transformers = pytest.importorskip("transformers")

WORDS, KEYS, HEADS, WIDTH = 53, 7, 2, 16
SMALL = {"vocab_size": WORDS, "num_attention_heads": HEADS, "hidden_size": WIDTH}
LAYERS = {"num_hidden_layers": 2, "intermediate_size": 32}
ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
DECODERS, ENCODERS = ["GPT2", "Llama"], ["Bert"]


def model(name, implementation, **options):
    """A random model, the same at each call."""
    config = getattr(transformers, f"{name}Config")(**(SMALL | LAYERS | ENDS | options))
    config._attn_implementation = implementation
    torch.manual_seed(1)
    return transformers.AutoModel.from_config(config).eval()


def random_tokens(count=KEYS):
    return torch.randint(WORDS, (1, count), generator=torch.Generator().manual_seed(2))


@torch.no_grad()
def run(network, rules, **arguments):
    """Run a model on the last `num_queries` tokens; a cache holds the keys before them."""
    tokens, cached = random_tokens(rules.num_keys), rules.num_keys - rules.num_queries
    mask = for_transformers(rules)
    if cached:
        past = {"attention_mask": mask["attention_mask"][:, :cached]}
        arguments["past_key_values"] = network(tokens[:, :cached], **past).past_key_values
    return network(tokens[:, cached:], **mask, **arguments)


def weights_of(name, **arguments):
    network = model(name, "eager", **arguments.pop("options", {}))
    with torch.no_grad():
        return network(random_tokens(), output_attentions=True, **arguments).attentions


def visible_in(weights):
    """Which keys each query attends to in a layer's weights, if all heads agree."""
    visible = weights[0, 0] > 0
    assert torch.equal(visible.expand_as(weights), weights > 0)
    return visible


def paddings(name):
    """Yield padding on either side, and fewer queries than keys where a model caches keys."""
    rng = random.Random(3)  # noqa: S311 - no secret
    causal = "last" if name in DECODERS else None
    for _ in range(30):
        sizes = rng.choice([KEYS, 3, 1]) if causal else KEYS, KEYS
        lens = rng.choice([None, rng.randint(0, KEYS)]), rng.choice([None, rng.randint(0, KEYS)])
        yield MaskRules(*sizes, *lens, causal=causal)


@pytest.mark.parametrize("name", DECODERS + ENCODERS)
def test_a_model_attends_to_what_the_rules_show_and_to_all_keys_in_empty_rows(name):
    network = model(name, "eager")
    for rules in paddings(name):
        visible = rules.visible()
        empty = ~visible.any(dim=-1)
        for weights in run(network, rules, output_attentions=True).attentions:
            assert torch.equal(visible_in(weights)[~empty], visible[~empty]), rules
            everywhere = weights[0][:, empty] - 1 / KEYS
            assert everywhere.abs().lt(1e-6).all(), rules


@pytest.mark.parametrize(("name", "moves"), [("GPT2", True), ("Llama", False)])
def test_left_padding_shifts_learned_positions_without_position_ids(name, moves):
    network = model(name, "sdpa")
    rules = MaskRules(KEYS, KEYS, start=3, causal="last")
    tokens, mask = random_tokens(), for_transformers(rules)
    with torch.no_grad():
        expected = network(tokens[:, 3:]).last_hidden_state
        padded = network(tokens, **mask).last_hidden_state[:, 3:]
        positions = (torch.arange(KEYS) - 3).clamp(min=0)[None]
        shifted = network(tokens, **mask, position_ids=positions).last_hidden_state
    assert torch.allclose(padded, expected, atol=1e-5) != moves
    assert torch.allclose(shifted[:, 3:], expected, atol=1e-5)


def masks_in_layers(network, rules):
    """Record the masks of four axes that a model makes for its layers."""
    masks = []

    def record(_layer, arguments, options):
        masks.extend(
            mask
            for mask in [*arguments, *options.values()]
            if isinstance(mask, torch.Tensor) and mask.dim() == 4 and mask.shape[1] == 1
        )

    hooks = [
        layer.register_forward_pre_hook(record, with_kwargs=True)
        for name, layer in network.named_modules()
        if type(layer).__name__.endswith("Attention")
    ]
    run(network, rules)
    for hook in hooks:
        hook.remove()
    return masks[-2:]


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("name", DECODERS + ENCODERS)
def test_the_mask_of_a_models_layers_is_converted_to_what_the_rules_show(name, implementation):
    network, compared = model(name, implementation), 0
    for rules in paddings(name):
        visible = rules.visible()
        some = visible.any(dim=-1)
        for mask in masks_in_layers(network, rules):
            assert torch.equal(from_attention_mask(mask)[0, 0][some], visible[some]), rules
            compared += 1
    assert compared > 20


# What two axes cannot express


def test_a_sliding_window_of_3_is_our_window_of_3():
    rules = MaskRules(KEYS, KEYS, causal="last", window=3)
    for weights in weights_of("Mistral", options={"sliding_window": 3, "num_key_value_heads": 2}):
        assert torch.equal(visible_in(weights), rules.visible())


def test_a_local_attention_of_4_is_two_keys_before_and_two_ahead():
    near = MaskRules(KEYS, KEYS, window=3, ahead=2).visible()
    ends = dict.fromkeys(["cls_token_id", "sep_token_id"], 0)
    found = weights_of("ModernBert", options={"local_attention": 4, "num_hidden_layers": 3, **ends})
    assert [torch.equal(visible_in(weights), near) for weights in found] == [False, True, True]
    assert near.sum(dim=-1).max() == 5


@pytest.mark.parametrize("name", DECODERS)
def test_packed_documents_leak_where_a_model_caches_keys_or_gets_a_mask(name):
    apart = MaskRules(KEYS, KEYS, causal="last", documents=(0, 0, 0, 1, 1, 2, 2)).visible()
    together = MaskRules(KEYS, KEYS, causal="last").visible()
    positions = torch.tensor([[0, 1, 2, 0, 1, 0, 1]])
    mask = torch.ones(1, KEYS, dtype=torch.long)
    for arguments, expected in (
        ({"use_cache": False}, apart),
        ({"use_cache": True}, together),
        ({}, together),  # models cache keys by default
        ({"use_cache": False, "attention_mask": mask}, together),
    ):
        for weights in weights_of(name, position_ids=positions, **arguments):
            assert torch.equal(visible_in(weights), expected), arguments


@pytest.mark.parametrize("name", DECODERS)
def test_booleans_of_four_axes_are_added_as_0_and_1_by_the_formula(name):
    table = MaskRules(KEYS, KEYS, prefix=4, window=4)
    booleans = table.visible()[None, None]
    for weights in weights_of(name, attention_mask=booleans):
        assert visible_in(weights).all()
    numbers = torch.zeros(booleans.shape).masked_fill(~booleans, -torch.inf)
    for weights in weights_of(name, attention_mask=numbers):
        assert torch.equal(visible_in(weights), table.visible())
    with torch.no_grad():
        by_kernel = [
            model(name, "sdpa")(random_tokens(), attention_mask=it) for it in (booleans, numbers)
        ]
        by_formula = model(name, "eager")(random_tokens(), attention_mask=numbers)
    for output in by_kernel:
        torch.testing.assert_close(output.last_hidden_state, by_formula.last_hidden_state)
