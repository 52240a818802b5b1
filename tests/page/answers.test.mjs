// What a person asks of memory: why a memory was given, what it cost, whether it was used, why one is missing;
// and what is chosen from lists in place of typed.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, violations } from "./house.mjs";

let house;
before(async () => (house = await House.start()));
after(() => house.end());

const wide = { viewport: { width: 1280, height: 800 } };
const line = (external_id, text, more = {}) => ({ external_id, text, kind: "finding", tags: ["project:shop"], ...more });
const body = (tab) => tab.locator("main").innerText();

test("Search all searches the times that a question names, and every other one, and back", async () => {
  await house.ingest("ada", [line("old", "The release of the ledger was rolled back", { timestamp: "2024-03-05T10:00:00Z" }),
    line("new", "The release of the importer went well", { timestamp: new Date(Date.now() - 24 * 3600_000).toISOString() })]);
  const tab = await house.tab("ada", wide);
  await tab.goto(`${tab.origin}/search?q=what+happened+to+the+release+of+the+ledger+yesterday`);
  assert.match(await tab.locator("[data-times]").innerText(), /Only memories of that time were searched[\s\S]*yesterday/);
  assert.doesNotMatch(await tab.locator("#results").innerText(), /rolled back/);
  await tab.click("[data-times] a:has-text('Search all')");
  await tab.waitForURL(/times=all/);
  assert.match(await tab.locator("#results").innerText(), /rolled back/);
  assert.equal(await tab.locator("[data-times]").count(), 0);
  await tab.click("a:has-text('Only those of the time in the question')");
  await tab.waitForSelector("[data-times]");
  isClean(tab);
});

test("a prompt says why each memory was given, what it cost, and that its use is not known yet", async () => {
  await house.ingest("bob", [line("w", "Websockets break behind the proxy unless it speaks HTTP/1.1: upgrades are dropped")]);
  const moment = (event, report) => house.hook("bob", { event, session: "now", project: "shop", agent: "codex", ...report });
  await moment("user-prompt", { text: "why do websockets break behind the proxy" });
  const tab = await house.tab("bob", wide);
  const prompts = async () => JSON.parse(await house.reprise("call", "prompts", "{}", "--user", "bob")).prompts;
  const [prompt] = await prompts();
  assert.ok(prompt.tokens > 0 && !prompt.outcome, JSON.stringify(prompt));
  for (const room of ["/prompts", `/prompts/${prompt.id}`]) {
    await tab.goto(tab.origin + room);
    assert.match(await body(tab), /1 memory added[\s\S]*not known yet/, room);
    assert.doesNotMatch(await body(tab), /not used/, `${room}: unknown is no "not used"`);
  }
  const given = tab.locator("[data-prompt] .put").first();
  assert.match(await given.locator("[data-why]").innerText(), /Matches[\s\S]*(websockets|proxy)/i);
  assert.match(await tab.locator(".card h2").first().innerText(), new RegExp(`${prompt.tokens} tokens`));
  await tab.goto(`${tab.origin}/agents`);
  const all = (await prompts()).reduce((sum, one) => sum + one.tokens + one.opening_tokens, 0);
  assert.equal(await tab.locator("[data-tokens]").getAttribute("data-tokens"), String(all));
  assert.equal(await tab.locator("[data-month-tokens]").getAttribute("data-month-tokens"), String(all));
  assert.equal(await tab.locator(".plot.bars .spark > *").count(), 30, "a bar for each day of the month");
  assert.match(await tab.locator("figcaption").first().innerText(), /last 30 days \(tokens\)/);
  isClean(tab);
});

test("a missing memory is asked for by what it says", async () => {
  await house.ingest("cyd", [line("a", "Releases are cut on Tuesdays, never on Fridays"),
    line("b", "The staging database is reset every night at two")]);
  const tab = await house.tab("cyd", wide);
  await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
  await tab.click("summary:has-text('Is a memory missing?')");
  await tab.fill("input[name=expected]", "staging database reset at night");
  await Promise.all([tab.waitForEvent("load"), tab.click("button:has-text('Find out why')")]);
  assert.match(await tab.locator("[data-meant]").innerText(), /You mean: The staging database is reset/);
  assert.match(await body(tab), /It is result \d|Nothing in it matches|matches? better/);
  assert.deepEqual(await violations(tab), []);
  isClean(tab);
});

test("decisions by type and by tag are decisions wherever they are listed or counted", async () => {
  await house.ingest("dan", [line("t", "Ledger entries are kept for ten years", { tags: ["project:shop", "type:decision"] }),
    line("d", "Coupons apply once, to the sum", { details: { type: "decision" } }), line("n", "The shop opens at nine")]);
  const tab = await house.tab("dan", wide);
  for (const room of ["/knowledge?type=decision", "/timeline?type=decision", "/knowledge?show=week"]) {
    await tab.goto(tab.origin + room);
    const rows = await tab.locator("main [data-record]").allInnerTexts();
    assert.equal(rows.length, 2, `${room}: ${rows.join("; ")}`);
    assert.ok(rows.every((row) => /decision/.test(row)), rows.join("; "));
  }
  await tab.goto(tab.origin);
  assert.match(await tab.locator("[data-strip]").innerText(), /2\s+lessons and decisions/);
  isClean(tab);
});

