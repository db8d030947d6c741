"""Slack delivery: from an envelope to a use case, and from its outcome to a message."""
