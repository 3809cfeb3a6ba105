"""What the report says about how a run was made, from what both frameworks leave beside their logs."""

import json
from pathlib import Path

from spotdiff.runs.provenance import of_lmms_eval, of_vlmevalkit

TASK = "m3verse_sim"


def test_a_run_of_lmms_eval_tells_its_command_versions_data_seeds_and_generation(tmp_path: Path) -> None:
    results = {
        "lmms_eval_version": "unknown@unknown",
        "date": "20260101_000000",
        "n-samples": {TASK: {"original": 2932, "effective": 10}},
        "config": {
            "model": "openai",
            "model_args": "model_version=m,api_key=sk-0123456789abcdef",
            "limit": 10.0,
            "gen_kwargs": "",
            "batch_size": 1,
            "random_seed": 0,
            "torch_seed": 1234,
            "resolved_cli_args": {"tasks": TASK},
        },
        "configs": {
            TASK: {
                "generation_kwargs": {"max_new_tokens": 64},
                "metadata": {
                    "version": 1,
                    "spotdiff": "0.1.0",
                    "framework": "0.7.3",
                    "settings": {"frames": 60},
                    "data": "0123",
                    "revision": "abcd",
                },
            }
        },
    }
    (tmp_path / "20260101_000000_results.json").write_text(json.dumps(results))
    told = of_lmms_eval(tmp_path / f"20260101_000000_samples_{TASK}.jsonl", [TASK, TASK])
    assert told == {
        "framework": "lmms-eval",
        "framework version": "0.7.3",
        "date": "20260101_000000",
        "model": "openai",
        "model arguments": "model_version=m,api_key=...",
        "command": (
            "lmms-eval --model openai --model_args model_version=m,api_key=... "
            f"--tasks {TASK} --limit 10.0 --batch_size 1"
        ),
        "limit": 10.0,
        "seeds": {"random_seed": 0, "torch_seed": 1234},
        "tasks": {
            TASK: {
                "version": 1,
                "spotdiff": "0.1.0",
                "settings": {"frames": 60},
                "data digest": "0123",
                "data revision": "abcd",
                "generation": {"max_new_tokens": 64},
                "questions": 10,
            }
        },
    }


def test_a_run_of_vlmevalkit_tells_its_command_versions_and_data(tmp_path: Path) -> None:
    status = {
        "argv": ["/bin/vlmeval", "--data", "M3Verse_Sim", "--model", "m", "--key", "sk-0123456789abcdef"],
        "mode": "all",
        "commit": "",
        "datasets": {"M3Verse_Sim": {"updated_at": "2026-01-01", "metrics": {"questions": 2932}}},
    }
    told = {"models": ["m"], "version": 1, "spotdiff": "0.1.0", "framework": "0.0.20", "settings": {}, "data": "0123"}
    (tmp_path / "status.json").write_text(json.dumps(status))
    (tmp_path / "m_M3Verse_Sim_table.md").write_text(f"| a |\n\n{json.dumps(told)}\n")
    found = of_vlmevalkit(tmp_path / "m_M3Verse_Sim_scored.jsonl", "M3Verse_Sim", ["M3Verse_Sim"])
    assert found["command"] == "vlmeval run --data M3Verse_Sim --model m --key ..."
    assert (found["framework version"], found["date"], found["model"]) == ("0.0.20", "2026-01-01", ["m"])
    task = found["tasks"]["M3Verse_Sim"]
    assert (task["version"], task["data digest"], task["questions"]) == (1, "0123", 2932)


def test_without_results_little_is_told_and_nothing_fails(tmp_path: Path) -> None:
    for content in (None, "{", "[]", '{"config": [], "configs": 5}'):
        if content is not None:
            (tmp_path / "1_results.json").write_text(content)
            (tmp_path / "status.json").write_text(content)
        found = of_lmms_eval(tmp_path / f"1_samples_{TASK}.jsonl", [TASK])
        assert found["framework"] == "lmms-eval"
        assert "command" not in found
        assert of_vlmevalkit(tmp_path / "m_x_scored.jsonl", "x", ["x"])["framework"] == "VLMEvalKit"
