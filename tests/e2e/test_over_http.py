"""The key test of each module here once more, with the bot behind a request URL instead of a socket."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from e2e import quick_bot
from e2e.installed import Installed, installed
from e2e.test_changed_password import (
    test_a_password_changed_in_studio_is_the_one_that_counts,
)
from e2e.test_main_job import (
    Made,
    make,
    test_command_is_acked_in_under_a_second,
    test_no_secret_stands_anywhere_but_in_that_window,
    test_others_are_refused_visibly,
    test_owner_gets_a_link_and_a_sign_in_that_work,
    test_thread_says_all_there_is_to_know,
)
from e2e.test_one_home import test_two_creates_of_one_home_at_once_make_one_sandbox
from e2e.test_slack_places import (
    test_button_of_an_older_version_is_answered,
    test_create_in_a_private_channel_is_told_in_direct_messages_to_its_end,
    test_mention_is_answered_in_its_thread,
    test_people_of_other_teams_are_refused_visibly,
)
from e2e.test_stop_and_cancel import (
    test_cancel_stops_between_steps_and_continue_finishes,
    test_stop_is_asked_confirmed_and_told_and_counts_once,
)

__all__ = [
    "test_a_password_changed_in_studio_is_the_one_that_counts",
    "test_button_of_an_older_version_is_answered",
    "test_cancel_stops_between_steps_and_continue_finishes",
    "test_command_is_acked_in_under_a_second",
    "test_create_in_a_private_channel_is_told_in_direct_messages_to_its_end",
    "test_mention_is_answered_in_its_thread",
    "test_no_secret_stands_anywhere_but_in_that_window",
    "test_others_are_refused_visibly",
    "test_owner_gets_a_link_and_a_sign_in_that_work",
    "test_people_of_other_teams_are_refused_visibly",
    "test_stop_is_asked_confirmed_and_told_and_counts_once",
    "test_thread_says_all_there_is_to_know",
    "test_two_creates_of_one_home_at_once_make_one_sandbox",
]

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def behind_a_url() -> AsyncIterator[Installed]:
    async with installed(quick_bot.start_http) as site:
        address = re.findall(r'"http": "([^"]+)"', site.log())[-1]
        await site.control.post("/delivery", mode="http", url=f"http://{address}/slack/events")
        yield site


@pytest_asyncio.fixture(loop_scope="session")
async def site(behind_a_url: Installed) -> AsyncIterator[Installed]:
    await behind_a_url.begin()
    yield behind_a_url
    await behind_a_url.tidy()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def made(behind_a_url: Installed) -> AsyncIterator[Made]:
    yield await make(behind_a_url, "hermes-studio")
    await behind_a_url.tidy()


async def test_no_socket_was_used_for_any_of_it(site: Installed) -> None:
    used = {call["method"] for call in await site.control.transcript()}

    assert "chat.postMessage" in used
    assert "apps.connections.open" not in used
