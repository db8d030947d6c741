"""The whole page, as the server sends it at first; from then on only pieces of it change."""

from collections.abc import Callable
from urllib.parse import urlencode

from bot.standin.console import panel
from bot.standin.console.icons import icon
from bot.standin.console.manifest import Manifest
from bot.standin.console.markup import escape
from bot.standin.console.messages import avatar
from bot.standin.console.standpoint import HOME, Standpoint, people, shown_channel, silence, visible_channels
from bot.standin.slack.cast import BOT_USER, COMMAND, Cast, Channel, Person

EXAMPLES = (
    (f"{COMMAND} create home=alpha", "A working Studio on a home of your own"),
    (f"{COMMAND} create", "The same by form, with all that can be chosen"),
    (f"{COMMAND} whoami", "Your role and what you may do"),
    (f"{COMMAND} help", "Everything that can be typed, with examples"),
)
_STYLES = ("console", "messages", "dialogs", "panel", "blocks")
_THEMES = ("light", "dark")
_REPLY_BOX = (
    '<form class="composer" data-composer="thread"><p class="refused" role="alert" hidden></p>'
    '<div class="box"><input type="text" name="text" autocomplete="off" aria-label="Reply in thread" '
    'placeholder="Reply …"><button type="submit" class="send" aria-label="Send reply">'
    f'{icon("send")}</button></div><p class="keys"><kbd>Enter</kbd> sends · <kbd>Esc</kbd> closes</p></form>'
)
Region = Callable[[str], str]
"""The HTML of a region that changes by itself, by its name."""


def page(
    cast: Cast, at: Standpoint, *, manifest: Manifest, roles: dict[str, str], theme: str, region: Region
) -> str:
    """The HTML document."""
    styles = "".join(f'<link rel="stylesheet" href="/console/static/{name}.css">' for name in _STYLES)
    chosen = theme if theme in _THEMES else "auto"
    where = "App Home" if at.channel is None else _title(cast, at.channel, at.person.id)
    facts = {"user": at.person.id, "channel": at.channel_id, "thread": at.thread, "command": COMMAND}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in facts.items())
    return (
        f'<!doctype html><html lang="en" data-theme="{chosen}"><head><meta charset="utf-8">'
        f"<title>{escape(where)} · {escape(at.person.name)} · Hermes console</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="/console/static/icon.svg">{styles}'
        f'<script type="module" src="/console/static/console.js"></script></head><body {data}>'
        '<a class="skip" href="#talk">Skip to the messages</a><div class="app">'
        f"{_side(cast, at, roles)}"
        f"{_home(at, region) if at.channel is None else _talk(cast, at, at.channel, manifest, region)}"
        f"{_thread(at, region, manifest)}{_truth(region)}</div>"
        '<div class="shade" hidden></div>'
        '<p class="offline" role="status" hidden>The stand-ins do not answer. Trying again …</p>'
        f'<dialog id="modal" aria-labelledby="modal-title">{_live(region, "modal")}</dialog>'
        '<dialog id="confirm" class="confirm" aria-labelledby="confirm-title"></dialog>'
        '<noscript><p class="offline">This page works with JavaScript only.</p></noscript></body></html>'
    )


def _live(region: Region, name: str, kind: str = "") -> str:
    kinds = f' class="{kind}"' if kind else ""
    return f'<div{kinds} data-region="{name}">{region(name)}</div>'


def _side(cast: Cast, at: Standpoint, roles: dict[str, str]) -> str:
    channels = visible_channels(cast, at.person.id)
    rooms = "".join(_link(cast, at, one) for one in channels if one.kind != "im")
    direct = "".join(_link(cast, at, one) for one in channels if one.kind == "im")
    home = _entry(at, HOME, f"{icon('home')}<span>Hermes home</span>", at.channel is None)
    return (
        '<nav class="side" id="side" aria-label="Workspace"><div class="workspace"><b>Demo workspace</b>'
        '<button type="button" class="side-button" id="theme" '
        f'aria-label="Change colours">{icon("colours")}</button></div>'
        f'<details class="switch"><summary>{_card(cast, at.person, roles)}</summary>'
        f'<p class="switch-title">Be somebody else</p><ul>{_others(cast, at, roles)}</ul></details>'
        f'<div class="lists"><h2>Apps</h2><ul>{home}</ul><h2>Channels</h2><ul>{rooms}</ul>'
        f"<h2>Direct messages</h2><ul>{direct}</ul></div></nav>"
    )


