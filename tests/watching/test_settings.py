"""What defines a watch."""

from vase.watching.settings import WatchSettings


def test_a_new_learner_of_camera_frames_has_a_gaussian_likelihood() -> None:
    assert WatchSettings().config().network.likelihood == "gaussian"


def test_another_likelihood_may_be_set() -> None:
    drawings = WatchSettings(overrides={"network.likelihood": "bernoulli"})
    assert drawings.config().network.likelihood == "bernoulli"


def test_the_dictionary_of_a_watch_gives_it_back() -> None:
    settings = WatchSettings(source="street.mp4", size=48, overrides={"network.likelihood": "bernoulli"})
    assert WatchSettings.from_dict(settings.to_dict()) == settings
    assert settings.differences(WatchSettings(source="other.mp4", size=48)) == ["overrides"]
