// Talking to the control API: what a person does, sent as JSON to this page's own origin.

const facts = document.body.dataset;

export const user = facts.user;
export const channel = facts.channel;
export const command = facts.command;

const SILENCE = "The stand-ins do not answer. Are they still running?";

/** Send one deed. Gives {ok, answer}; a refusal's sentence stands in answer.error. */
export async function send(path, body, method = "POST") {
  try {
    const response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { ok: response.ok, answer: await response.json() };
  } catch {
    return { ok: false, answer: { error: SILENCE } };
  }
}

/** Show a sentence in an alert, or hide the alert when there is none. */
export function say(place, text) {
  place.textContent = text ?? "";
  place.hidden = !text;
}

const kept = "hermes.console";

/** Take back that nobody answers, wherever it was said. */
export function answered() {
  for (const place of document.querySelectorAll(".refused, .modal-trouble")) {
    if (place.textContent === SILENCE) say(place, "");
  }
}

/** A value kept in this browser, or what it is without one. */
export function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`${kept}.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keep a value in this browser, where it allows that. */
export function keep(name, value) {
  try {
    localStorage.setItem(`${kept}.${name}`, JSON.stringify(value));
  } catch {
    // Storage may be full or forbidden; nothing of ours depends on it.
  }
}
