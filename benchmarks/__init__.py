"""Benchmarks for developers. They import vase; vase never imports them. Run them in a clone of the repository.

| command | file |
|---|---|
| `python -m benchmarks.speed laptop` | results/speed/laptop.json |
| `python -m benchmarks.speed paper` | results/speed/paper.json |
| `python -m benchmarks.speed scaling` | results/speed/scaling.json |
| `python -m benchmarks.whole` | results/speed/whole.json |
| `python -m benchmarks.explorer RUN` | results/speed/explorer.json |
| `python -m benchmarks.kill` | results/learner/kill.json |
| `python -m benchmarks.faults` | results/faults/smoke.json |
| `python -m benchmarks.soak` | results/soak/smoke.json |
| `python -m benchmarks.growth` | results/growth/smoke.json |

`python -m benchmarks.tables` prints the tables of docs/scaling.md from these files.
"""
