"""An examination in real processes: typed in Slack, looked at from all sides, the evidence as a file."""

import pytest
from e2e.installed import OPERATOR, Installed, Thread

from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_what_is_wrong_is_told_first_and_the_evidence_is_a_file_without_secrets(
    site: Installed,
) -> None:
    secret = "EXAMPLE" + "-k3y" * 4
    created = await site.create(OPERATOR, f"home=ailing env=MODEL_API_KEY={secret}")
    sandbox = await created.sandbox()
    home = site.home("ailing")
    (home / "config.yaml").write_text("model: [x\n")
    with (home / ".hermes-bot/web-ui/logs/server.log").open("a") as log:
        log.write(f"asking the model with {secret}\n")

    thread = await site.type(OPERATOR, "diagnose ailing")
    verdict = await thread.saying("config-corrupt")

    assert "`config.yaml` is damaged" in await thread.first()
    assert thread_text([verdict]).index("is damaged") < thread_text([verdict]).index("Mend the file inside")
    assert {"hermes.open", "hermes.diagnose"} <= set(buttons(verdict))
    text = await file_in(site, thread)
    assert f"Examination of sandbox {sandbox}, home ailing" in text
    assert "journal mode by its header: wal" in text
    assert "asking the model with" in text
    assert secret not in text
    row = await site.recorded(home="ailing", action="diagnose")
    assert (row["phase"], row["code"], row["result"]) == ("step", "config-corrupt", "ok")


async def file_in(site: Installed, thread: Thread) -> str:
    """The text of the first file that is shared in the thread, waited for."""

    async def look() -> str:
        shared = [message["files"][0]["id"] for message in await thread.messages() if message.get("files")]
        return str(shared[0]) if shared else ""

    file_id = await site.control.until("a file in the thread", look, seconds=20)
    async with site.http.get(f"{site.where['control']}/files/{file_id}") as answer:
        return await answer.text()
