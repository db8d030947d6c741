"""Front doors looked at from outside: what answers there, and what time it has.

No look reaches a sandbox. The ``/health`` of CubeAPI is a constant, and a host that names no sandbox is
turned away by CubeProxy itself.
"""

import asyncio
import http.client
import secrets
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

import requests

from bot.adapters.cube_session import PatientSession
from bot.domain.sandbox import ENVD_PORT

_MOST = 4096
"""Bytes of an answer that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorAnswer:
    """What one door said. ``problem`` is set, and all else empty, when nothing answered."""

    status: int = 0
    kind: str = ""
    """The media type."""
    body: str = ""
    date: datetime | None = None
    """The other side's clock, to the second."""
    problem: str = ""


async def knock_at_api(api_url: str, seconds: float) -> DoorAnswer:
    """``GET /health`` of CubeAPI, which needs no key."""
    return await asyncio.to_thread(_ask_api, api_url, seconds)


async def knock_at_proxy(ip: str, port: int, domain: str, seconds: float) -> DoorAnswer:
    """A request to CubeProxy for a sandbox that there is not; through DNS when there is no ``ip``."""
    host = f"{ENVD_PORT}-{secrets.token_hex(16)}.{domain}"
    return await knock(ip or host, port, "/health", seconds, host=host)


async def knock(where: str, port: int, path: str, seconds: float, *, host: str = "") -> DoorAnswer:
    """``GET path`` without encryption; ``host`` is what the request asks for, when that is another name."""
    return await asyncio.to_thread(_ask, where, port, path, seconds, host)


def _ask_api(api_url: str, seconds: float) -> DoorAnswer:
    session = PatientSession(api_url)
    session.begin(seconds)
    try:
        answer = session.get(f"{api_url.rstrip('/')}/health", allow_redirects=False)
    except requests.RequestException as error:
        return DoorAnswer(problem=_plain(error))
    finally:
        session.shut()
    return DoorAnswer(
        status=answer.status_code,
        kind=answer.headers.get("Content-Type", "").partition(";")[0],
        body=answer.text[:_MOST],
        date=_date(answer.headers.get("Date")),
    )


def _ask(where: str, port: int, path: str, seconds: float, host: str) -> DoorAnswer:
    connection = http.client.HTTPConnection(where, port, timeout=seconds)
    named = {"Host": host} if host else {}
    try:
        connection.request("GET", path, headers={"Connection": "close", **named})
        answer = connection.getresponse()
        body = answer.read(_MOST)
    except (OSError, http.client.HTTPException) as error:
        return DoorAnswer(problem=_plain(error))
    finally:
        connection.close()
    return DoorAnswer(
        status=answer.status,
        kind=(answer.headers.get("Content-Type") or "").partition(";")[0],
        body=body.decode("utf-8", "replace"),
        date=_date(answer.headers.get("Date")),
    )


def _plain(error: Exception) -> str:
    """The reason in the system's own words, without the library's frames around it."""
    inner: BaseException = error
    while inner.__cause__ or inner.__context__:
        inner = inner.__cause__ or inner.__context__ or inner
    return str(getattr(inner, "strerror", None) or inner or type(inner).__name__)[:200]


def _date(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None
