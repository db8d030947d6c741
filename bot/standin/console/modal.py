"""A person's open modal and App Home."""

from collections.abc import Sequence

from bot.standin.console.blocks import render_blocks
from bot.standin.console.icons import icon
from bot.standin.console.markup import escape
from bot.standin.console.pieces import Piece
from bot.standin.console.viewer import Viewer
from bot.standin.slack.modals import View


def modal_pieces(stack: Sequence[View], viewer: Viewer) -> list[Piece]:
    """The top of the stack, or nothing."""
    if not stack:
        return []
    view = stack[-1]
    errors = tuple(sorted(view.errors.items()))
    return [Piece(view.id, (view.hash, errors, len(stack)), lambda: _modal(view, len(stack), viewer))]


def home_pieces(view: View | None, viewer: Viewer) -> list[Piece]:
    """The Home tab that the app has published for this person, or a word that there is none yet."""
    if view is None:
        return [Piece("none", "none", lambda: '<p class="quiet">The app has published nothing here yet.</p>')]
    return [Piece(view.id, (view.hash, viewer.tz), lambda: _home(view, viewer))]


def _home(view: View, viewer: Viewer) -> str:
    body = render_blocks(view.blocks, viewer, surface="home", values=view.values(), prefix=view.id)
    return f'<div class="home-view" data-view="{escape(view.id)}">{body}</div>'


def _modal(view: View, depth: int, viewer: Viewer) -> str:
    body = render_blocks(
        view.blocks,
        viewer,
        surface="modal",
        errors=view.errors,
        values=view.values(),
        prefix=view.id,
    )
    title = _label(view.source.get("title"), "")
    stacked = depth > 1
    back = _sign("top", "Back", "back") if stacked else ""
    close = "Back" if stacked and not view.source.get("close") else _label(view.source.get("close"), "Cancel")
    submit = ""
    if view.source.get("submit"):
        submit = (
            f'<button type="submit" class="primary-button">{_label(view.source["submit"], "Submit")}</button>'
        )
    elif not stacked and not view.source.get("close"):
        close = "Close"
    return (
        f'<form class="modal-form" data-view="{escape(view.id)}" novalidate>'
        f'<header class="modal-head">{back}<h2 id="modal-title" tabindex="-1">{title}</h2>'
        f"{_sign('all' if stacked else 'top', 'Close', 'close')}</header>"
        f'<div class="modal-body" tabindex="0" role="group" aria-labelledby="modal-title">{body}</div>'
        '<p class="modal-trouble" role="alert" hidden></p>'
        f'<footer class="modal-foot"><button type="button" class="plain-button" data-close="top">{close}'
        f"</button>{submit}</footer></form>"
    )


def _sign(closes: str, label: str, drawn: str) -> str:
    start = f'<button type="button" class="icon-button" data-close="{closes}" aria-label="{label}">'
    return f"{start}{icon(drawn)}</button>"


def _label(text: object, otherwise: str) -> str:
    return escape(str(text["text"])) if isinstance(text, dict) else otherwise
