"""Life and death of a sandbox, through the unmodified SDK and HTTP, on every version of the platform."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from contract.sdk.site import Site, mounts, until
from cubesandbox import ApiError, Sandbox, SandboxNotFoundError, Template, TemplateNotFoundError

from bot.standin.cube.platform import VERSIONS

pytestmark = pytest.mark.sandbox
ABSENT = "0" * 32


def test_created_seen_listed_and_killed(there: Site) -> None:
    sandbox = there.create(metadata={"hermes-home": "alpha"})
    listed = [entry["sandboxID"] for entry in Sandbox.list(there.config)]
    info = sandbox.get_info()

    sandbox.kill()

    assert listed == [sandbox.sandbox_id]
    assert (str(info.state), info.metadata) == ("running", {"hermes-home": "alpha"})
    assert Sandbox.list(there.config) == []
    assert there.state(sandbox) == "gone"


def test_the_second_kill_gives_not_found(there: Site) -> None:
    sandbox = there.create()
    sandbox.kill()

    with pytest.raises(SandboxNotFoundError, match=sandbox.sandbox_id):
        sandbox.kill()


def test_leaving_a_with_block_kills_and_close_does_not(there: Site) -> None:
    with there.create() as left:
        pass
    closed = there.create()
    closed.close()

    assert (there.state(left), there.state(closed)) == ("gone", "running")


def test_a_paused_sandbox_is_frozen_and_connect_wakes_it(there: Site) -> None:
    sandbox = there.create()
    loop = "n=0; while true; do n=$((n+1)); echo $n > /tmp/count; done"
    sandbox.commands.run(f"setsid bash -c '{loop}' >/dev/null 2>&1 </dev/null &", timeout=10)
    until(lambda: sandbox.files.exists("/tmp/count"), wanted=True)

    sandbox.pause()
    paused = there.state(sandbox)
    again = Sandbox.connect(sandbox.sandbox_id, config=there.config)

    first = again.commands.run("cat /tmp/count", timeout=10).stdout
    until(lambda: again.commands.run("cat /tmp/count", timeout=10).stdout != first, wanted=True)
    assert (paused, there.state(sandbox)) == ("paused", "running")


def test_resume_wakes_a_paused_one_and_refuses_a_running_one(there: Site) -> None:
    sandbox = there.create()
    with pytest.raises(ApiError) as refused:
        sandbox.resume()
    sandbox.pause()

    sandbox.resume()

    assert refused.value.status_code == 409
    assert there.state(sandbox) == "running"


def test_pausing_a_paused_one_is_said_in_the_words_of_the_version(there: Site) -> None:
    sandbox = there.create()
    sandbox.pause()

    answer = there.api.post(f"/sandboxes/{sandbox.sandbox_id}/pause")

    assert answer.status_code in {400, 500}
    assert "already paused" in answer.text or "already has pause snapshot" in answer.text


def test_deleting_a_paused_one_is_refused_before_0_6_only(there: Site) -> None:
    sandbox = there.create()
    sandbox.pause()

    answer = there.api.delete(f"/sandboxes/{sandbox.sandbox_id}")

    if there.platform == "0.5.1":
        assert (answer.status_code, there.state(sandbox)) == (500, "paused")
        assert "error code 130593: " in answer.json()["message"]
    else:
        assert (answer.status_code, there.state(sandbox)) == (204, "gone")


def test_labels_survive_a_pause_but_on_0_7_0(there: Site) -> None:
    sandbox = there.create(metadata={"hermes-home": "alpha"})
    sandbox.pause()

    metadata = sandbox.get_info().metadata

    assert (metadata or {}) == ({} if there.platform == "0.7.0" else {"hermes-home": "alpha"})


def test_idle_time_runs_out_and_kills_where_nothing_else_was_asked(there: Site) -> None:
    sandbox = there.create(timeout=60)

    there.pass_time(61)

    until(lambda: there.state(sandbox), "gone")
    assert there.ask(sandbox).status_code in {404, 410, 503}


def test_idle_time_runs_out_and_pauses_and_a_request_wakes(there: Site) -> None:
    sandbox = there.create(timeout=60, lifecycle={"on_timeout": "pause", "auto_resume": True})
    sandbox.commands.run("echo kept > /tmp/kept", timeout=10)
    there.pass_time(61)
    until(lambda: there.state(sandbox), "paused")

    answer = there.ask(sandbox)

    assert (answer.status_code, there.state(sandbox)) == (204, "running")
    assert sandbox.commands.run("cat /tmp/kept", timeout=10).stdout == "kept\n"


def test_without_auto_resume_a_request_is_told_to_come_back(there: Site) -> None:
    sandbox = there.create(timeout=60, lifecycle={"on_timeout": "pause", "auto_resume": False})
    there.pass_time(61)
    until(lambda: there.state(sandbox), "paused")

    answer = there.ask(sandbox)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json() == {"error": "service unavailable"}
    assert there.state(sandbox) == "paused"


def test_requests_through_the_proxy_prolong_and_looking_does_not(there: Site) -> None:
    lifecycle = {"on_timeout": "pause", "auto_resume": False}
    used, looked_at = (
        there.create(timeout=60, lifecycle=lifecycle),
        there.create(timeout=60, lifecycle=lifecycle),
    )
    there.pass_time(50)
    there.ask(used)
    looked_at.get_info()
    Sandbox.list(there.config)

    there.pass_time(20)

    until(lambda: there.state(looked_at), "paused")
    assert there.state(used) == "running"


def test_a_timeout_is_set_from_now_and_minus_one_is_never(there: Site) -> None:
    sandbox = there.create(timeout=600)
    first = there.ends_at(sandbox)
    sandbox.set_timeout(120)
    sooner = there.ends_at(sandbox)

    sandbox.set_timeout(-1)

    assert first is not None
    assert sooner is not None
    assert sooner < first
    assert there.ends_at(sandbox) is None


def test_a_connect_never_shortens_and_lengthens_from_0_7_on(there: Site) -> None:
    sandbox = there.create(timeout=600)
    first = there.ends_at(sandbox)
    Sandbox.connect(sandbox.sandbox_id, config=there.config, timeout=60)
    same = there.ends_at(sandbox)

    Sandbox.connect(sandbox.sandbox_id, config=there.config, timeout=6000)

    later = there.ends_at(sandbox)
    assert same == first
    assert first is not None
    assert later is not None
    assert (later > first) == (there.platform in {"0.7.0", "0.7.1"})


def test_a_refresh_lengthens_and_never_shortens(there: Site) -> None:
    sandbox = there.create(timeout=600)
    first = there.ends_at(sandbox)
    one = f"/sandboxes/{sandbox.sandbox_id}/refreshes"
    assert there.api.post(one, json={"duration": 60}).status_code == 204
    same = there.ends_at(sandbox)

    longer = there.api.post(one, json={"duration": 3600})

    assert (longer.status_code, same) == (204, first)
    assert str(there.ends_at(sandbox)) > str(first)


@pytest.mark.parametrize(
    ("path", "body"),
    [("timeout", {"timeout": -2}), ("refreshes", {"duration": -2})],
)
def test_a_time_that_makes_no_sense_is_400(there: Site, path: str, body: dict[str, int]) -> None:
    sandbox = there.create()

    answer = there.api.post(f"/sandboxes/{sandbox.sandbox_id}/{path}", json=body)

    assert answer.status_code == 400
    assert set(answer.json()) == {"code", "message"}


def test_the_wrong_type_in_a_body_is_plain_text(there: Site) -> None:
    sandbox = there.create()

    answer = there.api.post(f"/sandboxes/{sandbox.sandbox_id}/timeout", json={"timeout": "soon"})

    assert answer.status_code == 422
    assert answer.headers["Content-Type"].startswith("text/plain")


def test_a_network_policy_can_be_replaced_from_0_7_on(there: Site) -> None:
    sandbox = there.create()
    newer = there.platform in {"0.7.0", "0.7.1"}

    answer = there.api.put(f"/sandboxes/{sandbox.sandbox_id}/network", json={"allowOut": ["10.0.0.5/32"]})

    assert answer.status_code == (204 if newer else 404)


def test_health_says_ok_and_counts_nothing(there: Site) -> None:
    there.create()

    assert Sandbox.health(config=there.config) == {"status": "ok", "sandboxes": 0}


def test_info_and_lists_never_show_a_host_path(there: Site, name: str) -> None:
    source = there.directory(name)
    sandbox = there.create(metadata=mounts((source, "/opt/skills", True)))

    shown = [sandbox.get_info(), *Sandbox.list(there.config), *Sandbox.list_v2(there.config)]

    assert "/data/shared" not in json.dumps(shown)
    assert ("hostdir-0" in json.dumps(shown)) == (there.platform != "0.5.1")


def test_what_is_not_there_is_not_found(there: Site) -> None:
    stranger = Sandbox({"sandboxID": ABSENT, "templateID": ""}, there.config)

    for call in (stranger.get_info, stranger.kill, stranger.pause, lambda: stranger.set_timeout(60)):
        with pytest.raises(SandboxNotFoundError):
            call()


def test_a_template_that_is_not_there(there: Site) -> None:
    with pytest.raises((TemplateNotFoundError, ApiError), match="unheard-of") as caught:
        Sandbox.create("unheard-of", config=there.config)

    assert isinstance(caught.value, TemplateNotFoundError) == (there.platform == "0.7.1")


def test_templates_are_found_by_id_and_alias(there: Site) -> None:
    by_alias = Template.get("hermes-studio", config=there.config)
    by_id = Template.get(by_alias.template_id, config=there.config)

    assert (by_alias.template_id, by_alias.status) == (by_id.template_id, "READY")
    with pytest.raises(TemplateNotFoundError):
        Template.get("unheard-of", config=there.config)


def test_an_unknown_id_at_the_proxy(there: Site) -> None:
    stranger = Sandbox({"sandboxID": ABSENT, "templateID": ""}, there.config)

    answer = there.ask(stranger)

    old = there.platform in {"0.5.1", "0.6"}
    assert (answer.status_code, answer.json()["error"]) == (
        (503, "service unavailable") if old else (404, "not found")
    )


def test_a_port_that_nobody_listens_on_is_an_html_page(there: Site) -> None:
    answer = there.ask(there.create(), port=9999)

    assert answer.status_code == 502
    assert answer.headers["Content-Type"].startswith("text/html")


def test_restricted_traffic_needs_the_token_of_the_create_answer(there: Site) -> None:
    sandbox = there.create(network={"allow_public_traffic": False})
    stranger = Sandbox.connect(sandbox.sandbox_id, config=there.config)

    assert sandbox.commands.run("echo in", timeout=10).stdout == "in\n"
    refusal = "HTTP 404" if there.platform == "0.5.1" else "HTTP 403"
    with pytest.raises(RuntimeError, match=refusal):
        stranger.commands.run("true", timeout=10)


@pytest.mark.parametrize("there", VERSIONS[-1:], indirect=True)
def test_fifty_sandboxes_at_once(there: Site) -> None:
    with ThreadPoolExecutor(50) as many:
        made = list(many.map(lambda _: there.create(), range(50)))
        said = list(many.map(lambda at: made[at].commands.run(f"echo {at}", timeout=30).stdout, range(50)))
        list(many.map(lambda sandbox: sandbox.kill(), made))

    assert said == [f"{at}\n" for at in range(50)]
    assert Sandbox.list(there.config) == []


def test_what_only_the_real_system_has_answers_501(there: Site) -> None:
    sandbox = there.create()

    with pytest.raises(ApiError, match="snapshots are not available") as snapshot:
        sandbox.create_snapshot()

    assert snapshot.value.status_code == 501
