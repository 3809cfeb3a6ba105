"""Where a setting comes from, and what is refused."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from spotdiff.errors import SettingError
from spotdiff.settings import _CONVERTERS, Settings, load_settings

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """load(toml, own, **environment)"""

    def loaded(toml: str = "", own: dict[str, Any] | None = None, **environment: str) -> Settings:
        (tmp_path / "spotdiff.toml").write_text(toml, encoding="utf-8")
        return load_settings(own, environment, tmp_path)

    return loaded


def test_without_anything_the_defaults_are_in_force(tmp_path: Path) -> None:
    assert load_settings(environment={}, folder=tmp_path) == Settings()
    assert Settings().changed() == {}


def test_the_task_comes_before_the_environment_before_the_file_before_the_default(load: Load) -> None:
    toml = 'layout = "concat"\nshuffle_seed = 3\nswap = true\nmax_new_tokens = 7'
    found = load(toml, {"layout": "separate"}, SPOTDIFF_LAYOUT="concat", SPOTDIFF_SHUFFLE_SEED="4", SPOTDIFF_SWAP="0")
    assert (found.layout, found.shuffle_seed, found.swap, found.max_new_tokens) == ("separate", 4, False, 7)
    assert found.visual_prompt == "text"


def test_the_environment_of_the_process_and_the_working_folder_are_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spotdiff.toml").write_text('box_family = "internvl"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPOTDIFF_DATA", "~/somewhere")
    assert load_settings().box_family == "internvl"
    assert load_settings().data == Path.home() / "somewhere"


def test_an_empty_variable_counts_as_not_set(load: Load) -> None:
    assert load('layout = "concat"', SPOTDIFF_LAYOUT="").layout == "concat"


@pytest.mark.parametrize("name", ["SPOTDIFF_JUDGE_KEY", "SPOTDIFF_NO_REGISTER", "SPOTDIFF_REPLAY_DATA", "OTHER"])
def test_variables_that_are_no_settings_are_left_alone(load: Load, name: str) -> None:
    assert load("", None, **{name: "x"}) == Settings()


def test_every_setting_can_be_set_and_is_documented() -> None:
    names = [field.name for field in fields(Settings)]
    assert list(_CONVERTERS) == names
    for name in names:
        assert f"{name}" in (Settings.__doc__ or "")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("data", "/a b/c", Path("/a b/c")),
        ("hub", " some-org/m4bench ", "some-org/m4bench"),
        ("hub_revision", "v1-0123abcd", "v1-0123abcd"),
        ("media_cache", "x", Path("x")),
        ("box_family", " internvl ", "internvl"),
        ("layout", "concat", "concat"),
        ("visual_prompt", "drawn", "drawn"),
        ("box_note", "Yes", True),
        ("swap", "off", False),
        ("shuffle_seed", "0", 0),
        ("max_new_tokens", "4096", 4096),
        ("judge_url", "http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("judge_model", "some/model", "some/model"),
    ],
)
def test_each_setting_is_read_from_its_variable(load: Load, name: str, text: str, value: object) -> None:
    other = {
        "judge_url": ("JUDGE_MODEL", "x"),
        "judge_model": ("JUDGE_URL", "https://x"),
        "hub_revision": ("HUB", "org"),
    }.get(name)
    more = {f"SPOTDIFF_{other[0]}": other[1]} if other else {}
    assert getattr(load("", None, **{f"SPOTDIFF_{name.upper()}": text}, **more), name) == value


@pytest.mark.parametrize("value", ["true", "1", '"on"'])
def test_a_switch_in_the_file_may_be_a_word_or_a_truth_value(load: Load, value: str) -> None:
    assert load(f"swap = {value}").swap is True


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("BOX_FAMLY", "Did you mean box_family?"),
        ("LAYOUTS", "Did you mean layout?"),
        ("SHUFFEL_SEED", "Did you mean shuffle_seed?"),
        ("ZZZ", "Known: data, hub, hub_revision, media_cache, frame_memory"),
    ],
)
def test_an_unknown_name_is_refused_with_the_closest_one(load: Load, name: str, hint: str) -> None:
    with pytest.raises(SettingError) as caught:
        load("", None, **{f"SPOTDIFF_{name}": "1"})
    assert f"SPOTDIFF_{name}: there is no setting" in str(caught.value)
    assert hint in str(caught.value)


def test_an_unknown_name_in_the_file_is_refused_with_the_file(load: Load, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"spotdiff\.toml, layot: .*Did you mean layout\?"):
        load('layot = "concat"')


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("layout", "side", "one of separate, concat"),
        ("visual_prompt", "none", "one of text, drawn"),
        ("swap", "perhaps", "true or false"),
        ("box_note", "2", "true or false"),
        ("shuffle_seed", "-1", "a whole number from 0 up"),
        ("shuffle_seed", "1.5", "a whole number from 0 up"),
        ("shuffle_seed", "one", "a whole number from 0 up"),
        ("max_new_tokens", "0", "a whole number from 1 up"),
        ("box_family", "  ", "a text that is not empty"),
        ("data", " ", "a folder"),
        ("box_families", "internvl", "tables"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_origin(load: Load, name: str, text: str, wanted: str) -> None:
    with pytest.raises(SettingError) as caught:
        load("", None, **{f"SPOTDIFF_{name.upper()}": text})
    assert str(caught.value).startswith(f"SPOTDIFF_{name.upper()}: {name} must be {wanted}")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "layout = 1",
        "layout = ['concat']",
        "data = 3",
        "shuffle_seed = true",
        "shuffle_seed = 1.0",
        "swap = []",
        "box_family = ''",
        "box_families = 1",
        "box_families.x = 1",
        "max_new_tokens = {}",
        "judge_url = 5",
    ],
)
def test_a_value_of_another_type_in_the_file_is_refused(load: Load, line: str) -> None:
    with pytest.raises(SettingError, match=r"spotdiff\.toml"):
        load(line)


@pytest.mark.parametrize("text", ["layout = ", "= 1", "[a\n", "layout = 'concat'\nlayout = 'concat'"])
def test_a_file_that_is_not_toml_is_refused(load: Load, text: str) -> None:
    with pytest.raises(SettingError, match=r"spotdiff\.toml cannot be read"):
        load(text)


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spotdiff.toml").write_bytes(b"data = '\xff\xfe'")
    with pytest.raises(SettingError, match=r"spotdiff\.toml cannot be read"):
        load_settings(environment={}, folder=tmp_path)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "spotdiff.toml").write_bytes(b"\xef\xbb\xbfswap = true")
    assert load_settings(environment={}, folder=tmp_path).swap


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spotdiff.toml").mkdir()
    with pytest.raises(SettingError, match=r"spotdiff\.toml cannot be read"):
        load_settings(environment={}, folder=tmp_path)


@pytest.mark.parametrize("name", ["JUDGE_URL", "JUDGE_MODEL"])
def test_half_a_judge_is_refused(load: Load, name: str) -> None:
    with pytest.raises(SettingError, match="go together"):
        load("", None, **{f"SPOTDIFF_{name}": "https://x"})


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://x/v1",
        "file:///etc/passwd",
        "https://",
        "http://a b",
        "http://[::1",
        "https://me:SECRET@host/v1",
        "https://SECRET@host",
        "https://host/v1?api_key=SECRET",
    ],
)
def test_an_address_of_a_judge_is_http_without_any_secret(load: Load, address: str) -> None:
    with pytest.raises(SettingError) as caught:
        load("", None, SPOTDIFF_JUDGE_URL=address, SPOTDIFF_JUDGE_MODEL="m")
    assert "SPOTDIFF_JUDGE_KEY" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_in_the_file_is_not_repeated_in_the_error(load: Load) -> None:
    with pytest.raises(SettingError) as caught:
        load("judge_key = 'SECRET'")
    assert "SECRET" not in str(caught.value)


def test_the_changed_settings_are_plain_and_hold_no_secret(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_JUDGE_KEY", "SECRET")
    toml = "[box_families.mine]\ntemplate = '{x1}{y1}{x2}{y2}'\nscale = 10"
    environment = {"SPOTDIFF_JUDGE_KEY": "SECRET", "SPOTDIFF_JUDGE_URL": "http://x", "SPOTDIFF_JUDGE_MODEL": "m"}
    found = load(toml, None, **environment, SPOTDIFF_DATA="/d", SPOTDIFF_SWAP="1").changed()
    assert found == {
        "data": "/d",
        "box_families": {"mine": {"template": "{x1}{y1}{x2}{y2}", "scale": 10}},
        "swap": True,
        "judge_url": "http://x",
        "judge_model": "m",
    }
    assert "SECRET" not in json.dumps(found)


def test_the_default_folders_follow_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert (Settings().data, Settings().media_cache) == (tmp_path / "spotdiff/data", tmp_path / "spotdiff/media")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert Settings().data == Path.home() / ".cache/spotdiff/data"
