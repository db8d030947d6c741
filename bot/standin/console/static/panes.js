// The panes around the messages: thread, truth, drawers on a narrow screen, colours.

import { keep, recall, say, send } from "./wire.js";

const narrow = matchMedia("(max-width: 760px)");
const tight = matchMedia("(max-width: 1180px)");
const app = document.querySelector(".app");
const side = document.querySelector("#side");
const truth = document.querySelector("#truth");
const thread = document.querySelector("#thread");
const shade = document.querySelector(".shade");
let drawer = null;
let opener = null;

export function listen() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-drawer], [data-close-truth], [data-arm], [data-disarm], [data-advance], #theme");
    if (!button) return;
    if (button.id === "theme") changeColours();
    else if (button.dataset.drawer === "truth") showTruth(!truthShown());
    else if (button.dataset.drawer) openDrawer(side, button);
    else if ("closeTruth" in button.dataset) showTruth(false);
    else if (button.dataset.arm) arm(button);
    else if (button.dataset.disarm) disarm(button);
    else advance(button);
  });
  shade.addEventListener("click", () => closeDrawer());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (drawer) closeDrawer();
    else if (!thread.hidden) document.querySelector("[data-close-thread]").click();
  });
  for (const query of [narrow, tight]) query.addEventListener("change", arrange);
  for (const part of document.querySelectorAll(".part")) {
    part.open = recall(`part.${part.dataset.part}`, part.open);
    part.addEventListener("toggle", () => keep(`part.${part.dataset.part}`, part.open));
  }
  arrange();
}

function arrange() {
  if (drawer) closeDrawer();
  app.classList.toggle("no-truth", tight.matches || !recall("truth", true));
  // What lies outside a narrow screen is out of reach of the keyboard too.
  side.inert = narrow.matches;
  truth.inert = app.classList.contains("no-truth");
  tellTruth();
}

function truthShown() {
  return drawer === truth || !app.classList.contains("no-truth");
}

function showTruth(wanted) {
  if (tight.matches) {
    if (wanted) openDrawer(truth, document.activeElement);
    else closeDrawer();
    return;
  }
  keep("truth", wanted);
  app.classList.toggle("no-truth", !wanted);
  truth.inert = !wanted;
  tellTruth();
  if (!wanted) document.querySelector("[data-drawer=truth]").focus();
}

function tellTruth() {
  document.querySelector("[data-drawer=truth]")?.setAttribute("aria-expanded", String(truthShown()));
}

function openDrawer(pane, from) {
  drawer = pane;
  opener = from;
  pane.inert = false;
  pane.classList.add("drawn");
  shade.hidden = false;
  document.querySelector("main").inert = true;
  (pane.querySelector("h2[tabindex]") ?? pane.querySelector("a, button, summary")).focus();
  tellTruth();
}

function closeDrawer() {
  if (!drawer) return;
  drawer.classList.remove("drawn");
  drawer.inert = true;
  drawer = null;
  shade.hidden = true;
  document.querySelector("main").inert = false;
  opener?.focus?.();
  tellTruth();
}

function changeColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme;
  const shown = now === "auto" ? (dark ? "dark" : "light") : now;
  const next = shown === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  document.cookie = `theme=${next}; path=/console; max-age=31536000; samesite=strict`;
}

async function arm(button) {
  const times = Number(button.parentElement.querySelector(".times").value);
  tell(await send("/faults", { target: button.dataset.target, kind: button.dataset.arm, times }));
}

async function disarm(button) {
  const which = new URLSearchParams({ target: button.dataset.target, kind: button.dataset.disarm });
  tell(await send(`/faults?${which}`, undefined, "DELETE"));
}

async function advance(button) {
  await send("/clock", { advance_s: Number(button.dataset.advance) });
}

function tell({ ok, answer }) {
  say(document.querySelector('[data-part="faults"] .refused'), ok ? "" : answer.error);
}
