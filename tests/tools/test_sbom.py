"""The bill of materials names what the lock file holds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("sbom", ROOT / "tools" / "sbom.py")
assert spec is not None
assert spec.loader is not None
sbom = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sbom)

ONE, TWO = "0" * 64, "f" * 64
LOCK = f"""# a comment
numpy==2.4.6 \\
    --hash=sha256:{ONE} \\
    --hash=sha256:{TWO}
no-such-package==1.0 \\
    --hash=sha256:{TWO}
"""


def test_every_package_with_every_hash() -> None:
    found = sbom.bill(LOCK)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert [one["purl"] for one in found["components"]] == ["pkg:pypi/numpy@2.4.6", "pkg:pypi/no-such-package@1.0"]
    hashes = [[file["hashes"][0]["content"] for file in one["externalReferences"]] for one in found["components"]]
    assert hashes == [[ONE, TWO], [TWO]]


def test_licences_are_those_that_packages_declare() -> None:
    numpy, missing = sbom.bill(LOCK)["components"]
    assert "BSD" in str(numpy["licenses"])
    assert "licenses" not in missing
