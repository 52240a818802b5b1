// Every change that a person can make, with script and without, and its undoing.
import assert from "node:assert";
import fs from "node:fs";
import { after, before, test } from "node:test";

import { House, isClean, violations, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

let people = 0;
/** A user of a test's own, with a week's records, and a tab. */
async function somebody(options) {
  const user = `person${(people += 1)}`;
  await house.ingest(user, week());
  const tab = await house.tab(user, { viewport: { width: 1280, height: 900 }, ...options });
  const found = async (part) => (await house.list(user)).find((record) => record.text.includes(part));
  const room = async (record, more = "") => tab.goto(`${tab.origin}/records/${record.id}${more}`);
  return { user, tab, found, room };
}

const button = (action) => `form[action$="${action}"] button`;
const said = (tab) => tab.locator(".toast").innerText();
const undo = (tab) => tab.click(".toast button:has-text('Undo')");

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`from a question to a record, corrected and undone, ${how}`, async () => {
    const { tab, found } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/search`);
    await tab.fill("input[name=q]", "who is logged out at random");
    await tab.press("input[name=q]", "Enter");
    await tab.waitForSelector(".hits .hit");
    assert.match(await tab.locator(".hits .why").first().innerText(), /\w/);
    await tab.locator(".hits .x a").first().click();
    await tab.waitForSelector("article[data-open]");
    const article = tab.locator("article[data-open]");
    const before = await article.locator(".said").first().innerText();
    assert.match(before, /logged out at random/);
    await tab.click("#edit > summary");
    await tab.fill("textarea[name=text]", "Users were logged out by a race; fixed in 2.4.\nSecond line.");
    await tab.click("#edit button");
    await tab.waitForURL(/records/);
    assert.match(await said(tab), /Corrected/);
    assert.match(await article.locator(".said").first().innerText(), /fixed in 2\.4\.\nSecond line\./);
    await tab.click(".fold > summary:has-text('Versions')");
    assert.ok(await tab.locator(".versions del").count(), "the history shows what changed");
    assert.match(await tab.locator(".versions .diff").first().textContent(), / removed: .* \u2192  added: /s, "a text that is copied says it, too");
    assert.ok(await found("fixed in 2.4"));
    assert.equal(await found("logged out at random"), undefined);
    await undo(tab);
    assert.match(await said(tab), /Undone/);
    assert.equal(await article.locator(".said").first().innerText(), before);
    assert.ok(await found("logged out at random"));
    if (javaScriptEnabled) isClean(tab);
  });

  test(`a record is forgotten, undone, forgotten and erased, ${how}`, async () => {
    const { user, tab, found, room } = await somebody({ javaScriptEnabled });
    const record = await found("staging database");
    await house.reprise("tags", "link", record.id, (await found("Tuesdays")).id, "--user", user);
    await house.reprise("tags", "link", (await found("linker")).id, record.id, "--user", user);
    await room(record);
    await tab.click("article a:has-text('Forget')");
    assert.match(await tab.locator("main").innerText(), /1 memory will be forgotten, with its links\./);
    await tab.fill("input[name=reason]", "a test asks for it");
    await tab.click("main button.danger");
    assert.match(await tab.locator("main").innerText(), new RegExp(record.id));
    assert.equal(await found("staging database"), undefined);
    assert.equal((await room(record)).status(), 404);
    assert.match(await tab.locator("main").innerText(), /^\s*This memory does not exist or was forgotten\.[\s\S]*Home/);
    await tab.goBack();
    assert.match(await tab.locator("main").innerText(), /under a new id and with its links\. Earlier versions and external ids are not/);
    await tab.click("main button:has-text('Undo')");
    assert.match(await said(tab), /Undone\. The memory is back under a new id, without earlier versions/);
    const back = await found("staging database");
    assert.deepEqual([back.text, back.timestamp, back.tags, back.session_id],
      [record.text, record.timestamp, record.tags, record.session_id]);
    await room(back);
    assert.equal(await tab.locator(".linked > li").count(), 2, "its links are back");
    await room(back, "/forget");
    await tab.click("main button.danger");
    // Another one that a program forgot goes, too: it is named before anybody says yes.
    await house.reprise("forget", (await found("Drain a node")).id, "--yes", "--user", user);
    await tab.click("main a:has-text('Erase from disk')");
    assert.match(await tab.locator("main").innerText(), /[23] forgotten texts will be erased[\s\S]*cannot be undone/);
    const named = await tab.locator("[data-forgotten] li").allInnerTexts();
    assert.ok(["staging database", "Drain a node"].every((part) => named.some((one) => one.includes(part))), named.join());
    if (javaScriptEnabled) assert.deepEqual(await violations(tab), []);
    await tab.click("main button.danger");
    assert.match(await tab.locator("main").innerText(), /read again from its beginning: none of the [23] forgotten texts is in it[\s\S]*The file had/);
    await tab.goto(`${tab.origin}/erase`);
    assert.match(await tab.locator("main").innerText(), /has no forgotten text/);
    assert.equal(await found("staging database"), undefined);
    assert.equal((await house.list(user)).length, 8);
    await tab.goto(`${tab.origin}/done`);
    assert.equal(await tab.locator("main .change button").count(), 0, "nothing is left to undo");
  });

  test(`a record is pinned, shown to others and undone, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const before = await found("Tuesdays");
    const stand = async (...set) => {
      await tab.click("#standing > summary");
      for (const one of set) await tab.check(`#standing input${one}`);
      await tab.click("#standing button");
    };
    await room(before);
    await stand("[value=workspace]", "[name=pinned]");
    assert.match(await said(tab), /Saved/);
    const settled = await found("Tuesdays");
    assert.deepEqual([settled.retention, settled.visibility, settled.tags], ["pinned", "workspace", before.tags]);
    assert.match(await tab.locator("article .facts").first().innerText(), /In project files[\s\S]*pinned/);
    assert.match(await tab.locator(".versions").textContent(), /The text is the same/);
    await stand();
    assert.match(await said(tab), /Nothing was changed/);
    await stand("[value=private]");
    assert.equal((await found("Tuesdays")).metadata.visibility, "private");
    await undo(tab);
    const back = await found("Tuesdays");
    assert.deepEqual([back.retention, back.visibility, back.metadata], ["pinned", "workspace", before.metadata]);
  });

  test(`tags are saved and undone, and records linked, unlinked and linked again, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const [one, other] = [await found("Tuesdays"), await found("linker")];
    await room(one);
    await tab.click("#tag > summary");
    await tab.fill("input[name=tags]", "release, calendar");
    await tab.click("#tag button");
    assert.deepEqual((await found("Tuesdays")).tags, ["calendar", "release"]);
    await undo(tab);
    assert.deepEqual((await found("Tuesdays")).tags, one.tags);
    const link = async (id, relation = "caused_by") => {
      await tab.click("#link > summary");
      await tab.fill("input[name=other]:visible", id);
      await tab.selectOption("select[name=relation]:visible", relation);
      await tab.fill("input[name=other_relation]:visible", "inspired by");
      await tab.click("#link button");
    };
    await link(other.id);
    assert.match(await tab.locator(".linked").textContent(), /caused by /);
    await room(other);
    assert.match(await tab.locator(".linked").textContent(), /caused (?!by)/);
    await tab.click("text=Unlink");
    assert.equal(await tab.locator(".linked").count(), 0);
    await undo(tab);
    assert.match(await tab.locator(".linked").textContent(), /caused by /, "the undoing shows the first of the two");
    await room(one);
    await link((await found("Drain a node")).id, "other");
    assert.match(await tab.locator(".linked").textContent(), /inspired by \u2192/);
    await link("no such record");
    assert.match(await tab.locator("main").innerText(), /This memory does not exist or was forgotten/);
  });

  test(`an undo takes back its own change and no later one, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const correct = async (part, text) => {
      await room(await found(part));
      await tab.click("#edit > summary");
      await tab.fill("textarea[name=text]", text);
      await tab.click("#edit button");
      await tab.waitForSelector(".toast:has-text('Corrected')");
    };
    const undoIn = async (place) => {
      await tab.goto(`${tab.origin}/done`);
      await tab.locator("main .card button:has-text('Undo')").nth(place).click();
      return tab.locator("body").innerText();
    };
    await correct("Tuesdays", "Releases are cut on Mondays.");
    await tab.click("#tag > summary");
    await tab.fill("input[name=tags]", "release, calendar");
    await tab.click("#tag button");
    await tab.click("#standing > summary");
    await tab.check("#standing input[name=pinned]");
    await tab.click("#standing button");
    assert.match(await said(tab), /Saved: .*pinned/);
    assert.match(await undoIn(2), /Undone/);
    const back = await found("Releases are cut on Tuesdays");
    assert.deepEqual([back.tags, back.retention], [["calendar", "release"], "pinned"], "what was done later stays");
    await correct("Tuesdays", "Releases are cut on Wednesdays.");
    await correct("Wednesdays", "Releases are cut on Thursdays.");
    assert.match(await undoIn(1), /changed again later\.\s+Undo the later change first/);
    assert.ok(await found("Thursdays"), "nothing was changed");
    assert.match(await undoIn(0), /Undone/);
    assert.match(await undoIn(0), /Undone/);
    assert.ok(await found("Releases are cut on Tuesdays"));
  });

  test(`a merge of tags says what it replaces, and is undone, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    const line = (external_id, tags) => ({ external_id, session_id: external_id, text: `The deployment of ${external_id} takes a while.`, tags });
    await house.ingest(user, [line("north", ["deployment"]), line("south", ["deployment", "slow"]), line("west", ["deployments"])]);
    const tags = async () => (await house.list(user)).filter((one) => one.text.includes("takes a while")).map((one) => [one.text.split(" ")[3], one.tags]).sort();
    const before = await tags();
    await tab.goto(`${tab.origin}/knowledge`);
    const merge = tab.locator(button("/knowledge/merge"));
    assert.match(await merge.innerText(), /Replace\s+deployments?\s+by\s+deployments?\s+in \d memor(y|ies)/);
    await merge.click();
    assert.match(await said(tab), /is now .* in \d memor/);
    assert.notDeepEqual(await tags(), before);
    await undo(tab);
    assert.deepEqual(await tags(), before);
  });

  test(`a rating stays pressed, changes, is taken back, is listed among the changes, and stores no memory, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    const count = async () => (await house.list(user)).length;
    const before = await count();
    const room = `${tab.origin}/search?q=when+are+releases+cut`;
    const pressed = () => tab.locator(".hit").first().locator("button[aria-pressed]").evaluateAll((all) => all.map((one) => one.getAttribute("aria-pressed")).join());
    const press = (value) => tab.locator(`button[value=${value}][name=helped]`).first().click();
    await tab.goto(room);
    assert.equal(await pressed(), "false,false");
    await press("yes");
    assert.match(await said(tab), /Marked as helpful/);
    await tab.goto(room);
    assert.equal(await pressed(), "true,false");
    await press("no");
    await tab.goto(room);
    assert.equal(await pressed(), "false,true");
    await press("no");
    assert.match(await said(tab), /Rating removed/);
    await tab.goto(room);
    assert.equal(await pressed(), "false,false");
    await press("yes");
    await tab.goto(`${tab.origin}/done`);
    assert.match(await tab.locator("main").innerText(), /Marked as helpful/);
    await tab.goto(room);
    await press("no");
    await undo(tab);
    await tab.goto(room);
    assert.equal(await pressed(), "false,false");
    assert.equal(await count(), before, "no memory was stored for a rating");
  });

  test(`a rating is no run, learning counts a run, and is switched, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
    await tab.locator("button[value=yes]").first().click();
    assert.match(await said(tab), /Marked as helpful/);
    await tab.goto(`${tab.origin}/learning`);
    assert.match(await tab.locator(".lead").innerText(), /No run has reported yet/);
    const used = (await house.list(user)).filter((one) => one.text.includes("eleases")).map((one) => one.id).slice(0, 1);
    assert.equal(used.length, 1);
    await house.reprise("call", "outcome", JSON.stringify({ run_id: "release", query: "when are releases cut", used, quality: 0.9 }), "--user", user);
    await tab.goto(`${tab.origin}/learning`);
    assert.match(await tab.locator(".lead").innerText(), /at least 15 runs and often more; 1 reported so far/);
    const moved = tab.locator("[aria-label='Memories that runs used'] tbody tr");
    assert.match(await moved.innerText(), /\w+[\s\S]*1\s+1\s+0\.9\s+too few runs/, "one run says nothing of what was to be expected");
    await moved.locator("a").click();
    await tab.click(".fold > summary:has-text('Effect on runs')");
    assert.match(await tab.locator("[aria-label=Runs] tbody tr").innerText(), /0\.90/);
    await tab.goto(`${tab.origin}/learning`);
    await tab.click("text=Turn learning off");
    assert.match(await tab.locator(".lead").innerText(), /Learning is off/);
    await tab.click("text=Turn learning on");
    await tab.click("summary:has-text('Reset learning')");
    await tab.click("button[value=reset]");
    assert.match(await tab.locator(".lead").innerText(), /No run has reported yet/);
  });

  test(`what contradicts is answered side by side with its dates, and tidying says first what it does, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    const line = (external_id, text, day) => ({ external_id, session_id: external_id, text, timestamp: `2026-02-0${day}T08:00:00Z` });
    await house.ingest(user, [line("t-30", "The timeout of the login page is 30 seconds", 1), line("t-90", "The timeout of the login page is 90 seconds", 2),
      line("d-1", "The deploy script fails without the VPN.", 3), line("d-2", "the deploy script fails without the VPN", 4)]);
    await tab.goto(`${tab.origin}/knowledge/review`);
    const pair = tab.locator("[data-pair]").first();
    assert.match(await pair.innerText(), /Older[\s\S]*1 Feb[\s\S]*30 seconds[\s\S]*Keep this[\s\S]*Newer[\s\S]*2 Feb[\s\S]*90 seconds[\s\S]*Keep this[\s\S]*Both are true/);
    assert.match(await pair.locator("button[value=newer]").getAttribute("aria-label"), /^Keep this n: the newer, .*2 Feb/);
    assert.match(await tab.locator("main").innerText(), /Agents will see only the one you keep/);
    assert.doesNotMatch(await pair.innerText(), /differ in/, "what is marked is not said again");
    await pair.locator("button[value=newer]").click();
    assert.match(await said(tab), /Kept only the (newer|second)/);
    assert.equal((await house.list(user)).filter((one) => one.text.includes("timeout")).length, 1);
    await tab.goto(`${tab.origin}/done`);
    assert.doesNotMatch(await tab.locator("main").innerText(), /Nothing was changed/);
    await tab.locator("main .card:has-text('timeout') button:has-text('Undo')").click();
    assert.equal((await house.list(user)).filter((one) => one.text.includes("timeout")).length, 2);
    await tab.goto(`${tab.origin}/done`);
    assert.match(await tab.locator("main").innerText(), /Nothing was changed/);
    await tab.goto(`${tab.origin}/knowledge/tidy`);
    assert.match(await tab.locator("main").innerText(), /1 group of duplicates[\s\S]*deploy script fails/);
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 2, "looking does nothing");
    await tab.click("button:text-is('Merge selected groups')");
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 1);
    assert.match(await tab.locator("main .card:has-text('Kept')").first().innerText(), /Kept .*deploy script.*\. Agents no longer see .*deploy script/i);
    await tab.locator("main .card button:has-text('Undo')").first().click();
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 2);
  });
}

