// @ts-check
// The command palette: the pages, what this page offers, what can be done to the memory under the cursor,
// and the typed words as a question.
import { KEYS, current, keysAreOn } from "./list.js";
import { fetchPage } from "./page.js";

/** @typedef {{ name: string, hint: string, run: () => void, detail?: string, icon?: string }} Command */

/** Pages that have no link on every page. */
const PAGES = [["/timeline", "Timeline"], ["/knowledge", "Knowledge"], ["/knowledge?show=week", "Learned this week"], ["/projects", "Projects"],
  ["/prompts", "Prompts"], ["/agents#connect", "Connect an agent"], ["/activity", "Activity"], ["/learning", "Learning"], ["/global", "Published"],
  ["/knowledge/review", "To decide"], ["/knowledge/tidy", "Duplicates"], ["/care/audit", "Health"], ["/done", "Recent changes (undo)"],
  ["/care", "Storage"], ["/care/backups", "Backups"], ["/care/access", "Tokens and HTTP"], ["/care/configuration", "Configuration"]];

/** Other words for a command. */
/** @type {Record<string, string>} */
const SYNONYMS = {
  Duplicates: "merge tidy clean up same", "To decide": "review contradictions conflict review pairs", Backups: "save copy restore import export move machine",
  "Tokens and HTTP": "access token http network invite", Storage: "size compact disk", Configuration: "settings options", Activity: "lately log",
  "Connect an agent": "hooks mcp claude codex cursor", "Add a memory": "new lesson write learn create", Health: "audit check", "Recent changes (undo)": "your changes history",
  "Pause for an hour": "stop off", "Save a backup": "copy export", "Undo the last change": "revert back", Home: "cost tokens week helped", Agents: "cost tokens", "Learned this week": "digest lessons new",
};
/** Groups in their order, by the hint of a command. */
/** @type {Record<string, string>} */
const GROUPS = { answer: "Memories", memory: "This memory", go: "Go to", here: "On this page", ask: "Ask" };
/** The icon of each group, and the keys that do the same as a command. */
/** @type {Record<string, string>} */
const ICONS = { answer: "document", memory: "note", here: "command", go: "go", ask: "search" };
/** @type {Record<string, string>} */
const SHORTCUTS = { "Edit this memory": "e", "Add a memory": "c", "Ask": "/" };
const SVG = "http://www.w3.org/2000/svg";
/** Answers that are shown while a person types. */
const ANSWERS = 3;

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
    all.push({ name: "Open this memory", hint: "memory", run: go(at) });
    const changes = [["Edit this memory", `${at}#edit`], ["Tag this memory", `${at}#tag`], ["Link this memory", `${at}#link`],
      ["Visibility and pin of this memory", `${at}#standing`], ["Publish this memory", `${at}/publish`], ["Forget this memory", `${at}/forget`]];
    const mayChange = !document.querySelector(".top[data-read-only]");
    if (mayChange) for (const [name, path] of changes) all.push({ name, hint: "memory", run: go(path) });
  }
  for (const one of document.querySelectorAll("[data-command]")) {
    // Commands for selected memories are offered once some are selected.
    if (!(one instanceof HTMLElement) || one.closest(".many") && !one.getClientRects().length) continue;
    // A pair is decided where it is read: its answers are offered once it has the focus.
    if (one.dataset.answer && !one.closest("[data-pair]")?.contains(document.activeElement)) continue;
    const name = one.dataset.command ?? "";
    if (all.some((other) => other.name === name)) continue;
    all.push({ name, hint: "here", run: () => act(one) });
  }
  for (const link of document.querySelectorAll(".top nav a, .tabs a, .top .pop a")) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    const name = link.textContent?.trim() ?? "";
    if (!all.some((other) => other.name === name)) all.push({ name, hint: "go", run: go(link.href) });
  }
  for (const [path, name] of PAGES) {
    if (!all.some((other) => other.name === name)) all.push({ name, hint: "go", run: go(path) });
  }
  const themes = document.querySelector("[data-theme-choice]");
  if (themes instanceof HTMLSelectElement) for (const one of themes.options) {
    all.push({ name: `Theme: ${one.text}`, hint: "here", run: () => {
      themes.value = one.value;
      themes.dispatchEvent(new Event("change", { bubbles: true }));
    } });
  }
  const top = document.querySelector(".top:not([data-read-only])");
  if (top instanceof HTMLElement) {
    all.push({ name: "Save a backup", hint: "here", run: () => post("/care/backups", {}) });
    const number = top.dataset.undo;
    all.push({ name: "Undo the last change", hint: "here", run: number ? () => post("/undo", { number }) : go("/done") });
  }
  const out = document.querySelector(".top form[action='/sign-out'] button");
  if (out instanceof HTMLElement) all.push({ name: "Sign out", hint: "go", run: () => out.click() });
  return all;
}

/**
 * Sends what a command does, with the token of this sign-in.
 * @param {string} path @param {Record<string, string>} fields
 */
