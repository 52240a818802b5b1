// The six tasks of a new user by the keyboard alone, timed, as somebody does them who has read no docs: find,
// correct, forget with its proof, answer a contradiction, rate, publish. Each begins at Home and goes by
// what the page says: `/`, j, k, Enter, the tab key, and the palette (Ctrl K). Prints each task's seconds, those
// with the time a person takes for a key and for a look, and its keys:
// `tests/page/run.sh target/debug/reprise newcomer.mjs`.
import assert from "node:assert";

import { House, week } from "./house.mjs";

/** Seconds that a person takes: a key of a word, a key that is chosen, a look at a new page (Card, Moran and Newell). */
const [TYPED, CHOSEN, LOOKED] = [0.28, 1.35, 3];
const TABS_MAX = 120;

const house = await House.start();
await house.ingest("ada", [...week(), ...[30, 90].map((seconds) => ({
  external_id: `t-${seconds}`, session_id: `s-${seconds}`, text: `The timeout of the login page is ${seconds} seconds`,
}))]);
const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
let [chosen, typed, looks] = [0, 0, 0];

async function key(name) {
  // Who walks on by the tab key looks where it stands, and does not choose each time.
  if (name === "Tab") typed += 1;
  else chosen += 1;
  await tab.keyboard.press(name);
}

async function write(text) {
  typed += text.length;
  await tab.keyboard.type(text);
}

/** What `done` leads to is loaded and looked at. */
async function goes(done) {
  looks += 1;
  await Promise.all([tab.waitForEvent("load"), done()]);
}

/** By the tab key to what says this, as far as a person would go. */
async function reach(says) {
  for (let presses = 0; presses < TABS_MAX; presses += 1) {
    const here = await tab.evaluate(() => {
      const at = document.activeElement;
      const label = at?.closest("label")?.textContent ?? "";
      return [at?.getAttribute("aria-label"), at?.textContent, at?.getAttribute("name"), label].join(" ").replace(/\s+/g, " ");
    });
    if (says.test(here)) return;
    await key("Tab");
  }
  assert.fail(`nothing says ${says} within ${TABS_MAX} tabs at ${tab.url()}`);
}

async function ask(question) {
  await key("/");
  await write(question);
  await goes(() => key("Enter"));
  await tab.waitForSelector("#results [data-record]");
}

/** A command of the palette, as it is called there. */
async function command(name) {
  await key("Control+k");
  await tab.waitForSelector("dialog input:focus");
  await write(name);
  await goes(() => key("Enter"));
}

const says = async (words) => assert.match(await tab.locator("body").innerText(), words);

const TASKS = {
  "find who owns the importer": async () => {
    await ask("who owns the importer");
    await says(/Ada owns the payment service, Grace the importer/);
  },
  "correct how invoices are rounded": async () => {
    await ask("how are invoices rounded");
    await key("j");
    await key("Enter");
    await tab.waitForSelector("#side article");
    looks += 1;
    await key("e");
    await tab.waitForSelector("#edit textarea:focus");
    await key("Control+a");
    await write("Invoices are rounded half up.");
    await reach(/^ ?Save/);
    await goes(() => key("Enter"));
    await says(/Corrected/);
  },
  "forget the staging database, with proof": async () => {
    await ask("staging database reset");
    await key("j");
    await command("forget this");
    await reach(/^ ?Forget/);
    await goes(() => key("Enter"));
    await says(/can no longer be found/);
  },
  "answer a contradiction": async () => {
    await command("to decide");
    await reach(/^ ?The newer is true/);
    await goes(() => key("Enter"));
    await says(/Kept only the (newer|second)/);
  },
  "rate an answer": async () => {
    await ask("when are releases cut");
    await key("j");
    await reach(/^ ?Helpful/);
    await goes(() => key("Enter"));
    await says(/Reprise learns from it/);
  },
  "publish a note": async () => {
    await ask("drain a node before an upgrade");
    await key("j");
    await key("Enter");
    await tab.waitForSelector("#side article");
    looks += 1;
    await reach(/^ ?Publish/);
    await goes(() => key("Enter"));
    await reach(/^ ?Publish this text/);
    await goes(() => key("Enter"));
    await says(/its users can find it now/);
  },
};

try {
  let worst = 0;
  console.log(`${"task".padEnd(42)} page s   with a person s   keys   pages`);
  for (const [task, done] of Object.entries(TASKS)) {
    await tab.goto(`${tab.origin}/`);
    [chosen, typed, looks] = [0, 0, 1];
    const began = performance.now();
    await done();
    const page = (performance.now() - began) / 1000;
    const person = page + typed * TYPED + chosen * CHOSEN + looks * LOOKED;
    worst = Math.max(worst, person);
    const numbers = [page.toFixed(1).padStart(6), person.toFixed(1).padStart(17), String(chosen + typed).padStart(6), String(looks).padStart(7)];
    console.log(`${task.padEnd(42)} ${numbers.join(" ")}`);
  }
  assert.deepEqual(tab.wrong, []);
  console.log(`the longest                                        ${worst.toFixed(1)} s of 60`);
} finally {
  await house.end();
}