test("the switch of one agent or project says what it did, and to whom", async () => {
  const { user, tab } = await somebody({});
  await house.hook(user, { event: "user-prompt", session: "one", project: "shop", agent: "codex", text: "when are releases cut" });
  for (const [room, says] of [["/agents", /is off: it gets and stores nothing\. Other agents are not affected\./],
    ["/projects", /shop.*is off: agents get and store nothing there\. Other projects are not affected\./]]) {
    await tab.goto(tab.origin + room);
    await tab.locator(".policy button[value=off]").first().click();
    assert.match(await said(tab), says);
    await tab.locator(".policy button[value=remember]").first().click();
    assert.match(await said(tab), /remember(s|ed) again\./);
  }
  isClean(tab);
});

test("a backup is listed apart from an export, and every setting says what it does", async () => {
  const { user, tab } = await somebody({});
  await house.reprise("backup", "--user", user, `${house.folder}/whole.rvf`);
  await house.reprise("export", "--user", user, "--out", `${house.folder}/lines.jsonl`);
  await tab.goto(`${tab.origin}/care/backups`);
  const files = (label) => tab.locator(`[aria-label='${label}'] code`).allInnerTexts();
  assert.match((await files("Backups")).join(), /whole\.rvf$/);
  assert.match((await files("Exports and derived files")).join(), /^[^,]*lines\.jsonl$/);
  const [saved] = await Promise.all([tab.waitForEvent("download"), tab.click("a[href='/care/export']")]);
  assert.match(saved.suggestedFilename(), /^reprise-.*\.jsonl$/);
  assert.equal(fs.readFileSync(await saved.path(), "utf8").trim().split("\n").length, week().length, "every memory");
  await tab.goto(`${tab.origin}/care/configuration`);
  const silent = await tab.locator("tbody tr").evaluateAll((rows) => rows.filter((row) => !row.lastElementChild.textContent).map((row) => row.textContent));
  assert.deepEqual(silent, []);
  isClean(tab);
});

