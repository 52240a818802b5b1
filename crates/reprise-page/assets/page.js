// @ts-check
// What a browser with script adds. Every page works without it. Each part is a module of its own and
// checks by itself whether the page has what it is for.
import { ask } from "./ask.js";
import { list } from "./list.js";
import { palette } from "./palette.js";

/** Milliseconds between two looks at what is new. */
const CALM = 1000;

/** @param {string | null | undefined} text */
export function say(text) {
  const said = document.getElementById("said");
  if (said) said.textContent = text ?? "";
}

/**
 * A page of this daemon, parsed and inert.
 * @param {string} address
 */
export async function fetchPage(address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { ok: answer.ok, page };
  } catch {
    say("The daemon does not respond. Run `reprise open`.");
    return { ok: false, page: undefined };
  }
}

/**
 * The newest page that was asked for each element: an older one that comes later is dropped.
 * @type {WeakMap<Element, string>}
 */
const wanted = new WeakMap();

/**
 * Replaces the content of an element with the page at an address. Returns whether that worked, and nothing if
 * another page was asked for meanwhile.
 * @param {Element} place
 * @param {string} address
 */
export async function load(place, address) {
  wanted.set(place, address);
  const { ok, page } = await fetchPage(address);
  if (wanted.get(place) !== address) return undefined;
  if (!ok || !page) {
    wanted.delete(place);
    return false;
  }
  place.replaceChildren(...page.body.childNodes);
  addCopyButtons(place);
  const total = place.querySelector("[data-total]");
  const count = document.querySelector("[data-pairs]");
  if (total instanceof HTMLElement && count) count.textContent = total.dataset.total ?? "";
  return true;
}

/**
 * Whether an element shows the page at an address, or will when it has come.
 * @param {Element} place
 * @param {string} address
 */
export function isLoaded(place, address) {
  return wanted.get(place) === address;
}

/**
 * Empties an element; a page that is on its way there is dropped.
 * @param {Element} place
 */
export function clear(place) {
  wanted.delete(place);
  place.replaceChildren();
}

/**
 * Adds a copy button in front of each text that is meant to be copied.
 * @param {ParentNode} within
 */
export function addCopyButtons(within) {
  for (const text of within.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent ?? "");
      say("Copied.");
      button.textContent = "Copied";
    });
    text.before(button);
    text.removeAttribute("data-copy");
  }
}

/** Loads the parts that take long, since they compare memories, after the page. */
function loadLateParts() {
  for (const place of document.querySelectorAll("[data-load]")) {
    if (place instanceof HTMLElement) load(place, place.dataset.load ?? "");
  }
}

/** Shows changes as they come while the tab is visible; a hidden tab holds no connection. */
function watchChanges() {
  const places = [...document.querySelectorAll("[data-live]")].filter((place) => place instanceof HTMLElement);
  if (!places.length) return;
  /** @type {EventSource | undefined} */
  let source;
  /** @type {number | undefined} */
  let waiting;
  async function look() {
    waiting = undefined;
    const { ok, page } = await fetchPage(location.href);
    for (const place of places) {
      const now = page?.querySelector(`[data-live="${place.dataset.live}"]`);
      const isUsed = place.contains(document.activeElement) || place.querySelector("input:checked, .row.on");
      if (ok && now && !isUsed) place.replaceChildren(...now.childNodes);
    }
  }
  function open() {
    source = new EventSource("/live");
    source.addEventListener("change", () => {
      waiting ??= window.setTimeout(look, CALM);
    });
  }
  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = undefined;
    if (!document.hidden) {
      open();
      look();
    }
  });
  window.addEventListener("pagehide", () => source?.close());
  if (!document.hidden) open();
}

/** Ctrl and Enter in a text send its form. */
function sendByKey() {
  document.addEventListener("keydown", (event) => {
    const text = event.target;
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !(text instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    text.form?.requestSubmit();
  });
}

/** Closes an open menu or chip at a click elsewhere and by Escape, which gives the focus back. */
function closeMenus() {
  const open = () => document.querySelectorAll("details.menu[open], details.f[open]");
  document.addEventListener("click", (event) => {
    const cancel = event.target instanceof Element && event.target.closest(".act [data-cancel]");
    if (cancel) {
      event.preventDefault();
      cancel.closest("form")?.reset();
      const act = cancel.closest(".act");
      act?.removeAttribute("open");
      act?.querySelector("summary")?.focus();
    }
    for (const menu of open()) {
      if (event.target instanceof Node && !menu.contains(event.target)) menu.removeAttribute("open");
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.removeAttribute("open");
      menu.querySelector("summary")?.focus();
    }
  });
  document.addEventListener("toggle", (event) => {
    const chip = event.target;
    if (!(chip instanceof HTMLDetailsElement) || !chip.open) return;
    if (!chip.matches(".f, .act")) return;
    // The event comes late where the machine is busy: a focus that is already inside the chip stays there.
    const focused = document.activeElement;
    if (chip.contains(focused) && !focused?.matches("summary")) return;
    const field = chip.querySelector("textarea") ?? chip.querySelector("input:not([type=hidden]), select");
    if (field instanceof HTMLElement) field.focus();
  }, true);
}

/** Adds a close button to the toast and takes its message out of the address. */
function addToastClose() {
  const toast = document.querySelector(".toast");
  if (!(toast instanceof HTMLElement)) return;
  const close = document.createElement("button");
  close.type = "button";
  close.setAttribute("aria-label", "Close");
  close.textContent = "\u00d7";
  close.addEventListener("click", () => toast.remove());
  toast.append(close);
  const address = new URL(location.href);
  for (const told of ["done", "answered", "how", "again", "merged", "taken", "verified", "switched"]) address.searchParams.delete(told);
  history.replaceState(null, "", address);
}

/** Lets a person choose the theme. */
function offerThemes() {
  const choice = document.querySelector("[data-theme-choice]");
  if (!(choice instanceof HTMLSelectElement)) return;
  choice.closest("label")?.removeAttribute("hidden");
  choice.value = localStorage.getItem("reprise-theme") ?? "";
  choice.addEventListener("change", () => {
    localStorage.setItem("reprise-theme", choice.value);
    if (choice.value) document.documentElement.dataset.theme = choice.value;
    else delete document.documentElement.dataset.theme;
  });
}

/** Offers the way back on a page that has nothing else, such as that of an error. */
function offerBack() {
  const back = document.querySelector("[data-back]");
  if (!(back instanceof HTMLElement) || history.length < 2) return;
  back.hidden = false;
  back.addEventListener("click", () => history.back());
}

/** Opens the form that an address names: `/records/ID#edit`. */
function openNamedForm() {
  const act = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (act instanceof HTMLDetailsElement) act.open = true;
}

addCopyButtons(document);
closeMenus();
sendByKey();
addToastClose();
openNamedForm();
offerBack();
offerThemes();
list();
ask();
palette();
watchChanges();
loadLateParts();
