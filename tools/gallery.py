"""Write the reports of runs and an index of them into a folder that a static page can host.

    python tools/gallery.py --out docs/gallery runs/three-worlds runs/five-worlds runs/rooms runs/cifar

A report has the name of its run's folder, e.g. three-worlds.html, and index.html a card of each in the order given.
With --keep, reports that are in the index already stay there. With --renew and no runs, the pages of a gallery are
written again from the data in them, after the page's style sheets or scripts have changed:

    python tools/gallery.py --out docs/gallery --renew
"""

from __future__ import annotations

import argparse
import sys

from vase.report.gallery import renew_gallery, write_gallery


def main() -> int:
    """Write the gallery and print its files with their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="run directories")
    parser.add_argument("--out", required=True, metavar="FOLDER", help="the folder to write, e.g. docs/gallery")
    parser.add_argument("--data", metavar="DIR", help="folder with the data sets")
    parser.add_argument("--keep", action="store_true", help="keep the reports that the index has already")
    parser.add_argument("--renew", action="store_true", help="write the pages of a gallery again from their own data")
    arguments = parser.parse_args()
    if arguments.renew and (arguments.runs or arguments.keep or arguments.data):
        parser.error("--renew writes the pages that are there: leave out runs, --keep and --data.")
    try:
        if arguments.renew:
            files = renew_gallery(arguments.out)
        else:
            files = write_gallery(arguments.runs, arguments.out, data=arguments.data, keep=arguments.keep)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in files:
        print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
