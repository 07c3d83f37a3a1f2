"""Interactive figures: the real layer's own scores, moved by sliders, with or without a kernel."""

try:
    import anywidget as _anywidget  # noqa: F401 - so that its absence is explained here
except ImportError as missing:
    raise ImportError(
        "attnbook.figures needs anywidget: pip install 'attnbook[figures]'"
    ) from missing

from attnbook.figures.attention.figure import AttentionFigure
from attnbook.figures.cache.figure import CacheFigure
from attnbook.figures.code.figure import CodeTask
from attnbook.figures.cost.figure import CostFigure
from attnbook.figures.heads.figure import HeadsFigure
from attnbook.figures.inside.figure import InsideFigure
from attnbook.figures.mask.figure import MaskFigure
from attnbook.figures.online.figure import OnlineSoftmaxFigure
from attnbook.figures.pooling.figure import PoolingFigure
from attnbook.figures.position.figure import PositionFigure
from attnbook.figures.prediction.figure import Prediction
from attnbook.figures.recognize.figure import RecognizeFigure
from attnbook.figures.scaling.figure import ScalingFigure
from attnbook.figures.story.figure import StoryFigure
from attnbook.figures.translator.figure import TranslatorFigure
from attnbook.figures.writing.figure import WritingFigure

__all__ = [
    "AttentionFigure",
    "CacheFigure",
    "CodeTask",
    "CostFigure",
    "HeadsFigure",
    "InsideFigure",
    "MaskFigure",
    "OnlineSoftmaxFigure",
    "PoolingFigure",
    "PositionFigure",
    "Prediction",
    "RecognizeFigure",
    "ScalingFigure",
    "StoryFigure",
    "TranslatorFigure",
    "WritingFigure",
]
