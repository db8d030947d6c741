"""What every sandbox's root starts from: directories, the merged-/usr links and a small ``/etc``."""

import os
import shutil
from pathlib import Path

_DIRECTORIES = {
    "dev": 0o755,
    "etc": 0o755,
    "home": 0o755,
    "home/user": 0o755,
    "mnt": 0o755,
    "opt": 0o755,
    "proc": 0o555,
    "root": 0o700,
    "run": 0o755,
    "srv": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "usr": 0o755,
    "var": 0o755,
    "var/cache": 0o755,
    "var/lib": 0o755,
    "var/log": 0o755,
    "var/tmp": 0o1777,
}
# Programs below /usr do not work without these. Nothing here says anything about the machine.
_COPIED = (
    "alternatives",
    "ca-certificates.conf",
    "debian_version",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "login.defs",
    "mime.types",
    "os-release",
    "perl",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "ssl/certs/ca-certificates.crt",
    "ssl/openssl.cnf",
    "terminfo",
)
_PROFILE = """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
umask 022
if [ -d /etc/profile.d ]; then
  for part in /etc/profile.d/*.sh; do
    if [ -r "$part" ]; then . "$part"; fi
  done
  unset part
fi
"""
_WRITTEN = {
    "etc/group": "root:x:0:\ntty:x:5:\nusers:x:100:\nuser:x:1000:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/bash\n"
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
        "user:x:1000:1000:user:/home/user:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "etc/profile": _PROFILE,
    "etc/resolv.conf": "",
}


def build(target: Path) -> None:
    """Write the skeleton to ``target``, replacing an older one. Blocking; some ten milliseconds."""
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    target.chmod(0o755)
    for name, mode in _DIRECTORIES.items():
        (target / name).mkdir()
        (target / name).chmod(mode)
    if os.geteuid() == 0:
        try:
            os.chown(target / "home/user", 1000, 1000)
        except OSError:
            # Root of a user namespace has only the one id; "user" then is a name without a file.
            (target / "home/user").chmod(0o777)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if Path("/", name).is_symlink():
            (target / name).symlink_to(Path("/", name).readlink())
    for name in _COPIED:
        _copy(Path("/etc", name), target / "etc" / name)
    for name, text in _WRITTEN.items():
        (target / name).write_text(text)
    (target / "etc/mtab").symlink_to("/proc/mounts")


def _copy(source: Path, target: Path) -> None:
    """Copy files, directories and links. Times and owners do not matter; modes do."""
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for entry in source.iterdir():
            _copy(entry, target / entry.name)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
