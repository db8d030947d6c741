"""``python -m tests.golden [PART OF A NAME] [--json]``: what the bot's messages look like, in a terminal."""

import json
import sys

from tests.golden.samples import corpus


def main(words: list[str]) -> int:
    """Print the text form, or with ``--json`` the blocks, of every sample whose name has the words."""
    as_json = "--json" in words
    wanted = [word for word in words if word != "--json"]
    found = 0
    for payload in corpus():
        if not all(word in payload.name for word in wanted) or (payload.surface == "text") == as_json:
            continue
        found += 1
        body = json.dumps(payload.body, indent=2, ensure_ascii=False) if as_json else payload.body
        print(f"── {payload.name}\n{body}\n")  # noqa: T201  # this is what the command is for
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
