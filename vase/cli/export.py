"""Write encoder and decoder of a learner as ONNX or torch.export graphs, for programs without this package."""

from __future__ import annotations

import argparse

EXAMPLE = "vase export runs/demo --onnx exported"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `vase export`."""
    parser.add_argument("learner", metavar="RUN", help="directory of a run, a saved learner, or a shipped model")
    parser.add_argument("--onnx", metavar="DIR", help="write encoder.onnx and decoder.onnx into this folder")
    parser.add_argument("--torch", metavar="DIR", help="write encoder.pt2 and decoder.pt2 into this folder")


def run(arguments: argparse.Namespace) -> None:
    """Write the graphs and print their paths and sizes."""
    from vase.learners.export import write_onnx, write_torch
    from vase.learners.vase import VASE

    writers = {"onnx": write_onnx, "torch": write_torch}
    wanted = {name: folder for name in writers if (folder := getattr(arguments, name))}
    if not wanted:
        raise ValueError("no format is given: add --onnx DIR or --torch DIR.")
    learner = VASE.from_pretrained(arguments.learner, device="cpu")
    for name, folder in wanted.items():
        for path in writers[name](learner, folder):
            print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")
