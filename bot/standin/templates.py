"""Template directories of the Cube stand-in, and the first contents of the node's shared directory.

A template is ``NAME/template.json`` and ``NAME/rootfs/``. The built-in ones hold the Studio programs of
``bot.standin.guest.studio`` and a preinstalled ``/root/.hermes``, so that an empty mounted home visibly
hides it.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bot.standin.guest.studio.state_db import StateDb

_HERE = Path(__file__).parent
_STUDIO = _HERE / "guest/studio"
_OUR_OWN_CODE = shutil.ignore_patterns("__pycache__", "*.pyc")
_STAMP = ".made-from"
_NAME = re.compile(r"^(?!tpl-|snap-)[a-z0-9][a-z0-9-]{0,63}$")
_PYTHON = ("/usr/bin/python3", "-ISB")
_LAUNCHER = """#!{python}
import os.path
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "{library}"))
from hermes_studio.{module} import main

sys.exit(main())
"""


class TemplateError(ValueError):
    """A template that cannot be added; the text says what was expected."""


@dataclass(frozen=True)
class _BuiltIn:
    name: str
    generation: str
    start: tuple[str, ...] = ()


_BUILT_IN = (
    _BuiltIn("hermes-studio", "users"),
    _BuiltIn("hermes-studio-legacy", "token"),
    _BuiltIn(
        "hermes-studio-running",
        "users",
        # As in a snapshot of running memory: its files are open before the port, and so before any mount.
        start=(
            "/usr/bin/env",
            "HERMES_STANDIN_LISTEN_WHEN_READY=1",
            "HERMES_STANDIN_START_DELAY=0",
            *("/usr/local/bin/hermes-web-ui", "start", "--port", "9000", "--no-open"),
        ),
    ),
)


def ensure_templates(templates_dir: Path) -> None:
    """Make each built-in template that is missing or was made from other sources than today's."""
    templates_dir.mkdir(parents=True, exist_ok=True)
    stamp = _sources_digest()
    for template in _BUILT_IN:
        target = templates_dir / template.name
        made_from = target / _STAMP
        if made_from.exists() and made_from.read_text(encoding="utf-8") == stamp:
            continue
        scratch = templates_dir / f".{template.name}.new"
        shutil.rmtree(scratch, ignore_errors=True)
        _make_rootfs(scratch / "rootfs", template)
        _write_json(scratch / "template.json", _template_json(template.name, template.start))
        (scratch / _STAMP).write_text(stamp, encoding="utf-8")
        _swap(scratch, target)


def add_template(templates_dir: Path, name: str, source: Path) -> None:
    """Offer a directory as template ``name``. Its root file system is linked, never copied.

    ``source`` holds ``template.json`` and ``rootfs/``, or only ``rootfs/``, or is itself a root file
    system. Raises TemplateError for a name Cube would refuse as an alias and for a directory without a root.
    """
    if not _NAME.match(name):
        raise TemplateError(
            f"{name!r} cannot be a template name: use lower-case letters, digits and dashes, as in my-studio"
        )
    rootfs = source / "rootfs" if (source / "rootfs").is_dir() else source
    if not (rootfs / "usr").is_dir() and not (rootfs / "etc").is_dir():
        raise TemplateError(f"{source} holds neither rootfs/ nor a root file system (usr/ or etc/)")
    given = _given(source / "template.json")
    described = {**_template_json(name, ()), **given}
    described["aliases"] = list(dict.fromkeys([name, *described["aliases"]]))
    scratch = templates_dir / f".{name}.new"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    (scratch / "rootfs").symlink_to(rootfs.resolve(), target_is_directory=True)
    _write_json(scratch / "template.json", described)
    _swap(scratch, templates_dir / name)


def _given(described: Path) -> dict[str, Any]:
    if not described.is_file():
        return {}
    try:
        given: Any = json.loads(described.read_text(encoding="utf-8"))
    except ValueError as broken:
        raise TemplateError(f"{described} is not JSON: {broken}") from broken
    if not isinstance(given, dict):
        raise TemplateError(f"{described} must hold a JSON object")
    return given


