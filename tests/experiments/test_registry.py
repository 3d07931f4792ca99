"""Experiments by name: valid configurations, and experiments outside the package."""

import subprocess
import sys

import pytest

from vase.config import preset as configuration
from vase.experiments import Experiment, experiment_names, jobs_of, load_experiment
from vase.experiments.common.conditions import SWITCHES, heading, label, readable
from vase.experiments.experiment import resolve
from vase.training import RunSettings


@pytest.mark.parametrize("name", experiment_names())
@pytest.mark.parametrize("preset", ["laptop", "paper", "smoke"])
def test_every_condition_is_a_valid_configuration(name, preset):
    for job in jobs_of(load_experiment(name), preset, "results", "runs", seeds=[0]):
        assert RunSettings.from_dict(job.settings.to_dict()) == job.settings
        configuration(preset, (1, 64, 64)).with_values(dict(job.settings.overrides))


def test_values_of_the_papers_table_of_hyperparameters():
    five = load_experiment("five-datasets")
    assert five.settings(five.conditions[0], 0, "paper").overrides == {"dreaming.tau": 5_000}
    assert five.settings(five.conditions[0], 0, "paper").steps == 150_000
    assert five.settings(five.conditions[0], 0, "laptop").overrides == {}


def test_the_sixteen_conditions_switch_what_their_letters_say():
    found = {c.name: c.overrides for c in load_experiment("ablation").conditions}
    assert len(found) == 16
    assert found["entangled-SD"] == {
        "environments.enabled": "yes",
        "dreaming.enabled": "yes",
        "mask.enabled": "no",
        "capacity.objective": "elbo",
    }
    assert found["disentangled-none"] == dict.fromkeys(SWITCHES.values(), "no")
    assert "capacity.objective" not in found["disentangled-A"]


def test_names_for_readers():
    names = ("disentangled-SDA", "entangled-SDA", "entangled-none", "entangled-SA", "my-pca")
    assert [heading(name) for name in names] == [
        "VASE (SDA)", "entangled VASE (SDA)", "VAE (–)", "entangled (SA)", "my-pca",
    ]  # fmt: skip
    assert [label(name) for name in names] == [
        "disentangled SDA (VASE)", "entangled SDA", "entangled – (VAE)", "entangled SA", "my-pca",
    ]  # fmt: skip
    assert readable("entangled-SD") == "SD (stand-in for lifelong generative modelling)"


@pytest.mark.parametrize("name", experiment_names())
def test_every_reference_of_an_experiment_can_be_resolved(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    for reference in [*experiment.tables.values(), *experiment.figures.values()]:
        assert callable(resolve(reference))


OWN = """
from vase.experiments import Condition, Experiment
MINE = Experiment("mine", "t", "digits", {}, (Condition("a"),), {"broken": "my_study:nothing"})
number = 3
"""


class TestOwn:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        (tmp_path / "my_study.py").write_text(OWN)
        (tmp_path / "needs.py").write_text("import a_package_that_is_not_there\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
        yield
        sys.modules.pop("my_study", None)

    def test_a_module_of_the_working_directory(self):
        mine = load_experiment("my_study:MINE")
        assert isinstance(mine, Experiment)
        (job, *_) = jobs_of(mine, "smoke", "results", "runs")
        assert job.command() == "vase experiment run my_study:MINE --preset smoke --only a --seeds 0"
        assert str(job.target) == "results/mine/smoke/a-0.json"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("ablaton", "no experiment 'ablaton'; did you mean 'ablation'"),
            ("nothing", "there are ablation, longer, .*, and package.module:EXPERIMENT of your own."),
            ("my_studdy:MINE", "there is no module 'my_studdy'; install it"),
            ("my_study:MIME", "my_study has no 'MIME'; did you mean 'MINE'"),
            ("my_study:number", "is of type int: it must be a vase.experiments.Experiment"),
        ],
    )
    def test_errors_name_the_remedy(self, name, message):
        with pytest.raises(ValueError, match=message):
            load_experiment(name)

    def test_a_missing_table_is_named(self):
        with pytest.raises(ValueError, match="my_study has no 'nothing'"):
            resolve(load_experiment("my_study:MINE").tables["broken"])

    def test_a_package_that_the_module_lacks_is_no_misspelt_module(self):
        with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
            load_experiment("needs:X")


def test_settings_and_tables_import_nothing_heavy():
    code = (
        "import sys\nfrom vase.experiments.registry import experiment_names, load_experiment\n"
        "from vase.experiments.experiment import resolve\n"
        "for name in experiment_names():\n"
        "    tables = load_experiment(name).tables.values()\n"
        "    for table in () if name == 'homologies' else tables: resolve(table)\n"  # its scores need regressors
        "print([name for name in ('torch', 'sklearn', 'matplotlib', 'rich', 'joblib') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
