// @ts-check
// Keys over a list: j and k move, Enter opens a memory at the side, Space opens its text in place, e
// edits, x selects, / goes to the question, ? shows all keys.
import { clear, isLoaded, load } from "./page.js";

/** The keys, as the help of the palette shows them. */
export const KEYS = [
  ["j k", "next, previous memory"],
  ["Enter", "open the memory at the side"],
  ["Space", "open its text in place"],
  ["e", "edit it; Ctrl Enter saves"],
  ["x", "select it"],
  ["/", "ask a question"],
  ["c", "add a memory"],
  ["n o s d", "decide the selected pair: n newer, o older (2 and 1 if both are of one minute), s merge, d both"],
  ["Ctrl K", "show all commands"],
  ["Esc", "close what is open"],
  ["?", "show these keys"],
];

/** In a narrower window a memory has a page of its own. */
const WIDE = "(min-width: 861px)";

const rows = () => [...document.querySelectorAll("[data-record]")].filter((row) => row instanceof HTMLElement && row.offsetParent);

/** The row under the cursor. */
export function current() {
  const row = document.querySelector("[data-record].on");
  return row instanceof HTMLElement ? row : undefined;
}

/** @param {HTMLElement} row */
const link = (row) => row.querySelector("a[href]");

/**
 * Puts the cursor on a row; the focus follows, so that a screen reader reads it.
 * @param {HTMLElement} row
 */
