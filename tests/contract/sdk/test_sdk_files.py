"""Files and host-mounts, through the unmodified SDK, on every version of the platform."""

import hashlib

import pytest
from contract.sdk.site import Site, mounts
from cubesandbox import ApiError, Sandbox

pytestmark = pytest.mark.sandbox


def test_files_are_written_read_moved_and_removed(there: Site) -> None:
    files = there.create().files
    files.write("/workspace/deep/note.txt", "straße")
    read = files.read("/workspace/deep/note.txt")
    files.make_dir("/workspace/other")
    names = [entry["name"] for entry in files.list("/workspace")]
    files.rename("/workspace/deep/note.txt", "/workspace/other/note.txt")
    moved = files.stat("/workspace/other/note.txt")["type"]

    files.remove("/workspace/other")

    assert (read, sorted(names), moved) == ("straße", ["deep", "other"], "FILE_TYPE_FILE")
    assert not files.exists("/workspace/other/note.txt")


def test_binary_files_pass_unchanged(there: Site) -> None:
    sandbox = there.create()
    content = bytes(range(256)) * 1000

    sandbox.files.write("/tmp/binary", content)

    told = sandbox.commands.run("sha256sum /tmp/binary | cut -d' ' -f1", timeout=10).stdout.strip()
    assert told == hashlib.sha256(content).hexdigest()


def test_a_file_that_is_not_there(there: Site) -> None:
    with pytest.raises(OSError, match=r"path ./nope. does not exist"):
        there.create().files.read("/nope")


def test_a_watched_directory_tells_of_a_new_file(there: Site) -> None:
    sandbox = there.create()
    writer = Sandbox.connect(sandbox.sandbox_id, config=there.config)

    with sandbox.files.watch_dir("/tmp") as watcher:
        writer.files.write("/tmp/fresh", "x")
        event = next(iter(watcher))

    assert (event.name, event.type) == ("fresh", "EVENT_TYPE_CREATE")


def test_a_mount_is_shared_by_two_sandboxes_and_outlives_both(there: Site, name: str) -> None:
    metadata = mounts((there.directory(name), "/root/.hermes", False))
    first, second = there.create(metadata=metadata), there.create(metadata=metadata)

    first.commands.run("echo marked > /root/.hermes/marker", timeout=10)

    assert second.commands.run("cat /root/.hermes/marker", timeout=10).stdout == "marked\n"
    first.kill()
    second.kill()
    assert (there.shared / name / "marker").read_text() == "marked\n"


def test_a_read_only_mount_refuses_every_way_of_writing(there: Site, name: str) -> None:
    source = there.directory(name)
    (there.shared / name / "held").write_text("as it was")
    sandbox = there.create(metadata=mounts((source, "/opt/skills", True)))
    attempts = ("echo x >/opt/skills/new", "rm /opt/skills/held", "mount -o remount,rw /opt/skills")

    results = [sandbox.commands.run(attempt, timeout=10) for attempt in attempts]

    with pytest.raises(OSError, match="read-only file system"):
        sandbox.files.write("/opt/skills/new", "data")
    assert all(result.exit_code for result in results)
    assert "Read-only file system" in results[0].stderr
    assert [path.name for path in (there.shared / name).iterdir()] == ["held"]


def test_an_empty_source_shadows_the_image(there: Site, name: str) -> None:
    plain = there.create()
    mounted = there.create(metadata=mounts((there.directory(name), "/root/.hermes", False)))

    shown = [bool(sandbox.files.list("/root/.hermes")) for sandbox in (plain, mounted)]

    assert shown == [True, False]


@pytest.mark.parametrize("turned", [False, True])
def test_a_writable_child_in_a_read_only_parent(there: Site, name: str, *, turned: bool) -> None:
    parent, child = there.directory(f"{name}-parent"), there.directory(f"{name}-child")
    (there.shared / f"{name}-parent/child").mkdir()
    entries = [(parent, "/mnt/in", True), (child, "/mnt/in/child", False)]
    sandbox = there.create(metadata=mounts(*(reversed(entries) if turned else entries)))

    inner = sandbox.commands.run("touch /mnt/in/child/written", timeout=10)
    outer = sandbox.commands.run("touch /mnt/in/refused", timeout=10)

    assert (inner.exit_code, outer.exit_code) == (0, 1)
    assert [path.name for path in (there.shared / f"{name}-child").iterdir()] == ["written"]
    assert list((there.shared / f"{name}-parent/child").iterdir()) == []


