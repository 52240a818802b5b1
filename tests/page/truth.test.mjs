// What six rooms say is what memory itself answers: each number of the week, of the agents, of knowledge and projects,
// of the file and of its health, beside the same number by the operations; and no sentence says more than is known.
import assert from "node:assert";
import path from "node:path";
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
  // Prompts that memory answered too late, and one of a session that came in later.
  for (const hours of [2, 30]) await house.hook(USER, { event: "user-prompt", session: "three", agent: "codex", project: "shop", text: `why is the build red, ${hours}`, at: new Date(Date.now() - hours * 3600_000).toISOString() });
  await house.ingest(USER, [line("i-1", "Why is the checkout total wrong?", { kind: "episode", source: "user_input", tags: ["project:shop"], metadata: { role: "user" } })]);
  const gone = (await house.list(USER)).find((one) => one.text.includes("staging database"));
  await house.reprise("forget", gone.id, "--user", USER, "--yes").catch(() => house.reprise("forget", gone.id, "--user", USER));
  tab = await house.tab(USER, { viewport: { width: 1280, height: 800 } });
  await livePrompts();
});
after(() => house.end());

async function call(name, asked = {}) {
  return JSON.parse(await house.reprise("call", name, JSON.stringify(asked), "--user", USER));
}
const given = (prompt) => prompt.given?.found.filter((one) => !one.left_out) ?? [];
/** Memory helped if a test or a report confirms the work; what only came to an end proves nothing. */
const helped = (prompt) => used(prompt).length > 0 && prompt.outcome.quality >= 0.5 && prompt.outcome.confirmed === true;
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
  assert.equal(of("helped"), String(all.filter((one) => helped(one)).length));
  assert.equal(of("failed anyway"), String(all.filter((one) => used(one).length && one.outcome.quality < 0.5).length));
  const bars = (await tab.locator("[data-strip] svg.trend").getAttribute("aria-label")).match(/\d+/g).slice(1).map(Number);
  assert.equal(bars.reduce((sum, one) => sum + one, 0), all.length, "the bars are all prompts of the week");
  const sessions = new Set(all.filter((one) => one.given || one.unanswered).map((one) => one.session));
  const tokens = all.reduce((sum, one) => sum + one.tokens + (one.opening_tokens ?? 0), 0);
  assert.equal(of("tokens"), tokens.toLocaleString("en-US"));
  const label = shown.find(([, label]) => label.includes("tokens"))[1];
  assert.ok(label.includes(`(${Math.round(tokens / sessions.size).toLocaleString("en-US")} per session)`), label);
  assert.ok(Number(of("decision")) >= lessons.length);
  const total = Number(await tab.locator("#needs [data-total]").getAttribute("data-total"));
  assert.equal(total, audit.contradictions.length + audit.contradictions_more + audit.review);
  assert.equal(of("to decide"), String(total));
  await tab.goto(`${tab.origin}/knowledge?show=week`);
  assert.equal(await tab.locator("main ol.rows [data-record]").count(), Number(of("decision")), "the number leads to what it counts");
});

test("Prompts: what each was given, and what of that was used", async () => {
  for (const [show, is] of [["week", () => true], ["received", (one) => given(one).length], ["helped", (one) => helped(one)]]) {
    await tab.goto(`${tab.origin}/prompts?show=${show}`);
    const rows = await tab.locator("main ol.rows [data-record]").evaluateAll((all) => all.map((row) => [row.dataset.record, row.innerText]));
    const all = (await prompts()).filter(is);
    assert.deepEqual(rows.map(([id]) => id).sort(), all.map((one) => one.id).sort(), show);
    for (const [id, text] of rows) {
      const prompt = all.find((one) => one.id === id);
      const count = given(prompt).length;
      const unanswered = prompt.unanswered === "late" ? "answered too late" : !prompt.given && "imported";
      const words = unanswered || count === 0 ? unanswered || "nothing added" : `${count} ${count === 1 ? "memory" : "memories"} added`;
      assert.ok(text.includes(words), `${text}: ${words}`);
      assert.equal(/(\d+) used/.exec(text)?.[1] ?? "0", String(used(prompt).length), text);
    }
  }
});

