// What stands in the fields of a view, in the shape in which the control API takes it.

/** The value of one control or group: a string, a list, or null when nothing is there. */
export function valueOf(control) {
  if (control.matches("fieldset")) {
    const chosen = [...control.querySelectorAll("input:checked")].map((box) => box.value);
    return control.dataset.kind === "checkboxes" ? chosen : chosen[0] ?? null;
  }
  if (control.multiple && control.options) return [...control.selectedOptions].map((option) => option.value);
  if (control.dataset.kind?.startsWith("multi_")) return control.value.split(",").map((one) => one.trim()).filter(Boolean);
  if (control.type === "datetime-local") return control.value ? epoch(control.value, control.dataset.tz) : null;
  if (control.type === "file") return [];
  return control.value || null;
}

/** {block: {action: value}} of a form. */
export function gather(form) {
  const values = {};
  for (const block of form.querySelectorAll(".input-block")) {
    const control = controlOf(block);
    if (control) (values[block.dataset.block] ??= {})[block.dataset.action] = valueOf(control);
  }
  return values;
}

export function controlOf(block) {
  return block.querySelector("fieldset[data-action], select[data-action], input[data-action], textarea[data-action]");
}

/** The controls that are wrong as they stand: [block, what is wrong]. */
export function wrong(form) {
  const found = [];
  for (const block of form.querySelectorAll(".input-block")) {
    const control = controlOf(block);
    if (!control) continue;
    const value = valueOf(control);
    const empty = value === null || value.length === 0;
    const optional = block.querySelector(".optional") !== null;
    if (empty && !optional) found.push([block, "Please fill in this field."]);
    else if (!empty && control.validity && !control.validity.valid) found.push([block, control.validationMessage]);
    else if (!empty && control.minLength > 0 && value.length < control.minLength) {
      found.push([block, `Please write ${control.minLength} characters or more.`]);
    }
  }
  return found;
}

/** Show what is wrong below a field, or take it away. */
export function mark(block, text) {
  const control = controlOf(block);
  let line = block.querySelector(".field-error");
  block.classList.toggle("invalid", Boolean(text));
  if (!text) {
    line?.remove();
    control.removeAttribute("aria-invalid");
    return;
  }
  if (!line) {
    line = document.createElement("p");
    line.className = "field-error";
    line.id = `wrong-${control.id || block.dataset.block}`;
    block.append(line);
  }
  line.textContent = text;
  control.setAttribute("aria-invalid", "true");
  const about = new Set((control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean)).add(line.id);
  control.setAttribute("aria-describedby", [...about].join(" "));
}

/** Seconds since the epoch of a wall-clock time in a zone. */
function epoch(local, zone) {
  const asUtc = Date.parse(`${local}Z`);
  const shown = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" }).format(asUtc);
  return Math.round((asUtc - (Date.parse(`${shown.replace(" ", "T")}Z`) - asUtc)) / 1000);
}
