"""Cube: its API, the key, what is behind them, the template, and the way to sandboxes."""

import json
from http import HTTPStatus

from bot.adapters.doors import DoorAnswer, knock_at_api, knock_at_proxy
from bot.checkup.finding import Finding, Findings, bad, clocks, good, unknown
from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError
from bot.domain.explanations import sentences
from bot.domain.sandbox import ENVD_PORT, TemplateView
from bot.ports import Clock, Cube
from bot.settings import Settings

API = "CubeAPI"
_KNOCK_SECONDS = 8.0
_HEADER_SECONDS = 1.5
_KEY_CURE = "Set CUBE_API_KEY to the key that CubeAPI was started with."
_API_CURE = "Set CUBE_API_URL to where CubeAPI listens, such as http://10.0.0.10:3000."
_PROXY_CURE = (
    "Set CUBE_PROXY_NODE_IP to the machine of CubeProxy and CUBE_PROXY_PORT_HTTP to its HTTP port, which is"
    " 80 unless somebody changed it."
)
_UNROUTED = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.SERVICE_UNAVAILABLE})
"""What CubeProxy says to a host that names no sandbox: 404, and 503 up to platform 0.6."""


class CubeSide:
    """One examination of Cube. What is behind the API is looked at only when the API answers."""

    def __init__(self, settings: Settings, cube: Cube, clock: Clock, clock_cure: str) -> None:
        self._settings = settings
        self._cube = cube
        self._clock = clock
        self._clock_cure = clock_cure
        self._good = False

    async def look_at_api(self) -> Findings:
        """The front door, the clocks, then the key, then what is behind: each fault by its own name."""
        began = self._clock.now()
        answer = await knock_at_api(self._settings.cube.api_url, _KNOCK_SECONDS)
        ended = self._clock.now()
        address = self._settings.cube.api_url
        if answer.problem:
            yield bad(API, f"{address} does not answer: {answer.problem}", _API_CURE)
            return
        if not _is_api(answer):
            yield bad(API, f"something else than CubeAPI answers at {address}", _API_CURE)
            return
        yield good(API, f"{address} answers")
        if answer.date is None:
            yield unknown("Clock of Cube", "its answer does not tell the time", self._clock_cure)
        else:
            middle, took = began + (ended - began) / 2, (ended - began).total_seconds()
            within = _HEADER_SECONDS + took / 2
            yield clocks("Clock of Cube", middle, answer.date, within=within, cure=self._clock_cure)
        yield await self._behind()

    async def _behind(self) -> Finding:
        subject = "Cube key and CubeMaster"
        try:
            sandboxes = await self._cube.list()
        except CubeError as error:
            fault = error.fault
            if fault.kind is FaultClass.AUTH:
                return bad("Cube key", f"CubeAPI refuses it: {error}", _KEY_CURE)
            if fault.kind is FaultClass.UNAVAILABLE:
                note = f"CubeAPI is up and cannot do its work: {error}"
                cure = "Start CubeMaster and its database again; CubeAPI's own /health does not look at them."
                return bad("CubeMaster", note, cure)
            what, todo = sentences(error)
            return unknown(subject, f"{what} {error}", todo)
        self._good = True
        ours = sum(bool(sandbox.home) for sandbox in sandboxes)
        kind = "the key is taken" if self._settings.cube.api_key else "no key is asked for"
        return good(subject, f"{kind}; {len(sandboxes)} sandboxes, {ours} of them with a home")

    async def look_at_template(self) -> Findings:
        """It is there, READY, and what must be reached in its sandboxes is exposed."""
        subject, name = "Template", self._settings.cube.template
        if not self._good:
            yield unknown(subject, "Cube could not be asked", "Make the lines above ok first.")
            return
        template = await self._cube.template(name)
        if template is None or not template.ready:
            status = "does not exist" if template is None else f"is {template.status or 'in no known state'}"
            yield bad(subject, f"{name} {status}", await self._another())
            return
        yield good(subject, f"{name} is READY")
        yield self._ports(template)
        for finding in self._copies(template):
            yield finding

    async def _another(self) -> str:
        ready = [t.name or t.template_id for t in await self._cube.templates() if t.ready]
        if not ready:
            return "Build a Studio template, and set CUBE_TEMPLATE_ID to its name when it is READY."
        names = " or ".join(f"`{name}`" for name in sorted(ready)[:5])
        return f"Set CUBE_TEMPLATE_ID to one that is READY: {names}."

    def _ports(self, template: TemplateView) -> Finding:
        subject, studio = "Template ports", self._settings.toml.studio.port
        if template.exposed_ports is None:
            cure = f"Look on the platform whether it exposes {studio} and {ENVD_PORT}."
            return unknown(subject, "the platform does not tell which ports it exposes", cure)
        missing = sorted({studio, ENVD_PORT} - template.exposed_ports)
        shown = ", ".join(map(str, sorted(template.exposed_ports)))
        if not missing:
            return good(subject, f"{shown} exposed")
        others = sorted(template.exposed_ports - {ENVD_PORT})
        build = f"Build the template again with {studio} and {ENVD_PORT} exposed"
        cure = (
            f"{build}, or set [studio] port to {others[0]}."
            if others and missing == [studio]
            else f"{build}."
        )
        return bad(subject, f"{' and '.join(map(str, missing))} not exposed, only {shown or 'nothing'}", cure)

    def _copies(self, template: TemplateView) -> list[Finding]:
        """Whether the template lies ready on each node that sandboxes are sent to by name."""
        found = []
        for node in self._settings.toml.nodes:
            if not node.cube_node:
                continue
            subject = f"Template on {node.id}"
            states = dict(template.replicas or ())
            if node.cube_node not in states:
                note = f"the platform names no copy on {node.cube_node}"
                known = ", ".join(sorted(filter(None, states))) or "none"
                cure = f"Set cube_node of [[nodes]] {node.id} to the node's id at Cube; it names {known}."
                found.append(unknown(subject, note, cure))
            elif states[node.cube_node] != "READY":
                note = f"its copy on {node.cube_node} is {states[node.cube_node] or 'in no known state'}"
                found.append(
                    bad(subject, note, "Wait until Cube has copied it, or build the template again.")
                )
            else:
                found.append(good(subject, f"its copy on {node.cube_node} is READY"))
        return found

    async def look_at_proxy(self) -> Findings:
        """A request for a sandbox that there is not must be turned away in CubeProxy's own words."""
        cube, subject = self._settings.cube, "CubeProxy"
        where = f"{cube.proxy_ip or f'*.{cube.domain}'}:{cube.proxy_port}"
        answer = await knock_at_proxy(cube.proxy_ip, cube.proxy_port, cube.domain, _KNOCK_SECONDS)
        if answer.problem:
            yield bad(subject, f"{where} does not answer: {answer.problem}", _PROXY_CURE)
        elif answer.status in _UNROUTED and "error" in _json(answer):
            yield good(subject, f"{where} answers, and knows no sandbox that is not there")
        elif answer.status in range(500, 600):
            note = f"{where} answers with HTTP {answer.status}, so that it is ill or another server"
            yield unknown(subject, note, "Restart CubeProxy; if its answer stays, correct its address.")
        else:
            note = f"something else than CubeProxy answers at {where} (HTTP {answer.status})"
            yield bad(subject, note, _PROXY_CURE)


def _is_api(answer: DoorAnswer) -> bool:
    return answer.status == HTTPStatus.OK and _json(answer).get("status") in {"ok", "healthy"}


def _json(answer: DoorAnswer) -> dict[str, object]:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}
