"""The shift benchmark: random streams of worlds and changes, and how well detectors follow them."""
