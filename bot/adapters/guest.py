"""Port ``Guest``: our programs, run inside a sandbox through Cube's command service.

The sandbox is root there and may answer anything. What comes back is only believed in the shape that our
programs give it, cut to sizes that a message can bear, and no secret is part of it.
"""

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from bot.adapters.programs.assemble import MOUNTS_FILES, SKILLS_FILES, STUDIO_FILES, heartbeat_script, program
from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError, GuestError
from bot.domain.heartbeat import BEAT_SECONDS
from bot.domain.provisioning import AgentFacts, Generation, SignIn
from bot.domain.rules import Deadlines
from bot.domain.sandbox import GUEST_HOME, GUEST_PUBLIC_SKILLS, GUEST_WORKSPACE
from bot.domain.skills import OverlayPlan, entries_from_json
from bot.ports import CommandResult, Cube, MountReport, SkillsInventory, StudioStarted

ANSWER_PREFIX = "hermes-bot-answer:"
ANSWER_SECONDS = 5.0
"""What one question to envd may take."""

STOP_SECONDS = 90.0
"""Studio's own stop takes 15 s of grace and kills; then ours comes."""

START_EXTRA_SECONDS = 60.0
"""What stopping an older Studio and looking at the databases may add to the start."""

_NOT_YET = frozenset(
    {
        FaultClass.NOT_FOUND,
        FaultClass.UNAVAILABLE,
        FaultClass.UNKNOWN_OUTCOME,
        FaultClass.NOT_LISTENING,
        FaultClass.GUEST_UNREACHABLE,
        FaultClass.PAUSED_RETRY_LATER,
        FaultClass.CONFLICT_RETRY,
        FaultClass.RATE_LIMITED,
    }
)
_PROGRAMS = {
    "check_mounts": (MOUNTS_FILES, ("check_mounts",)),
    "inventory": (SKILLS_FILES, ("inventory", "apply")),
    "apply": (SKILLS_FILES, ("inventory", "apply")),
    "start": (STUDIO_FILES, ("start", "stop")),
    "stop": (STUDIO_FILES, ("start", "stop")),
}
_CODES = frozenset(
    {
        "studio-did-not-start",
        "studio-login-failed",
        "studio-unknown-generation",
        "too-many-skills",
        "unsafe-home-entry",
    }
)
_MAX_TEXT = 300
_MAX_NOTES = 20