test("a filter is chosen from a list that says names, and stays set by its name", async () => {
  const session = "0f3c8a44-9d1e-4c55-8e3e-1b7c6a0f2d11";
  await house.hook("eve", { event: "user-prompt", session, project: "shop", agent: "codex", text: "why does the importer hold its lock" });
  await house.ingest("eve", [line("g", "The importer holds its lock for each batch", { metadata: { author: "grace" } })]);
  const tab = await house.tab("eve", wide);
  for (const [label, name, option] of [["Project", "project", "shop"], ["Agent or author", "author", "grace"], ["Session", "session", "why does the importer hold its lock"]]) {
    await tab.goto(`${tab.origin}/timeline`);
    await tab.click(`.f summary:text-is('${label}')`);
    await tab.selectOption(`select[name=${name}]`, { label: option });
    await Promise.all([tab.waitForEvent("load"), tab.click(".f[open] button")]);
    assert.match(await tab.locator(".f.set").innerText(), new RegExp(option), name);
    assert.ok(await tab.locator(".days [data-record]").count() >= 1, name);
  }
  isClean(tab);
});

test("the palette pauses, saves a backup and undoes the last change, and says of a memory what it is", async () => {
  await house.ingest("flo", [line("a", "Releases are cut on Tuesdays, never on Fridays", { metadata: { author: "grace" } })]);
  const tab = await house.tab("flo", wide);
  const command = async (name) => {
    await tab.keyboard.press("Control+k");
    await tab.waitForSelector("dialog input:focus");
    await tab.keyboard.type(name);
    await Promise.all([tab.waitForEvent("load"), tab.keyboard.press("Enter")]);
  };
  await command("save a backup");
  assert.match(await tab.locator(".toast").innerText(), /Backup saved/);
  const [{ id }] = await house.list("flo");
  await tab.goto(`${tab.origin}/records/${id}`);
  await tab.click("#edit > summary");
  await tab.fill("textarea[name=text]", "Releases are cut on Mondays.");
  await Promise.all([tab.waitForEvent("load"), tab.click("#edit button")]);
  await tab.goto(tab.origin);
  await command("undo the last");
  assert.match((await house.list("flo"))[0].text, /Tuesdays/);
  await command("pause for an hour");
  assert.match(await tab.locator(".pause > summary").innerText(), /Paused/);
  await tab.keyboard.press("Control+k");
  await tab.keyboard.type("when are releases cut");
  const found = tab.locator("dialog .detail").first();
  await found.waitFor();
  assert.match(await found.innerText(), /note by grace in shop \u00b7 \w+/);
  isClean(tab);
});

test("a chart of learning waits for enough runs, and says how many are missing", async () => {
  await house.ingest("gus", [line("a", "Releases are cut on Tuesdays, never on Fridays")]);
  const [{ id }] = await house.list("gus");
  const report = (run) => house.reprise("call", "outcome", JSON.stringify({ run_id: `run ${run}`, query: "when are releases cut", used: [id], quality: 0.9 }), "--user", "gus");
  for (let run = 0; run < 4; run += 1) await report(run);
  const tab = await house.tab("gus", wide);
  await tab.goto(`${tab.origin}/learning`);
  assert.equal(await tab.locator("figure.chart").count(), 0);
  assert.match(await body(tab), /11 more are needed/);
  for (let run = 4; run < 15; run += 1) await report(run);
  await tab.goto(`${tab.origin}/learning`);
  assert.equal(await tab.locator("figure.chart").count(), 1);
  assert.match(await tab.locator("figure.chart").innerText(), /1\.0[\s\S]*0\.0[\s\S]*run 1[\s\S]*run 15/);
  assert.deepEqual(await violations(tab), []);
  isClean(tab);
});

test("a backup is deleted only after a question, and only one that is listed", async () => {
  await house.ingest("hal", [line("a", "Releases are cut on Tuesdays, never on Fridays")]);
  const file = path.join(house.folder, "hal.rvf");
  await house.reprise("backup", "--user", "hal", file);
  const tab = await house.tab("hal", wide);
  await tab.goto(`${tab.origin}/care/backups`);
  const other = path.join(house.folder, "config.toml");
  fs.writeFileSync(other, "");
  await tab.locator("form[action='/care/delete'] input[name=file]").evaluate((field, other) => (field.value = other), other);
  await tab.click("summary[aria-label^='Delete']");
  await Promise.all([tab.waitForEvent("load"), tab.click("button:has-text('Delete this backup')")]);
  assert.match(await tab.locator("body").innerText(), /not there any more/);
  assert.ok(fs.existsSync(other), "no other file is touched");
  tab.wrong.length = 0;
  await tab.goto(`${tab.origin}/care/backups`);
  await tab.click("summary[aria-label^='Delete']");
  assert.deepEqual(await violations(tab, "details.f[open]"), []);
  await Promise.all([tab.waitForEvent("load"), tab.click("button:has-text('Delete this backup')")]);
  assert.match(await tab.locator(".toast").innerText(), /Backup deleted/);
  assert.equal(fs.existsSync(file), false);
  isClean(tab);
});
