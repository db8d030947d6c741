"""``hermes-bot check``: every setting proved against the real system that it speaks of."""