test("Agents: the week of each", async () => {
  await tab.goto(`${tab.origin}/agents`);
  const rows = await table("Agents");
  const all = await prompts();
  assert.ok(all.some((one) => one.unanswered === "late") && all.some((one) => !one.given && !one.unanswered), "there are late and imported ones");
  const program = (one) => one.agent ?? "unnamed program";
  assert.deepEqual(rows.map((row) => row.Agent).sort(), [...new Set(all.map(program))].sort());
  for (const row of rows) {
    const own = all.filter((one) => program(one) === row.Agent);
    const [late, imported] = [own.filter((one) => one.unanswered === "late").length, own.filter((one) => !one.given && !one.unanswered).length];
    const parts = [late && `${late} late`, imported && `${imported} imported`].filter(Boolean);
    assert.equal(row["Without an answer"], parts.join(", ") || "0");
    assert.deepEqual([row.Prompts, row["With memories"], row["Memories received"], row.Helped],
      [own.length, own.filter((one) => given(one).length).length, own.reduce((sum, one) => sum + given(one).length, 0),
        own.filter((one) => helped(one)).length].map(String));
  }
});

test("Knowledge and projects: each tag and each project with its count", async () => {
  const { tags, projects = [] } = await call("tags");
  await tab.goto(`${tab.origin}/knowledge`);
  const chips = await tab.locator("a.chip[href*='tag=']").evaluateAll((all) => all.map((one) => `${one.title} ${one.querySelector(".faint").innerText}`));
  assert.deepEqual(chips.sort(), tags.map((one) => `${one.tag} ${one.count}`).sort());
  await tab.goto(`${tab.origin}/projects`);
  const rows = await table("Projects");
  const records = await house.list(USER);
  const of = (name) => records.filter((one) => one.tags?.includes(`project:${name}`) || one.metadata?.project === name).length;
  // A folder's project is shown by its short name, and its whole one beside it.
  assert.deepEqual(rows.map((row) => [row.Project.split(/\s+/).at(-1), row.Memories]), [...new Set([...projects, ...tags.flatMap((one) => one.tag.startsWith("project:") ? [one.tag.slice(8)] : [])])].map((name) => [name, String(of(name))]));
});

test("Storage and health: the file, and its problems", async () => {
  const [stats, audit] = [await call("stats"), await call("audit")];
  await tab.goto(`${tab.origin}/care`);
  const stored = await figures();
  assert.deepEqual([stored.memories, stored.sessions, stored["replaced: edited, merged or contradicted"], stored["forgotten versions"]],
    [stats.live, stats.sessions, stats.superseded, stats.forgotten].map(String));
  await tab.goto(`${tab.origin}/care/audit`);
  await tab.waitForSelector("dl.figures");
  const health = await figures();
  assert.deepEqual([health.memories, health.duplicates, health["contradictions to decide"], health["possible duplicates to decide"], health["never used"], health.expired],
    [audit.records, audit.duplicates, audit.contradictions.length + audit.contradictions_more, audit.review, audit.never_used, audit.stale.length].map(String));
  const [one] = /\d+ %/.exec(await tab.locator("p.lead").innerText());
  assert.equal(one, `${Math.min(Math.round(100 * audit.score), audit.score < 1 ? 99 : 100)} %`);
});

test("Learning: the runs that reported", async () => {
  const report = await call("learning_report");
  await tab.goto(`${tab.origin}/learning`);
  assert.match(await tab.locator("p.lead").innerText(), new RegExp(`at least 15 runs and often more; ${report.runs} reported`));
  isClean(tab);
});

