"""Templates: directories with ``template.json`` and ``rootfs/``, read anew at every look."""

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.standin.guest.envd import PORT as ENVD_PORT


@dataclass(frozen=True, slots=True)
class Template:
    """One template."""

    template_id: str
    aliases: tuple[str, ...]
    status: str
    cpu_count: int
    memory_mb: int
    envd_version: str
    image_info: str
    exposed_ports: tuple[int, ...]
    start: tuple[str, ...]
    created_at: str
    rootfs: Path

    @property
    def start_port(self) -> int:
        """The port that the start command serves, 0 without one."""
        if not self.start:
            return 0
        return next((port for port in self.exposed_ports if port != ENVD_PORT), 0)

    def summary(self) -> dict[str, Any]:
        """The entry of ``GET /templates``."""
        return {
            "templateID": self.template_id,
            "public": False,
            "instanceType": "cubebox",
            "version": "v1",
            "status": self.status,
            "createdAt": self.created_at,
            "imageInfo": self.image_info,
            "aliases": list(self.aliases),
            "names": list(self.aliases),
            "cpuCount": self.cpu_count,
            "memoryMB": self.memory_mb,
        }

    def detail(self, node_ids: list[str]) -> dict[str, Any]:
        """``GET /templates/{id}``."""
        return self.summary() | {
            "replicas": [{"nodeID": node, "status": self.status} for node in node_ids],
            "createRequest": {"image": self.image_info, "exposedPorts": list(self.exposed_ports)},
            "networkType": "tap",
            "allowInternetAccess": False,
        }


class Templates:
    """The templates below one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def all(self) -> list[Template]:
        """Every template, by directory name. One that cannot be read is listed as FAILED."""
        if not self._directory.is_dir():
            return []
        return [
            _read(path) for path in sorted(self._directory.iterdir()) if (path / "template.json").is_file()
        ]

    def find(self, wanted: str) -> Template | None:
        """The template with this id or alias."""
        every = self.all()
        by_id = next((template for template in every if template.template_id == wanted), None)
        return by_id or next((template for template in every if wanted in template.aliases), None)


def _read(directory: Path) -> Template:
    try:
        told: dict[str, Any] = json.loads((directory / "template.json").read_text())
    except ValueError:
        told = {"status": "FAILED"}
    created = directory.joinpath("template.json").stat().st_mtime
    return Template(
        template_id=str(told.get("templateID", f"tpl-{directory.name}")),
        aliases=tuple(told.get("aliases", ())),
        status=str(told.get("status", "READY")),
        cpu_count=int(told.get("cpuCount", 2)),
        memory_mb=int(told.get("memoryMB", 2048)),
        envd_version=str(told.get("envdVersion", "0.2.4")),
        image_info=str(told.get("imageInfo", "")),
        exposed_ports=tuple(told.get("exposedPorts", (ENVD_PORT,))),
        start=tuple(told.get("start", ())),
        created_at=timestamp(created),
        rootfs=(directory / "rootfs").resolve(),
    )


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as CubeAPI writes them, with nine digits after the point."""
    moment = dt.datetime.fromtimestamp(seconds, tz=dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
