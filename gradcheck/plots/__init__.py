"""Pictures of a verdict: recorded series, V curves, graphs. Records first, then their drawing."""

from gradcheck.plots.album import Album, Draft, of_case, of_training

__all__ = ["Album", "Draft", "of_case", "of_training"]
