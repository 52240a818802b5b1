// What a person chooses: which copy of a group stays, a third text in place of two that contradict each other; and
// what lists say of it: each session has a heading, own corrections can be undone later, results stand as they are sorted.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, violations, week } from "./house.mjs";

let house;
before(async () => (house = await House.start()));
after(() => house.end());

const wide = { viewport: { width: 1280, height: 800 } };
const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
// A summary that is written of a group quotes it.
const held = async (user, part) => (await house.list(user)).map((one) => one.text)
  .filter((text) => text.toLowerCase().includes(part) && !/said \d+ times/.test(text)).sort();
const leads = (tab, act) => Promise.all([tab.waitForEvent("load"), act()]);

test("of a group of duplicates the copy that was chosen stays, and no button merges what is not selected", async () => {
  const copies = ["The deploy script fails without the VPN.", "the deploy script fails without the VPN", "The deploy script fails without the VPN!"];
  await house.ingest("ada", [
    ...copies.map((text, place) => line(`d-${place}`, text, { tags: ["project:shop"], timestamp: `2026-02-0${place + 1}T08:00:00Z` })),
    line("i-1", "Ada owns the importer."), line("i-2", "ada owns the importer"),
    line("over", "A buffer that had its time.", { metadata: { expires_at: "2020-01-01" } })]);
  const tab = await house.tab("ada", wide);
  await tab.goto(`${tab.origin}/knowledge/tidy`);
  const group = tab.locator(".checklist > li:has-text('deploy script')");
  assert.match(await group.innerText(), /3 copies/);
  await group.locator("summary").click();
  const radios = group.locator("input[type=radio]");
  assert.equal(await radios.count(), 3);
  assert.match(await group.locator(".copies").innerText(), /2026[\s\S]*shop[\s\S]*d-0/, "each with its date, project and session");
  assert.deepEqual(await violations(tab), []);
  const other = group.locator("label:has(input[type=radio]:not(:checked))").first();
  const chosen = await other.locator(".x").innerText();
  await other.click();
  await tab.uncheck(".checklist > li:has-text('importer') input[type=checkbox]");
  await leads(tab, () => tab.click("button:text-is('Apply these changes')"));
  assert.equal((await held("ada", "deploy")).length, 3, "this merges nothing");
  assert.equal((await held("ada", "buffer")).length, 0);
  await group.locator("summary").click();
  await other.click();
  await tab.uncheck(".checklist > li:has-text('importer') input[type=checkbox]");
  await leads(tab, () => tab.click("button:text-is('Merge selected groups')"));
  assert.deepEqual(await held("ada", "deploy"), [chosen]);
  assert.equal((await held("ada", "importer")).length, 2, "what was not selected stays");
  isClean(tab);
});

test("more than ten groups of duplicates are folded", async () => {
  const words = "harbour lantern meadow orchard pebble quarry ribbon saddle timber umbrella violin willow".split(" ");
  await house.ingest("bea", words.flatMap((word, place) => [line(`a-${place}`, `Every ${word} of ours is checked on its own day.`), line(`b-${place}`, `every ${word} of ours is checked on its own day`)]));
  const tab = await house.tab("bea", wide);
  await tab.goto(`${tab.origin}/knowledge/tidy`);
  await tab.waitForSelector(".checklist");
  const shown = await tab.locator(".checklist > li").evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
  const all = await tab.locator(".checklist > li").count();
  assert.ok(all > 10 && shown === 10, `${shown} of ${all}`);
  isClean(tab);
});