function post(path, fields) {
  const token = document.querySelector(".top form[action='/sign-out'] input[type=hidden]");
  const form = /** @type {HTMLFormElement} */ (element("form", { method: "post", action: path }));
  if (token) form.append(token.cloneNode());
  for (const [name, value] of Object.entries(fields)) form.append(element("input", { type: "hidden", name, value }));
  document.body.append(form);
  form.submit();
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

/** @param {Command} one */
function iconOf(one) {
  const sprite = document.querySelector("use")?.getAttribute("href")?.split("#")[0] ?? "";
  const [svg, use] = ["svg", "use"].map((tag) => document.createElementNS(SVG, tag));
  svg.setAttribute("class", "i");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `${sprite}#${one.icon ?? ICONS[one.hint] ?? "command"}`);
  svg.append(use);
  return svg;
}

/** A box that switches keys of one letter off, for whoever speaks to the browser. */
function keySwitch() {
  const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox" }));
  box.checked = keysAreOn();
  box.addEventListener("change", () => localStorage.setItem("reprise-keys", box.checked ? "on" : "off"));
  return element("label", { class: "choice" }, box, "Single-letter shortcuts");
}

function help() {
  const rows = KEYS.flatMap(([key, says]) => [
    element("dt", {}, ...key.split(" ").flatMap((one) => [element("kbd", {}, one), " "])), element("dd", {}, says)]);
  const dialog = element("dialog", { "aria-label": "Keys" },
    element("div", { class: "keys" }, element("h2", {}, "Keys"), element("dl", { class: "facts" }, ...rows), keySwitch(),
      element("form", { method: "dialog" }, element("button", {}, "Close"))));
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  /** @type {HTMLDialogElement} */ (dialog).showModal();
}

function show() {
  const all = commands();
  const field = /** @type {HTMLInputElement} */ (element("input", { type: "search", role: "combobox", "aria-expanded": "true",
    "aria-controls": "commands", "aria-label": "Command", placeholder: "Type a command or a question \u2026", autocomplete: "off" }));
  const list = element("ul", { id: "commands", role: "listbox", "aria-label": "Commands" });
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { "aria-label": "Commands" },
    element("div", { class: "question" }, field), list));
  /** @type {Command[]} */
  let shown = [];
  let at = 0;
  /** @type {Command[]} */
  let answers = [];
  let asked = "";
  /** Shows the first answers to what is typed, the last question only. */
  async function lookUp() {
    const question = field.value.trim();
    asked = question;
    answers = [];
    if (question.length < 3) return;
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (asked !== question) return;
    const { page } = await fetchPage(`/search?q=${encodeURIComponent(question)}&part=1`);
    if (asked !== question || !page) return;
    answers = [...page.querySelectorAll(".hits .hit")].slice(0, ANSWERS).map((hit) => {
      const link = hit.querySelector(".x a");
      // What it is, of which project, and when.
      const about = [".meta .k", ".meta .k + span"].map((part) => hit.querySelector(part)?.textContent?.trim()).filter(Boolean);
      return { name: link?.textContent?.trim().replace(/\s*\n\s*/g, " \u2013 ").slice(0, 90) ?? "", hint: "answer", detail: about.join(" \u00b7 "), run: go(link?.getAttribute("href") ?? "/search"),
        icon: hit.querySelector(".meta use")?.getAttribute("href")?.split("#")[1] };
    });
    draw();
  }
  function draw() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (/** @type {Command} */ one) => {
      const text = `${one.name} ${SYNONYMS[one.name] ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const question = field.value.trim();
    const order = Object.keys(GROUPS);
    // What is called by the typed words comes before what only means the same.
    const rank = (/** @type {Command} */ one) => {
      const name = one.name.toLowerCase();
      return !words.length || name.startsWith(question.toLowerCase()) ? 0 : words.every((word) => name.includes(word)) ? 1 : 2;
    };
    shown = all.filter(fits).sort((one, other) => rank(one) - rank(other) || order.indexOf(one.hint) - order.indexOf(other.hint));
    if (question) shown.push({ name: `Ask: ${question}`, hint: "ask", run: go(`/search?q=${encodeURIComponent(question)}`) });
    shown.push(...answers);
    at = Math.min(at, Math.max(shown.length - 1, 0));
    list.replaceChildren(...shown.map((one, place) => {
      const isFirst = place === 0 || shown[place - 1].hint !== one.hint;
      const group = isFirst ? GROUPS[one.hint] ?? one.hint : "";
      const line = element("li", { role: "option", id: `command-${place}`, "aria-selected": String(place === at) },
        iconOf(one), element("span", {}, one.name, ...(one.detail ? [element("small", { class: "detail" }, one.detail)] : [])), element("small", {}, group));
      if (SHORTCUTS[one.name] && keysAreOn()) line.append(element("kbd", {}, SHORTCUTS[one.name]));
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
    lookUp();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") at = Math.min(at + 1, shown.length - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (event.key === "Enter") return event.preventDefault(), run(at);
    else if (event.key === "Escape") return event.preventDefault(), dialog.close();
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
