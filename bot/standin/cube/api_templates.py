"""The other calls of CubeAPI: health, templates, and what only the real system has."""

from collections.abc import Sequence

from aiohttp import web

from bot.standin.cube.errors import CubeError
from bot.standin.cube.platform import Platform
from bot.standin.cube.templates import Template, Templates


class TemplateCalls:
    """Handlers of ``/templates``, ``/volumes``, ``/snapshots`` and ``/health``."""

    def __init__(self, platform: Platform, templates: Templates, node_ids: Sequence[str]) -> None:
        self._platform = platform
        self._templates = templates
        self._node_ids = list(node_ids)

    def routes(self) -> list[web.RouteDef]:
        """Paths, methods and names."""
        routes = [
            web.get("/health", self.health, name="health"),
            web.get("/templates", self.list_all, name="templates"),
            web.get("/templates/aliases/{alias}", self.alias, name="template_alias"),
            web.get("/templates/{id}", self.get, name="template"),
            web.get("/snapshots", self.absent, name="snapshots"),
            web.post("/templates", self.absent, name="template_build"),
            web.post("/templates/{id}", self.absent, name="template_rebuild"),
            web.patch("/templates/{id}", self.absent, name="template_patch"),
            web.delete("/templates/{id}", self.absent, name="template_delete"),
            web.get("/templates/{id}/builds/{build}/{what}", self.absent, name="template_status"),
        ]
        if self._platform.has_alias_update:
            routes.append(web.put("/templates/{id}/alias", self.absent, name="template_set_alias"))
        if self._platform.has_volumes:
            routes += [
                web.route("*", "/volumes", self.absent, name="volumes"),
                web.route("*", "/volumes/{id}", self.absent, name="volume"),
            ]
        return routes

    async def health(self, request: web.Request) -> web.Response:
        """A constant: it says nothing about what is behind the API."""
        del request
        return web.json_response({"status": "ok", "sandboxes": 0})

    async def list_all(self, request: web.Request) -> web.Response:
        """``GET /templates``."""
        del request
        return web.json_response([template.summary() for template in self._templates.all()])

    async def get(self, request: web.Request) -> web.Response:
        """``GET /templates/{id or alias}``."""
        return web.json_response(self._find(request.match_info["id"]).detail(self._node_ids))

    async def alias(self, request: web.Request) -> web.Response:
        """``GET /templates/aliases/{alias}``."""
        wanted = request.match_info["alias"]
        template = self._find(wanted)
        if wanted not in template.aliases:
            raise CubeError(404, f"template alias {wanted} not found")
        return web.json_response({"templateID": template.template_id, "public": False})

    def _find(self, wanted: str) -> Template:
        template = self._templates.find(wanted)
        if template is None:
            raise CubeError(404, f"template {wanted} not found")
        return template

    async def absent(self, request: web.Request) -> web.Response:
        """What this stand-in does not do."""
        what = request.path.strip("/").split("/")[0]
        raise CubeError(501, f"{request.method} on {what} is not available on this stand-in")
