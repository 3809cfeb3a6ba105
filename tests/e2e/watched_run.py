"""`python watched_run.py NOTES ARGUMENTS`: `lmms-eval ARGUMENTS`, with notes of what reaches a model of `transformers`.

NOTES becomes a JSON file: `calls`, for each call of `generate` the numbers burnt into the frames it gets, in order, and
the ids of its prompt; `peak_mb`, the peak of the process's resident memory in 10**6 bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CHANNELS = 3


def peak_mb() -> float:
    """Peak resident memory of this process, since it began or since `forget_peak`, in 10**6 bytes."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def forget_peak() -> None:
    """Let the peak begin anew with what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def _frames(inputs: Mapping[str, Any], vision: Any) -> Iterator[Any]:
    """The frames as the model gets them, each height x width x 3, normalised."""
    if "video_grid_thw" not in inputs:
        for frame in inputs["pixel_values"]:
            yield frame.permute(1, 2, 0)
        return
    merge, patch, together = vision.spatial_merge_size, vision.patch_size, vision.temporal_patch_size
    start = 0
    for times, rows, columns in inputs["video_grid_thw"].tolist():
        for _ in range(times):
            patches = inputs["pixel_values_videos"][start : start + rows * columns]
            start += rows * columns
            grid = patches.reshape(
                rows // merge, columns // merge, merge, merge, CHANNELS, together, patch, patch
            ).permute(5, 0, 2, 6, 1, 3, 7, 4)
            yield from grid.reshape(together, rows * patch, columns * patch, CHANNELS)


def _picture(frame: Any) -> Any:
    """What was normalised, as an image: a numbered frame has both of its two greys, 16 and 240."""
    from PIL import Image

    values = frame.float()
    low, high = values.amin(), values.amax()
    return Image.fromarray((16 + 224 * (values - low) / (high - low)).round().byte().numpy())


def watch(calls: list[dict[str, Any]]) -> None:
    """Note every call of `generate` from now on."""
    from transformers import GenerationMixin
    from videos import number_in

    generate = GenerationMixin.generate

    def watched(model: Any, **inputs: Any) -> Any:
        numbers = [number_in(_picture(frame)) for frame in _frames(inputs, model.config.vision_config)]
        calls.append({"numbers": numbers, "prompt": inputs["input_ids"][0].tolist()})
        return generate(model, **inputs)

    GenerationMixin.generate = watched


def main() -> None:
    notes = Path(sys.argv.pop(1))
    sys.path.append(str(Path(__file__).parents[1] / "media"))
    from lmms_eval.__main__ import cli_evaluate

    calls: list[dict[str, Any]] = []
    watch(calls)
    cli_evaluate()
    notes.write_text(json.dumps({"calls": calls, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
