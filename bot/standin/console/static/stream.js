// Live updates: the server sends the pieces of each region that changed, and they are put in their places.

import { answered, channel, keep, recall, user } from "./wire.js";

// A browser keeps six connections to a host. So many pages at once keep one open; more ask time and again.
const LANES = 4;
const ASK_AGAIN_MS = 1000;
const held = new Map();
let source = null;
let following = "";
let lane = null;
let claiming = null;
let again = 0;

/** Follow the workspace with this thread open ("" for none). */
export async function follow(thread) {
  following = thread;
  stop();
  if (!lane) await (claiming ??= claim());
  if (following !== thread || document.visibilityState === "hidden") return;
  stop();
  source = new EventSource(`/console/stream?${new URLSearchParams({ user, channel, thread })}`);
  const offline = document.querySelector(".offline");
  source.onopen = () => {
    offline.hidden = true;
    answered();
  };
  source.onerror = () => {
    offline.hidden = false;
    // A browser gives up on an answer that is no stream; this page does not.
    if (source.readyState === EventSource.CLOSED) askAgain();
  };
  source.onmessage = (event) => {
    for (const [name, news] of Object.entries(JSON.parse(event.data))) {
      if (name === "latest") showUnread(news);
      else update(name, news);
    }
    document.body.dataset.following = thread;
    if (!lane) askAgain();
  };
}

function askAgain() {
  stop();
  again = setTimeout(() => follow(following), ASK_AGAIN_MS);
}

function stop() {
  clearTimeout(again);
  source?.close();
}

/** Take a lane that no other page of this browser has; `lane` gives it back, and is null without one. */
async function claim() {
  for (let number = 0; number < LANES && !lane; number += 1) {
    lane = await new Promise((resolve) => {
      navigator.locks.request(`hermes.lane.${number}`, { ifAvailable: true }, (lock) => {
        if (lock) return new Promise((giveBack) => resolve(giveBack));
        return resolve(null);
      });
    });
  }
  claiming = null;
}

// Tabs that nobody looks at leave their connection to the others.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden") {
    follow(following);
    return;
  }
  stop();
  lane?.();
  lane = null;
});
addEventListener("pagehide", stop);
addEventListener("pageshow", (event) => { if (event.persisted) follow(following); });

function update(name, news) {
  const region = document.querySelector(`[data-region="${name}"]`);
  if (!region) return;
  const scroll = region.closest(".scroll");
  const wasAtEnd = scroll && scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  const before = region.childElementCount;
  place(region, news);
  if (region.classList.contains("feed")) settle(scroll, wasAtEnd, region.childElementCount > before);
  region.dispatchEvent(new CustomEvent("updated", { bubbles: true }));
}

function place(region, news) {
  const there = new Map([...region.children].map((piece) => [piece.dataset.key, piece]));
  let last = null;
  for (const [key, revision] of news.order) {
    let piece = there.get(key);
    there.delete(key);
    if (key in news.html && (!piece || piece.dataset.rev !== revision)) piece = renewed(piece, news.html[key]);
    if (!piece) continue;
    const next = last ? last.nextElementSibling : region.firstElementChild;
    if (next !== piece) region.insertBefore(piece, next);
    last = piece;
  }
  for (const gone of there.values()) {
    held.delete(gone);
    gone.remove();
  }
}

/** The new piece in the old one's place, which is given back unchanged while somebody chooses in it. */
function renewed(old, html) {
  if (!old) return made(html);
  if (old.contains(document.activeElement) && document.activeElement.matches("article select, article input")) {
    if (!held.has(old)) old.addEventListener("focusout", () => release(old), { once: true });
    held.set(old, html);
    return old;
  }
  return exchanged(old, html);
}

function release(old) {
  const html = held.get(old);
  held.delete(old);
  // The change that a choice makes is sent before its piece is exchanged.
  if (html && old.isConnected) setTimeout(() => old.isConnected && exchanged(old, html));
}

function exchanged(old, html) {
  const piece = made(html);
  const opened = new Map([...old.querySelectorAll("details[data-keep]")].map((one) => [one.dataset.keep, one.open]));
  for (const details of piece.querySelectorAll("details[data-keep]")) {
    if (opened.has(details.dataset.keep)) details.open = opened.get(details.dataset.keep);
  }
  const focused = old.contains(document.activeElement);
  const way = focused ? wayTo(document.activeElement, old) : "";
  const typed = old.querySelector("form") ? typedIn(old) : [];
  const scrolled = old.querySelector(".modal-body")?.scrollTop;
  old.replaceWith(piece);
  for (const restore of typed) restore(piece);
  if (scrolled) piece.querySelector(".modal-body").scrollTop = scrolled;
  if (focused) refocus((way && piece.querySelector(way)) || piece.querySelector("article"));
  return piece;
}

