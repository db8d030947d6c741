"""What making a sandbox costs over the bare system calls: namespaces, an overlay as root, three mounts."""

import asyncio
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from tests.bench.figures import Figure, Target, figure, median_of_ratios, milliseconds

FIGURE = "sandbox_create"
TARGETS = {FIGURE: Target(3.0)}
ROUNDS = 20
WARM_UP = 2
_MOUNTS = ("home", "workspace", "skills")


async def measure(folder: Path, env: Mapping[str, str]) -> dict[str, Figure]:
    """Both, in turn, so that a slow moment meets both."""
    space = _space(folder / "bare")
    async with httpx.AsyncClient(base_url=env["CUBE_API_URL"], timeout=30, trust_env=False) as api:
        shared = folder / "state/nodes/node-a/shared/bench"
        metadata = _metadata(shared)
        pairs = [(await _create(api, metadata), await _bare(space)) for _ in range(ROUNDS + WARM_UP)]
    shutil.rmtree(shared)
    kept = pairs[WARM_UP:]
    return {
        FIGURE: figure(
            median_of_ratios(kept),
            TARGETS[FIGURE],
            create=milliseconds([create for create, _ in kept]),
            bare=milliseconds([bare for _, bare in kept]),
        )
    }


async def _create(api: httpx.AsyncClient, metadata: Mapping[str, str]) -> float:
    begin = time.perf_counter()
    made = await api.post("/sandboxes", json={"templateID": "hermes-studio", "metadata": dict(metadata)})
    took = time.perf_counter() - begin
    made.raise_for_status()
    (await api.delete(f"/sandboxes/{made.json()['sandboxID']}")).raise_for_status()
    return took


async def _bare(space: Path) -> float:
    """The same namespaces and as many mounts as a sandbox has, made by the tools that everybody has."""
    binds = " && ".join(f"mount --bind {name} root/mnt/{name}" for name in _MOUNTS)
    script = (
        "mount --make-rprivate / && "
        f"cd {space} && "
        "mount -t overlay root -o lowerdir=lower,upperdir=upper,workdir=work root && "
        "mount -t overlay usr -o lowerdir=/usr,upperdir=usr,workdir=usr.work root/usr && "
        f"mount -t proc proc root/proc && mount -t tmpfs tmp root/tmp && "
        f"mount -t tmpfs run root/run && mount -t tmpfs dev root/dev && "
        f"{binds} && mount -o remount,bind,ro root/mnt/skills && ip link set lo up"
    )
    begin = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        "unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "sh", "-ec", script
    )
    if await process.wait():
        raise RuntimeError("a bare unshare with these mounts is not possible here")
    return time.perf_counter() - begin


def _space(space: Path) -> Path:
    for name in ("upper", "work", "usr", "usr.work", "root", *_MOUNTS):
        (space / name).mkdir(parents=True)
    for name in ("usr", "proc", "tmp", "run", "dev", *(f"mnt/{one}" for one in _MOUNTS)):
        (space / "lower" / name).mkdir(parents=True)
    return space


def _metadata(shared: Path) -> dict[str, str]:
    for name in _MOUNTS:
        (shared / name).mkdir(parents=True)
    entries = [
        {
            "hostPath": f"/data/shared/bench/{name}",
            "mountPath": f"/mnt/{name}",
            "readOnly": name == "skills",
        }
        for name in _MOUNTS
    ]
    return {"host-mount": json.dumps(entries)}
