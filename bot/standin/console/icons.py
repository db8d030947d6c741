"""The signs of the page's own controls, drawn, because not every machine has a font for them."""


def icon(name: str) -> str:
    """A sign as inline SVG in the colour of its text; what it means is said beside it or in a label."""
    return f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">{_DRAWN[name]}</svg>'


_STROKE = (
    'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"'
)
_DRAWN = {
    "lock": f'<rect x="3.2" y="7" width="9.6" height="6.8" rx="1.6" fill="currentColor"/>'
    f'<path d="M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2" {_STROKE}/>',
    "archive": f'<path d="M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 9h3" {_STROKE}/>',
    "hash": f'<path d="M6.3 2.5 4.9 13.5M11.1 2.5 9.7 13.5M2.8 5.8h10.8M2.4 10.2h10.8" {_STROKE}/>',
    "home": f'<path d="M2.5 8 8 2.8 13.5 8M4 6.8v6.4h8V6.8" {_STROKE}/>',
    "close": f'<path d="m3.8 3.8 8.4 8.4M12.2 3.8l-8.4 8.4" {_STROKE}/>',
    "back": f'<path d="M13 8H3M7 3.8 2.8 8 7 12.2" {_STROKE}/>',
    "menu": f'<path d="M2.5 4h11M2.5 8h11M2.5 12h11" {_STROKE}/>',
    "send": '<path d="M1.8 2.2 14.6 8 1.8 13.8l1.6-4.9L9 8 3.4 7.1z" fill="currentColor"/>',
    "colours": f'<circle cx="8" cy="8" r="5.6" {_STROKE}/>'
    '<path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor"/>',
    "eye": f'<path d="M1.6 8S4 3.8 8 3.8 14.4 8 14.4 8 12 12.2 8 12.2 1.6 8 1.6 8z" {_STROKE}/>'
    '<circle cx="8" cy="8" r="1.9" fill="currentColor"/>',
    "down": f'<path d="m3.8 6 4.2 4.2L12.2 6" {_STROKE}/>',
}
