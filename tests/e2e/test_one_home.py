"""A home has one sandbox at a time, and what is in it is its owner's."""

import asyncio
import os
from fnmatch import fnmatch
from pathlib import Path

import pytest
from e2e.installed import OPERATOR, OPERATOR2, Installed
from e2e.manifests import changes, manifest

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

PUBLIC = "/opt/hermes-common-skills/"
OF_STUDIO = (
    "state.db*", "kanban.db*", "cron/*", "gateway*", "channel_directory.json", ".clean_shutdown",
    "state", "state/*", "logs", "logs/*", "hooks", "pairing", "sessions", "memories", "image_cache",
    "audio_cache", "cron", ".update_check", "skills",
)  # fmt: skip
"""What Studio and its agent write by themselves once they run, or close to others (``skills``)."""


def initialised_home(home: Path) -> None:
    """A home as somebody left it: settings, and Skills, one of them named like a public one."""
    files = {
        "config.yaml": ("model: mine\n", 0o640),
        "SOUL.md": ("I am nobody's default.\n", 0o600),
        "notes with a blank.txt": ("keep\n", 0o444),
        "state/odd \n name": ("x", 0o600),
        "skills/release-notes/SKILL.md": ("---\nname: release-notes\n---\nMy own way.\n", 0o644),
        "skills/mine/SKILL.md": ("---\nname: mine\n---\nMine.\n", 0o600),
        "skills/mine/run.sh": ("#!/bin/sh\nexit 0\n", 0o755),
        "memories/MEMORY.md": ("I remember.\n", 0o600),
    }
    for name, (text, mode) in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        os.utime(path, (1_600_000_000, 1_600_000_000))
    (home / "skills/gone").symlink_to("/somewhere/else")
    (home / "empty").mkdir(mode=0o711)


def foreign_to_us(path: str, _was: str, becomes: str) -> bool:
    """Whether a change is neither the bot's own directory nor a link to a public Skill."""
    ours = path == ".hermes-bot" or path.startswith(".hermes-bot/")
    overlay = path.startswith("skills/") and becomes.startswith("link ") and f" {PUBLIC}" in becomes
    return not ours and not overlay


async def test_two_creates_of_one_home_at_once_make_one_sandbox(site: Installed) -> None:
    threads = await asyncio.gather(
        site.type(OPERATOR, "create home=shared"), site.type(OPERATOR2, "create home=shared")
    )
    told = await asyncio.gather(*(thread.ended() for thread in threads))

    well = [text for text in told if "is ready" in text]
    refused = [text for text in told if "is ready" not in text]
    assert (len(well), len(refused)) == (1, 1), told
    winner = OPERATOR if well[0] == told[0] else OPERATOR2
    assert f"@{winner}" in refused[0].partition("What happened:")[2]
    assert "What is safe:" in refused[0]
    assert "What to do:" in refused[0]
    assert len(await site.sandboxes("shared")) == 1


async def test_home_in_use_is_refused_but_a_workspace_may_be_shared(site: Installed) -> None:
    first = await site.create(OPERATOR, "home=taken workspace=common-ground")
    sandbox = await first.sandbox()

    second, third = await asyncio.gather(
        site.type(OPERATOR2, "create home=taken"),
        site.create(OPERATOR, "home=beside workspace=common-ground"),
    )
    refused = await second.ended(":x:")

    assert f"sandbox {sandbox} of @U_OPERATOR is running" in refused
    assert "[ Open Studio ] [ Stop ]" in refused
    assert await site.sandboxes("taken") == [sandbox]
    shared = "Workspace common-ground is also used by home taken; its files are shared."
    assert shared in await third.text()


async def test_initialised_home_is_as_it_was_when_studio_starts(site: Installed) -> None:
    home = site.home("settled")
    initialised_home(home)
    before = manifest(home)
    await site.fault("cube", "studio-does-not-start")

    thread = await site.type(OPERATOR, "create home=settled")
    told = await thread.ended(":x:")

    changed = changes(before, manifest(home))
    assert "9. Start Studio and secure it" in told
    assert "already initialised" in told
    assert {path: what for path, what in changed.items() if foreign_to_us(path, *what)} == {}
    links = sorted(path for path in changed if path.startswith("skills/"))
    assert links == ["skills/deploy-check", "skills/log-triage"]
    assert "2 linked, 3 kept private" in told


async def test_running_studio_adds_only_its_own_files(site: Installed) -> None:
    home = site.home("lived-in")
    initialised_home(home)
    before = manifest(home)

    thread = await site.create(OPERATOR, "home=lived-in")

    changed = changes(before, manifest(home))
    left = {
        path: what
        for path, what in changed.items()
        if foreign_to_us(path, *what) and not any(fnmatch(path, pattern) for pattern in OF_STUDIO)
    }
    assert left == {}
    assert [path for path, (was, _) in changed.items() if was.startswith("file")] == []
    assert (home / "skills/release-notes/SKILL.md").read_text(encoding="utf-8").endswith("My own way.\n")
    assert "Kept private: gone, mine, release-notes" in await thread.text()