def _card(cast: Cast, person: Person, roles: dict[str, str]) -> str:
    return (
        f'{avatar(cast, person.id)}<span class="who"><b>{escape(person.name)}</b>'
        f"<small>{escape(roles[person.id])}</small></span>"
    )


def _others(cast: Cast, at: Standpoint, roles: dict[str, str]) -> str:
    rows = []
    for person in people(cast):
        current = ' aria-current="true"' if person.id == at.person.id else ""
        address = escape(_address(person.id, at.channel_id))
        rows.append(f'<li><a href="{address}"{current}>{_card(cast, person, roles)}</a></li>')
    return "".join(rows)


def _link(cast: Cast, at: Standpoint, channel: Channel) -> str:
    sign = icon("lock" if channel.kind == "private" else "archive" if channel.archived else "hash")
    if channel.kind == "im":
        sign = avatar(cast, next(iter(sorted(channel.members - {at.person.id})), at.person.id))
    current = at.channel is not None and channel.id == at.channel.id
    name = escape(shown_channel(cast, channel, at.person.id))
    return _entry(at, channel.id, f"{sign}<span>{name}</span>", current)


def _entry(at: Standpoint, channel: str, shown: str, current: bool) -> str:  # noqa: FBT001 - read at the call as a name
    mark = ' aria-current="page"' if current else ""
    address = escape(_address(at.person.id, channel))
    return f'<li><a href="{address}" data-channel="{escape(channel)}"{mark}>{shown}</a></li>'


def _address(user: str, channel: str) -> str:
    return f"/console?{urlencode({'user': user, 'channel': channel})}"


def _title(cast: Cast, channel: Channel, user: str) -> str:
    name = shown_channel(cast, channel, user)
    return name if channel.kind == "im" else f"#{name}"


def _head(title: str, about: str) -> str:
    return (
        '<header class="talk-head"><button type="button" class="icon-button only-narrow" data-drawer="side" '
        f'aria-controls="side" aria-label="Channels and people">{icon("menu")}</button>'
        f'<div class="talk-title"><h1>{escape(title)}</h1><p>{escape(about)}</p></div>'
        '<button type="button" class="plain-button" data-drawer="truth" aria-controls="truth" '
        'aria-expanded="false">The truth</button></header>'
    )


def _talk(cast: Cast, at: Standpoint, channel: Channel, manifest: Manifest, region: Region) -> str:
    title = _title(cast, channel, at.person.id)
    why = silence(channel, at.person.id, app_takes_messages=manifest.app_takes_messages)
    box = f'<p class="silence">{escape(why)}</p>' if why else composer(title, manifest)
    inside = escape(f"Messages in {title}")
    begin = _beginning(cast, title, silent=bool(why))
    return (
        f'<main class="talk" id="talk" tabindex="-1">{_head(title, _about(cast, channel))}'
        f"{_tabs(at) if _is_app(channel) else ''}"
        f'<div class="scroll" id="feed-scroll" tabindex="0" role="log" aria-label="{inside}">'
        f"{begin}{_live(region, 'feed', 'feed')}</div>"
        '<button type="button" class="newer" hidden>New messages ↓</button>'
        f"{box}</main>"
    )


def _is_app(channel: Channel) -> bool:
    return channel.kind == "im" and BOT_USER in channel.members


def _about(cast: Cast, channel: Channel) -> str:
    if channel.kind == "im":
        return "App" if _is_app(channel) else "Direct message"
    count = len(channel.members & set(cast.people))
    there = "Hermes is here" if BOT_USER in channel.members else "Hermes is not here"
    return f"{count} members · {there}"


def _beginning(cast: Cast, title: str, *, silent: bool) -> str:
    """What stands in a conversation without messages; where nobody can type, nothing is proposed."""
    begin = f"<h2>This is the beginning of {escape(title)}</h2>"
    if silent:
        return (
            f'<section class="beginning" aria-label="Nothing here yet">{begin}<p>Nothing has been written '
            "here yet.</p></section>"
        )
    examples = "".join(
        f'<li><button type="button" data-example="{escape(text)}"><code>{escape(text)}</code>'
        f"<span>{escape(meaning)}</span></button></li>"
        for text, meaning in EXAMPLES
    )
    return (
        f'<section class="beginning" aria-label="How to begin">{avatar(cast, BOT_USER)}'
        f"{begin}<p>Hermes gives you a working Studio in a sandbox of its own, on a home that outlives it. "
        "Type a command in the box below and press Enter. Choose one to try it:</p>"
        f'<ul class="examples">{examples}</ul></section>'
    )


