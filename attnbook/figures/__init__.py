"""Interactive figures: the real layer's own scores, moved by sliders, with or without a kernel."""

try:
    import anywidget as _anywidget  # noqa: F401 - so that its absence is explained here
except ImportError as missing:
    raise ImportError(
        "attnbook.figures needs anywidget: pip install 'attnbook[figures]'"
    ) from missing

from attnbook.figures.alignment import AlignmentFigure
from attnbook.figures.attention import AttentionFigure
from attnbook.figures.cost import CostFigure
from attnbook.figures.pooling import PoolingFigure
from attnbook.figures.scaling import ScalingFigure
from attnbook.figures.shape import ShapeFigure

__all__ = [
    "AlignmentFigure",
    "AttentionFigure",
    "CostFigure",
    "PoolingFigure",
    "ScalingFigure",
    "ShapeFigure",
]