/** Whoever was on a button that is gone stays at its message instead of starting the page anew. */
function refocus(element) {
  if (element?.matches("article")) element.tabIndex = -1;
  element?.focus({ preventScroll: true });
}

function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

/** A selector that finds the same control in the renewed piece. */
function wayTo(element, root) {
  const { action, block, value, thread } = element.dataset;
  const quoted = (text) => JSON.stringify(text);
  if (thread) return `[data-thread=${quoted(thread)}]`;
  if (element.type === "radio" || element.type === "checkbox") {
    const group = element.closest("[data-action]");
    return group && root.contains(group)
      ? `[data-block=${quoted(group.dataset.block)}][data-action=${quoted(group.dataset.action)}] [value=${quoted(element.value)}]`
      : "";
  }
  if (action !== undefined) {
    const which = value === undefined ? "" : `[data-value=${quoted(value)}]`;
    return `${element.localName}[data-block=${quoted(block)}][data-action=${quoted(action)}]${which}`;
  }
  if (element.type === "submit") return '[type="submit"]';
  if (element.localName === "summary") {
    const owner = element.parentElement.dataset.keep;
    return owner ? `[data-keep=${quoted(owner)}] > summary` : "";
  }
  return element.id ? `#${CSS.escape(element.id)}` : "";
}

/** What was typed and chosen in a view stays in fields that keep their block and action, as Slack does it. */
function typedIn(piece) {
  const view = piece.querySelector("form").dataset.view;
  return [...piece.querySelectorAll(".input-block")].flatMap((block) => {
    const { block: blockId, action } = block.dataset;
    const find = (root) => root.querySelector(
      `form[data-view=${JSON.stringify(view)}] .input-block[data-block=${JSON.stringify(blockId)}][data-action=${JSON.stringify(action)}]`,
    );
    return [...block.querySelectorAll("input, textarea, select")].map((control, number) => (fresh) => {
      const same = find(fresh)?.querySelectorAll("input, textarea, select")[number];
      if (!same || same.type !== control.type || control.type === "file") return;
      if (control.type === "radio" || control.type === "checkbox") same.checked = same.value === control.value && control.checked;
      else if (control.multiple) for (const option of same.options) option.selected = [...control.selectedOptions].some((one) => one.value === option.value);
      else same.value = control.value;
    });
  });
}

function settle(scroll, wasAtEnd, grew) {
  if (wasAtEnd) scroll.scrollTop = scroll.scrollHeight;
  else if (grew && scroll.id === "feed-scroll") document.querySelector(".newer").hidden = false;
}

/** Whoever reads the end of a column keeps reading it when lines break anew or an image has come. */
export function watchScroll() {
  for (const scroll of document.querySelectorAll("#feed-scroll, #thread-scroll")) {
    let atEnd = true;
    let height = 0;
    scroll.addEventListener("scroll", () => {
      // The column is being laid out anew, and the browser moved in it, not the person.
      if (scroll.scrollHeight !== height) return;
      atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
      if (atEnd && scroll.id === "feed-scroll") document.querySelector(".newer").hidden = true;
    }, { passive: true });
    const sizes = new ResizeObserver(() => {
      if (atEnd) scroll.scrollTop = scroll.scrollHeight;
      height = scroll.scrollHeight;
    });
    sizes.observe(scroll);
    sizes.observe(scroll.querySelector(".feed"));
  }
  document.querySelector(".newer")?.addEventListener("click", (event) => {
    const feed = document.querySelector("#feed-scroll");
    feed.scrollTop = feed.scrollHeight;
    event.target.hidden = true;
  });
}

/** Channels with something newer than what this person has seen are bold. */
function showUnread(latest) {
  const seen = recall(`seen.${user}`, {});
  if (channel in latest && document.visibilityState === "visible") seen[channel] = latest[channel];
  keep(`seen.${user}`, seen);
  for (const link of document.querySelectorAll(".lists a[data-channel]")) {
    const { channel: id } = link.dataset;
    const unread = id !== channel && id in latest && latest[id] > (seen[id] ?? "");
    link.classList.toggle("unread", unread);
  }
}
