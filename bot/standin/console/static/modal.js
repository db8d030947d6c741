// Modals as dialogs: opened and closed by what the server says is open.

import { gather, mark, wrong } from "./fields.js";
import { findAgain } from "./press.js";
import { send, user } from "./wire.js";

const dialog = document.querySelector("#modal");
const region = dialog.querySelector("[data-region]");
let opener = null;
let closing = "";

export function listen() {
  region.addEventListener("updated", show);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close(false);
  });
  // A browser may close it without asking, when nobody has touched the page since it opened.
  dialog.addEventListener("close", () => {
    const view = region.querySelector("form")?.dataset.view;
    if (view && view !== closing) close(false);
  });
  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("[data-close]");
    if (button) close(button.dataset.close === "all");
  });
  dialog.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(event.target);
  });
  dialog.addEventListener("input", (event) => {
    const block = event.target.closest(".input-block.invalid");
    if (block) mark(block, "");
  });
  show();
}

function show() {
  const form = region.querySelector("form");
  if (!form) {
    leave();
    closing = "";
    return;
  }
  if (form.dataset.view === closing) return;
  if (!dialog.open) {
    opener = document.activeElement;
    dialog.showModal();
    focusFirst(form);
  } else if (form.dataset.view !== dialog.dataset.view || arrived(form)) focusFirst(form);
  dialog.dataset.view = form.dataset.view;
  dialog.dataset.fields = fieldsOf(form).length;
  const invalid = form.querySelector(".input-block.invalid [aria-invalid='true']");
  if (invalid && !form.dataset.told) {
    form.dataset.told = "true";
    (invalid.matches("fieldset") ? invalid.querySelector("input") : invalid).focus();
  }
}

function fieldsOf(form) {
  return form.querySelectorAll(".input-block :is(input, select, textarea)");
}

/** Fields have come into a window that had none, and nobody has gone to one of its buttons yet. */
function arrived(form) {
  const waiting = !document.activeElement || document.activeElement.matches("body, dialog, #modal-title");
  return dialog.dataset.fields === "0" && fieldsOf(form).length > 0 && waiting;
}

function focusFirst(form) {
  (form.querySelector("[data-focus]") ?? fieldsOf(form)[0] ?? form.querySelector("h2")).focus();
}

/** Back to where the person was before the window. */
function leave() {
  if (dialog.open) dialog.close();
  if (opener) (opener.isConnected ? opener : findAgain(opener) ?? document.querySelector("#compose"))?.focus();
  opener = null;
}

async function close(all) {
  const form = region.querySelector("form");
  if (!form) return;
  const { view } = form.dataset;
  // The last window goes at once, as Slack does it; only a refusal brings it back.
  if (all || !form.querySelector("[data-close=all]")) {
    closing = view;
    leave();
  }
  const { ok, answer } = await send("/close", { user, view_id: view, clear: all });
  if (ok) return;
  closing = "";
  show();
  trouble(answer.error);
}

async function submit(form) {
  const button = form.querySelector("[type=submit]");
  if (!button || button.getAttribute("aria-busy") === "true") return;
  trouble("");
  for (const block of form.querySelectorAll(".input-block.invalid")) mark(block, "");
  const faults = wrong(form);
  for (const [block, text] of faults) mark(block, text);
  if (faults.length) {
    faults[0][0].querySelector("input, select, textarea").focus();
    return;
  }
  button.setAttribute("aria-busy", "true");
  form.classList.add("sending");
  const { ok, answer } = await send("/submit", { user, view_id: form.dataset.view, values: gather(form) });
  const now = region.querySelector("form") ?? form;
  now.classList.remove("sending");
  now.querySelector("[type=submit]")?.removeAttribute("aria-busy");
  button.removeAttribute("aria-busy");
  if (!ok) trouble(answer.error);
  else if (answer.outcome !== "acked" || answer.ack_error) trouble("We had some trouble connecting. Try again?");
}

function trouble(text) {
  const place = region.querySelector(".modal-trouble");
  if (!place) return;
  place.textContent = text;
  place.hidden = !text;
}
