"""Tables say which of their runs an earlier version of the preset trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vase.experiments import load_experiment, results_of
from vase.experiments.common.earlier import earlier_preset
from vase.experiments.common.numbers import note
from vase.training.settings import RunSettings


def _run(folder: Path, name: str, changed: dict[str, Any], removed: str | None = None, **given: Any) -> None:
    """A run of the present preset, but for some fields of its configuration."""
    settings = RunSettings.of("laptop", stream="digits", **given)
    config = settings.configure((1, 32, 32)).with_values(changed).to_dict()
    if removed is not None:
        part, field = removed.split(".")
        del config[part][field]
    content = {
        "settings": settings.to_dict(),
        "stages": [["digits", 10]],
        "config": config,
        "summary": {"probes": ["periodic"]},
        "rows": [],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content))


def _results(tmp_path: Path):
    return results_of(load_experiment("ablation"), "laptop", tmp_path)


def test_runs_of_the_present_preset_and_of_changed_settings_are_not_named(tmp_path: Path) -> None:
    folder = tmp_path / "ablation" / "laptop"
    _run(folder, "disentangled-SDA-0", {})
    _run(folder, "entangled-SDA-0", {"capacity.objective": "elbo"}, overrides={"capacity.objective": "elbo"})
    _run(folder, "disentangled-none-0", {"batch_size": 32}, batch_size=32)
    assert earlier_preset(_results(tmp_path)) == ""


def test_conditions_and_the_fields_that_differ_are_named_once(tmp_path: Path) -> None:
    folder = tmp_path / "ablation" / "laptop"
    _run(folder, "disentangled-SDA-0", {})
    for seed in (0, 1):
        _run(folder, f"disentangled-SD-{seed}", {"capacity.kl_weight": 1.0})
    found = earlier_preset(_results(tmp_path))
    assert found.endswith("the preset: disentangled-SD (capacity.kl_weight = 1.0, now 0.5).")
    assert note(_results(tmp_path)).endswith(found)


def test_a_field_that_did_not_exist(tmp_path: Path) -> None:
    _run(tmp_path / "ablation" / "laptop", "disentangled-SDA-0", {}, removed="network.decoder")
    assert earlier_preset(_results(tmp_path)).endswith("preset: all conditions (without network.decoder).")


def test_of_several_values_the_field_is_named_and_of_many_fields_the_number(tmp_path: Path) -> None:
    folder = tmp_path / "ablation" / "laptop"
    _run(folder, "disentangled-SDA-0", {"capacity.kl_weight": 1.0})
    _run(folder, "disentangled-SD-0", {"capacity.kl_weight": 2.0, "capacity.c_max": 7.0, "mask.minimum": 1})
    _run(folder, "disentangled-none-0", {"adam_beta2": 0.9})
    found = earlier_preset(_results(tmp_path))
    assert found.endswith(
        "(adam_beta2 = 0.9, now 0.95, capacity.kl_weight, capacity.c_max = 7.0, now 35.0, and 1 more)."
    )


def test_a_learner_of_ones_own_has_nothing_to_compare(tmp_path: Path) -> None:
    folder = tmp_path / "ablation" / "laptop"
    _run(folder, "disentangled-SDA-0", {})
    path = folder / "disentangled-SDA-0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "config": {"width": 3}}))
    assert earlier_preset(_results(tmp_path)) == ""