def seed_default_home(shared: Path) -> None:
    """Make the default home, the public Skills and the workspaces directory where they are absent.

    ``shared`` is what the node and Cube know as ``/data/shared``.
    """
    (shared / "hermes-workspaces").mkdir(parents=True, exist_ok=True)
    _copy_once(_HERE / "seed/common-skills", shared / "hermes-common-skills", directory_mode=0o755)
    _copy_once(_HERE / "seed/default-home", shared / "hermes-homes/default", directory_mode=0o700)


def template_id(name: str) -> str:
    """``tpl-`` and 24 hex digits, the same for the same name on every machine."""
    return f"tpl-{hashlib.sha256(name.encode()).hexdigest()[:24]}"


def _template_json(name: str, start: tuple[str, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "templateID": template_id(name),
        "aliases": [name],
        "status": "READY",
        "cpuCount": 2,
        "memoryMB": 2048,
        "envdVersion": "0.5.7",
        "imageInfo": f"standin/{name}:1",
        "exposedPorts": [9000, 49983],
    }
    return {**described, "start": list(start)} if start else described


def _make_rootfs(rootfs: Path, template: _BuiltIn) -> None:
    library = rootfs / "usr/local/lib/hermes-studio"
    package = library / "hermes_studio"
    shutil.copytree(_STUDIO, package, ignore=_OUR_OWN_CODE)
    (package / "__pycache__").mkdir()
    for name, code in _compiled(_STUDIO).items():
        (package / "__pycache__" / name).write_bytes(code)
    for path, module in (("bin/hermes", "hermes"), ("bin/hermes-web-ui", "hermes_web_ui")):
        _write_program(rootfs / "usr/local" / path, module, library="../lib/hermes-studio")
    for module in ("server", "bridge"):
        _write_program(library / module, module, library=".")
    (rootfs / "etc/hermes-studio").mkdir(parents=True)
    (rootfs / "etc/hermes-studio/generation").write_text(template.generation + "\n", encoding="utf-8")
    _make_image_home(rootfs / "root/.hermes")


@cache
def _compiled(package: Path) -> Mapping[str, bytes]:
    """The compiled code of a package, by file name, as the Python of the sandboxes makes it.

    What compiling takes at each start would stay with the processes, half a megabyte each. Where that
    Python is missing there is nothing to compile for.
    """
    with tempfile.TemporaryDirectory() as scratch, suppress(FileNotFoundError):
        sources = Path(scratch) / package.name
        shutil.copytree(package, sources, ignore=_OUR_OWN_CODE)
        how = ("-m", "compileall", "-q", "-d", package.name, "--invalidation-mode", "unchecked-hash")
        subprocess.run((*_PYTHON, *how, sources), check=True)
        return {path.name: path.read_bytes() for path in (sources / "__pycache__").iterdir()}
    return {}


def _make_image_home(home: Path) -> None:
    """The home an image carries after its build: settings, one Skill, runtime files, one conversation."""
    home.parent.mkdir(mode=0o700, parents=True)
    _copy_once(_HERE / "seed/image-home", home, directory_mode=0o700)
    for name in ("logs", "sessions", "cron", "memories"):
        (home / name).mkdir(mode=0o700)
    (home / "logs/agent.log").write_text("image build: agent ready\n", encoding="utf-8")
    (home / ".clean_shutdown").touch()
    _write_json(home / "gateway_state.json", {"state": "stopped", "platforms": {}})
    conversations = StateDb(home / "state.db")
    conversations.add_turn("image-build", "Are you there?", "Yes, inside the image.", source="build")
    conversations.close()


def _write_program(path: Path, module: str, *, library: str) -> None:
    """A program that runs a module's ``main``; ``library`` is seen from the program's directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        _LAUNCHER.format(python=" ".join(_PYTHON), library=library, module=module), encoding="utf-8"
    )
    path.chmod(0o755)


def _copy_once(source: Path, target: Path, *, directory_mode: int) -> None:
    """Copy a tree unless the target exists. It appears under its name only when complete."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(source, scratch)
    for path in (scratch, *scratch.rglob("*")):
        path.chmod(directory_mode if path.is_dir() else directory_mode & 0o666)
    scratch.rename(target)


def _swap(scratch: Path, target: Path) -> None:
    """Put a finished directory in the place of an older one."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _sources_digest() -> str:
    digest = hashlib.sha256()
    trees = (sorted((_HERE / name).rglob("*")) for name in ("guest/studio", "seed"))
    for path in [Path(__file__), *(path for tree in trees for path in tree)]:
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(_HERE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest() + "\n"
