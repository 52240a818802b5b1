// What a person chooses: two memories to compare, a type for a new one, prompts of a day and a project, a pause; and
// what stays known of a memory: who wrote it, which prompts received it, and that how a test ended may be unknown.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, violations, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
const body = (tab) => tab.locator("main").innerText();
const leads = (tab, act) => Promise.all([tab.waitForEvent("load"), act()]);
const texts = async (user) => (await house.list(user)).map((one) => one.text);
const wide = { viewport: { width: 1280, height: 800 } };

test("two chosen memories are compared, and one of them is kept, in four acts; an undo brings both back", async () => {
  await house.ingest("two", [...week(6), line("a", "Drain a node for ten minutes before the upgrade", { timestamp: "2026-02-01T08:00:00Z" }), line("b", "Before an upgrade, a node is drained for ten minutes")]);
  const tab = await house.tab("two", wide);
  await tab.goto(`${tab.origin}/timeline`);
  for (const part of ["Drain a node for ten", "a node is drained"]) await tab.locator(`li.row:has-text('${part}') input[type=checkbox]`).check();
  await leads(tab, () => tab.click("button[value=compare]"));
  assert.match(await body(tab), /Compare two memories[\s\S]*Older[\s\S]*1 Feb[\s\S]*Newer[\s\S]*Today[\s\S]*Keep both/);
  assert.ok((await tab.locator("[data-pair] mark").count()) > 0, "the difference is marked");
  assert.deepEqual(await violations(tab), []);
  await leads(tab, () => tab.click("button[value=newer]"));
  assert.ok(!(await texts("two")).some((text) => text.startsWith("Drain a node for ten")));
  await leads(tab, () => tab.click(".toast form button"));
  assert.ok((await texts("two")).some((text) => text.startsWith("Drain a node for ten")));
  await tab.goto(`${tab.origin}/compare`);
  assert.match(await body(tab), /Select two memories/);
  isClean(tab);
});

test("that both are true can be taken back", async () => {
  await house.ingest("both", [line("t-30", "The timeout of the login page is 30 seconds", { timestamp: "2026-02-01T08:00:00Z" }), line("t-90", "The timeout of the login page is 90 seconds")]);
  const tab = await house.tab("both", wide);
  await tab.goto(`${tab.origin}/knowledge/review`);
  await leads(tab, () => tab.click("[data-pair] button[value=different]"));
  assert.equal(await tab.locator("[data-pair]").count(), 0);
  assert.match(await tab.locator(".toast").innerText(), /Kept both/);
  await leads(tab, () => tab.click(".toast form button"));
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.waitForSelector("[data-pair]");
  assert.match(await body(tab), /Which one is true\?[\s\S]*30 seconds[\s\S]*90 seconds/);
  isClean(tab);
});

test("a pause from anywhere is on Agents and on Projects, and ends there", async () => {
  await house.ingest("paul", [line("p-1", "Invoices are rounded half even.", { tags: ["project:shop"] })]);
  await house.hook("paul", { event: "user-prompt", session: "one", project: "shop", agent: "codex", text: "how are invoices rounded" });
  const call = (name, asked) => house.reprise("call", name, JSON.stringify(asked), "--user", "paul");
  await call("pause", { mode: "off", minutes: 60 });
  await call("pause", { mode: "read_only", agent: "cursor", project: "shop" });
  const tab = await house.tab("paul", wide);
  for (const room of ["/agents", "/projects"]) {
    await tab.goto(tab.origin + room);
    const shown = await tab.locator(".pauses").innerText();
    assert.match(shown, /All memory is paused until [\s\S]*whatever is chosen below/, room);
    assert.match(shown, /Memory for cursor in shop is read only: agents get memories, and nothing new is stored/, room);
    assert.deepEqual(await violations(tab), []);
  }
  await leads(tab, () => tab.click(".pauses li:has-text('All memory') button"));
  assert.doesNotMatch(await tab.locator(".pauses").innerText(), /All memory/);
  await leads(tab, () => tab.click(".pauses li:has-text('cursor') button"));
  assert.equal(await tab.locator(".pauses").count(), 0);
  isClean(tab);
});

