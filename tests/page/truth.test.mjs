// What six rooms say is what memory itself answers: each number of the week, of the agents, of knowledge and projects,
// of the file and of its health, beside the same number by the operations.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

const USER = "ada";
const WEEK_MS = 7 * 86_400_000;

let house;
let tab;
before(async () => {
  house = await House.start();
  const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
  await house.ingest(USER, [...week(24),
    line("t-30", "The timeout of the login page is 30 seconds", { timestamp: "2026-02-01T08:00:00Z", tags: ["project:shop"] }),
    line("t-90", "The timeout of the login page is 90 seconds", { tags: ["project:shop"] }),
    line("d-1", "The deploy script fails without the VPN."), line("d-2", "the deploy script fails without the VPN")]);
  await house.reprise("learn", "--user", USER, "Ask Priya before the freeze.");
  for (const [session, agent] of [["one", "codex"], ["one", "codex"], ["two", "cursor"]]) {
    const moment = (event, report) => house.hook(USER, { event, session, agent, project: "shop", ...report });
    await moment("user-prompt", { text: session === "one" ? "when are the releases cut" : "what is the capital of Australia" });
    await moment("stop", { text: "On Tuesdays, never on Fridays." });
  }
  const used = [(await house.list(USER)).find((one) => one.text.includes("Tuesdays")).id];
  for (const quality of [0.9, 0.2]) await call("outcome", { run_id: `run ${quality}`, query: "when are releases cut", used, quality });
  const gone = (await house.list(USER)).find((one) => one.text.includes("staging database"));
  await house.reprise("forget", gone.id, "--user", USER, "--yes").catch(() => house.reprise("forget", gone.id, "--user", USER));
  tab = await house.tab(USER, { viewport: { width: 1280, height: 800 } });
});
after(() => house.end());

async function call(name, asked = {}) {
  return JSON.parse(await house.reprise("call", name, JSON.stringify(asked), "--user", USER));
}
const given = (prompt) => prompt.given?.found.filter((one) => !one.left_out) ?? [];
const used = (prompt) => given(prompt).filter((one) => prompt.outcome?.used.includes(one.id));
async function prompts() {
  const found = await call("prompts", { limit: 200 });
  return found.prompts.filter((one) => Date.parse(one.at) > Date.now() - WEEK_MS);
}
/** The figures of a list of names with their numbers. */
const figures = (place = "dl.figures") => tab.locator(place).first().evaluate((list) =>
  Object.fromEntries([...list.querySelectorAll("dt")].map((name) => [name.textContent, name.nextElementSibling.textContent])));
const table = (label) => tab.locator(`[aria-label='${label}'] tbody tr`).evaluateAll((rows) =>
  rows.map((row) => Object.fromEntries([...row.cells].map((cell) => [cell.dataset.label, cell.innerText.trim()]))));

test("Home: the week, and what is to decide", async () => {
  await tab.goto(`${tab.origin}/`);
  await tab.waitForSelector("#needs [data-total]");
  const shown = await tab.locator("[data-strip] a:has(b)").evaluateAll((all) => all.map((one) => [one.querySelector("b").textContent, one.querySelector("span:last-child").textContent]));
  const of = (name) => shown.find(([, label]) => label.includes(name))[0];
  const all = await prompts();
  const lessons = (await house.list(USER)).filter((one) => one.text.includes("Priya") || one.metadata?.type === "lesson");
  const audit = await call("audit");
  assert.equal(of("prompt"), String(all.length));
  assert.equal(of("received"), String(all.filter((one) => given(one).length).length));
  assert.equal(of("helped"), String(all.filter((one) => used(one).length && one.outcome.quality >= 0.5).length));
  assert.equal(of("made worse"), String(all.filter((one) => used(one).length && one.outcome.quality < 0.5).length));
  const sessions = new Set(all.map((one) => one.session));
  const tokens = all.reduce((sum, one) => sum + one.tokens + (one.opening_tokens ?? 0), 0);
  assert.equal(of("tokens per session"), `~${Math.floor(tokens / sessions.size)}`);
  assert.ok(Number(of("learned")) >= lessons.length);
  const total = Number(await tab.locator("#needs [data-total]").getAttribute("data-total"));
  assert.equal(total, audit.contradictions.length + audit.contradictions_more + audit.review);
  assert.equal(of("to decide"), String(total));
  await tab.goto(`${tab.origin}/knowledge?show=week`);
  assert.equal(await tab.locator("main ol.rows [data-record]").count(), Number(of("learned")), "the number leads to what it counts");
});