/** Somebody whose prompts end in each way that the page has a sentence for. */
const BEA = "bea";
let bea;
const ofBea = async (name, asked = {}) => JSON.parse(await house.reprise("call", name, JSON.stringify(asked), "--user", BEA));
const open = (room) => bea.goto(bea.origin + room);
const shown = () => bea.locator("main").innerText();
const LIMIT = "what is the API rate limit of the gateway";
async function livePrompts() {
  const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
  await house.ingest(BEA, [...week(24),
    line("r-250", "The API rate limit of the gateway is 250 requests per second", { tags: ["project:shop"] }),
    line("o-1", "The ledger database listens on port 5433", { tags: ["project:other"] }),
    line("n-1", "Staging resets at night, do not leave a load test running there"),
    line("n-2", "Staging resets at night, do not leave load tests running there at all")]);
  const moment = (session, event, report) => house.hook(BEA, { event, session, agent: "codex", project: "shop", ...report });
  const turn = async (session, text, answer, tests) => {
    await moment(session, "user-prompt", { text });
    if (tests !== undefined) await moment(session, "post-tool", { command: "npm test", succeeded: tests });
    await moment(session, "stop", { text: answer });
  };
  await turn("figure", LIMIT, "The documents of the service name 250 as the most.");
  await turn("figure", `${LIMIT} today`, "As I said before, the documents name it.");
  await turn("nothing", LIMIT, "I would have to read the sources of that first.");
  await turn("short", LIMIT, "Done.");
  await turn("elsewhere", "on which port does the ledger database listen", "I would have to look that up somewhere.");
  const { id } = (await house.list(BEA)).find((one) => one.text.includes("Tuesdays"));
  await turn("failed", "when are the releases cut", `As in ${id}: on Tuesdays, never on Fridays.`, false);
  await turn("rule", "how are invoices rounded", "Half even, per line and not per sum, as it was decided.");
  await turn("rule", "we always use pnpm in this repo, never npm", "Understood, it is pnpm from now on in this repository.");
  // It came to an end, and its session ended well: nobody says that the work is right.
  await turn("untested", "when are the releases cut", `As in ${id}: on Tuesdays, never on Fridays.`);
  await moment("untested", "session-end");
  await turn("passed", "when are the releases cut", `As in ${id}: on Tuesdays, never on Fridays.`, true);
  for (const seconds of [30, 90]) await house.reprise("learn", "--user", BEA, `The timeout of the login page is ${seconds} seconds`);
  bea = await house.tab(BEA, { viewport: { width: 1280, height: 800 } });
}

/** The prompts of a session, the oldest first, each with the text of its page. */
async function turns(session) {
  const { prompts } = await ofBea("prompts", { session, limit: 50 });
  const all = [];
  for (const prompt of prompts.reverse()) {
    await open(`/prompts/${prompt.id}`);
    all.push({ prompt, text: await shown() });
  }
  return all;
}

