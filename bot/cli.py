"""``hermes-bot``: the bot, its stand-ins, the demo, and what an administrator runs on its host."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bot import ending
from bot.settings import SettingsError, database_url, load

app = typer.Typer(
    name="hermes-bot",
    help="Hermes Studios in CubeSandbox microVMs, from Slack.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The console script."""
    try:
        app()
    except SettingsError as error:
        typer.echo(f"hermes-bot: {error}", err=True)
        sys.exit(2)


@app.command()
def serve(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Take Slack's requests over HTTP instead of Socket Mode.")
    ] = False,
    env_file: Annotated[
        Path | None, typer.Option(help="Read KEY=value lines first, such as the stand-ins' env_file.")
    ] = None,
) -> None:
    """Run the bot until it is told to stop. Ends with 75 when the link to Slack had to be given up."""
    if env_file:
        os.environ.update(read_env_file(env_file))
    from bot.app import serve as run  # noqa: PLC0415 - other commands start without loading Slack and SSH

    sys.exit(ending.run(run(load(), http=http)))


@app.command()
def standin(
    *,
    state: Annotated[
        Path | None, typer.Option(help="Where state lives; without it, a directory that is removed.")
    ] = None,
    platform: Annotated[str, typer.Option(help="Cube platform: 0.5.1, 0.6, 0.7.0 or 0.7.1.")] = "0.7.1",
    nodes: Annotated[int, typer.Option(min=1, max=8, help="How many nodes.")] = 1,
    template: Annotated[list[str] | None, typer.Option(help="NAME=DIR: one more template.")] = None,
    with_bot: Annotated[bool, typer.Option("--with-bot", help="Start the bot against them too.")] = False,
) -> None:
    """Start stand-ins for Slack, Cube and the node on loopback, print one JSON line, serve until SIGTERM."""
    from bot.demo.standins import run_standins  # noqa: PLC0415 - only this command needs the servers
    from bot.standin.node_space import NamespaceError, privileged_argv  # noqa: PLC0415 - see above

    try:
        again = privileged_argv([sys.executable, "-m", "bot.cli", *sys.argv[1:]])
    except NamespaceError as error:
        raise SettingsError(str(error)) from error
    if again:
        os.execvp(again[0], again)  # noqa: S606 - the same command, inside a user namespace

    templates = {}
    for pair in template or []:
        name, equals, folder = pair.partition("=")
        if not equals or not Path(folder).is_dir():
            raise SettingsError(
                f"--template wants NAME=DIR with an existing directory, such as studio=./image; got {pair}."
            )
        templates[name] = Path(folder)
    code = asyncio.run(
        run_standins(state=state, platform=platform, nodes=nodes, templates=templates, with_bot=with_bot)
    )
    sys.exit(code)


@app.command()
def demo() -> None:
    """Play the main job on stand-ins, print the thread, and end with 0 only if all of it is true."""
    from bot.demo.story import play  # noqa: PLC0415 - see above

    sys.exit(asyncio.run(play()))


@app.command()
def check(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON list of {subject, ok, note, cure}; ok null = unknown.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Check for serve --http: the signing secret, no app token.")
    ] = False,
) -> None:
    """Prove every setting against the real Slack, Cube, nodes and database; nothing is changed.

    Ends with 0 when all is proved, 1 when something is wrong, 3 when nothing is but something is unknown.
    """
    from bot.checkup.run import run  # noqa: PLC0415 - see above

    sys.exit(ending.run(run(os.environ, as_json=as_json, http=http)))


template_app = typer.Typer(help="Templates and the default home.", no_args_is_help=True)
app.add_typer(template_app, name="template")


@template_app.command()
def seed(
    *,
    template: Annotated[str, typer.Option(help="Template to copy from; default CUBE_TEMPLATE_ID.")] = "",
    node: Annotated[str, typer.Option(help="Node to make it on; default the first of the settings.")] = "",
) -> None:
    """Make a node's default home from the template's own /root/.hermes, when it has none."""
    from bot.app import seed_default_home as run  # noqa: PLC0415 - see above

    sys.exit(ending.run(run(load(), template=template, node=node)))


def read_env_file(path: Path) -> dict[str, str]:
    """KEY=value lines; blank lines and # comments are passed over.

    Raises:
        SettingsError: a line is neither.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"{path}:{number}: write KEY=value.")
        values[name.strip()] = value.strip().strip("'\"")
    return values


async def _open_log(url: str | None) -> Any:
    from bot.adapters.audit_sql import open_audit_log  # noqa: PLC0415 - see above
    from bot.adapters.redaction import Redactor  # noqa: PLC0415
    from bot.adapters.system import SystemClock  # noqa: PLC0415

    return await open_audit_log(
        url or database_url(), now=SystemClock(None).now, redactor=Redactor(), read_only=True
    )


def _mount_audit() -> None:
    from bot.cli_audit import audit_app  # noqa: PLC0415 - keeps the import beside its use

    app.add_typer(audit_app(_open_log), name="audit")


_mount_audit()


if __name__ == "__main__":
    main()
