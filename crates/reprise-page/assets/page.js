// @ts-check
// What a browser with script adds. Every room works without it; each part stands in a module of its
// own and finds by itself whether the room has what it is for.
import { ask } from "./ask.js";
import { list } from "./list.js";
import { map } from "./map.js";
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
export async function fetched(address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { ok: answer.ok, page };
  } catch {
    say("The daemon does not answer; run `reprise open`.");
    return { ok: false, page: undefined };
  }
}

/**
 * Puts what an address answers into a place.
 * @param {Element} place
 * @param {string} address
 */
export async function load(place, address) {
  const { ok, page } = await fetched(address);
  if (!ok || !page) return false;
  place.replaceChildren(...page.body.childNodes);
  dress(place);
  return true;
}

/**
 * A button beside each text that is meant to be taken elsewhere.
 * @param {ParentNode} within
 */
export function dress(within) {
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

/** What comes after the page, since it has to compare records. */
function later() {
  for (const place of document.querySelectorAll("[data-load]")) {
    if (place instanceof HTMLElement) load(place, place.dataset.load ?? "");
  }
}

/** News as they come, while somebody looks: a hidden tab holds no connection. */
function live() {
  const place = document.querySelector("[data-live]");
  if (!(place instanceof HTMLElement)) return;
  /** @type {EventSource | undefined} */
  let source;
  /** @type {number | undefined} */
  let waiting;
  async function look() {
    waiting = undefined;
    if (!place || place.contains(document.activeElement)) return;
    if (place.querySelector("input:checked, .row.on")) return;
    const { ok, page } = await fetched(location.href);
    const now = page?.querySelector("[data-live]");
    if (ok && now) place.replaceChildren(...now.childNodes);
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

/** A menu or a chip that is open closes at a click elsewhere and by Escape, which gives the focus back. */
function menus() {
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
    // The event comes late where the machine is busy: whoever went on into the chip stays there.
    const focused = document.activeElement;
    if (chip.contains(focused) && !focused?.matches("summary")) return;
    const field = chip.querySelector("textarea") ?? chip.querySelector("input:not([type=hidden]), select");
    if (field instanceof HTMLElement) field.focus();
  }, true);
}

/** What was just done goes away by itself once it was long enough there to be read, unless it is used. */
function toasts() {
  const toast = document.querySelector(".toast");
  if (!(toast instanceof HTMLElement) || location.pathname === "/inventory") return;
  const close = document.createElement("button");
  close.type = "button";
  close.setAttribute("aria-label", "Close");
  close.textContent = "\u00d7";
  close.addEventListener("click", () => toast.remove());
  toast.append(close);
  const address = new URL(location.href);
  for (const told of ["done", "answered", "again", "merged", "taken", "verified"]) address.searchParams.delete(told);
  history.replaceState(null, "", address);
}

/** An act that an address names is opened: `/records/ID#edit`. */
function named() {
  const act = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (act instanceof HTMLDetailsElement) act.open = true;
}

dress(document);
menus();
toasts();
named();
list();
ask();
palette();
map();
live();
later();
