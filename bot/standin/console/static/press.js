// Pressing and choosing in blocks, with the question before it where the app wants one.

import { channel, send, user } from "./wire.js";
import { gather, valueOf } from "./fields.js";

const TYPING_MS = 300;
const confirmBox = document.querySelector("#confirm");
const pauses = new WeakMap();

export function listen() {
  document.addEventListener("keydown", openMenu);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.el-button");
    if (button) press(button);
  });
  document.addEventListener("change", (event) => {
    const control = event.target.closest("[data-action]:is(select, input, textarea, fieldset)");
    if (control && dispatches(control)) choose(control);
  });
  document.addEventListener("input", (event) => {
    const block = event.target.closest(".input-block[data-dispatch='true']");
    if (!block?.dataset.dispatchOn?.includes("on_character_entered")) return;
    clearTimeout(pauses.get(block));
    pauses.set(block, setTimeout(() => choose(event.target), TYPING_MS));
  });
}

/** Outside input blocks every choice is told to the app, inside only where the block asks for it. */
function dispatches(control) {
  const block = control.closest(".input-block");
  if (!block) return true;
  return block.dataset.dispatch === "true" && !block.dataset.dispatchOn?.includes("on_character_entered");
}

/** Arrow keys open a menu instead of choosing in it unseen, since a choice acts at once. */
function openMenu(event) {
  if (!event.target.matches("select[data-action]:not([multiple])") || event.target.closest(".input-block")) return;
  if (!["ArrowUp", "ArrowDown"].includes(event.key) || !event.target.showPicker) return;
  event.preventDefault();
  event.target.showPicker();
}

async function press(button) {
  if (button.getAttribute("aria-busy") === "true") return;
  if (!(await agreed(button))) return;
  if (button.dataset.url) open(button.dataset.url, "_blank", "noopener");
  await deliver(button, { value: button.dataset.value });
}

async function choose(control) {
  const selected = valueOf(control);
  const option = control.selectedOptions?.[0];
  if (selected === null && !control.closest(".input-block")) return;
  if (!(await agreed(control))) {
    undo(control);
    return;
  }
  if (option?.dataset.url) open(option.dataset.url, "_blank", "noopener");
  await deliver(control, { selected });
  if (control.matches(".el-overflow")) control.value = "";
}

/** Back to what the server sent. */
function undo(control) {
  for (const option of control.options ?? []) option.selected = option.defaultSelected;
  for (const box of control.querySelectorAll("input")) box.checked = box.defaultChecked;
  if (control.matches("input, textarea")) control.value = control.defaultValue;
}

async function deliver(control, more) {
  const warning = control.nextElementSibling;
  if (warning?.matches(".press-warning")) warning.remove();
  control.setAttribute("aria-busy", "true");
  const { ok, answer } = await send("/click", { user, ...place(control), ...more });
  control.removeAttribute("aria-busy");
  const failed = !ok || !["acked", "not_sent"].includes(answer.outcome);
  if (failed) warn(control, ok ? answer.outcome : answer.error);
}

function place(control) {
  const aim = { action_id: control.dataset.action, block_id: control.dataset.block };
  const form = control.closest("form[data-view]");
  if (form) return { ...aim, view_id: form.dataset.view, filled: gather(form) };
  if (control.closest(".home-view")) return { ...aim, home: true };
  return { ...aim, channel, ts: control.closest("article").dataset.ts };
}

/** The triangle that a client shows beside a control which nobody answered. */
function warn(control, reason) {
  const found = findAgain(control);
  if (!found) return;
  const sign = document.createElement("span");
  sign.className = "press-warning";
  sign.setAttribute("role", "status");
  const words = document.createElement("span");
  words.className = "warning-words";
  words.textContent = { operation_timeout: "The app did not answer in time", dispatch_failed: "The app is not connected" }[reason] ?? reason;
  sign.append("⚠ ", words);
  found.after(sign);
}

/** The control, or the one that has taken its place. */
export function findAgain(control) {
  if (control.isConnected) return control;
  const { action, block } = control.dataset;
  if (!action) return null;
  return document.querySelector(`[data-block=${JSON.stringify(block)}][data-action=${JSON.stringify(action)}]`);
}

/** Ask, when the element has a question. Its title and text were made HTML by the server's renderer. */
function agreed(control) {
  if (!control.dataset.confirm) return true;
  const asked = JSON.parse(control.dataset.confirm);
  confirmBox.innerHTML = `<form method="dialog"><h2 id="confirm-title">${asked.title}</h2><div class="confirm-text">${asked.text}</div>
<footer class="modal-foot"><button class="plain-button" value="deny" autofocus></button><button class="primary-button" value="confirm"></button></footer></form>`;
  const [deny, confirm] = confirmBox.querySelectorAll("button");
  deny.textContent = asked.deny;
  confirm.textContent = asked.confirm;
  confirm.classList.toggle("danger", asked.style === "danger");
  confirmBox.returnValue = "deny";
  confirmBox.showModal();
  return new Promise((resolve) => {
    confirmBox.addEventListener("close", () => resolve(confirmBox.returnValue === "confirm"), { once: true });
  });
}
