"""Which names promise a secret: ``OPENAI_API_KEY`` does, ``max_tokens`` and ``KEY_PATH`` do not.

The rule looks at whole words, so that ``MONKEY`` is not taken for a ``KEY``. It is pure and knows nothing of
the text around a name; the redactor and the audit of configuration files both ask it.
"""

import re
from functools import lru_cache

SECRET_WORDS = frozenset(
    {
        "key",
        "token",
        "secret",
        "secrets",
        "password",
        "passwords",
        "passwd",
        "pwd",
        "passphrase",
        "apikey",
        "credential",
        "credentials",
    }
)
"""A name with one of these among its words holds a secret."""

DESCRIBING_WORDS = frozenset(
    {
        "path",
        "file",
        "dir",
        "name",
        "id",
        "type",
        "count",
        "length",
        "size",
        "limit",
        "ttl",
        "url",
        "uri",
        "endpoint",
        "fingerprint",
        "error",
        "algorithm",
        "version",
    }
)
"""A name that ends in one of these says something about a secret and does not hold it."""

SIGNING_WORDS = frozenset({"signature", "sig", "ticket"})
"""As the last word of a URL parameter these open a door just as a token does."""

_PUBLIC = frozenset({"public", "pub"})
_SEPARATORS = re.compile(r"[-_.\s]+")
_CAMEL_STEP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_REMEMBERED = 120  # characters; hostile names must not fill the memory of the cache


def words(name: str, *, camel_case: bool = True) -> list[str]:
    """The lower-case words of a name, split at ``_ - .``, blanks and (unless told otherwise) camelCase steps.

    ``OPENAIApiKey`` gives ``openai api key``; without camelCase it is one word.
    """
    parts = _SEPARATORS.split(name)
    if camel_case:
        parts = [step for part in parts for step in _CAMEL_STEP.split(part)]
    return [part.lower() for part in parts if part]


def is_secret_name(name: str) -> bool:
    """Whether the value under this name is to be hidden, whatever it looks like."""
    if len(name) > _LONGEST_REMEMBERED:
        return _judge(name)
    return _remembered(name)


def is_secret_parameter(name: str) -> bool:
    """The same for a parameter in the query or fragment of a URL, where signatures and tickets count too."""
    return is_secret_name(name) or any(
        split[-1] in SIGNING_WORDS for split in (words(name), words(name, camel_case=False)) if split
    )


def _judge(name: str) -> bool:
    # Odd spellings such as gItHuB_ToKeN fall to pieces at their camelCase steps: read them without, too.
    splits = [split for split in (words(name), words(name, camel_case=False)) if split]
    if any(split[-1] in DESCRIBING_WORDS for split in splits):
        return False
    return any(_has_secret_word(split) for split in splits)


def _has_secret_word(split: list[str]) -> bool:
    before = ["", *split]
    return any(
        word in SECRET_WORDS and not (word == "key" and previous in _PUBLIC)
        for previous, word in zip(before, split, strict=False)
    )


_remembered = lru_cache(maxsize=4096)(_judge)
