"""How a video is handed to a model: a list of frames, one image a frame, or a file that the model reads itself."""

from __future__ import annotations

from typing import Literal, get_args

from spotdiff.names import normalised

Form = Literal["frames", "images", "path"]
FORMS: tuple[Form, ...] = get_args(Form)

_TAKE_FRAMES = ("qwen2_5_vl", "qwen3_vl", "qwen3_5")
"""Models of lmms-eval that were seen to take a list of frames as a video, with exactly those frames, in order. Its
internvl_hf is none: it takes 32 of them, whatever is sent, unless its own argument num_frames says their number."""


def form_for(asked: Form | None, model: str | None) -> Form:
    """The form that was asked for, else what the model is known to take; images are what every model takes."""
    if asked is not None:
        return asked
    return "frames" if normalised(model or "").startswith(_TAKE_FRAMES) else "images"
