// How many acts each of the twelve tasks of a person takes: a click, a key and a typed sentence are one act each.
// Every task begins at Home of a memory that has been lived in.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

let house;
let tab;
let acts = 0;

before(async () => {
  house = await House.start();
  const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
  await house.ingest("ada", [...week(),
    line("t-30", "The timeout of the login page is 30 seconds", { timestamp: "2026-02-01T08:00:00Z" }), line("t-90", "The timeout of the login page is 90 seconds"),
    line("d-1", "The deploy script fails without the VPN."), line("d-2", "the deploy script fails without the VPN"),
    line("e-1", "The importer skips empty lines."), line("e-2", "the importer skips empty lines")]);
  await house.reprise("learn", "--user", "ada", "Ask Priya before the freeze.");
  const moment = (event, report) => house.hook("ada", { event, session: "now", project: "shop", agent: "codex", ...report });
  await moment("user-prompt", { text: "when are the releases cut" });
  const releases = (await house.list("ada")).find((one) => one.text.includes("Tuesdays"));
  await moment("stop", { text: `As in ${releases.id}: on Tuesdays, never on Fridays.` });
  await moment("user-prompt", { session: "before", text: "which tests are flaky", at: new Date(Date.now() - 86_400_000).toISOString() });
  tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.context().grantPermissions(["clipboard-read", "clipboard-write"]);
});
after(() => house.end());

async function click(what, { leads = false } = {}) {
  acts += 1;
  const place = typeof what === "string" ? tab.locator(what).first() : what;
  if (leads) await Promise.all([tab.waitForEvent("load"), place.click()]);
  else await place.click();
}
const leads = { leads: true };
const button = (text) => `button:has-text("${text}")`;
async function key(name, { leads = false } = {}) {
  acts += 1;
  if (leads) await Promise.all([tab.waitForEvent("load"), tab.keyboard.press(name)]);
  else await tab.keyboard.press(name);
}
async function write(text) {
  acts += 1;
  await tab.keyboard.type(text);
}
const says = async (words) => assert.match(await tab.locator("body").innerText(), words);

/** Each task with the most acts that it may take. */
const TASKS = {
  "find a fact": [3, async () => {
    await key("/");
    await write("who owns the importer");
    await key("Enter", leads);
    await tab.waitForSelector("#results [data-record]");
    await says(/Ada owns the payment service, Grace the importer/);
  }],
  "see why it was found": [1, async () => {
    await tab.goto(`${tab.origin}/search?q=who+owns+the+importer`);
    await says(/Matches .*importer/);
    await click("#results summary:has-text('Why')");
  }],
  "see the prompts of a day, and whether they were helped": [1, async () => {
    await click("[data-strip] a:has-text('yesterday')", leads);
    await says(/1 prompt: 0 received memories, 0 helped, 0 failed anyway[\s\S]*Yesterday[\s\S]*which tests are flaky[\s\S]*answered too late/);
  }],
  "correct a memory": [5, async () => {
    await click("[data-record] .x:has-text('Invoices')");
    await tab.waitForSelector("#side article");
    await key("e");
    await tab.waitForSelector("#edit textarea:focus");
    await key("ControlOrMeta+a");
    await write("Invoices are rounded half up.");
    await key("ControlOrMeta+Enter", leads);
    await says(/Corrected/);
  }],
  "forget a memory, and see the proof": [4, async () => {
    await click("[data-record] .x:has-text('staging database')");
    await tab.waitForSelector("#side article");
    await click("#side a:has-text('Forget')", leads);
    await click("main button.danger", leads);
    await says(/can no longer be found[\s\S]*staging database/);
  }],
  "merge duplicates with a choice": [4, async () => {
    await click("[data-place='to decide']", leads);
    await click("nav.tabs a:has-text('Duplicates')", leads);
    await click(".checklist input[type=checkbox]");
    await click(button("Merge selected groups"), leads);
    await says(/Kept/);
    assert.match(await tab.locator(".checklist").innerText(), /deploy|importer/, "what was not chosen is still there");
  }],
  "merge two chosen memories, with a choice": [4, async () => {
    for (const part of ["Drain a node", "Ada owns the payment"]) await click(tab.locator(`li.row:has-text('${part}') input[type=checkbox]`).first());
    await click(button("Compare two"), leads);
    await click(button("Keep only this"), leads);
    await says(/Kept only the (older|newer)[\s\S]*Undo/);
    await click(".toast form button", leads);
    acts -= 1;
  }],
  "decide a contradiction": [1, async () => {
    await tab.waitForSelector("#needs [data-pair]");
    const pair = tab.locator("#needs [data-pair]:has-text('timeout')");
    assert.match(await pair.innerText(), /Older[\s\S]*1 Feb[\s\S]*Newer[\s\S]*Today/);
    await click(pair.locator("button[value=newer]"), leads);
    await says(/Kept only the newer/);
    assert.equal(new URL(tab.url()).pathname, "/", "one stays where one answered");
  }],
  "see what was learned this week": [1, async () => {
    await click("[data-strip] a:has-text('lesson')", leads);
    await says(/Ask Priya before the freeze/);
  }],
  "pause": [2, async () => {
    await click(".menu.pause > summary");
    await click(button("Pause for an hour"), leads);
    await says(/Memory is paused/);
    await house.reprise("resume", "--user", "ada");
  }],
  "move to another machine": [4, async () => {
    await click("[data-place=settings]", leads);
    await click("nav.tabs a:has-text('Backups')", leads);
    const moves = tab.locator("section:has(h2:has-text('To another machine'))");
    await click(moves.locator(button("Copy")).first());
    assert.match(await tab.evaluate(() => navigator.clipboard.readText()), /reprise backup memory\.rvf.* && scp/);
    await click(moves.locator(button("Copy")).last());
    assert.match(await tab.evaluate(() => navigator.clipboard.readText()), /reprise backup restore memory\.rvf/);
  }],
  "invite a program by a token": [4, async () => {
    await click("[data-place=settings]", leads);
    await click("nav.tabs a:has-text('Tokens')", leads);
    await tab.locator("input[name=name]").focus();
    await write("laptop");
    await key("Enter", leads);
    await says(/shown once[\s\S]*rpr_[\s\S]*HTTP is off/);
  }],
  "see what memory costs, and that it is well": [0, async () => {
    await tab.waitForSelector("#needs [data-total]");
    await says(/\d+\s+tokens \([\d,]+ per session\)[\s\S]*to decide[\s\S]*The memory file has no damage/);
  }],
};

for (const [task, [most, done]] of Object.entries(TASKS)) {
  test(`${task}: ${most} acts at most`, async () => {
    await tab.goto(`${tab.origin}/`);
    acts = 0;
    await done();
    assert.ok(acts <= most, `${acts} acts`);
    isClean(tab);
  });
}
