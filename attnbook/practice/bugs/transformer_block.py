"""Known bugs of the task transformer-block."""

from __future__ import annotations

from torch import Tensor, nn

import attnbook
from attnbook.practice.tasks.transformer_block import Block, task

PLAIN = "no lengths"


@task.bug(
    symptom="Weights of a pre-norm model give nonsense here, and a deep stack hardly learns.",
    origin="torch's default, `norm_first=False`: the order of the paper of 2017",
    mend="norm what goes into a step, `x + step(norm(x))`, not what comes out of the sum.",
    case=PLAIN,
)
class norms_come_after_the_sums(Block):
    """each norm stands after its sum (post-norm), where it belongs before its step (pre-norm)."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = self.attention_norm(x + self.attend(x, valid_lens))
        output: Tensor = self.feed_forward_norm(x + self.think(x))
        return output


@task.bug(
    symptom="What attention adds is never larger than its norm lets it be.",
    origin="Swin Transformer V2, which norms so on purpose",
    mend="norm what goes into a step, `step(norm(x))`, not what comes out of it.",
    case=PLAIN,
)
class norms_come_after_the_steps(Block):
    """each step's output is normed before it is added, and its input is not."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attention_norm(self.attend(x, valid_lens))
        output: Tensor = x + self.feed_forward_norm(self.think(x))
        return output


@task.bug(
    symptom="One block is fine; in a stack no early token reaches the end as it was.",
    origin="a common slip: a stack has such a norm, once, at its end",
    mend="return the sum: the norm at the end belongs to the stack, not to a block.",
    case=PLAIN,
)
class normed_once_more_at_the_end(Block):
    """the sum is normed once more before it is returned."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        output: Tensor = self.feed_forward_norm(super().forward(x, valid_lens))
        return output


@task.bug(
    symptom="It runs for one length of text, and crashes for others.",
    origin="a common slip: channels stand before positions in code for images",
    mend="norm the last axis, the numbers of one position: `norm(x)`, without a transpose.",
    case="as many positions as numbers in each vector",
)
class normed_over_the_positions(Block):
    """the norms work over the positions, and not over the numbers of one position."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.attention_norm(x.mT).mT, valid_lens)
        return x + self.think(self.feed_forward_norm(x.mT).mT)


@task.bug(
    symptom="One norm never learns, and trained weights give other outputs here.",
    origin="a common slip",
    mend="use `feed_forward_norm` before the feed-forward.",
    case=PLAIN,
)
class one_norm_for_both(Block):
    """the attention's norm is used a second time, before the feed-forward."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.attention_norm(x), valid_lens)
        return x + self.think(self.attention_norm(x))


@task.bug(
    symptom="Trained weights give other outputs here.",
    origin="a common slip",
    mend="look at the names: `attention_norm` comes before the attention.",
    case=PLAIN,
)
class norms_exchanged(Block):
    """each step has the other one's norm."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.feed_forward_norm(x), valid_lens)
        return x + self.think(self.attention_norm(x))


