"""Print a software bill of materials in CycloneDX JSON: the packages of a lock file, with hashes and licences.

    python tools/sbom.py [locks/core.txt] > sbom.json

The same lock file gives the same bytes: no time, no machine. Licences are those that installed packages declare.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
HASH = r"    --hash=sha256:[0-9a-f]{64}(?: \\)?\n"
PACKAGE = re.compile(rf"^(?P<name>[\w.-]+)==(?P<version>[^ ]+) \\\n(?P<hashes>(?:{HASH})+)", re.M)


def licence(name: str) -> list[dict[str, Any]]:
    """What an installed package says of its licence."""
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return []
    if expression := told.get("License-Expression"):
        return [{"expression": expression}]
    classes = [text.rpartition(" :: ")[2] for text in told.get_all("Classifier", []) if text.startswith("License ::")]
    return [{"license": {"name": name}} for name in classes]


def component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    """One package, as the format describes it; a hash per wheel."""
    purl = f"pkg:pypi/{name}@{version}"
    files = [
        {"type": "distribution", "url": purl, "hashes": [{"alg": "SHA-256", "content": digest}]} for digest in hashes
    ]
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    licences = licence(name)
    return {**found, **({"licenses": licences} if licences else {}), "externalReferences": files}


def bill(lock: str) -> dict[str, Any]:
    """The bill of the text of a lock file."""
    found = [
        component(one["name"], one["version"], re.findall(r"[0-9a-f]{64}", one["hashes"]))
        for one in PACKAGE.finditer(lock)
    ]
    root = {"type": "library", "bom-ref": "vase-lifelong", "name": "vase-lifelong"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": found,
    }


def main() -> None:
    """Print the bill of a lock file."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "locks" / "core.txt"
    print(json.dumps(bill(path.read_text()), indent=1))


if __name__ == "__main__":
    main()