test("a lesson is corrected by its parts, and Markdown is shown as such", async () => {
  const { user, tab, found, room } = await somebody();
  await house.reprise("learn", "--user", user, "--title", "Migrations", "--content", "Test them on `a copy`:\n\n- first\n- second");
  await room(await found("Migrations"));
  assert.equal(await tab.locator("article .said li").count(), 2);
  assert.equal(await tab.locator("article .said code").first().innerText(), "a copy");
  await tab.click("#edit > summary");
  await tab.waitForSelector("#edit textarea:focus");
  await tab.keyboard.type("Never mind. ");
  await tab.click("#edit >> text=Cancel");
  assert.ok(await tab.locator("textarea[name=text]").isHidden());
  assert.ok(await tab.locator("#edit > summary").evaluate((one) => one === document.activeElement));
  await tab.click("#edit > summary");
  assert.equal(await tab.inputValue("textarea[name=text]"), "Test them on `a copy`:\n\n- first\n- second");
  await tab.fill("input[name=title]", "Migrations of the ledger");
  await tab.click("#edit button");
  const lesson = await found("Migrations of the ledger");
  assert.equal(lesson.details.content, "Test them on `a copy`:\n\n- first\n- second");
});

test("the same text again changes nothing, and what another tab typed is not lost and not saved unasked", async () => {
  const { user, tab, found, room } = await somebody();
  const record = await found("Tuesdays");
  await room(record);
  const second = await tab.context().newPage();
  await second.goto(tab.url());
  const save = async (page, text) => {
    await page.click("#edit > summary");
    if (text) await page.fill("textarea[name=text]", text);
    await page.click("#edit button");
  };
  await save(tab);
  assert.match(await said(tab), /Nothing was changed/);
  await save(tab, "Releases are cut on Mondays.");
  const texts = async () => (await house.list(user)).map((one) => one.text).filter((text) => text.startsWith("Releases"));
  await save(second, "Releases are cut on Wednesdays.");
  assert.match(await second.locator("[role=alert]").innerText(), /nothing was saved/);
  assert.match(await second.locator(".said").innerText(), /Mondays/);
  assert.deepEqual(await texts(), ["Releases are cut on Mondays."], "the first word stands until the second is meant");
  await second.click("button:has-text('Save')");
  // The address is soon without what was said; the toast stays.
  assert.ok(await said(second));
  assert.deepEqual(await texts(), ["Releases are cut on Wednesdays."], "the later word stands, once");
});

