"""The local console: a page that is a Slack client of the stand-in, with the truth beside it."""

from bot.standin.console.routes import Console
from bot.standin.console.truth import Truth

__all__ = ["Console", "Truth"]
