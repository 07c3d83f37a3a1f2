"""Known bugs of the task dot-product-layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.practice.steps import scale, weigh
from attnbook.practice.tasks.dot_product_layer import Layer, task


@task.bug(
    symptom="The heatmap shows attention to padding, though padding changes no output.",
    origin="UvA's tutorial 6",
    mend="keep the very weights that are used, `self.attention_weights = weights.detach()`.",
    case="training, with dropout 0",
)
class kept_weights_know_no_mask(Layer):
    """the weights to look at are computed once more, without the mask."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        self.keep(scale(queries, keys).softmax(-1))
        return self.drop(self.weigh(queries, keys, valid_lens)) @ values


@task.bug(
    symptom="The heatmap has negative numbers.",
    origin="a common slip",
    mend="keep what the softmax gives, not what it takes.",
    case="training, with dropout 0",
)
class scores_are_kept(Layer):
    """the scores are kept, where the weights should be."""

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        self.scores = scale(queries, keys)
        return weigh(self.scores, valid_lens)

    def keep(self, weights: Tensor) -> None:
        del weights
        self.attention_weights = self.scores.detach()


@task.bug(
    symptom="Memory grows with each call whose weights are put into a list.",
    origin="a common slip",
    mend="keep `weights.detach()`.",
    case="training, with dropout 0",
)
class kept_weights_hang_on_the_graph(Layer):
    """the weights are kept without `detach`, and all that made them stays in memory."""

    def keep(self, weights: Tensor) -> None:
        self.attention_weights = weights


@task.bug(
    symptom="Called twice with the same queries, it gives two outputs.",
    origin="a common slip",
    mend="write `queries / math.sqrt(…)` into a new tensor; `/=` writes into the caller's.",
    case="training, with dropout 0",
)
class queries_are_scaled_in_place(Layer):
    """the queries are divided by the root in place, and the caller's are, too."""

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        queries /= math.sqrt(queries.shape[-1])
        return weigh(queries @ keys.mT, valid_lens)


@task.bug(
    symptom="All is well in training; in eval, what is hidden changes the output.",
    origin="`is_causal=self.training` in PyTorch's SDPA tutorial (stored versions), Kronos #199",
    mend="mask always: only dropout asks for `self.training`.",
    case="eval",
)
class masked_in_training_only(Layer):
    """the mask is used in training only."""

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        return weigh(scale(queries, keys), valid_lens if self.training else None)


@task.bug(
    symptom="With a high dropout all weights become alike, where they should become few.",
    origin="a common slip",
    mend="drop weights, after the softmax: a score of 0 is an ordinary score.",
    case="training, with a dropout of all weights",
)
class scores_are_dropped(Layer):
    """dropout acts before the softmax, on the scores or on what they are made of."""

    def weigh(self, queries: Tensor, keys: Tensor, valid_lens: Tensor | None) -> Tensor:
        return weigh(self.dropout(scale(queries, keys)), valid_lens)

    def drop(self, weights: Tensor) -> Tensor:
        return weights


@task.bug(
    symptom="The heatmap has holes, and its rows do not sum to 1.",
    origin="a common slip",
    mend="keep the weights first, then drop some of them, and not in place.",
    case="training, with a dropout of all weights",
)
class weights_are_kept_after_dropout(Layer):
    """the weights to look at are those after dropout."""

    def drop(self, weights: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(weights)
        self.keep(dropped)
        return dropped


@task.bug(
    symptom="In training the outputs are smaller than in eval.",
    origin="a common slip",
    mend="divide what stays by 1 - dropout, as nn.Dropout does.",
    case="training, with a dropout of a fifth of the weights",
)
class the_rest_is_not_scaled(Layer):
    """the weights that are not dropped stay as they are, and no longer sum to 1 on average."""

    def drop(self, weights: Tensor) -> Tensor:
        share = self.dropout.p if self.training else 0.0
        return weights * (torch.rand(weights.shape) >= share)


@task.bug(
    symptom="Single numbers of the output are 0 in training.",
    origin="a common slip",
    mend="drop weights, before they meet the values.",
    case="training, with a dropout of a fifth of the weights",
)
class outputs_are_dropped(Layer):
    """dropout acts on the numbers of the output, where whole weights should go."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, valid_lens: Tensor | None = None
    ) -> Tensor:
        weights = self.weigh(queries, keys, valid_lens)
        self.keep(weights)
        return self.drop(weights @ values)


@task.bug(
    symptom="The same sentence gets another translation each time, though `eval()` was called.",
    origin="a common slip",
    mend="write `F.dropout(weights, p, training=self.training)`, or make an nn.Dropout.",
    case="eval, with a dropout that must do nothing",
)
class dropped_in_eval_too(Layer):
    """dropout acts in eval as well: the function's own default is `training=True`."""

    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout.p)


@task.bug(
    symptom="The heatmap never changes, whatever the layer is given.",
    origin="a common slip",
    mend="keep the weights in each call.",
    case="a second call of the same layer",
)
class the_first_weights_stay(Layer):
    """the weights of the first call are kept for good."""

    def keep(self, weights: Tensor) -> None:
        if self.attention_weights is None:
            self.attention_weights = weights.detach()
