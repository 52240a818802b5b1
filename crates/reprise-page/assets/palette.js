// @ts-check
// Everything the page can do, by name: its places, what the room offers, what can be done to the record
// under the cursor; and what is typed, asked of memory.
import { KEYS, current } from "./list.js";

/** @typedef {{ name: string, hint: string, run: () => void }} Command */

/** @param {string} path */
const go = (path) => () => {
  location.href = path;
};

/** @returns {Command[]} */
function commands() {
  /** @type {Command[]} */
  const all = [];
  const row = current();
  const id = row?.dataset.record;
  if (id && !document.querySelector(`[data-open="${CSS.escape(id)}"]`)) {
    const at = `/records/${id}`;
    all.push({ name: "Open this record", hint: "record", run: go(at) });
    const changes = [["Edit this record", `${at}#edit`], ["Tag this record", `${at}#tag`], ["Link this record", `${at}#link`],
      ["Pin this record", `${at}#standing`], ["Publish this record", `${at}/publish`], ["Forget this record", `${at}/forget`]];
    const mayChange = !document.querySelector(".top[data-read-only]");
    if (mayChange) for (const [name, path] of changes) all.push({ name, hint: "record", run: go(path) });
  }
  for (const one of document.querySelectorAll("[data-command]")) {
    // What is done to selected records waits until some are.
    if (!(one instanceof HTMLElement) || one.closest(".many") && !one.getClientRects().length) continue;
    const name = one.dataset.command ?? "";
    if (all.some((other) => other.name === name)) continue;
    all.push({ name, hint: "here", run: () => act(one) });
  }
  for (const link of document.querySelectorAll(".top nav a, .tabs a, .top .pop a")) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    const name = link.textContent?.trim() ?? "";
    if (!all.some((other) => other.name === name)) all.push({ name, hint: "go", run: go(link.href) });
  }
  for (const [path, name] of [["/timeline", "Timeline"], ["/knowledge", "Knowledge"], ["/projects", "Projects"], ["/map", "Map"],
    ["/prompts", "Prompts"], ["/activity", "Lately"], ["/learning", "Learning"], ["/workspace", "Workspace, approvals"],
    ["/global", "Published"], ["/needs", "Needs you"]]) {
    if (!all.some((other) => other.name === name)) all.push({ name, hint: "go", run: go(path) });
  }
  const out = document.querySelector(".top form button");
  if (out instanceof HTMLElement) all.push({ name: "Sign out", hint: "go", run: () => out.click() });
  return all;
}

/** @param {HTMLElement} one */
function act(one) {
  const fold = one.closest("details");
  if (fold && !one.matches("summary")) fold.open = true;
  if (one instanceof HTMLElement && one.matches("summary") && one.parentElement instanceof HTMLDetailsElement) one.parentElement.open = true;
  else one.click();
}

/** @param {string} tag @param {Record<string, string>} attributes @param {(Node | string)[]} children */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function help() {
  const rows = KEYS.flatMap(([key, says]) => [
    element("dt", {}, ...key.split(" ").flatMap((one) => [element("kbd", {}, one), " "])), element("dd", {}, says)]);
  const dialog = element("dialog", { "aria-label": "Keys" },
    element("div", { class: "keys" }, element("h2", {}, "Keys"), element("dl", { class: "facts" }, ...rows),
      element("form", { method: "dialog" }, element("button", {}, "Close"))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  /** @type {HTMLDialogElement} */ (dialog).showModal();
}

function show() {
  const all = commands();
  const field = /** @type {HTMLInputElement} */ (element("input", { type: "search", role: "combobox", "aria-expanded": "true",
    "aria-controls": "commands", "aria-label": "What to do", placeholder: "What to do, or what to ask \u2026", autocomplete: "off" }));
  const list = element("ul", { id: "commands", role: "listbox", "aria-label": "What can be done" });
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { "aria-label": "Everything the page can do" },
    element("div", { class: "question" }, field), list));
  /** @type {Command[]} */
  let shown = [];
  let at = 0;
  function draw() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = all.filter((one) => words.every((word) => one.name.toLowerCase().includes(word)));
    const question = field.value.trim();
    if (question) shown.push({ name: `Ask: ${question}`, hint: "ask", run: go(`/search?q=${encodeURIComponent(question)}`) });
    at = Math.min(at, Math.max(shown.length - 1, 0));
    list.replaceChildren(...shown.map((one, place) => {
      const line = element("li", { role: "option", id: `command-${place}`, "aria-selected": String(place === at) }, element("span", {}, one.name), element("small", {}, one.hint));
      line.addEventListener("click", () => run(place));
      return line;
    }));
    field.setAttribute("aria-activedescendant", shown.length ? `command-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }
  /** @param {number} place */
  function run(place) {
    const chosen = shown[place];
    dialog.close();
    chosen?.run();
  }
  field.addEventListener("input", () => {
    at = 0;
    draw();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") at = Math.min(at + 1, shown.length - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (event.key === "Enter") return event.preventDefault(), run(at);
    else return;
    event.preventDefault();
    draw();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  draw();
  dialog.showModal();
  field.focus();
}

export function palette() {
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const writes = target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) show();
    } else if (event.key === "?" && !writes && !document.querySelector("dialog[open]")) help();
  });
  const button = document.querySelector("[data-palette]");
  if (!(button instanceof HTMLElement)) return;
  button.hidden = false;
  button.addEventListener("click", show);
}
