"""From what was seen to a verdict: the most likely cause first, each finding with its cure.

A full disk explains a Studio that does not start, and a dead VM explains that everything inside is silent, so
findings come in the order of ``bot.domain.illnesses``. What could not be examined is a finding of its own and
never counts as well.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.evidence import CubeEvidence, Evidence
from bot.domain.illnesses import (
    ASLEEP,
    BY_CODE,
    EXPLAINED_BY,
    HEALTHY,
    NOT_ALL_TOLD,
    RANK,
    VERDICTS,
    Remedy,
    Weight,
)
from bot.domain.sandbox import SandboxState
from bot.domain.signs import Sign
from bot.domain.signs_inside import clock_signs, database_signs, inside_signs
from bot.domain.signs_outside import cube_signs, heartbeat_signs, node_signs


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, or that could not be told."""

    code: str
    sentence: str
    cure: str
    weight: Weight
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The verdict and all findings, most likely cause first."""

    verdict: str
    """The code of the first finding that is an illness or a risk, else ``healthy``, ``asleep`` or
    ``not-all-told``."""
    headline: str
    findings: tuple[Finding, ...]

    @property
    def wrong(self) -> tuple[Finding, ...]:
        """Illnesses and risks."""
        return tuple(finding for finding in self.findings if finding.weight is not Weight.UNTOLD)

    @property
    def untold(self) -> tuple[Finding, ...]:
        """What could not be told."""
        return tuple(finding for finding in self.findings if finding.weight is Weight.UNTOLD)

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The buttons of all cures, those of the first finding first, each once."""
        return tuple(dict.fromkeys(remedy for finding in self.findings for remedy in finding.remedies))


def diagnose(evidence: Evidence) -> Diagnosis:
    """Judge what was seen. Total: any evidence gives a verdict, and the same evidence always the same one."""
    signs = {(sign.code, sign.sentence): sign for sign in _signs(evidence)}
    codes = {code for code, _ in signs}
    telling = [sign for sign in signs.values() if not codes & EXPLAINED_BY.get(sign.code, frozenset())]
    findings = sorted((_finding(sign, evidence) for sign in telling), key=_order)
    first = next((finding for finding in findings if finding.weight is not Weight.UNTOLD), None)
    if first is not None:
        return Diagnosis(verdict=first.code, headline=first.sentence, findings=tuple(findings))
    verdict = HEALTHY
    if findings:
        only_asleep = all(finding.code == "asleep-inside" for finding in findings)
        verdict = ASLEEP if only_asleep and _paused(evidence) else NOT_ALL_TOLD
    return Diagnosis(verdict=verdict, headline=VERDICTS[verdict], findings=tuple(findings))


def _signs(evidence: Evidence) -> Iterator[Sign]:
    yield from cube_signs(evidence)
    if isinstance(evidence.cube, CubeEvidence) and evidence.cube.view is None:
        return
    yield from node_signs(evidence)
    yield from heartbeat_signs(evidence)
    yield from inside_signs(evidence)
    yield from database_signs(evidence)
    yield from clock_signs(evidence)


def _order(finding: Finding) -> tuple[int, int, str]:
    return finding.weight, RANK[finding.code], finding.sentence


def _finding(sign: Sign, evidence: Evidence) -> Finding:
    illness = BY_CODE[sign.code]
    cure = illness.cure.replace("{target}", evidence.home or evidence.sandbox_id)
    return Finding(
        code=sign.code,
        sentence=sign.sentence.rstrip(". ") + ".",
        cure=cure.replace("{home}", evidence.home or "NAME").replace("{sandbox}", evidence.sandbox_id),
        weight=illness.weight if sign.weight is None else sign.weight,
        remedies=illness.remedies,
    )


def _paused(evidence: Evidence) -> bool:
    cube = evidence.cube
    view = cube.view if isinstance(cube, CubeEvidence) else None
    return view is not None and view.state is SandboxState.PAUSED
