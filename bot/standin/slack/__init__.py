"""A Slack workspace on loopback: Web API, Socket Mode, and the people who use it.

The clients are Slack's own SDK and Bolt, unchanged. What a real workspace refuses is refused here
with the same words: a stand-in that accepts everything proves nothing.
"""

from bot.standin.slack.errors import ImpossibleActionError
from bot.standin.slack.service import SlackStandIn

__all__ = ["ImpossibleActionError", "SlackStandIn"]
