// @ts-check
// Asking while somebody types: at most one question under way, the last one wins.
import { addCopyButtons, fetchPage, say } from "./page.js";

/** @param {HTMLFormElement} form */
function address(form) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) fields.append(name, String(value));
  return `/search?${fields}`;
}

export function ask() {
  const form = document.querySelector("form[data-typing]");
  if (!(form instanceof HTMLFormElement)) return;
  let underWay = false;
  let asked = address(form);
  async function look() {
    if (!(form instanceof HTMLFormElement)) return;
    const wanted = address(form);
    const results = document.getElementById("results");
    if (underWay || wanted === asked || !results) return;
    asked = wanted;
    underWay = true;
    results.setAttribute("aria-busy", "true");
    const { page } = await fetchPage(`${wanted}&part=1`);
    const now = page?.getElementById("results") ?? page?.querySelector("main");
    if (now) {
      results.replaceChildren(...now.childNodes);
      addCopyButtons(results);
      history.replaceState(null, "", wanted);
      say(results.querySelector("[data-count]")?.textContent);
    }
    results.removeAttribute("aria-busy");
    underWay = false;
    if (address(form) !== asked) look();
  }
  const question = form.elements.namedItem("q");
  if (question instanceof HTMLInputElement) {
    question.addEventListener("input", look);
    // The cursor goes behind the question.
    if (question.value && document.activeElement === question) question.setSelectionRange(question.value.length, question.value.length);
  }
  form.addEventListener("submit", (event) => {
    // A chip is applied by its own button: the page has to show it.
    if (event.submitter) return;
    event.preventDefault();
    look();
  });
}
