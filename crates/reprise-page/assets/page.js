// @ts-check
// What a browser with script adds: search while typing, news as they come, copying, one key.
// Every room works without it.

/** Milliseconds between two looks at what is new. */
const CALM = 1000;

const said = document.getElementById("said");

/** @param {string | null | undefined} text */
function say(text) {
  if (said) said.textContent = text ?? "";
}

/**
 * A page of this daemon, parsed and inert.
 * @param {string} address
 * @param {AbortSignal} [signal]
 */
async function fetched(address, signal) {
  const answer = await fetch(address, { signal, credentials: "same-origin" });
  const text = await answer.text();
  return { ok: answer.ok, page: new DOMParser().parseFromString(text, "text/html") };
}

/**
 * Puts the children of `from` in place of those of `into`.
 * @param {Element} into
 * @param {Element | null} from
 */
function swap(into, from) {
  if (!from) return;
  into.replaceChildren(...from.childNodes);
  copiers(into);
}

/** Search while typing: at most one question under way, the last one wins. */
function typing() {
  const form = document.querySelector("form[data-typing]");
  const results = document.getElementById("results");
  if (!(form instanceof HTMLFormElement) || !results) return;
  const question = form.elements.namedItem("q");
  if (!(question instanceof HTMLInputElement)) return;
  let underWay = false;
  let asked = address();
  function address() {
    const fields = new URLSearchParams();
    if (!(form instanceof HTMLFormElement)) return "/search";
    for (const [name, value] of new FormData(form)) if (value) fields.append(name, String(value));
    return "/search?" + fields;
  }
  async function ask() {
    const wanted = address();
    if (underWay || wanted === asked || !results) return;
    asked = wanted;
    underWay = true;
    results.setAttribute("aria-busy", "true");
    try {
      const { page } = await fetched(wanted);
      swap(results, page.getElementById("results") ?? page.querySelector("main"));
      history.replaceState(null, "", wanted);
      say(results.querySelector("[data-count]")?.textContent);
    } catch {
      say(said?.dataset.noAnswer);
    }
    results.removeAttribute("aria-busy");
    underWay = false;
    if (address() !== asked) ask();
  }
  form.addEventListener("input", ask);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
}

/** News as they come, while somebody looks: a hidden tab holds no connection. */
function live() {
  const place = document.querySelector("[data-live]");
  if (!place) return;
  /** @type {EventSource | undefined} */
  let source;
  /** @type {number | undefined} */
  let waiting;
  async function look() {
    waiting = undefined;
    if (!place || place.contains(document.activeElement)) return;
    try {
      const { ok, page } = await fetched(location.href);
      if (ok) swap(place, page.querySelector("[data-live]"));
    } catch {
      say(said?.dataset.noAnswer);
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

/**
 * A button beside each text that is meant to be taken elsewhere.
 * @param {ParentNode} within
 */
function copiers(within) {
  for (const text of within.querySelectorAll("[data-copy]")) {
    if (text.parentElement?.previousElementSibling?.matches("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = said?.dataset.copySays ?? "";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text.textContent ?? "");
      say(said?.dataset.copied);
    });
    text.parentElement?.before(button);
  }
}

/** The value beside a slider. */
function sliders() {
  for (const slider of document.querySelectorAll("input[data-says]")) {
    if (!(slider instanceof HTMLInputElement)) continue;
    const output = document.getElementById(slider.dataset.says ?? "");
    slider.addEventListener("input", () => {
      if (output) output.textContent = slider.value;
    });
  }
}

/** One key leads to the question, from another room too. */
function keys() {
  const field = () => document.querySelector("[data-key='/']");
  const question = field();
  if (location.hash === "#ask" && question instanceof HTMLElement) question.focus();
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const writes = target instanceof HTMLElement && target.matches("input, textarea, select");
    if (event.key !== "/" || writes || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const question = field();
    if (question instanceof HTMLElement) question.focus();
    else location.href = "/search#ask";
  });
}

/** One key answers the pair that has the focus. */
function answers() {
  document.addEventListener("keydown", (event) => {
    const pair = event.target instanceof Element && event.target.closest("[data-pair]");
    if (!pair || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = pair.querySelector(`button[data-answer="${CSS.escape(event.key)}"]`);
    if (!(button instanceof HTMLElement)) return;
    event.preventDefault();
    button.click();
  });
}

answers();
typing();
live();
copiers(document);
sliders();
keys();
document.querySelector(".notice")?.scrollIntoView({ block: "nearest" });
