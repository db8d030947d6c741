"""Which values of a launch environment are secrets that must never be shown again."""

from collections.abc import Mapping

from bot.ports import Redactor


def learn(env: Mapping[str, str], redactor: Redactor) -> None:
    """Hide, from now on and everywhere, each value that the redactor would hide beside its name."""
    for name, value in env.items():
        pair = f"{name}={value}"
        if value and redactor.text(pair) != pair:
            redactor.learn(value)