test("Prompts: what each was given, and what of that was used", async () => {
  for (const [show, is] of [["week", () => true], ["received", (one) => given(one).length], ["helped", (one) => used(one).length && one.outcome.quality >= 0.5]]) {
    await tab.goto(`${tab.origin}/prompts?show=${show}`);
    const rows = await tab.locator("main ol.rows [data-record]").evaluateAll((all) => all.map((row) => [row.dataset.record, row.innerText]));
    const all = (await prompts()).filter(is);
    assert.deepEqual(rows.map(([id]) => id).sort(), all.map((one) => one.id).sort(), show);
    for (const [id, text] of rows) {
      const prompt = all.find((one) => one.id === id);
      const count = given(prompt).length;
      const words = count === 0 ? "nothing added" : `${count} ${count === 1 ? "memory" : "memories"} added`;
      assert.ok(text.includes(words), `${text}: ${words}`);
      assert.equal(/(\d+) used/.exec(text)?.[1] ?? "0", String(used(prompt).length), text);
    }
  }
});

test("Agents: the week of each", async () => {
  await tab.goto(`${tab.origin}/agents`);
  const rows = await table("Agents");
  const all = await prompts();
  assert.deepEqual(rows.map((row) => row.Agent).sort(), [...new Set(all.map((one) => one.agent))].sort());
  for (const row of rows) {
    const own = all.filter((one) => one.agent === row.Agent);
    assert.deepEqual([row.Prompts, row["Received memories"], row["Memories given"], row.Helped],
      [own.length, own.filter((one) => given(one).length).length, own.reduce((sum, one) => sum + given(one).length, 0),
        own.filter((one) => used(one).length && one.outcome.quality >= 0.5).length].map(String));
  }
});

test("Knowledge and projects: each tag and each project with its count", async () => {
  const { tags, projects = [] } = await call("tags");
  await tab.goto(`${tab.origin}/knowledge`);
  const chips = await tab.locator("a.chip[href*='tag=']").evaluateAll((all) => all.map((one) => one.innerText.replace(/\s+/g, " ")));
  assert.deepEqual(chips.sort(), tags.map((one) => `${one.tag} ${one.count}`).sort());
  await tab.goto(`${tab.origin}/projects`);
  const rows = await table("Projects");
  const records = await house.list(USER);
  const of = (name) => records.filter((one) => one.tags?.includes(`project:${name}`) || one.metadata?.project === name).length;
  assert.deepEqual(rows.map((row) => [row.Project, row.Memories]), [...new Set([...projects, ...tags.flatMap((one) => one.tag.startsWith("project:") ? [one.tag.slice(8)] : [])])].map((name) => [name, String(of(name))]));
});

test("Storage and health: the file, and its problems", async () => {
  const [stats, audit] = [await call("stats"), await call("audit")];
  await tab.goto(`${tab.origin}/care`);
  const stored = await figures();
  assert.deepEqual([stored.memories, stored.sessions, stored["earlier versions"], stored["forgotten, not yet erased"]],
    [stats.live, stats.sessions, stats.superseded, stats.forgotten].map(String));
  await tab.goto(`${tab.origin}/care/audit`);
  await tab.waitForSelector("dl.figures");
  const health = await figures();
  assert.deepEqual([health.memories, health.duplicates, health["contradictions to decide"], health["possible duplicates to decide"], health["never used"], health.expired],
    [audit.records, audit.duplicates, audit.contradictions.length + audit.contradictions_more, audit.review, audit.never_used, audit.stale.length].map(String));
  const [one] = /\d+ %/.exec(await tab.locator("p.lead").innerText());
  assert.equal(one, `${Math.floor(100 * audit.score)} %`);
});

test("Learning: the runs that reported", async () => {
  const report = await call("learning_report");
  await tab.goto(`${tab.origin}/learning`);
  assert.match(await tab.locator("p.lead").innerText(), new RegExp(`\\(${report.runs} of 15\\)`));
  isClean(tab);
});
