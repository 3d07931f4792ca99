"""q(s|x) of images that were met together with others."""

import pytest
import torch

from vase.method.context import in_context


def test_context_weights_by_hand():
    q = torch.tensor([[0.5, 0.5]])
    others = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    # 6π = 1 + 2 + 2π, since images without an opinion are taken for what the group is: π = 3 / 4.
    assert torch.allclose(in_context(q, others), torch.tensor([[0.75, 0.25]]))
    # 4π = 1 + 0.8π / (0.8π + 0.2(1 − π)) + 1: 2.4π² − 1.2π − 0.4 = 0 after multiplying by 0.6π + 0.2.
    share = (1.2 + (1.2**2 + 4 * 2.4 * 0.4) ** 0.5) / 4.8
    expected = 0.8 * share / (0.6 * share + 0.2)
    found = in_context(torch.tensor([[0.8, 0.2]]), torch.tensor([[1.0, 0.0]]))
    assert float(found[0, 0]) == pytest.approx(expected, abs=1e-6)
    assert found.dtype == torch.float32


def test_a_crowd_without_context_decides_together():
    alone, crowd = (float(in_context(torch.tensor([[0.6, 0.4]] * n), torch.zeros(0, 2))[0, 0]) for n in (1, 60))
    assert 0.6 < alone < 0.7  # an image by itself is hardly a group
    assert crowd > 0.9


def test_certain_images_mean_the_same_in_any_context():
    q = torch.tensor([[1.0, 0.0]])
    assert torch.equal(in_context(q, torch.tensor([[0.0, 1.0]] * 9)), q)


def test_more_of_one_kind_in_the_context_never_lowers_its_probability():
    q = torch.tensor([[0.3, 0.7]])
    found = [float(in_context(q, torch.tensor([[1.0, 0.0]] * n + [[0.0, 1.0]] * (10 - n)))[0, 0]) for n in range(11)]
    assert found == sorted(found)
    assert found[-1] - found[0] > 0.5