@task.bug(
    symptom="Numbers grow from block to block, and training with them.",
    origin="a common slip",
    mend="norm what goes into the feed-forward: `feed_forward(feed_forward_norm(x))`.",
    case=PLAIN,
)
class feed_forward_without_its_norm(Block):
    """the feed-forward gets the sum as it is, without its norm."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.attention_norm(x), valid_lens)
        return x + self.think(x)


@task.bug(
    symptom="The feed-forward never sees what this block's attention has found.",
    origin="PaLM's and GPT-J's blocks, which are parallel on purpose",
    mend="let the feed-forward work on the sum: `x = x + attention(…)` comes first.",
    case=PLAIN,
)
class feed_forward_beside_the_attention(Block):
    """the feed-forward gets the block's input, and not the sum with what attention gives."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        attended = self.attend(self.attention_norm(x), valid_lens)
        return x + attended + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="Scores grow from block to block, and attention becomes hard.",
    origin="right in cross-attention, where keys and values come from elsewhere",
    mend="let queries, keys and values all be the normed `x`.",
    case=PLAIN,
)
class only_queries_normed(Block):
    """the norm is taken of the queries only: keys and values are `x` as it came."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), x, x, valid_lens)
        return x + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="What is passed on grows from block to block, though scores do not.",
    origin="a common slip",
    mend="let the values be the normed `x`, too.",
    case=PLAIN,
)
class values_not_normed(Block):
    """queries and keys are normed, and the values are `x` as it came."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        normed = self.attention_norm(x)
        x = x + self.attention(normed, normed, x, valid_lens)
        return x + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="Numbers grow from block to block, and training with them.",
    origin="a common slip: the normed numbers are made and not used",
    mend="hand the normed numbers to the attention.",
    case=PLAIN,
)
class attention_without_its_norm(Block):
    """the attention gets `x` as it came, without its norm."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(x, valid_lens)
        return x + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="It trains, and a position works on what it has not yet looked up.",
    origin="a common slip",
    mend="let the attention come first, and the feed-forward work on what it has found.",
    case=PLAIN,
)
class feed_forward_comes_first(Block):
    """the feed-forward comes before the attention."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.think(self.feed_forward_norm(x))
        return x + self.attend(self.attention_norm(x), valid_lens)


@task.bug(
    symptom="It learns, but worse the deeper it is: every block norms all that came before.",
    origin="a common slip: the normed numbers took the name `x`",
    mend="add what the feed-forward gives to the sum, not to the sum's norm.",
    case=PLAIN,
)
class second_sum_on_the_norm(Block):
    """what the feed-forward gives is added to the normed sum, and not to the sum itself."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = self.feed_forward_norm(x + self.attend(self.attention_norm(x), valid_lens))
        return x + self.think(x)


@task.bug(
    symptom="It learns, but worse the deeper it is: every block norms all that came before.",
    origin="a common slip: the normed numbers took the name `x`",
    mend="add what attention gives to `x`, not to the norm of `x`.",
    case=PLAIN,
)
class first_sum_on_the_norm(Block):
    """what attention gives is added to the normed `x`, and not to `x` itself."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = self.attention_norm(x)
        x = x + self.attend(x, valid_lens)
        return x + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="In a deep stack the first blocks do not learn, and each position forgets its token.",
    origin="a common slip",
    mend="add to what came in: `x = x + …`, twice.",
    case=PLAIN,
)
class no_residuals(Block):
    """nothing is added up: each step's output takes the place of what came in."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        return self.think(self.feed_forward_norm(self.attend(self.attention_norm(x), valid_lens)))


@task.bug(
    symptom="Each position knows what it has looked at, and no longer what it was.",
    origin="a common slip",
    mend="add what attention gives to `x`: `x = x + attention(…)`.",
    case=PLAIN,
)
class first_residual_lost(Block):
    """what attention gives takes the place of `x`, and is not added to it."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = self.attend(self.attention_norm(x), valid_lens)
        return x + self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="What attention has found reaches the next block only through the feed-forward.",
    origin="a common slip",
    mend="add what the feed-forward gives to the sum before it: `return x + feed_forward(…)`.",
    case=PLAIN,
)
class second_residual_lost(Block):
    """what the feed-forward gives is returned alone, and not added to the sum before it."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = x + self.attend(self.attention_norm(x), valid_lens)
        return self.think(self.feed_forward_norm(x))


@task.bug(
    symptom="It learns, but worse the deeper it is: every block norms all that came before.",
    origin="an option of BLOOM, `apply_residual_connection_post_layernorm`; a common slip",
    mend="give the normed numbers a name of their own, and add to `x`, which was not normed.",
    case=PLAIN,
)
class added_to_what_was_normed(Block):
    """each step's output is added to the normed numbers, as when `x = norm(x)` comes first."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x = self.attention_norm(x)
        x = x + self.attend(x, valid_lens)
        x = self.feed_forward_norm(x)
        return x + self.think(x)