@pytest.mark.parametrize(
    "source",
    [
        "/etc",
        "/",
        "/data",
        "/data/shared/../secret",
        "/data/shared_evil",
        "/data/sharedx/home",
        "/data/shared/../..",
    ],
)
def test_a_source_outside_the_prefix_is_refused(there: Site, source: str) -> None:
    with pytest.raises(ApiError) as refused:
        there.create(metadata=mounts((source, "/mnt", False)))

    assert refused.value.status_code == (400 if there.platform == "0.7.1" else 500)
    words = "must be under one of" if there.platform == "0.5.1" else "not within an allowed mount prefix"
    assert words in str(refused.value)
    assert Sandbox.list(there.config) == []


@pytest.mark.parametrize(
    ("source", "target"),
    [("relative", "/mnt"), ("", "/mnt"), ("/data/shared", "relative"), ("/data/shared", "")],
)
def test_a_path_that_is_not_absolute_is_refused(there: Site, source: str, target: str) -> None:
    with pytest.raises(ApiError, match="must be an absolute path") as refused:
        there.create(metadata=mounts((source, target, False)))

    assert refused.value.status_code == (400 if there.platform == "0.7.1" else 500)


def test_one_bad_mount_among_good_ones_makes_nothing(there: Site, name: str) -> None:
    good = (there.directory(name), "/mnt/a", False)

    with pytest.raises(ApiError, match=r"entry\[1\]"):
        there.create(metadata=mounts(good, ("/etc", "/mnt/b", True)))

    assert Sandbox.list(there.config) == []


def test_a_path_that_cleans_into_the_prefix_is_fine(there: Site, name: str) -> None:
    there.directory(name)
    (there.shared / name / "here").write_text("x")

    sandbox = there.create(metadata=mounts((f"/data/./shared//x/../{name}/", "/mnt", True)))

    assert sandbox.commands.run("ls /mnt", timeout=10).stdout == "here\n"


def test_a_missing_source_is_never_made(there: Site, name: str) -> None:
    with pytest.raises(ApiError, match="prepareHostDirVolume: bind mount /data/shared/") as refused:
        there.create(metadata=mounts((f"/data/shared/{name}", "/mnt", False)))

    assert refused.value.status_code == 500
    assert str(refused.value).endswith("/rw/hostdir-0: no such file or directory")
    assert not (there.shared / name).exists()
    assert Sandbox.list(there.config) == []


def test_a_file_as_a_source_is_not_a_directory(there: Site, name: str) -> None:
    (there.shared / name).write_text("x")

    with pytest.raises(ApiError) as refused:
        there.create(metadata=mounts((f"/data/shared/{name}", "/mnt", True)))

    assert refused.value.status_code == 500
    assert str(refused.value).endswith("/ro/hostdir-0: not a directory")


@pytest.mark.parametrize("target", ["/etc", "/", "/data", "../../.."])
def test_a_link_that_leads_out_of_the_prefix_is_refused(there: Site, name: str, target: str) -> None:
    there.directory(name)
    (there.shared / name / "link").symlink_to(target)

    with pytest.raises(ApiError, match="no such file or directory"):
        there.create(metadata=mounts((f"/data/shared/{name}/link", "/mnt", True)))

    assert Sandbox.list(there.config) == []


def test_a_link_that_a_sandbox_has_planted_leads_nowhere(there: Site, name: str) -> None:
    there.directory(name)
    planter = there.create(metadata=mounts((f"/data/shared/{name}", "/mnt", False)))
    planter.commands.run("ln -s / /mnt/way-out", timeout=10)

    with pytest.raises(ApiError):
        there.create(metadata=mounts((f"/data/shared/{name}/way-out", "/mnt", False)))


def test_a_link_within_the_prefix_is_followed(there: Site, name: str) -> None:
    there.directory(name)
    (there.shared / name / "found").write_text("x")
    (there.shared / f"{name}-link").symlink_to(f"/data/shared/{name}")

    sandbox = there.create(metadata=mounts((f"/data/shared/{name}-link", "/mnt", True)))

    assert sandbox.commands.run("ls /mnt", timeout=10).stdout == "found\n"


def test_mounts_are_there_again_after_a_pause(there: Site, name: str) -> None:
    sandbox = there.create(metadata=mounts((there.directory(name), "/mnt", False)))
    sandbox.pause()
    (there.shared / name / "meanwhile").write_text("x")

    awake = Sandbox.connect(sandbox.sandbox_id, config=there.config)

    assert awake.commands.run("ls /mnt", timeout=10).stdout == "meanwhile\n"
