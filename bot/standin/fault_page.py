"""The page of all faults, ``docs/stand-ins.md``, written from the list that the stand-ins work with.

``python -m bot.standin.fault_page > docs/stand-ins.md`` writes it anew. A test asks for that when a kind
or its sentence is missing there.
"""

import sys
from collections.abc import Mapping

from bot.standin.faults import KINDS

_REPORTS = "https://github.com/TencentCloud/CubeSandbox/issues/"
_OURS = "the words are ours"

_INTRO = """# Stand-ins, and how they fail

The stand-ins are real servers on loopback ([0003](adr/0003-stand-ins-are-real-servers.md)), and tests are
worth as much as these are unkind. Each fault below fails as the real system does: with its status, headers
and words in the version that is being played (`hermes-bot standin --platform 0.6`), and with what is true
afterwards.

This page is written by `python -m bot.standin.fault_page > docs/stand-ins.md`.

## Switching a fault on

`POST /faults` of the control address, for example `{"target": "cube", "kind": "rate-limited", "operation":
"create", "times": 2}`. `GET /faults` shows what is armed, what it has left on which sandbox, and how often
each call has come in; `DELETE /faults` disarms everything and repairs what was left behind.

- `times`: how often it strikes, 1 if not said. What holds *until disarmed* is a condition.
- `operation`: only this call: `create`, `list`, `get`, `kill`, `pause`, `resume`, `connect`, `network`,
  `health`, …
- `sandbox`, `node`, `port`: only this one. `delay_s`, `retry_after`, `status`, `done`: as the sentence
  says.
"""

_TITLES = {"cube": "Cube", "node": "The node", "slack": "Slack"}

_AFTERWARDS: Mapping[str, str] = {
    "cube": """
What faults leave behind. After `resume-tap-busy` the sandbox stays paused, further resumes fail in the same
words, CubeProxy answers 503 with Retry-After 5, and deleting is refused: 500 with 130593 on 0.5.1, 503 with
Retry-After 5 on 0.6; from 0.7.0 on a paused sandbox is deleted without being woken. After `stuck-pausing`
lists say *pausing*, GET says running, CubeProxy answers 503 with Retry-After 2, and another pause, a resume
and a deletion are refused. `running-but-dark` concerns what runs when it is armed, not what is made later.
`drop-after-write`, `empty-408`, `deadline-exceeded` and `front-page` with `done` are carried out although
nobody is told. 0.7.0 loses labels after a pause by itself, and every version refuses a malformed body with
400, 415 or 422 in plain text.
""",
    "node": """
`read-only-root` and `rsync-missing` are mounts in the node's namespace, and `disk-full` is an overlay on a
full tmpfs for one command; unlike on a real full disk nothing can be deleted on it. A read-only root is
inherited by sandboxes made meanwhile, while those made before go on writing.
""",
    "slack": "",
}

_SOURCES: Mapping[str, Mapping[str, str]] = {
    "cube": {
        "create-no-capacity": "840 1565",
        "create-408-after-success": "68",
        "create-deadline-after-success": "463",
        "mount-source-missing": "60 1116",
        "slow-api": "68; the SDK sets no time limit",
        "drop-after-write": "any connection",
        "api-down": "the restart of CubeAPI",
        "studio-never-ready": "Hermes Studio",
        "studio-does-not-start": "Hermes Studio",
        "data-plane-dead": "133 1322 1487",
        "resume-tap-busy": "1207 1166 1274 1521",
        "read-only-home": "944",
        "mount-leak": f"1635; {_OURS}",
        "empty-408": "68; CubeAPI's route limits, `routes.rs`",
        "deadline-exceeded": "463",
        "front-page": "1759",
        "node-connection-failed": "CubeMaster's codes, `errorcode.proto`",
        "rate-limited": "CubeSandbox, `docs/guide/authentication.md`",
        "master-rate-limited": "CubeMaster's codes, `errorcode.proto`",
        "unparsed-body": "the framework of CubeAPI",
        "auth-rejected": "CubeSandbox, `docs/guide/authentication.md`",
        "list-fails": "CubeMaster's codes, `errorcode.proto`",
        "list-drops-node": "931 218; CubeMaster, `sandbox_list.go`",
        "labels-lost": "1843",
        "master-down": f"`/health` is constant, CubeAPI `routes.rs`; {_OURS}",
        "lifecycle-locked": "CubeSandbox, `docs/guide/lifecycle.md`",
        "resume-already-created": "1137",
        "resume-no-room": "CubeSandbox, `docs/guide/lifecycle.md`",
        "resume-then-paused": "1683",
        "stuck-pausing": "402 403 1661",
        "running-but-dark": "930 1785",
        "vm-exited": "221 1785 1814",
        "node-gone": "790 931",
        "nothing-listens": "170",
        "proxy-unavailable": "CubeProxy, `utils.lua`",
    },
    "node": {
        "ssh-down": "sshd(8)",
        "ssh-slow": "a busy node",
        "disk-full": "write(2), ENOSPC",
        "drop-after-write": "sshd(8)",
        "connect-slow": "sshd_config(5), UseDNS and LoginGraceTime",
        "host-key-changed": "ssh(1), verifying host keys",
        "auth-refused": "sshd(8), authorized_keys",
        "reset-before-command": "sshd(8)",
        "reset-during-command": "sshd(8)",
        "read-only-root": "ext4(5), errors=remount-ro",
        "rsync-missing": "sh(1), exit status 127",
    },
}
_ELSEWHERE = {"slack": "[Slack's documentation](https://docs.slack.dev)"}


def page() -> str:
    """The whole page in Markdown."""
    return _INTRO + "".join(_part(target) for target in KINDS)


def _part(target: str) -> str:
    rows = "".join(_row(target, kind, meaning) for kind, meaning in KINDS[target].items())
    head = f"\n## {_TITLES.get(target, target)}\n\n| kind | how it fails | read about it |\n|---|---|---|\n"
    return head + rows + _AFTERWARDS.get(target, "")


def _row(target: str, kind: str, meaning: str) -> str:
    source = _SOURCES.get(target, {}).get(kind) or _ELSEWHERE.get(target, "")
    return f"| `{kind}` | {meaning} | {_linked(source)} |\n"


def _linked(source: str) -> str:
    """Numbers at the beginning are public reports of CubeSandbox."""
    numbers, _, rest = source.partition(";")
    if not numbers.replace(" ", "").isdigit():
        return source
    links = ", ".join(f"[{number}]({_REPORTS}{number})" for number in numbers.split())
    return f"{links};{rest}" if rest else links


if __name__ == "__main__":
    sys.stdout.write(page())
