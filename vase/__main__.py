"""`python -m vase` is the command `vase`."""

import sys

from vase.cli import main

sys.exit(main())
