// The page: follow the workspace, and let a person act in it.

import * as compose from "./compose.js";
import * as modal from "./modal.js";
import * as panes from "./panes.js";
import * as press from "./press.js";
import { follow, watchScroll } from "./stream.js";
import { channel, send, user } from "./wire.js";

const pane = document.querySelector("#thread");
let thread = document.body.dataset.thread;
let opener = null;

function show(ts, { remember = true } = {}) {
  const leaving = thread;
  thread = ts;
  pane.hidden = !ts;
  if (ts !== leaving) pane.querySelector("[data-region]").replaceChildren();
  if (remember) {
    const address = new URL(location.href);
    if (ts) address.searchParams.set("thread", ts);
    else address.searchParams.delete("thread");
    history.pushState({}, "", address);
  }
  follow(ts);
}

document.addEventListener("click", (event) => {
  const way = event.target.closest("[data-thread]");
  if (way && way !== document.body) {
    opener = way.dataset.thread;
    show(opener);
    pane.querySelector("h2").focus();
  } else if (event.target.closest("[data-close-thread]")) {
    show("");
    document.querySelector(`.feed [data-thread=${JSON.stringify(opener ?? "")}]`)?.focus();
  }
});

addEventListener("popstate", () => {
  show(new URL(location.href).searchParams.get("thread") ?? "", { remember: false });
});

modal.listen();
press.listen();
panes.listen();
compose.listen(() => thread);
watchScroll();
follow(thread);
if (channel === "HOME") send("/click", { user, home: true });