class GuestPrograms:
    """Programs over any ``Cube``.

    ``studio_port`` is where ``stop_studio`` looks for a Studio; ``beat_seconds`` (whole ones) is how often
    the heartbeat beats that is started with it.
    """

    def __init__(
        self,
        cube: Cube,
        *,
        deadlines: Deadlines | None = None,
        studio_port: int = 9000,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        self._cube = cube
        self._deadlines = deadlines or Deadlines()
        self._studio_port = studio_port
        self._beat_seconds = beat_seconds

    async def answers(self, sandbox_id: str) -> bool:
        """Whether envd answers. A 404 right after a create means not yet; a 410 or refused key is raised."""
        try:
            result = await self._cube.run(sandbox_id, "true", deadline=ANSWER_SECONDS)
        except CubeError as error:
            if error.fault.kind in _NOT_YET:
                return False
            raise
        return result.exit_code == 0

    async def check_mounts(self, sandbox_id: str, marker: str) -> MountReport:
        """Look at the three mounts."""
        answer = await self._ask(sandbox_id, "check_mounts", {"marker": marker})
        home, workspace = _object(answer, "home"), _object(answer, "workspace")
        return MountReport(
            home_read_write=home.get("read_write") is True,
            workspace_read_write=workspace.get("read_write") is True,
            public_skills_read_only=answer.get("public_read_only") is True,
            marker_seen_in_home=home.get("marker") is True,
            marker_seen_in_workspace=workspace.get("marker") is True,
            file_system=_text(answer, "file_system"),
            problems=_notes(answer, "problems"),
        )

    async def skills_inventory(self, sandbox_id: str) -> SkillsInventory:
        """Entries of both directories."""
        answer = await self._ask(sandbox_id, "inventory", {})
        return SkillsInventory(
            public=entries_from_json(answer.get("public")), home=entries_from_json(answer.get("home"))
        )

    async def apply_overlay(self, sandbox_id: str, plan: OverlayPlan) -> OverlayPlan:
        """Perform a plan. ``link`` and ``remove_dangling`` of the result are what this call did."""
        if plan.changes_nothing:
            return plan
        arguments = {"link": list(plan.link), "remove": list(plan.remove_dangling)}
        try:
            answer = await self._ask(sandbox_id, "apply", arguments)
        except GuestError as error:
            code = "overlay-failed" if error.code == "guest-program-failed" else error.code
            raise GuestError(code, str(error)) from error
        return plan_after(plan, _object(answer, "fates"))

    async def start_studio(self, sandbox_id: str, *, port: int, auth: str) -> StudioStarted:
        """Start and secure Studio; safe to repeat."""
        seconds = self._deadlines.studio
        beat = {
            "sandbox": sandbox_id,
            "beat_seconds": self._beat_seconds,
            "beat_script": heartbeat_script(),
        }
        arguments = {"port": port, "auth": auth, "seconds": seconds, **beat}
        answer = await self._ask(sandbox_id, "start", arguments, seconds + START_EXTRA_SECONDS)
        ok = answer.get("database_ok")
        try:
            generation = Generation(str(answer.get("generation")))
        except ValueError as error:
            raise GuestError("studio-unknown-generation", "Studio's kind of sign-in is not known.") from error
        return StudioStarted(
            generation=generation,
            replaced_running=answer.get("replaced_running") is True,
            agent=AgentFacts(
                version=_text(answer, "version"),
                file_system=_text(answer, "file_system"),
                journal_mode=_text(answer, "database_journal_mode"),
                databases_ok=ok if isinstance(ok, bool) else None,
                database_notes=_notes(answer, "database_notes"),
                lacks_wal_guard=answer.get("lacks_wal_guard") is not False,
            ),
            first_login_replaced=answer.get("first_login_replaced") is True,
            sign_in=_sign_in(answer),
            heartbeat_note=_note(answer, "heartbeat_note"),
        )

    async def stop_studio(self, sandbox_id: str) -> bool:
        """End Studio cleanly, and the heartbeat."""
        answer = await self._ask(sandbox_id, "stop", {"port": self._studio_port}, STOP_SECONDS)
        return answer.get("stopped") is True

    async def _ask(
        self, sandbox_id: str, verb: str, arguments: Mapping[str, Any], deadline: float | None = None
    ) -> dict[str, Any]:
        places = {"home": GUEST_HOME, "workspace": GUEST_WORKSPACE, "public": GUEST_PUBLIC_SKILLS}
        packed = base64.b64encode(json.dumps({**places, **arguments}).encode("utf-8")).decode("ascii")
        allowed = deadline or self._deadlines.guest
        command = f"python3 -I -c {shlex.quote(program(*_PROGRAMS[verb]))} {verb} {packed}"
        try:
            result = await self._cube.run(sandbox_id, command, deadline=allowed)
        except CubeError as error:
            if error.fault.kind is FaultClass.UNKNOWN_OUTCOME:
                sentence = f"The program {verb} in the sandbox did not end as far as can be told"
                raise GuestError("guest-timeout", f"{sentence}: {error.fault.message}.") from error
            raise
        return _parse(verb, result)


def _parse(verb: str, result: CommandResult) -> dict[str, Any]:
    line = next((x for x in reversed(result.stdout.splitlines()) if x.startswith(ANSWER_PREFIX)), "")
    try:
        answer = json.loads(line.removeprefix(ANSWER_PREFIX))
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("ok"), dict):
        return dict(answer["ok"])
    if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
        refusal = answer["error"]
        code = refusal.get("code")
        known = str(code) if code in _CODES else "guest-program-failed"
        raise GuestError(known, f"In the sandbox: {str(refusal.get('message'))[: 2 * _MAX_TEXT]}.")
    said = (result.stderr.strip().splitlines() or ["it said nothing"])[-1][:_MAX_TEXT]
    sentence = f"The program {verb} in the sandbox ended with {result.exit_code}: {said}"
    raise GuestError("guest-program-failed", sentence)


def plan_after(plan: OverlayPlan, fates: Mapping[str, Any]) -> OverlayPlan:
    """The plan with what became of it. Names that it did not hold are not believed."""

    def having(names: Sequence[str], fate: str) -> tuple[str, ...]:
        return tuple(sorted(name for name in names if fates.get(name) == fate))

    planned = (*plan.link, *plan.remove_dangling)
    return OverlayPlan(
        link=having(plan.link, "linked"),
        keep_private=tuple(sorted({*plan.keep_private, *having(planned, "private")})),
        already=tuple(sorted({*plan.already, *having(planned, "already")})),
        remove_dangling=having(plan.remove_dangling, "removed"),
        conflict=plan.conflict,
        ignored=tuple(sorted({*plan.ignored, *having(planned, "gone")})),
    )


def _sign_in(answer: Mapping[str, Any]) -> SignIn:
    try:
        return SignIn(str(answer.get("sign_in")))
    except ValueError:
        return SignIn.NOT_TOLD


def _object(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = answer.get(name)
    return value if isinstance(value, dict) else {}


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value[:64] if isinstance(value, str) and value.isprintable() else ""


def _note(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return " ".join(value.split())[:_MAX_TEXT] if isinstance(value, str) else ""


def _notes(answer: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = answer.get(name)
    notes = value[:_MAX_NOTES] if isinstance(value, list) else []
    return tuple(" ".join(note.split())[:_MAX_TEXT] for note in notes if isinstance(note, str))
