// What became of what a prompt received, and of memories that are alike: each number is explained, and one act
// settles it.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, violations } from "./house.mjs";

let house;
before(async () => (house = await House.start()));
after(() => house.end());

const wide = { viewport: { width: 1280, height: 800 } };
const line = (external_id, text, more = {}) => ({ external_id, text, kind: "finding", tags: ["project:shop"], ...more });
const body = (tab) => tab.locator("main").innerText();
const leads = (tab, act) => Promise.all([tab.waitForEvent("load"), act()]);

test("a rating settles whether a prompt used what it received, and Learning counts it apart", async () => {
  await house.ingest("ada", [line("w", "Websockets break behind the proxy unless it speaks HTTP/1.1: upgrades are dropped")]);
  // The first question opens the memory, for which a hook does not wait.
  await house.reprise("recall", "websockets", "--user", "ada");
  const moment = (event, text) => house.hook("ada", { event, session: "now", project: "shop", agent: "codex", text });
  await moment("user-prompt", "why do websockets break behind the proxy");
  await moment("stop", "Nobody here knows what happens there, please ask somebody else about it.");
  const tab = await house.tab("ada", wide);
  const [prompt] = JSON.parse(await house.reprise("call", "prompts", "{}", "--user", "ada")).prompts;
  assert.equal(prompt.outcome, null);
  await tab.goto(`${tab.origin}/prompts`);
  assert.match(await body(tab), /1 memory added[\s\S]*not used/);
  assert.doesNotMatch(await body(tab), /not known yet/, "it was answered");
  await tab.goto(`${tab.origin}/`);
  const others = tab.locator("[data-others]");
  assert.match(await others.innerText(), /1\s*others/);
  assert.match(await others.getAttribute("title"), /1 without a result/);
  await leads(tab, () => others.click());
  await tab.goto(`${tab.origin}/prompts/${prompt.id}`);
  await leads(tab, () => tab.locator("[data-prompt] button:text-is('Helpful')").first().click());
  assert.match(await tab.locator("[data-prompt] .put").first().innerText(), /helpful, by your rating/);
  await tab.goto(`${tab.origin}/prompts?show=received`);
  assert.match(await body(tab), /1 received memories, 0 helped, 0 failed anyway, 1 without a result\.[\s\S]*helpful, by your rating/);
  await house.reprise("call", "outcome", JSON.stringify({ run_id: "r", query: "release", used: [(await house.list("ada")).find((one) => one.text.startsWith("Nobody")).id], quality: 0.9 }), "--user", "ada");
  await tab.goto(`${tab.origin}/learning`);
  const rows = await tab.locator("[aria-label='Memories that runs used'] tbody tr").count();
  assert.match(await tab.locator("h2:has-text('Memories that runs used')").innerText(), new RegExp(`used ${rows}$`));
  assert.equal(await tab.locator("[data-only-rated]").getAttribute("data-only-rated"), "1");
  isClean(tab);
});

test("memories that are alike are one question, and one act says that all are different", async () => {
  const kinds = ["orange", "purple", "yellow", "silver"];
  await house.ingest("bea", kinds.map((kind) => line(kind, `The ${kind} lamp of the harbour is checked by the warden each morning before the first ferry leaves`)));
  const tab = await house.tab("bea", wide);
  const { review } = JSON.parse(await house.reprise("call", "review", "{}", "--user", "bea"));
  assert.equal(review.length, 6, JSON.stringify(review));
  await tab.goto(`${tab.origin}/knowledge/review`);
  const pair = tab.locator("[data-pair]");
  await pair.first().waitFor();
  assert.equal(await pair.count(), 1);
  assert.match(await pair.innerText(), /4 memories are alike/);
  assert.equal(await pair.locator("button.choose").count(), 4);
  assert.deepEqual(await violations(tab), []);
  await leads(tab, () => pair.locator("button:has-text('these are all different')").click());
  assert.match(await tab.locator(".toast").innerText(), /Kept all/);
  assert.equal(JSON.parse(await house.reprise("call", "review", "{}", "--user", "bea")).review.length, 0);
  assert.equal((await house.list("bea")).length, 4);
  isClean(tab);
});

test("the bar of what is selected says how many are", async () => {
  await house.ingest("cyd", [line("a", "Releases are cut on Tuesdays"), line("b", "Staging is reset at two")]);
  const tab = await house.tab("cyd", wide);
  await tab.goto(`${tab.origin}/timeline`);
  await tab.locator(".row > input").first().check();
  assert.equal(await tab.locator("[data-selected]").innerText(), "1 selected");
  await tab.locator(".row > input").nth(1).check();
  assert.equal(await tab.locator("[data-selected]").innerText(), "2 selected");
  assert.deepEqual(await violations(tab), []);
  isClean(tab);
});

test("an unknown address keeps the header, and tabs of Settings have titles of their own", async () => {
  const tab = await house.tab("cyd", wide);
  assert.equal((await tab.goto(`${tab.origin}/no-such-room`)).status(), 404);
  assert.equal(await tab.locator("header [data-place]").count(), 6);
  tab.wrong.length = 0;
  const titles = new Set();
  for (const room of ["/care", "/care/backups", "/care/access", "/care/configuration"]) {
    await tab.goto(tab.origin + room);
    titles.add(await tab.title());
  }
  assert.equal(titles.size, 4, [...titles].join());
  isClean(tab);
});
