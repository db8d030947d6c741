"""Environment variables for Studio: which names are allowed, and who wins when they are merged."""

import re
from collections.abc import Mapping

MAX_NAME_LENGTH = 256
"""Characters; CubeAPI refuses longer names."""

MAX_VALUE_BYTES = 4096
"""UTF-8 bytes; CubeAPI's limit for a value, kept so that a profile means the same on every path."""

# Names that decide which program or library runs; CubeAPI refuses the same ones.
_DENIED = frozenset({"BASH_ENV", "ENV", "PATH", "PYTHONPATH", "NODE_PATH", "IFS"})
_DENIED_PREFIXES = ("LD_", "DYLD_")
_POSIX_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def env_name_problem(name: str) -> str | None:
    """Why `name` cannot be set, as a sentence that does not repeat it; None when it can.

    The sentence keeps the name to itself because what stands there by mistake is often the secret.
    """
    if not _POSIX_NAME.fullmatch(name):
        return "An environment name is made of letters, digits and _, and does not start with a digit."
    if len(name) > MAX_NAME_LENGTH:
        return f"An environment name has at most {MAX_NAME_LENGTH} characters."
    if name in _DENIED or name.startswith(_DENIED_PREFIXES):
        return "That environment name decides which programs run in the sandbox, so it cannot be set."
    return None


def env_value_problem(value: str) -> str | None:
    """Why `value` cannot be written to an environment file, as a sentence without it; None when it can."""
    if any(character < " " and character != "\t" for character in value) or "\x7f" in value:
        return "An environment value has no line breaks and no control characters."
    if len(value.encode("utf-8", "surrogatepass")) > MAX_VALUE_BYTES:
        return f"An environment value has at most {MAX_VALUE_BYTES} bytes."
    return None


def merge_env(
    defaults: Mapping[str, str],
    profile: Mapping[str, str],
    overrides: Mapping[str, str],
) -> dict[str, str]:
    """One environment out of three: a profile beats the defaults, what the person typed beats both.

    An empty value is a value: `env=DEBUG=` switches a default off. Names come out sorted, so that equal
    settings give an equal file.
    """
    merged = {**defaults, **profile, **overrides}
    return dict(sorted(merged.items()))
