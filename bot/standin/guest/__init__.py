"""Programs that run inside a sandbox, not in the bot. Standard library only."""
