"""Making a sandbox from a request, and booting one again from its record."""

import asyncio
import json
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from bot.standin.cube import bodies, errors, host_mount
from bot.standin.cube.errors import CubeError
from bot.standin.cube.lifecycle import Lifecycle, Machinery, new_address
from bot.standin.cube.record import NEVER, HostMount, Record
from bot.standin.cube.runtime import Boot, BootError, MountSourceMissingError, Runtime
from bot.standin.cube.templates import Template, Templates
from bot.standin.node_space import NodeSpace
from bot.standin.sandbox_boot import Mount

SHAPE: bodies.Shape = {
    "templateID": str,
    "timeout": int,
    "envVars": dict,
    "metadata": dict,
    "distributionScope": list,
    "allow_internet_access": bool,
    "allowInternetAccess": bool,
    "network": dict,
    "lifecycle": dict,
    "volumeMounts": list,
    "autoPause": bool,
}
_HOME_TARGET = "/root/.hermes"
_AT_ONCE = 4
_STUDIO_FAULTS = {"studio-never-ready": "never-ready", "studio-does-not-start": "does-not-start"}
_MOUNT_FAULTS = {
    "mount-source-missing": "no such file or directory",
    # The kernel's words for a mount namespace that is full (100,000 mounts), in the sentence of the others;
    # how Cubelet itself puts it is not known.
    "mount-leak": "no space left on device",
}


class Creation:
    """Creates sandboxes on nodes."""

    def __init__(
        self,
        machinery: Machinery,
        nodes: Sequence[NodeSpace],
        templates: Templates,
        state: Path,
        hidden: tuple[str, ...],
    ) -> None:
        self._machinery = machinery
        self._nodes = {node.node_id: node for node in nodes}
        self._templates = templates
        self._skeleton = state / "skeleton"
        self._hidden = hidden
        # More at once would only make each of them slower.
        self._places = asyncio.Semaphore(_AT_ONCE)

    def runtime(self, record: Record) -> Runtime:
        """The unbooted processes of a record. Raises BootError when its template or node is gone."""
        template = self._templates.find(record.template_id)
        node = self._nodes.get(record.node_id)
        if template is None or node is None:
            raise BootError(f"template {record.template_id} or node {record.node_id} is gone")
        store = self._machinery.store
        files = {}
        if record.studio_fault:
            files["/run/standin/faults.json"] = json.dumps({"studio": record.studio_fault})
        boot = Boot(
            sandbox_id=record.sandbox_id,
            node=node,
            home=store.home_of(record.sandbox_id),
            rootfs=template.rootfs,
            skeleton=self._skeleton,
            mounts=tuple(_mount(mount, record) for mount in record.mounts),
            environment=record.environment,
            files=files,
            hidden=self._hidden,
            start=template.start,
            start_port=template.start_port,
        )
        machinery = self._machinery
        return Runtime(boot, machinery.freezer, machinery.threads, machinery.forks)

    async def boot(self, record: Record) -> Runtime:
        """The booted processes of a record. Raises BootError."""
        async with self._places:
            runtime = self.runtime(record)
            await runtime.boot()
            return runtime

    async def create(self, body: dict[str, Any], lifecycle: Lifecycle) -> Record:
        """Carry out ``POST /sandboxes``. Raises CubeError and leaves nothing then."""
        record = self._record(body)
        self._take_mount_fault(record)
        try:
            runtime = await self.boot(record)
        except BaseException as error:
            await self._discard(record)
            if isinstance(error, BootError):
                raise self._boot_failed(record, error) from error
            raise
        lifecycle.runtimes[record.sandbox_id] = runtime
        self._machinery.store.add(record)
        self._machinery.store.save(record)
        return record

    async def _discard(self, record: Record) -> None:
        home = self._machinery.store.home_of(record.sandbox_id)
        await self._machinery.threads.run(shutil.rmtree, home, ignore_errors=True)

    def _boot_failed(self, record: Record, error: BootError) -> CubeError:
        if isinstance(error, MountSourceMissingError):
            return _mount_failed(record, error.index, error.reason)
        return errors.master(500, 130595, f"create sandbox failed: {error}")

    def _take_mount_fault(self, record: Record) -> None:
        if not record.mounts:
            return
        for kind, reason in _MOUNT_FAULTS.items():
            fault = self._machinery.faults.take("cube", kind)
            if fault is not None:
                raise _mount_failed(record, int(fault.number("index", 0)), reason)

    def _record(self, body: dict[str, Any]) -> Record:
        platform, faults = self._machinery.platform, self._machinery.faults
        now = self._machinery.clock.time()
        if body.get("volumeMounts"):
            raise CubeError(501, "volumes are not available on this stand-in; use metadata host-mount")
        timeout = body.get("timeout", NEVER)
        if timeout < NEVER:
            raise CubeError(400, "invalid timeout: must be -1, 0 or a positive number of seconds")
        environment = bodies.environment(body)
        internet = body.get("allow_internet_access", body.get("allowInternetAccess", True))
        policy = bodies.network(body.get("network", {}), internet=internet)
        metadata = bodies.strings(body, "metadata")
        mounts = host_mount.parse(platform, metadata.pop(host_mount.KEY, ""))
        template = self._template(str(body["templateID"]))
        on_timeout, auto_resume = _idle_policy(body)
        if faults.take("cube", "create-no-capacity"):
            raise errors.master(500, 130597, "no more resource")
        record = Record(
            sandbox_id=secrets.token_hex(16),
            template_id=template.template_id,
            asked_template=str(body["templateID"]),
            node_id=self._node(body.get("distributionScope")).node_id,
            created_at=now,
            on_timeout=on_timeout,
            auto_resume=auto_resume,
            metadata=metadata,
            environment=environment,
            mounts=mounts,
            network=policy,
            traffic_token=secrets.token_hex(32) if policy.get("allowPublicTraffic") is False else "",
            guest_ip=new_address(),
            cpu_count=template.cpu_count,
            memory_mb=template.memory_mb,
            envd_version=template.envd_version,
            exposed_ports=list(template.exposed_ports),
        )
        record.set_timeout(now, timeout)
        for kind, told in _STUDIO_FAULTS.items():
            if faults.take("cube", kind):
                record.studio_fault = told
        has_home = any(mount.target == _HOME_TARGET for mount in mounts)
        record.home_read_only = has_home and faults.take("cube", "read-only-home") is not None
        return record

    def _template(self, wanted: str) -> Template:
        template = self._templates.find(wanted)
        if template is None:
            if self._machinery.platform.missing_template_is_404:
                raise CubeError(404, f"template {wanted} not found")
            raise errors.master(500, 130404, f"template {wanted} not found")
        if template.status != "READY":
            text = f"template {wanted} is not ready: status={template.status}"
            raise errors.bad_parameters(self._machinery.platform, text)
        return template

    def _node(self, scope: list[Any] | None) -> NodeSpace:
        """The least loaded node of a scope, which names nodes by id or host IP."""
        names = {name for name in scope or () if isinstance(name, str) and name}
        faults = self._machinery.faults
        allowed = [
            node
            for node in self._nodes.values()
            if (not scope or {node.node_id, node.host_ip} & names)
            and not faults.peek("cube", "node-gone", node=node.node_id)
        ]
        if not allowed:
            raise errors.master(500, 130598, f"select nodes failed: no node in distribution scope {scope}")
        load = dict.fromkeys(self._nodes, 0)
        for record in self._machinery.store:
            load[record.node_id] = load.get(record.node_id, 0) + (
                record.state == "running" and not record.paper
            )
        return min(allowed, key=lambda node: load[node.node_id])


