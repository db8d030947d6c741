"""One installation for each version of the platform and test process; every test leaves it empty."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from contract.sdk.site import Site, site

from bot.standin.cube.platform import VERSIONS


class Sites:
    """The installations by version, each started when it is first asked for."""

    def __init__(self, folders: pytest.TempPathFactory, stack: ExitStack) -> None:
        self._folders = folders
        self._stack = stack
        self._started: dict[str, Site] = {}

    def of(self, version: str) -> Site:
        if version not in self._started:
            folder = self._folders.mktemp(f"platform-{version}")
            self._started[version] = self._stack.enter_context(site(version, folder))
        return self._started[version]


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with ExitStack() as stack:
        yield Sites(tmp_path_factory, stack)


@pytest.fixture(params=VERSIONS)
def there(request: pytest.FixtureRequest, sites: Sites) -> Iterator[Site]:
    """The suite runs against each version."""
    chosen = sites.of(request.param)
    yield chosen
    chosen.clean()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A directory name of the test's own."""
    return "".join(c if c.isalnum() else "-" for c in request.node.name)[:120]
