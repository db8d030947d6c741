"""The page behind every path that is not an API: sign-in, conversations, Skills."""

from .places import generation, studio_version

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hermes Studio</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
form, section { margin: 1rem 0; }
label { display: block; margin: .5rem 0; }
input { font: inherit; padding: .3rem .5rem; width: 100%; box-sizing: border-box; max-width: 24rem; }
button { font: inherit; padding: .3rem 1rem; }
[hidden] { display: none; }
.assistant { color: #0b5; }
#problem { color: #b00; min-height: 1.5rem; }
</style>
</head>
<body>
<h1>Hermes Studio</h1>
<p id="problem" role="alert"></p>
<form id="users-login" hidden>
  <label>User name <input name="username" autocomplete="username" required></label>
  <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
  <button>Sign in</button>
</form>
<form id="token-login" hidden>
  <label>Access token <input name="token" type="password" autocomplete="off" required></label>
  <button>Sign in</button>
</form>
<section id="studio" hidden>
  <p id="change" hidden>Please replace the first password of this Studio.</p>
  <form id="chat">
    <label>Conversation <input name="session" value="first-talk" required></label>
    <label>Message <input name="text" autocomplete="off" required></label>
    <button>Send</button>
  </form>
  <div id="messages"></div>
  <h2>Conversations</h2><ul id="sessions"></ul>
  <h2>Skills</h2><ul id="skills"></ul>
</section>
<footer>hermes-web-ui v@VERSION@</footer>
<script>
const GENERATION = "@GENERATION@", KEY = "hermes_api_key";
const byId = (id) => document.getElementById(id);
const fail = (text) => { byId("problem").textContent = text || ""; };

async function call(method, path, body) {
  const headers = { Authorization: "Bearer " + (localStorage.getItem(KEY) || "") };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error || answer.statusText), { status: answer.status });
  return value;
}

function list(id, rows, text, onClick) {
  byId(id).replaceChildren(...rows.map((row) => {
    const item = document.createElement("li");
    item.textContent = text(row);
    if (onClick) { item.style.cursor = "pointer"; item.onclick = () => onClick(row); }
    return item;
  }));
}

async function showMessages(session) {
  byId("chat").session.value = session;
  const { messages } = await call("GET", `/api/sessions/${encodeURIComponent(session)}/messages`);
  byId("messages").replaceChildren(...messages.map((message) => {
    const line = document.createElement("p");
    line.className = message.role;
    line.textContent = message.content;
    return line;
  }));
}

async function refresh() {
  const { sessions } = await call("GET", "/api/sessions");
  list("sessions", sessions, (s) => `${s.id}: ${s.message_count} messages`, (s) => showMessages(s.id));
  const { skills } = await call("GET", "/api/skills");
  list("skills", skills, (s) => `${s.name}: ${s.description}`);
}

async function open() {
  try {
    const me = await call("GET", "/api/auth/me");
    byId("change").hidden = !me.requiresCredentialChange;
  } catch (error) {
    byId(GENERATION === "token" ? "token-login" : "users-login").hidden = false;
    byId("studio").hidden = true;
    return;
  }
  byId("users-login").hidden = byId("token-login").hidden = true;
  byId("studio").hidden = false;
  fail();
  await refresh().catch((error) => fail(error.message));
}

byId("users-login").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  try {
    const body = { username: form.username.value, password: form.password.value };
    localStorage.setItem(KEY, (await call("POST", "/api/auth/login", body)).token);
    await open();
  } catch (error) { fail(error.message); }
};
byId("token-login").onsubmit = async (event) => {
  event.preventDefault();
  localStorage.setItem(KEY, event.target.token.value.trim());
  await open();
  if (byId("studio").hidden) fail("This token does not open the Studio.");
};
byId("chat").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  try {
    const turn = await call("POST", "/api/chat", { session: form.session.value, text: form.text.value });
    form.text.value = "";
    await showMessages(turn.session);
    await refresh();
    fail();
  } catch (error) { fail(error.message); }
};

// A link with a token signs in on the token generation; the users generation reads it and does nothing.
const linked = new URLSearchParams(location.hash.split("?")[1] || "").get("token");
if (linked) {
  if (GENERATION === "token") localStorage.setItem(KEY, linked);
  history.replaceState(null, "", location.pathname + "#/");
}
open();
</script>
</body>
</html>
"""


def page() -> str:
    """The whole page, for the generation of this template."""
    return _PAGE.replace("@GENERATION@", generation()).replace("@VERSION@", studio_version())