test("A prompt: what the answer has of a memory, and nothing of an answer that is not stored", async () => {
  const [figure] = await turns("figure");
  assert.equal(given(figure.prompt).length, 1);
  assert.doesNotMatch(figure.text, /not mention|no word of its own/, "the answer repeats its figure");
  assert.match(figure.text, /maybe used \(250/);
  const [nothing] = await turns("nothing");
  assert.match(nothing.text, /not used/);
  const [short] = await turns("short");
  assert.doesNotMatch(short.text, /not mention|no word of its own/, "its answer is not stored");
  assert.match(short.text, /no answer stored/);
});

test("A prompt that got nothing: why, by what was left out", async () => {
  const words = { seen: "already received", other_project: "another project", weak: "too weak", same_session: "said in this session", no_room: "no room" };
  for (const session of ["figure", "elsewhere"]) {
    const { prompt, text } = (await turns(session)).at(-1);
    assert.equal(given(prompt).length, 0);
    const why = text.split("\n").find((line) => line.startsWith("Nothing was added"));
    const reasons = new Set(prompt.given.found.map((one) => one.left_out));
    for (const [reason, says] of Object.entries(words)) assert.equal(why.includes(says), reasons.has(reason), `${session}: ${why}`);
  }
});

test("A lesson followed the prompt that it is from, and no prompt before it", async () => {
  const [before, own] = await turns("rule");
  assert.ok(own.text.includes("lesson"), own.text);
  assert.ok(!before.text.includes("lesson"), before.text);
});

test("A failed run: that it failed, and not that memory made it worse", async () => {
  const [failed] = await turns("failed");
  assert.ok(failed.prompt.outcome.quality < 0.5 && used(failed.prompt).length > 0);
  for (const room of ["/", "/prompts", "/prompts?show=failed", "/prompts?session=failed", "/help"]) {
    await open(room);
    assert.doesNotMatch(await shown(), /made worse|hurt/i, room);
  }
  await open("/prompts?show=failed");
  assert.equal(await bea.locator("main ol.rows [data-record]").count(), 1);
  assert.match(await shown(), /failed anyway[\s\S]*does not show that/i);
});

test("Helped is one number: on Home, in its list, of the agents, and in the terminal", async () => {
  const all = (await ofBea("prompts", { limit: 200 })).prompts;
  const count = all.filter(helped).length;
  assert.equal(count, 1, "of the work that ended well a test confirms one");
  const [untested] = await turns("untested");
  assert.ok(used(untested.prompt).length > 0 && untested.prompt.outcome.quality > 0.8 && !untested.prompt.outcome.confirmed);
  assert.match(untested.text, /done without a test/i);
  await open("/");
  assert.equal(await bea.locator("[data-strip] a[href='/prompts?show=helped'] b").innerText(), String(count));
  const today = JSON.parse(await house.reprise("stats", "--user", BEA, "--json")).today;
  // Nobody begins a day in the middle of this.
  if (today.prompts === all.length) assert.equal(today.helped, count);
  await open("/agents");
  assert.equal(await bea.locator("[aria-label='Agents'] td[data-label='Helped']").innerText(), String(count));
});

test("Duplicates and decisions: nothing is denied that is asked elsewhere, and no pair is called kept that agents see otherwise", async () => {
  const audit = await ofBea("audit");
  assert.ok(audit.review > 0, "there is a pair to ask about");
  const plan = await ofBea("consolidate", { dry_run: true });
  for (const group of plan.merged) await ofBea("consolidate", { groups: [group.kept] });
  await open("/knowledge/tidy");
  await bea.waitForSelector(".late");
  assert.doesNotMatch(await shown(), /No two memories/);
  const waiting = (await ofBea("audit")).review;
  if (waiting > 0) assert.match(await shown(), new RegExp(`${waiting} pairs? may say the same`));
  const noted = () => bea.locator("main [data-contradiction]", { hasText: "timeout" }).innerText();
  await open("/done");
  const found = (await ofBea("recall", { query: "timeout of the login page" })).results;
  assert.ok(found.some((one) => one.text.includes("30 seconds") && one.why.held_until));
  assert.match(await noted(), /90 seconds[\s\S]*30 seconds[\s\S]*marked as true until/);
  assert.doesNotMatch(await noted(), /Both are kept/);
  const { contradictions } = await ofBea("audit");
  const texts = (await house.list(BEA)).filter((one) => one.text.includes("timeout")).map((one) => one.id);
  const pair = contradictions.find((one) => one.pair.every((id) => texts.includes(id))).pair;
  await open("/");
  await bea.waitForSelector("#needs [data-total]");
  for (const [id, other] of [pair, [pair[1], pair[0]]]) {
    await open(`/records/${id}`);
    assert.equal(await bea.locator("article p:has-text('May contradict') a").first().getAttribute("href"), `/records/${other}`);
  }
  await ofBea("review", { pair, answer: "newer" });
  await open("/done");
  assert.match(await noted(), /90 seconds[\s\S]*30 seconds/, "each side by its own text");
  assert.match(await noted(), /no longer see the older/);
  assert.doesNotMatch(await noted(), /Both|Decide/);
});

test("The header: what is paused while memory is on", async () => {
  const header = bea.locator(".menu.pause > summary");
  const named = /^Memory on, 1 project paused$/;
  await ofBea("pause", { project: "shop" });
  await open("/");
  assert.match((await header.innerText()).replace(/\s+/g, " "), /Memory on.*1 project paused/);
  assert.match(await header.getAttribute("title"), named);
  assert.equal(await header.locator(".light.on").count(), 1, "grey is what is not connected");
  await header.click();
  assert.equal(await bea.locator(".menu.pause a:has-text('1 project paused')").getAttribute("href"), "/projects");
  for (const width of [390, 861, 1101, 1280]) {
    await bea.setViewportSize({ width, height: 800 });
    assert.ok(await bea.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} px`);
    assert.ok(await header.locator(".some").isVisible(), `${width} px`);
  }
  await ofBea("resume", { project: "shop" });
  await open("/");
  assert.equal(await header.locator(".light.on").count(), 1);
});

test("Forgotten and erased: which backups still have it", async () => {
  const user = "cleo";
  const backup = (name) => house.reprise("backup", "--user", user, path.join(house.folder, name));
  await house.ingest(user, week());
  const cleo = await house.tab(user, { viewport: { width: 1280, height: 800 } });
  const text = () => cleo.locator("main").innerText();
  const forget = async (part) => {
    const gone = (await house.list(user)).find((one) => one.text.includes(part));
    await cleo.goto(`${cleo.origin}/records/${gone.id}/forget`);
    await Promise.all([cleo.waitForEvent("load"), cleo.click("main button.danger")]);
  };
  await forget("Drain a node");
  assert.match(await text(), /No backup or export that Reprise knows of has it/);
  await backup("before.rvf");
  await forget("staging database");
  assert.match(await text(), /can no longer be found[\s\S]*staging database[\s\S]*before\.rvf.*has 1 forgotten memory/);
  await backup("between.rvf");
  await cleo.reload();
  assert.match(await text(), /between\.rvf.*may have/, "its text is copied with the file, unread");
  await Promise.all([cleo.waitForEvent("load"), cleo.click("main a[href='/erase']")]);
  await Promise.all([cleo.waitForEvent("load"), cleo.click("form[action='/erase'] button")]);
  assert.match(await text(), /none of the 2 forgotten texts is in it[\s\S]*before\.rvf/);
  assert.match(await text(), /between\.rvf/);
  assert.doesNotMatch(await text(), /gone from disk/);
  await backup("clean.rvf");
  await cleo.goto(`${cleo.origin}/care`);
  assert.equal(await cleo.locator("a[href='/erase']").count(), 0, "nothing is left to erase");
  await forget("Tuesdays");
  assert.match(await text(), /clean\.rvf.*has 1 forgotten memory/);
  isClean(cleo);
});

/** Somebody who published, corrected and reported: what is counted twice, or by two definitions, shows here. */
const DORA = "dora";
test("Ask, counts, restore and learning: what agents get, and one definition of a memory", async () => {
  const line = (external_id, text, more = {}) => ({ external_id, session_id: external_id, text, ...more });
  await house.ingest(DORA, [...week(60).filter((_, place) => place > 9), line("u-20", "The upload limit of the API is 20 MB", { tags: ["project:shop"] }),
    line("u-50", "The upload limit of the API is 50 MB", { tags: ["project:shop"] }), line("v-1", "Release 2.8 ships the new upload API", { tags: ["project:shop"] }),
    line("c-1", "The ledger listens on port 5433", { tags: ["project:shop"] }), line("i-1", "Invoices are rounded half even")]);
  const ofDora = async (name, asked = {}) => JSON.parse(await house.reprise("call", name, JSON.stringify(asked), "--user", DORA));
  const named = async (text) => (await house.list(DORA)).find((one) => one.text.includes(text)).id;
  await house.reprise("share", "publish", await named("Invoices are rounded half even"), "--title", "Invoices", "--licence", "MIT", "--yes", "--user", DORA);
  const backup = path.join(house.folder, "dora.rvf");
  await house.reprise("backup", "--user", DORA, backup);
  await house.reprise("learn", "--user", DORA, "The VPN drops at noon each day");
  await house.reprise("edit", await named("port 5433"), "--content", "The ledger listens on port 5434", "--user", DORA);
  const dora = await house.tab(DORA, { viewport: { width: 1280, height: 800 } });
  const go = async (room) => { await dora.goto(dora.origin + room); return dora.locator("main").innerText(); };

  // What an agent would receive is what its hook receives; only the name of the frame is the session's.
  const plain = (text) => text.replace(/reprise-memory-\w+/g, "frame").trim();
  for (const question of ["what is the upload limit of the API", "on which port does the ledger listen", "what is the capital of Australia"]) {
    const text = await go(`/search?q=${encodeURIComponent(question)}`);
    const shown = plain(await dora.locator("[data-prompt]").evaluate((block) => block.textContent));
    const { context } = JSON.parse(await house.hook(DORA, { event: "user-prompt", session: question, project: "shop", text: question }));
    assert.equal(shown, plain(context), question);
    const isWeak = /weak matches: check/.test(context);
    const grades = await dora.locator(".hit .end").allInnerTexts();
    assert.ok(!isWeak || grades.every((grade) => grade.startsWith("weak match")), `${question}: ${grades}`);
    assert.doesNotMatch(text, /likely/);
    for (const chips of await dora.locator(".aside .chips").all()) {
      const counts = await chips.locator("a.chip .faint").allInnerTexts();
      assert.ok(counts.reduce((sum, count) => sum + Number(count), 0) <= grades.length, `${question}: chips count what is no match`);
    }
  }

  // The receipt of a publication is no memory.
  const memories = (await house.list(DORA)).filter((one) => !one.tags?.includes("receipt:global")).length;
  const [stats, audit, growth] = [await ofDora("stats"), await ofDora("audit"), await ofDora("growth")];
  assert.deepEqual([stats.live, audit.records, growth.days.at(-1).records], [memories, memories, memories]);
  assert.ok(stats.unembedded <= memories && audit.never_used <= memories);
  assert.match(await go("/search?q=upload+limit"), new RegExp(`${memories} memories searched`));
  assert.match(await go("/care"), new RegExp(`memories\\s+${memories}\\b`, "i"));
  // One was stored after the backup; another was corrected, and is not lost.
  const preview = await go(`/care/restore?file=${encodeURIComponent(backup)}`);
  assert.match(preview, new RegExp(`memories now\\s+${memories}\\b`, "i"));
  const prompts = (await ofDora("prompts", { limit: 50 })).prompts.length;
  assert.match(preview, new RegExp(`${prompts + 1} memories of now are not in this backup`));
  assert.match(preview, /1 memory has another version in this backup/);

  // Credit: a number is whole, and of two that differ only one can be right.
  await house.hook(DORA, { event: "stop", session: "what is the upload limit of the API", project: "shop", text: "The documents say 20 MB; staging resets at 2 am." });
  const asked = (await ofDora("prompts", { session: "what is the upload limit of the API", limit: 5 })).prompts[0];
  await go(`/prompts/${asked.id}`);
  const chips = Object.fromEntries(await dora.locator("[data-prompt] > *").evaluateAll((all) => all.map((one) => [one.querySelector("a")?.textContent, one.innerText])));
  const chip = (part) => Object.entries(chips).find(([title]) => title?.includes(part))?.[1] ?? "";
  assert.match(chip("is 20 MB"), /(?<!not )used/);
  assert.doesNotMatch(chip("is 50 MB"), /(?<!not )used/);
  assert.doesNotMatch(chip("Release 2.8"), /maybe used \([28]\b/);

  // Learning lists every memory that runs used, and names a run that a prompt began by that prompt.
  const used = [await named("port 5434"), await named("Invoices are rounded")];
  for (const quality of [0.5, 0.5]) await ofDora("outcome", { run_id: `run ${Math.random()}`, query: "how are invoices rounded", used, quality });
  const report = await ofDora("learning_report");
  const text = await go("/learning");
  assert.equal(await dora.locator("[aria-label='Memories that runs used'] tbody tr").count(), report.records);
  assert.doesNotMatch(text, /recall 0\w{20}/);
  isClean(dora);
});
