// What is to be decided, and what was: one question with one choice, the difference marked by its meaning, the
// memory that was replaced says so, changes from anywhere are listed, and a project has one row and one pause.
import assert from "node:assert";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, violations, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
const timeouts = [[30, 1], [60, 2], [90, 3]].map(([seconds, day]) =>
  line(`t-${seconds}`, `The timeout of the login page is ${seconds} seconds`, { timestamp: `2026-02-0${day}T08:00:00Z` }));
const body = (tab) => tab.locator("main").innerText();
const held = async (user, part) => (await house.list(user)).map((one) => one.text).filter((text) => text.includes(part));
const leads = (tab, act) => Promise.all([tab.waitForEvent("load"), act()]);

test("memories that contradict each other are one question, one choice settles it, and one undo brings all back", async () => {
  await house.ingest("three", timeouts);
  const tab = await house.tab("three", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.waitForSelector("[data-pair]");
  assert.equal(await tab.locator("[data-pair]").count(), 1);
  assert.match(await body(tab), /Contradictions 3 pairs in 1 question/);
  assert.deepEqual(await tab.locator("[data-pair] mark").allInnerTexts(), ["30", "60", "90"]);
  assert.equal(await tab.locator("[data-pair] button.first").count(), 0, "the page suggests no answer");
  assert.deepEqual(await violations(tab), []);
  await tab.focus("[data-pair]");
  await leads(tab, () => tab.keyboard.press("2"));
  assert.deepEqual(await held("three", "timeout"), ["The timeout of the login page is 60 seconds"]);
  assert.equal(await tab.locator("[data-pair]").count(), 0, "nothing is asked that is decided");
  await leads(tab, () => tab.click(".toast form button"));
  assert.equal((await held("three", "timeout")).length, 3);
  isClean(tab);
});

test("only words with a meaning of their own are marked", async () => {
  await house.ingest("words", [
    line("w-1", "The API rate limit is 100 requests per second.", { timestamp: "2026-02-01T08:00:00Z" }),
    line("w-2", "the API rate limit is 250 requests per second", { timestamp: "2026-02-02T08:00:00Z" })]);
  const tab = await house.tab("words");
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.waitForSelector("[data-pair]");
  assert.deepEqual(await tab.locator("[data-pair] mark").allInnerTexts(), ["100", "250"]);
  isClean(tab);
});

test("the address of a memory that was replaced says by what, when and from where, and undoes it", async () => {
  await house.ingest("gone", timeouts.slice(1));
  const loser = (await house.list("gone")).find((one) => one.text.includes("60"));
  await house.reprise("doctor", "review", "t-60", "t-90", "--answer", "newer", "--user", "gone");
  const tab = await house.tab("gone", { viewport: { width: 1280, height: 800 } });
  for (const name of [loser.id, "t-60"]) {
    await tab.goto(`${tab.origin}/records/${name}`);
    const said = await tab.locator("article").innerText();
    assert.match(said, /This memory was replaced[\s\S]*Decided by a command on this machine[\s\S]*60 seconds[\s\S]*90 seconds/, name);
  }
  assert.deepEqual(await violations(tab), []);
  await tab.goto(`${tab.origin}/done`);
  assert.match(await body(tab), /Kept only this\s+by a command on this machine/);
  await tab.goto(`${tab.origin}/records/${loser.id}`);
  await leads(tab, () => tab.click(".replaced button"));
  assert.match(await tab.locator(".toast").innerText(), /Agents see both memories again/);
  assert.equal(await tab.locator(".replaced").count(), 0);
  assert.equal((await held("gone", "timeout")).length, 2);
  isClean(tab);
});

test("what was changed at the terminal and by an agent is among the changes, with undo", async () => {
  await house.ingest("far", week());
  const staging = (await house.list("far")).find((one) => one.text.includes("staging"));
  await house.reprise("edit", staging.id, "--content", "The staging database is reset at three.", "--user", "far");
  const tab = await house.tab("far");
  await tab.goto(`${tab.origin}/done`);
  const change = tab.locator(".change:has-text('Corrected')");
  assert.match(await change.innerText(), /Corrected\s+by a command on this machine[\s\S]*reset[\s\S]*Undo/);
  // The old text is struck out and the new one marked, and the button stands beside them, also on a phone.
  assert.match(await change.locator("del").last().innerText(), /two/);
  assert.match(await change.locator("ins").last().innerText(), /three/);
  for (const width of [1280, 390]) {
    await tab.setViewportSize({ width, height: 800 });
    const [text, button] = [await change.locator(".what").boundingBox(), await change.locator("button").boundingBox()];
    assert.ok(button.x >= text.x + text.width - 1 && button.y < text.y + text.height, `${width}: beside`);
    assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: no wider than the window`);
  }
  await leads(tab, () => change.locator("button:has-text('Undo')").click());
  assert.deepEqual(await held("far", "staging"), ["The staging database is reset every night at two."]);
  isClean(tab);
});

test("a project with a short and a whole name is one row, and one pause meets both", async () => {
  await house.ingest("two", [
    line("p-1", "Invoices are rounded half even.", { metadata: { project: "shop" } }),
    line("p-2", "Deploys need the VPN.", { tags: ["project:shop-1f2e3d4c"] })]);
  const tab = await house.tab("two", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/projects`);
  assert.equal(await tab.locator("tbody tr").count(), 1);
  assert.match(await tab.locator("tbody tr").innerText(), /shop\s+shop-1f2e3d4c\s+2\b/);
  await house.reprise("pause", "--project", "shop", "--user", "two");
  await tab.reload();
  assert.equal(await tab.locator("tbody button[value=off]").getAttribute("aria-pressed"), "true");
  await house.hook("two", { event: "user-prompt", session: "one", project: "shop-1f2e3d4c", agent: "codex", text: "what do deploys need" });
  assert.equal((await held("two", "what do deploys need")).length, 0, "the pause of the short name meets the whole one");
  await leads(tab, () => tab.click("tbody button[value=remember]"));
  await house.hook("two", { event: "user-prompt", session: "one", project: "shop-1f2e3d4c", agent: "codex", text: "what do deploys need" });
  assert.equal((await held("two", "what do deploys need")).length, 1);
  isClean(tab);
});

test("on a phone every place is one act away, in sight, and the present one is marked", async () => {
  await house.ingest("phone", week());
  const tab = await house.tab("phone", { viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const place of ["memory", "ask", "agents", "to decide", "settings", "home"]) {
    const link = tab.locator(`[data-place='${place}']`);
    const box = await link.boundingBox();
    assert.ok(box && box.y + box.height <= 844 && box.height >= 40, `${place} is in sight and large enough`);
    await leads(tab, () => link.tap());
    assert.equal(await tab.locator(`[data-place='${place}']`).getAttribute("aria-current"), "page");
  }
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing stands out at the side");
  assert.deepEqual(await violations(tab), []);
  isClean(tab);
});

test("a look before a restore names what would be gained and lost, and a corrected memory is neither", async () => {
  await house.ingest("back", [line("b-1", "Releases are cut on Tuesdays."), line("b-2", "Ada owns the importer."), line("b-3", "Drain a node first.")]);
  const file = path.join(house.folder, "before.rvf");
  await house.reprise("backup", "--user", "back", file);
  await house.reprise("edit", "b-1", "--content", "Releases are cut on Mondays.", "--user", "back");
  await house.reprise("forget", "b-2", "--yes", "--user", "back");
  await house.reprise("learn", "--user", "back", "Ask Priya before the freeze.");
  const tab = await house.tab("back", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/care/restore?file=${encodeURIComponent(file)}`);
  assert.match(await tab.locator(".compared .bad").innerText(), /^1 memory of now is not in this backup[\s\S]*Ask Priya before the freeze/);
  assert.match(await tab.locator(".compared .good").innerText(), /^1 memory of this backup will be found again[\s\S]*Ada owns the importer/);
  assert.match(await tab.locator(".compared .warn").innerText(), /^1 memory has another version[\s\S]*cut on Mondays/);
  isClean(tab);
});