def composer(title: str, manifest: Manifest) -> str:
    """The message box with the usage hint of the command."""
    options = "".join(
        f'<li role="option" id="usage-{number}" aria-selected="false" data-usage="{escape(usage)}">'
        f"<b>{COMMAND}</b> {escape(usage)}</li>"
        for number, usage in enumerate(manifest.usages)
    )
    return (
        '<form class="composer" data-composer="channel"><p class="refused" role="alert" hidden></p>'
        f'<div class="suggest" hidden><p><b>{COMMAND}</b> {escape(manifest.description)}</p>'
        f'<ul role="listbox" id="usages" aria-label="Commands">{options}</ul></div>'
        '<div class="box"><input type="text" id="compose" name="text" autocomplete="off" '
        'autocapitalize="off" spellcheck="false" role="combobox" aria-expanded="false" '
        f'aria-controls="usages" aria-autocomplete="list" aria-label="Message {escape(title)}" '
        f'placeholder="Message {escape(title)}, or type / for commands">'
        f'<button type="submit" class="send" aria-label="Send">{icon("send")}</button></div>'
        '<p class="keys"><kbd>/</kbd> write · <kbd>↑</kbd> earlier commands · <kbd>Tab</kbd> complete'
        "</p></form>"
    )


def _home(at: Standpoint, region: Region) -> str:
    return (
        f'<main class="talk" id="talk" tabindex="-1">{_head("Hermes", "App")}{_tabs(at)}'
        '<div class="scroll home-scroll" tabindex="0" role="region" aria-label="App Home">'
        f"{_live(region, 'home', 'home')}</div></main>"
    )


def _tabs(at: Standpoint) -> str:
    links = []
    for channel, name in ((HOME, "Home"), (f"D_{at.person.id}", "Messages")):
        mark = ' aria-current="page"' if channel == at.channel_id else ""
        links.append(f'<a href="{escape(_address(at.person.id, channel))}"{mark}>{name}</a>')
    return f'<nav class="tabs" aria-label="Hermes">{"".join(links)}</nav>'


def _thread(at: Standpoint, region: Region, manifest: Manifest) -> str:
    hidden = "" if at.thread else " hidden"
    why = at.channel and silence(at.channel, at.person.id, app_takes_messages=manifest.app_takes_messages)
    box = f'<p class="silence">{escape(why)}</p>' if why else _REPLY_BOX
    return (
        f'<aside class="thread" id="thread" aria-label="Thread"{hidden}>{_pane_head("Thread", "thread")}'
        '<div class="scroll" id="thread-scroll" tabindex="0" role="log" aria-label="Messages in the thread">'
        f"{_live(region, 'thread', 'feed')}</div>{box}</aside>"
    )


def _pane_head(title: str, name: str) -> str:
    return (
        f'<header class="pane-head"><h2 tabindex="-1">{title}</h2><button type="button" class="icon-button" '
        f'data-close-{name} aria-label="Close {title.lower()}">{icon("close")}</button></header>'
    )


def _truth(region: Region) -> str:
    refused = '<p class="refused" role="alert" hidden></p>'
    faults = f"{_live(region, 'armed')}{panel.fault_switches()}{refused}"
    clock = f'{_live(region, "clock")}<p class="advance">{panel.clock_buttons()}</p>'
    parts = (
        _part("sandboxes", "Sandboxes", _live(region, "sandboxes")),
        _part("faults", "Faults", faults, opened=False),
        _part("clock", "Clock", clock, opened=False),
        _part("folders", "Node directories", _live(region, "folders")),
        _part("audit", "Audit log", _live(region, "audit")),
    )
    return (
        f'<aside class="truth" id="truth" aria-label="The truth">{_pane_head("The truth", "truth")}'
        '<div class="scroll" tabindex="0" role="region" aria-label="What really exists">'
        '<p class="about">What really exists behind the messages, as it is now.</p>'
        f"{''.join(parts)}</div></aside>"
    )


def _part(name: str, title: str, body: str, *, opened: bool = True) -> str:
    mark = " open" if opened else ""
    heading = f"<summary><h3>{title}</h3></summary>"
    return f'<details class="part" data-part="{name}"{mark}>{heading}{body}</details>'