@task.bug(
    symptom="What attention has found is lost between the two steps, but for the feed-forward.",
    origin="a new reader's first try: `residual = x` is written once and used twice",
    mend="the second residual is the first sum: keep `residual = x` up to date.",
    case=PLAIN,
)
class first_input_added_twice(Block):
    """what the feed-forward gives is added to the block's input, and not to the first sum."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        attended = x + self.attend(self.attention_norm(x), valid_lens)
        return x + self.think(self.feed_forward_norm(attended))


@task.bug(
    symptom="Outputs change with what stands in the padding.",
    origin="a common slip",
    mend="hand `valid_lens` on: `attention(n, n, n, valid_lens)`.",
    case="training, with a length for each example",
)
class lengths_not_handed_on(Block):
    """`valid_lens` is not handed on to the attention."""

    def attend(self, x: Tensor, valid_lens: Tensor | None) -> Tensor:
        del valid_lens
        return super().attend(x, None)


@task.bug(
    symptom="All is well in training; in eval, what is hidden changes the output.",
    origin="`is_causal=self.training` in PyTorch's SDPA tutorial (stored versions), Kronos #199",
    mend="hand `valid_lens` on always: padding is padding in eval, too.",
    case="eval, with a length for each example",
)
class masked_in_training_only(Block):
    """the lengths are handed on in training only."""

    def attend(self, x: Tensor, valid_lens: Tensor | None) -> Tensor:
        return super().attend(x, valid_lens if self.training else None)


@task.bug(
    symptom="Called twice with the same `x`, it gives two outputs.",
    origin="a common slip",
    mend="write `x = x + …`, which makes a new tensor; `x += …` writes into the caller's.",
    case=PLAIN,
)
class written_into_x(Block):
    """`x += …` writes into the caller's tensor."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        x += self.attend(self.attention_norm(x), valid_lens)
        x += self.think(self.feed_forward_norm(x))
        return x


@task.bug(
    symptom="The deeper the stack, the more position drowns out the tokens.",
    origin="a common slip; DETR adds positions in each layer on purpose, to queries and keys",
    mend="add positions once, to the embedding, before the first block.",
    case=PLAIN,
)
class positions_added_again(Block):
    """the block adds positions to its input, as every block before it has done."""

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        positions = attnbook.sinusoidal_encoding(x.shape[1], x.shape[2], dtype=x.dtype)
        return super().forward(x + positions, valid_lens)


@task.bug(
    symptom="The parts' parameters are not in `parameters()`, and never learn.",
    origin="a common slip",
    mend="keep modules as attributes, or in an `nn.ModuleList`: a plain list hides them.",
    case=PLAIN,
)
class parts_in_a_plain_list(nn.Module):
    """the parts are kept in a plain list, where `nn.Module` does not find them."""

    def __init__(
        self,
        attention: nn.Module,
        attention_norm: nn.Module,
        feed_forward: nn.Module,
        feed_forward_norm: nn.Module,
    ) -> None:
        super().__init__()
        self.parts = [Block(attention, attention_norm, feed_forward, feed_forward_norm)]

    def forward(self, x: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        output: Tensor = self.parts[0](x, valid_lens)
        return output


@task.bug(
    symptom="What one example gets depends on the others in its batch.",
    origin="torch's default, `batch_first=False`",
    mend="hand the normed `x` over as it is: the batch comes first.",
    case=PLAIN,
)
class attention_over_the_batch(Block):
    """batch and positions are exchanged on the way to the attention, and examples meet."""

    def attend(self, x: Tensor, valid_lens: Tensor | None) -> Tensor:
        return super().attend(x.transpose(0, 1), valid_lens).transpose(0, 1)
