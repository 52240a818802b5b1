// @ts-check
// Keys over a list: j and k move, Enter opens a record at the side, Space opens its text in place, e
// edits, x selects, / leads to the question, ? says all of this.
import { load } from "./page.js";

/** The keys, as the palette's help shows them. */
export const KEYS = [
  ["j k", "next, previous record"],
  ["Enter", "open the record at the side"],
  ["Space", "open its text in its place"],
  ["e", "edit it"],
  ["x", "select it"],
  ["/", "ask"],
  ["n o s d", "answer a pair: newer, older, same, different"],
  ["Ctrl K", "everything the page can do"],
  ["Esc", "close what is open"],
  ["?", "these keys"],
];

/** Narrower than this a record has a page of its own. */
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
function stand(row) {
  for (const other of document.querySelectorAll("[data-record].on")) other.classList.remove("on");
  row.classList.add("on");
  const title = row.querySelector(".x[href], .x a[href]") ?? link(row);
  if (title instanceof HTMLElement) title.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** @param {number} step */
function move(step) {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("on"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  if (next instanceof HTMLElement) stand(next);
}

/**
 * Opens a row at the side; where there is no side, or the record is shared by others, on its own page.
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
  stand(row);
  if (!(await load(side, `${title.pathname}?part=1`))) location.href = title.href;
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
  document.querySelector("[data-list]")?.classList.toggle("picking", !!document.querySelector(".row > input:checked"));
}

/** @param {KeyboardEvent} event */
function isWriting(event) {
  const target = event.target;
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox], [type=radio]), textarea, select");
}

/**
 * The answers of the pair that has the focus; where nothing has it, of the first in sight.
 * @param {EventTarget | null} target
 */
function answers(target) {
  if (!(target instanceof Element)) return undefined;
  const own = target.closest("[data-pair]");
  if (own || !target.matches("body, main")) return own;
  const head = document.querySelector(".top")?.clientHeight ?? 0;
  return [...document.querySelectorAll("[data-pair]")].find((pair) => {
    const box = pair.querySelector("[data-answer]")?.getBoundingClientRect();
    return box && box.top >= head && box.bottom <= innerHeight;
  });
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event)) return false;
  if (document.querySelector("dialog[open]")) return false;
  const answer = answers(event.target)?.querySelector(`button[data-answer="${CSS.escape(event.key)}"]`);
  if (answer instanceof HTMLElement && !event.repeat) {
    answer.click();
    return true;
  }
  const row = current();
  const here = row && (event.target === document.body || row.contains(/** @type {Node} */ (event.target)));
  if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
  else if (event.key === "/") question();
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
  const opened = document.querySelector("[data-opens]");
  if (opened instanceof HTMLElement) document.querySelector(`[data-record="${CSS.escape(opened.dataset.opens ?? "")}"]`)?.classList.add("on");
}
