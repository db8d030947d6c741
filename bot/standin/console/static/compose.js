// The message box: commands with history, hint and completion; plain messages; replies.

import { channel, command, keep, recall, say, send, user } from "./wire.js";

const MOST_KEPT = 50;
// The bot never shows values given with env= again, so this browser does not keep them either.
const SECRET = /(\benv=["']?[A-Za-z_][A-Za-z0-9_]*=)("[^"]*"|'[^']*'|\S+)/g;

const box = document.querySelector("#compose");
const form = box?.form;
const suggest = form?.querySelector(".suggest");
const options = [...(suggest?.querySelectorAll("[role=option]") ?? [])];
let earlier = recall(`history.${user}`, []);
let at = earlier.length;
let draft = "";
let chosen = -1;

export function listen(openThread) {
  document.querySelector("[data-composer=thread]")?.addEventListener("submit", (event) => {
    event.preventDefault();
    reply(event.target, openThread());
  });
  if (!box) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  box.addEventListener("input", () => {
    at = earlier.length;
    offer();
  });
  box.addEventListener("keydown", onKey);
  box.addEventListener("blur", () => hide());
  suggest.addEventListener("mousedown", (event) => {
    event.preventDefault();
    const option = event.target.closest("[role=option]");
    if (option) complete(option);
  });
  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (example) fill(example.dataset.example);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      if (!box.value) box.value = "/";
      box.focus();
      offer();
    }
  });
  box.value = sessionStorage.getItem(`draft.${user}.${channel}`) ?? "";
  box.addEventListener("input", keepDraft);
}

function fill(text) {
  box.value = text;
  keepDraft();
  box.focus();
  box.setSelectionRange(text.length, text.length);
  hide();
}

function onKey(event) {
  const open = !suggest.hidden;
  if (event.key === "Escape" && open) {
    event.stopPropagation();
    hide();
  } else if (event.key === "Tab" && open && !event.shiftKey) {
    event.preventDefault();
    complete(shown()[Math.max(chosen, 0)]);
  } else if (event.key === "Enter" && open && chosen >= 0) {
    event.preventDefault();
    complete(shown()[chosen]);
  } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    event.preventDefault();
    const step = event.key === "ArrowUp" ? -1 : 1;
    if (open) choose(chosen + step);
    else goThrough(step);
  }
}

function goThrough(step) {
  const next = Math.min(Math.max(at + step, 0), earlier.length);
  if (next === at) return;
  if (at === earlier.length) draft = box.value;
  at = next;
  fill(at === earlier.length ? draft : earlier[at]);
}

function shown() {
  return options.filter((option) => !option.hidden);
}

/** Show the command's hint while what is typed can still become it. */
function offer() {
  const text = box.value;
  const begun = text.startsWith(`${command} `) ? text.slice(command.length + 1).trimStart() : "";
  const possible = text.startsWith("/") && (command.startsWith(text) || text.startsWith(`${command} `));
  for (const option of options) option.hidden = !lead(option).startsWith(begun);
  if (!possible || !shown().length) {
    hide();
    return;
  }
  suggest.hidden = false;
  box.setAttribute("aria-expanded", "true");
  choose(-1);
}

function hide() {
  suggest.hidden = true;
  box.setAttribute("aria-expanded", "false");
  choose(-1);
}

function choose(number) {
  const listed = shown();
  chosen = Math.min(number, listed.length - 1);
  for (const option of options) option.setAttribute("aria-selected", "false");
  if (chosen < 0) {
    chosen = -1;
    box.removeAttribute("aria-activedescendant");
    return;
  }
  listed[chosen].setAttribute("aria-selected", "true");
  box.setAttribute("aria-activedescendant", listed[chosen].id);
}

/** The part of a usage that is typed as it stands: up to its first word in capitals. */
function lead(option) {
  return option.dataset.usage.replace(/[A-Z].*$/, "");
}

function complete(option) {
  fill(`${command} ${lead(option)}`);
}

async function submit() {
  const text = box.value.trim();
  const refused = form.querySelector(".refused");
  if (!text) return;
  const [first] = text.split(/\s/, 1);
  if (first.startsWith("/") && first !== command) {
    say(refused, `${first} is no command here. Type ${command}, or put a word before it to send it as a message.`);
    return;
  }
  say(refused, "");
  hide();
  remember(text);
  const typed = box.value;
  box.value = "";
  keepDraft();
  form.classList.add("sending");
  const { ok, answer } = first === command
    ? await send("/command", { user, channel, text: text.slice(command.length).trim() })
    : await send("/say", { user, channel, text });
  form.classList.remove("sending");
  if (!ok) {
    say(refused, answer.error);
    if (!box.value) box.value = typed;
    keepDraft();
  }
}

/** What is in the box survives a reload and a look into another channel. */
function keepDraft() {
  sessionStorage.setItem(`draft.${user}.${channel}`, box.value.replace(SECRET, "$1"));
}

async function reply(threadForm, thread) {
  const field = threadForm.elements.text;
  const refused = threadForm.querySelector(".refused");
  const text = field.value.trim();
  if (!text || !thread) return;
  if (text.startsWith("/")) {
    say(refused, "Slack takes no commands in threads. Type it in the channel’s box.");
    return;
  }
  say(refused, "");
  field.value = "";
  const { ok, answer } = await send("/say", { user, channel, text, thread_ts: thread });
  if (!ok) {
    say(refused, answer.error);
    if (!field.value) field.value = text;
  }
}

function remember(text) {
  const safe = text.replace(SECRET, "$1");
  earlier = [...earlier.filter((one) => one !== safe), safe].slice(-MOST_KEPT);
  at = earlier.length;
  keep(`history.${user}`, earlier);
}