def _mount(mount: HostMount, record: Record) -> Mount:
    read_only = mount.read_only or (record.home_read_only and mount.target == _HOME_TARGET)
    return Mount(source=mount.source, target=mount.target, readOnly=read_only)


def _mount_failed(record: Record, index: int, reason: str) -> CubeError:
    mount = record.mounts[min(index, len(record.mounts) - 1)]
    mode = "ro" if mount.read_only else "rw"
    text = (
        f"prepareHostDirVolume: bind mount {mount.source} -> "
        f"/data/cubelet/hostdir/{record.sandbox_id}/{mode}/hostdir-{index}: {reason}"
    )
    return errors.master(500, 130545, text)


def _idle_policy(body: dict[str, Any]) -> tuple[Literal["kill", "pause"], bool]:
    """``lifecycle{onTimeout, autoResume}``, or the flat ``autoPause`` and ``autoResume``."""
    nested: dict[str, Any] = body.get("lifecycle", {})
    wanted = nested.get("onTimeout") or ("pause" if body.get("autoPause") else "kill")
    if wanted not in {"kill", "pause"}:
        raise errors.UnparsedError(
            422,
            "Failed to deserialize the JSON body into the target type: lifecycle.onTimeout: unknown variant "
            f"`{wanted}`, expected `kill` or `pause`",
        )
    auto = nested["autoResume"] if nested.get("autoResume") is not None else body.get("autoResume", False)
    if isinstance(auto, dict):
        auto = auto.get("enabled", False)
    return ("pause", bool(auto)) if wanted == "pause" else ("kill", False)
