"""Known bugs of the task transformer-block: what is normed, and in which order."""

from __future__ import annotations

from torch import Tensor

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
