"""Write the files of locks/: exact versions with the SHA-256 of every wheel that the package index offers.

    make lock    installs what pyproject.toml asks for, in the versions of constraints.txt, and runs this script

Nothing is resolved or downloaded here: the packages are those that the installed vase-lifelong needs, without and with
its extra `dev`. Hashes come from the pages of the configured index, for all platforms, and from local files where pip
is configured to find packages in a folder: a build of torch for CPUs has another hash than the index's own. torch has a
file of its own, which `make setup` installs from such folders first: pip prefers files whose hash the index states, so
it would otherwise fetch the index's build, and with it gigabytes of CUDA libraries.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from urllib.parse import urljoin

from pip._internal.commands import create_command
from pip._internal.index.collector import IndexContent, LinkCollector
from pip._internal.models.link import Link
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parent.parent
PROJECT = "vase-lifelong"
BUILD = ("setuptools",)
"""What building the project itself needs."""
HEAD = "# Made by `make lock`; install with: pip install --no-deps --require-hashes --requirement {path}\n"


def closure(project: str, extras: Iterable[str]) -> dict[str, Distribution]:
    """The installed packages that a project needs, by canonical name, itself not among them."""
    found: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    todo = [(canonicalize_name(project), extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in done:
            continue
        done.add((name, extra))
        found[name] = distribution(name)
        for text in found[name].requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                todo += [(canonicalize_name(wanted.name), inner) for inner in ("", *wanted.extras)]
    return {name: found[name] for name in sorted(found) if name != canonicalize_name(project)}


def collector() -> LinkCollector:
    """What reads the pages of the index that pip is configured with."""
    command = create_command("download")
    options, _ = command.parse_args([])
    session = command._build_session(options)
    return LinkCollector.create(session, options)


def files(source: LinkCollector, name: str, version: str) -> Iterator[Link]:
    """The wheels of a version on the index, and in folders that pip looks into."""
    words = "[-_.]+".join(map(re.escape, name.split("-")))
    wanted = re.compile(rf"{words}-{re.escape(public(version))}[-+].*\.whl", re.I)

    def page(location: Link) -> list[Link]:
        content = source.fetch_response(location)
        return [] if content is None else [link for link in page_links(content) if wanted.match(link.filename)]

    collected = source.collect_sources(name, candidates_from_page=page)
    for place in (*collected.find_links, *collected.index_urls):
        if place is not None:
            yield from place.page_candidates()
            yield from (link for link in place.file_links() if wanted.match(link.filename))


def page_links(content: IndexContent) -> list[Link]:
    """The files of a page. pip's own parser builds an object with all details of each, which takes minutes."""
    text = content.content.decode(content.encoding or "utf-8")
    if "json" in content.content_type.lower():
        found = json.loads(text)["files"]
        return [Link(f"{urljoin(content.url, one['url'])}#sha256={one['hashes']['sha256']}") for one in found]
    return [Link(urljoin(content.url, html.unescape(href))) for href in re.findall(r'href="([^"]+)"', text)]


def public(version: str) -> str:
    """A version without the label of a local build.

    >>> public("2.13.0+cpu")
    '2.13.0'
    """
    return version.partition("+")[0]


def sha256(link: Link) -> str | None:
    """The hash of a file: as the index gives it, or of the local file; None if neither is known."""
    if link.hash_name == "sha256":
        return link.hash
    if not link.is_file:
        return None
    with open(link.file_path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wheel_hashes(found: Iterable[Link], name: str, version: str) -> list[str]:
    """SHA-256 of all wheels of a version, whatever its local label (2.13.0+cpu counts as 2.13.0)."""
    hashes = set()
    for link in found:
        if link.is_wheel:
            wheel, written, _, _ = parse_wheel_filename(link.filename)
            if wheel == name and written.public == public(version) and (digest := sha256(link)):
                hashes.add(digest)
    return sorted(hashes)


def entry(name: str, version: str, hashes: Iterable[str]) -> str:
    """One package of a lock file."""
    return (
        " \\\n".join([f"{name}=={version.partition('+')[0]}", *(f"    --hash=sha256:{one}" for one in hashes)]) + "\n"
    )


def main() -> int:
    """Write the files."""
    source = collector()
    dev = closure(PROJECT, ["dev"]) | {name: distribution(name) for name in BUILD}
    core = closure(PROJECT, []).keys() | set(BUILD)
    entries = {}
    for name in sorted(dev):
        version = dev[name].version
        hashes = wheel_hashes(files(source, name, version), name, version)
        if not hashes:
            print(f"{name} {version}: the index offers no wheel with a hash; choose another version", file=sys.stderr)
            return 1
        entries[name] = entry(name, version, hashes)
    (ROOT / "locks").mkdir(exist_ok=True)
    for title, names in (("torch", {"torch"}), ("core", core), ("dev", dev)):
        path = ROOT / "locks" / f"{title}.txt"
        path.write_text(HEAD.format(path=path.relative_to(ROOT)) + "".join(entries[name] for name in sorted(names)))
        print(f"{path.relative_to(ROOT)}: {len(names)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
