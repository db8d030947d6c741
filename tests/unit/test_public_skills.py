"""The Skills that this repository carries keep the rules of Hermes's own writer."""

import re
from pathlib import Path

import pytest
import yaml

SKILLS = sorted((Path(__file__).parents[2] / "skills").iterdir())


@pytest.mark.parametrize("skill", SKILLS, ids=lambda path: path.name)
def test_a_public_skill_can_be_read_and_is_named_after_its_directory(skill: Path) -> None:
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    fields = yaml.safe_load(front)

    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", skill.name)
    assert fields["name"] == skill.name
    assert 0 < len(fields["description"]) <= 1024
    assert body.strip()
    assert len(text) <= 100_000


def test_there_are_public_skills() -> None:
    assert SKILLS