function moveCursorTo(row) {
  for (const other of document.querySelectorAll("[data-record].on")) other.classList.remove("on");
  row.classList.add("on");
  const title = row.querySelector(".x[href], .x a[href]") ?? link(row);
  if (title instanceof HTMLElement) title.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** Gives the next question to decide the focus, with which its keys count. @param {number} step */
function moveToPair(step) {
  const pairs = [...document.querySelectorAll("[data-pair]")];
  const at = pairs.findIndex((pair) => pair.contains(document.activeElement));
  const next = pairs[at < 0 ? 0 : Math.min(Math.max(at + step, 0), pairs.length - 1)];
  if (!(next instanceof HTMLElement)) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

/** @param {number} step */
function move(step) {
  const all = rows();
  if (!all.length) return moveToPair(step);
  const at = all.findIndex((row) => row.classList.contains("on"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  if (!(next instanceof HTMLElement)) return;
  // While a memory is open, the next one opens in its place.
  if (document.querySelector(".split:not([data-opens]) > #side [data-open]")) open(next);
  else moveCursorTo(next);
}

/**
 * Opens a row at the side; without a side, or if the memory was published by others, on its own page.
 * @param {HTMLElement} row
 */
async function open(row) {
  const title = row.querySelector(".x[href], .x a[href]") ?? link(row);
  if (!(title instanceof HTMLAnchorElement)) return;
  const side = document.getElementById("side");
  const isRecord = title.pathname.startsWith("/records/");
  if (!side || !isRecord || !matchMedia(WIDE).matches) {
    location.href = title.href;
    return;
  }
  moveCursorTo(row);
  const address = `${title.pathname}?part=1`;
  // Loaded again it would take away a form that was opened in it meanwhile.
  if (isLoaded(side, address)) return;
  const isShown = await load(side, address);
  if (isShown) rememberOpen(row.dataset.record);
  else if (isShown === false) location.href = title.href;
}

/**
 * Puts the open memory into the address, so that a reload, a link and the back button keep it.
 * @param {string | undefined} id
 */
function rememberOpen(id) {
  const address = new URL(location.href);
  if ((address.searchParams.get("open") ?? undefined) === id) return;
  if (id) address.searchParams.set("open", id);
  else address.searchParams.delete("open");
  history.pushState(null, "", address);
}

/** Closes the memory at the side, if one is open there. */
function closeSide() {
  const side = document.querySelector(".split:not([data-opens]) > #side");
  if (!side?.querySelector("[data-open]")) return false;
  clear(side);
  rememberOpen(undefined);
  const row = current();
  if (row) moveCursorTo(row);
  return true;
}

/** Shows at the side what the address names. */
async function followAddress() {
  const side = document.querySelector(".split:not([data-opens]) > #side");
  if (!side) return;
  const id = new URL(location.href).searchParams.get("open");
  if (!id) clear(side);
  else {
    document.querySelector(`[data-record="${CSS.escape(id)}"]`)?.classList.add("on");
    await load(side, `/records/${encodeURIComponent(id)}?part=1`);
  }
}

/** @param {HTMLElement} row */
function unfold(row) {
  const more = row.querySelector(".more");
  if (more instanceof HTMLElement) more.hidden = !more.hidden;
}

/** @param {HTMLElement} row */
function select(row) {
  const box = row.querySelector("input[type=checkbox]");
  if (box instanceof HTMLInputElement) box.checked = !box.checked;
  countSelected();
  document.querySelector("[data-list]")?.classList.toggle("picking", !!document.querySelector(".row > input:checked"));
}

/** Says how many rows are selected. */
function countSelected() {
  const count = document.querySelectorAll(".row > input:checked").length;
  for (const said of document.querySelectorAll("[data-selected]")) said.textContent = `${count} selected`;
}

/** @param {KeyboardEvent} event */
function isWriting(event) {
  const target = event.target;
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox], [type=radio]), textarea, select");
}

/**
 * Finds the pair that has the focus: a key decides nothing else.
 * @param {EventTarget | null} target
 */
function focusedPair(target) {
  return target instanceof Element ? target.closest("[data-pair]") : undefined;
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return false;
  if (event.key === "Escape" && !document.querySelector("details.menu[open], details.f[open]")) return closeSide();
  if (isWriting(event) || event.key.length === 1 && !keysAreOn()) return false;
  const answer = focusedPair(event.target)?.querySelector(`button[data-answer="${CSS.escape(event.key)}"]`);
  if (answer instanceof HTMLElement && !event.repeat) {
    answer.click();
    return true;
  }
  const row = current();
  const here = row && (event.target === document.body || row.contains(/** @type {Node} */ (event.target)));
  if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
  else if (event.key === "/") question();
  else if (event.key === "c" && !document.querySelector(".top[data-read-only]")) location.href = "/new";
  else if (event.key === "Enter" && row && here && !(event.target instanceof HTMLButtonElement || event.target instanceof HTMLElement && event.target.matches("summary"))) open(row);
  else if (event.key === " " && row && here && event.target instanceof HTMLAnchorElement) unfold(row);
  else if (event.key === "x" && row) select(row);
  else if (event.key === "e") edit(row);
  else return false;
  return true;
}

/** @param {HTMLElement | undefined} row */
function edit(row) {
  const open = document.querySelector("[data-open]");
  const id = row?.dataset.record;
  if (open instanceof HTMLElement && (!id || open.dataset.open === id)) {
    const act = open.querySelector("#edit");
    if (act instanceof HTMLDetailsElement) act.open = true;
  } else if (id) location.href = `/records/${id}#edit`;
}

function question() {
  const field = document.querySelector("[data-key='/']");
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  } else location.href = "/search";
}

/** Whether single letters are commands; the help of the keys switches them. */
export function keysAreOn() {
  return localStorage.getItem("reprise-keys") !== "off";
}

export function list() {
  document.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && pressed(event)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (!(target instanceof Element) || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const title = target.closest("a");
    const row = target.closest("[data-record]");
    if (!(row instanceof HTMLElement) || !title || !title.matches(".x, .x a")) return;
    if (!document.getElementById("side") || !title.pathname.startsWith("/records/")) return;
    event.preventDefault();
    open(row);
  });
  document.addEventListener("change", countSelected);
  document.addEventListener("reset", () => setTimeout(countSelected));
  window.addEventListener("popstate", followAddress);
  if (new URL(location.href).searchParams.has("open")) followAddress();
  const opened = document.querySelector("[data-opens]");
  if (opened instanceof HTMLElement) document.querySelector(`[data-record="${CSS.escape(opened.dataset.opens ?? "")}"]`)?.classList.add("on");
}
