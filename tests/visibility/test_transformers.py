"""Models of `transformers` as they are: what they see, and four families that saw the future.

transformers#48745: from 5.9 to 5.17 these families used as decoders had no causal mask, in all
kinds of attention.
"""

import pytest
import torch

from attnbook import causal_mask, visible_pairs
from attnbook.visibility import compare

transformers = pytest.importorskip("transformers")

VERSION = tuple(map(int, transformers.__version__.split(".")[:2]))
SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
LEAKED = ("RoFormer", "BigBird", "RemBert", "MegatronBert")
MORE = {
    "RemBert": {"input_embedding_size": 16, "output_embedding_size": 16},
    "BigBird": {"attention_type": "original_full"},
    "RoFormer": {"embedding_size": 16},
}
SOUND = ("Bert", "Llama", "GPT2", "GPTNeoX", "Qwen2", "Mistral", "Gemma2", "OPT")
SHARED = {"num_key_value_heads": 2, "head_dim": 8}
NAMES = {
    **dict.fromkeys(("Qwen2", "Mistral", "Gemma2"), SHARED),
    "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "vocab_size": 50},
    "OPT": {"word_embed_proj_dim": 16, "ffn_dim": 32},
}


def make(family, attention="eager"):
    is_encoder = "Bert" in family or family in LEAKED
    sizes = {} if family == "GPT2" else SIZES
    options = sizes | MORE.get(family, {}) | NAMES.get(family, {})
    if is_encoder:
        options["is_decoder"] = True
    config = getattr(transformers, f"{family}Config")(**options)
    heads = {"GPT2": "GPT2LMHeadModel", "Bert": "BertLMHeadModel"}
    kind = heads.get(family, f"{family}ForCausalLM")
    torch.manual_seed(0)
    config._attn_implementation = attention
    return getattr(transformers, kind)(config).double()


IDS = torch.arange(3, 15)
CAUSAL = causal_mask((1, 12, 12))[0]


@pytest.mark.parametrize("family", SOUND)
def test_a_decoder_sees_the_past_and_nothing_else(family):
    for attention in ("eager",) if family == "Gemma2" else ("eager", "sdpa"):
        model = make(family, attention)
        found = visible_pairs(model, IDS)
        assert torch.equal(found, CAUSAL)
        assert model.training


@pytest.mark.parametrize("family", LEAKED)
def test_a_family_that_saw_the_future_is_seen_to(family):
    found = compare(visible_pairs(make(family), IDS), [CAUSAL, CAUSAL])
    if (5, 9) <= VERSION < (5, 18):  # seen in 5.9, 5.15, 5.16 and 5.17, and not in 5.8 and 5.18
        assert found.future_seen == int((~CAUSAL).sum())
        assert [mistake.name for mistake in found.mistakes] == ["nothing_hidden"]
        assert found.mistakes[0].layers == (0, 1)
    else:
        assert found.first is None