test("where neither of two texts is right one writes the right one, and one undo brings both back", async () => {
  const timeouts = [[30, 1], [90, 2]].map(([seconds, day]) => line(`t-${seconds}`, `The timeout of the login page is ${seconds} seconds`, { timestamp: `2026-02-0${day}T08:00:00Z` }));
  await house.ingest("cyd", timeouts);
  const tab = await house.tab("cyd", wide);
  await tab.goto(`${tab.origin}/knowledge/review`);
  const pair = tab.locator("[data-pair]");
  assert.equal(await pair.locator("button.first").count(), 0, "the page suggests no answer");
  await pair.locator("summary:has-text('Neither')").click();
  assert.equal(await pair.locator("textarea").inputValue(), timeouts[1].text);
  assert.deepEqual(await violations(tab), []);
  await pair.locator("textarea").fill("");
  await pair.locator("textarea").pressSequentially("The timeout of the login page is 60 seconds now, no other");
  await leads(tab, () => pair.locator("button[value=neither]").click());
  assert.deepEqual(await held("cyd", "timeout"), ["The timeout of the login page is 60 seconds now, no other"]);
  await leads(tab, () => tab.click(".toast button:has-text('Undo')"));
  assert.deepEqual(await held("cyd", "timeout"), timeouts.map((one) => one.text));
  isClean(tab);
});

test("what one corrected can be undone after one signed out", async () => {
  await house.ingest("dan", week());
  const first = await house.tab("dan", wide);
  const staging = (await house.list("dan")).find((one) => one.text.includes("staging"));
  await first.goto(`${first.origin}/records/${staging.id}`);
  await first.click("#edit > summary");
  await first.fill("textarea[name=text]", "The staging database is reset at three.");
  await leads(first, () => first.click("#edit button"));
  const tab = await house.tab("dan", wide);
  await tab.goto(`${tab.origin}/done`);
  const change = tab.locator(".change:has-text('Corrected')");
  await leads(tab, () => change.locator("button:has-text('Undo')").click());
  assert.deepEqual(await held("dan", "staging"), [staging.text]);
  await tab.goto(`${tab.origin}/done`);
  assert.match(await tab.locator("main").innerText(), /Corrected, and undone/);
  assert.equal(await tab.locator(".change button").count(), 0, "an undo is no change to undo");
  isClean(tab);
});

test("each session of prompts has a heading, which says what a filter left out", async () => {
  await house.ingest("eve", [line("w", "Websockets break behind the proxy unless it speaks HTTP/1.1: upgrades are dropped", { tags: ["project:shop"] })]);
  // The first question opens the memory, for which a hook does not wait.
  await house.reprise("recall", "websockets", "--user", "eve");
  const ask = (session, text) => house.hook("eve", { session, project: "shop", agent: "codex", event: "user-prompt", text });
  await ask("one", "why do websockets break behind the proxy");
  await ask("one", "thanks, please write the changelog entry for that");
  await ask("two", "paint the bicycle shed in another colour");
  const tab = await house.tab("eve", wide);
  await tab.goto(`${tab.origin}/prompts`);
  const heads = tab.locator(".rows .grouping h3");
  assert.equal(await heads.count(), 2);
  assert.match(await tab.locator(".rows").innerText(), /shop[\s\S]*1 prompt[\s\S]*shop[\s\S]*2 prompts/);
  await tab.goto(`${tab.origin}/prompts?show=received`);
  assert.match(await tab.locator(".rows").innerText(), /1 of 2 prompts[\s\S]*websockets[\s\S]*use not known yet/);
  assert.deepEqual(await violations(tab), []);
  isClean(tab);
});

test("results stand in the order of the number that is shown, and Why ends with it", async () => {
  await house.ingest("fay", week());
  const tab = await house.tab("fay", wide);
  await tab.goto(`${tab.origin}/search?q=${encodeURIComponent("when is the staging database reset")}`);
  await tab.waitForSelector(".hit");
  const scores = await tab.locator(".hit meter").evaluateAll((all) => all.map((one) => one.value));
  assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
  await tab.locator(".hit summary:has-text('Why')").first().click();
  const rows = (await tab.locator(".hit .signals").first().innerText()).split("\n");
  assert.match(rows.at(-2), /start\s+the same for every memory\s+[-+]/);
  assert.match(rows.at(-1), /together\s+[-+]?\d+\.\d\d, as a score from 0 to 1 \(weak below 0\.20\)\s+0\.\d\d/);
  assert.ok(rows.every((row) => !/\s0\.00$/.test(row)), rows.join("; "));
  isClean(tab);
});
