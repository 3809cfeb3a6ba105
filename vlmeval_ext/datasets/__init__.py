"""The classes that VLMEvalKit builds our data sets from."""

# First: the registration that follows this import takes the class from the submodule, which is whole by then.
import vlmeval.dataset  # noqa: F401

from vlmeval_ext.datasets.image import SpotdiffDataset

__all__ = ["SpotdiffDataset"]