test("a decision is one by its chosen type, its tag or its title, in its row and in its list", async () => {
  await house.reprise("learn", "--user", "dan", "The flags live in LaunchDarkly", "--tags", "type:decision");
  await house.reprise("learn", "--user", "dan", "Decision: we keep SQLite for the tests");
  await house.reprise("learn", "--user", "dan", "Run the tests twice before a release");
  const tab = await house.tab("dan", wide);
  await tab.goto(`${tab.origin}/new`);
  await tab.selectOption("select[name=type]", "decision");
  await tab.fill("textarea[name=text]", "Reconnect with jitter of five seconds");
  await leads(tab, () => tab.click("button:text-is('Save memory')"));
  assert.match(await body(tab), /decision/);
  const rows = (show) => tab.goto(`${tab.origin}/knowledge?type=${show}`).then(() => tab.locator("main ol.rows li.row").evaluateAll((all) => all.map((row) => [row.querySelector(".k").innerText.trim(), row.querySelector(".x").innerText])));
  const decisions = await rows("decision");
  assert.deepEqual(decisions.map(([type]) => type), ["decision", "decision", "decision"]);
  for (const part of ["LaunchDarkly", "SQLite", "jitter"]) assert.ok(decisions.some(([, text]) => text.includes(part)), part);
  assert.deepEqual((await rows("lesson")).map(([, text]) => text), ["Run the tests twice before a release"]);
  isClean(tab);
});

test("a memory names who wrote it, and keeps the prompts that received it through a correction", async () => {
  await house.ingest("wes", [line("g", "The importer holds its lock for each batch", { tags: ["project:shop"], metadata: { author: "grace" } })]);
  await house.reprise("recall", "importer", "--user", "wes");
  const asked = "why does the importer hold its lock";
  await house.hook("wes", { event: "user-prompt", session: "one", project: "shop", agent: "codex", text: asked });
  const of = async () => (await house.list("wes")).find((one) => one.text.startsWith("The importer")).id;
  const tab = await house.tab("wes", wide);
  await tab.goto(`${tab.origin}/records/${await of()}`);
  assert.match(await tab.locator("article").innerText(), /by grace/);
  const received = () => tab.locator("details:has(summary:has-text('Prompts that received it'))").evaluate((fold) => fold.textContent);
  assert.ok((await received()).includes(asked));
  await house.reprise("edit", await of(), "--content", "The importer holds its lock for each batch of 500", "--user", "wes");
  await tab.goto(`${tab.origin}/records/${await of()}`);
  assert.match(await received(), new RegExp(`${asked}[\\s\\S]*an earlier version`));
  isClean(tab);
});

test("a test of which nothing says how it ended is not shown as passed", async () => {
  const ran = (id, text) => line(id, text, { kind: "episode", source: "worker_result", session_id: "s", metadata: { type: "test" } });
  await house.ingest("tess", [ran("t-1", "cargo test -p shop: 12 passed, 0 failed"), ran("t-2", "npm test: 1 failed: reconnects after the proxy closes"), ran("t-3", "The load test of the gateway")]);
  const tab = await house.tab("tess", wide);
  await tab.goto(`${tab.origin}/timeline`);
  const icon = (part) => tab.locator(`li:has-text('${part}') > span.test, li:has-text('${part}') span.test`).first().getAttribute("class");
  assert.deepEqual([await icon("12 passed"), await icon("reconnects"), await icon("load test")], ["test", "test bad", "test open"]);
  isClean(tab);
});

test("prompts are those of a day and of a project", async () => {
  const at = (days) => new Date(Date.now() - days * 86_400_000).toISOString();
  const sent = (session, project, text, days) => house.hook("fay", { event: "user-prompt", session, project, agent: "codex", text, at: at(days) });
  await house.ingest("fay", week(3));
  await sent("one", "shop", "which tests are flaky", 0);
  await sent("two", "infra", "why did the backup fail", 1);
  await sent("three", "shop", "rename the ledger module", 1);
  await sent("four", "shop", "which migrations are pending", 9);
  const tab = await house.tab("fay", wide);
  const shown = async (query) => {
    await tab.goto(`${tab.origin}/prompts?${query}`);
    return tab.locator("main ol.rows [data-record] .x").allInnerTexts();
  };
  assert.deepEqual(await shown("day=yesterday&project=shop"), ["rename the ledger module"]);
  assert.deepEqual((await shown("day=yesterday")).sort(), ["rename the ledger module", "why did the backup fail"]);
  assert.match(await tab.locator("[data-counts]").innerText(), /^2 prompts: 0 received memories, 0 helped, 0 failed anyway/);
  await sent("two", "infra", "restore the vault of last week", 3);
  await tab.reload();
  assert.match(await body(tab), /infra\s+codex · 1 of 2 prompts/, "a session has prompts of another day");
  assert.deepEqual(await shown(`day=${at(9).slice(0, 10)}`), ["which migrations are pending"]);
  assert.deepEqual(await shown("project=infra"), ["why did the backup fail", "restore the vault of last week"]);
  assert.deepEqual(await shown("show=week&project=shop"), ["which tests are flaky", "rename the ledger module"]);
  assert.deepEqual(await violations(tab), []);
  await tab.goto(`${tab.origin}/`);
  assert.match(await tab.locator("[data-strip] a[href='/prompts?day=yesterday']").innerText(), /^2\s+yesterday/);
  isClean(tab);
});