test("a conversation shows what memory put in where, what of it was used, and why not another", async () => {
  const user = "talker";
  const line = (external_id, text, project) => ({ external_id, session_id: "before", text, kind: "finding", tags: [`project:${project}`] });
  await house.ingest(user, [line("c-1", "The checkout total is wrong where a coupon is counted per line.", "shop"),
    line("c-2", "The checkout total with a coupon is wrong in the other shop too.", "other")]);
  const records = await house.list(user);
  const used = records.find((one) => one.text.includes("per line"));
  const moment = (event, report) =>
    house.hook(user, { event, session: "now", project: "shop", ...report });
  await moment("user-prompt", { text: "why is the checkout total wrong with a coupon" });
  await moment("post-tool", { command: "cargo test -p shop", succeeded: true });
  await moment("stop", { text: `As in ${used.id}: the coupon is taken once now, per sum.` });
  await moment("user-prompt", { text: "<script>ran=1</script> rename the ledger's columns to snake case" });
  const tab = await house.tab(user, { viewport: { width: 1280, height: 900 } });
  await tab.goto(`${tab.origin}/prompts`);
  assert.match(await tab.locator(".rows").first().innerText(), /why is the checkout total wrong/);
  await tab.click(".grouping h3 a");
  assert.equal(await tab.locator(".turn").count(), 2);
  const first = tab.locator(".turn").first();
  assert.match(await first.locator("[data-prompt]").innerText(), /counted per line[\s\S]*(used|quoted)/);
  assert.equal((await tab.locator(".turn").last().locator("[data-prompt]").textContent()).trim(), "", "nothing was put into the second");
  await first.locator("[data-prompt] button[value=yes]").click();
  assert.match(await said(tab), /Marked as helpful/);
  await tab.fill("main .card input[name=expected]", records.find((one) => one.text.includes("other shop")).id);
  await tab.click("main .card button:has-text('Find out why')");
  await tab.waitForURL(/expected=/);
  assert.match(await tab.locator("main").innerText(), /It is result \d|match(es)? better/);
  isClean(tab);
});

test("an operator goes from user to user, and nobody else", async () => {
  await house.ingest("owner", ["The owner's note."]);
  await house.ingest("guest", ["The guest's note."]);
  const tab = await house.tab("owner", {}, "--all-users", "--read-only");
  await tab.goto(`${tab.origin}/users`);
  await tab.click("button[aria-label='Switch to the memory of guest']");
  assert.match(await tab.locator("main").innerText(), /guest's note/);
  assert.doesNotMatch(await tab.locator("main").innerText(), /owner's note/);
  const guest = await house.tab("guest");
  assert.equal((await guest.goto(`${guest.origin}/users`)).status(), 403);
  const form_token = await guest.locator("input[name=form_token]").first().inputValue().catch(async () => {
    await guest.goto(guest.origin);
    return guest.locator("input[name=form_token]").first().inputValue();
  });
  const answer = await guest.request.post(`${guest.origin}/switch`, { form: { form_token, user: "owner" } });
  assert.equal(answer.status(), 403);
  await guest.goto(guest.origin);
  assert.doesNotMatch(await guest.locator("main").innerText(), /owner's note/);
});
