"""Where the versions of the platform differ."""

from dataclasses import dataclass
from typing import Literal

VERSIONS = ("0.5.1", "0.6", "0.7.0", "0.7.1")
DeletePaused = Literal["refuse", "resume-first", "direct"]


@dataclass(frozen=True, slots=True)
class Platform:
    """The behaviour of one version, each point named for what it decides."""

    version: str
    # CubeMaster's 130400 becomes 400 instead of 500.
    bad_parameters_are_400: bool
    # Creating from an unknown template becomes 404 instead of 500 with 130404.
    missing_template_is_404: bool
    # CubeProxy's answer for an id it has no route for.
    unknown_route_status: int
    delete_paused: DeletePaused
    # Metadata and template id are gone from answers once a sandbox has been paused.
    loses_labels_after_pause: bool
    has_network_update: bool
    has_volumes: bool
    # CubeProxy is told of pauses made through the API; before, it routes into the void.
    proxy_knows_api_pauses: bool
    # connect(timeout) is honoured and checked.
    connect_sets_timeout: bool
    # refreshes takes -1 and more than an hour.
    long_refreshes: bool
    shows_mounts: bool
    has_alias_update: bool
    # The VM process ends at a pause: connections break and the guest gets a new address.
    pause_ends_connections: bool


def platform(version: str) -> Platform:
    """The rules of ``version``. Raises ValueError for one that is not in ``VERSIONS``."""
    if version not in VERSIONS:
        raise ValueError(f"platform must be one of {', '.join(VERSIONS)}, not {version!r}")
    reached = VERSIONS[: VERSIONS.index(version) + 1]
    six, seven, seven_one = "0.6" in reached, "0.7.0" in reached, "0.7.1" in reached
    delete: DeletePaused = "direct" if seven else "resume-first" if six else "refuse"
    return Platform(
        version=version,
        bad_parameters_are_400=seven_one,
        missing_template_is_404=seven_one,
        unknown_route_status=404 if seven else 503,
        delete_paused=delete,
        loses_labels_after_pause=version == "0.7.0",
        has_network_update=seven,
        has_volumes=six,
        proxy_knows_api_pauses=six,
        connect_sets_timeout=seven,
        long_refreshes=seven,
        shows_mounts=six,
        has_alias_update=seven,
        pause_ends_connections=seven,
    )
