// Every change that a person can make, with script and without, and its undoing.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

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
  const tab = await house.tab(user, options);
  const found = async (part) => (await house.list(user)).find((record) => record.text.includes(part));
  const room = async (record, more = "") => tab.goto(`${tab.origin}/records/${record.id}${more}`);
  return { user, tab, found, room };
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`from a question to a record, corrected and undone, ${how}`, async () => {
    const { tab, found } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/search`);
    await tab.fill("input[name=q]", "who is logged out at random");
    await tab.press("input[name=q]", "Enter");
    await tab.waitForSelector(".hits li");
    assert.match(await tab.locator(".hits .reason").first().innerText(), /\w/);
    await tab.locator(".hits .title").first().click();
    await tab.waitForURL(/records/);
    const before = await tab.locator(".whole .said").innerText();
    assert.match(before, /logged out at random/);
    await tab.click("summary:has-text('Correct')");
    await tab.fill("textarea[name=text]", "Users were logged out by a race; fixed in 2.4.\nSecond line.");
    await tab.click("text=Save as a new version");
    assert.match(await tab.locator(".notice").innerText(), /Corrected/);
    assert.match(await tab.locator(".whole .said").innerText(), /fixed in 2\.4\.\nSecond line\./);
    assert.ok(await tab.locator(".versions del").count(), "the history shows what changed");
    assert.ok(await found("fixed in 2.4"));
    assert.equal(await found("logged out at random"), undefined);
    await tab.click(".notice button");
    assert.match(await tab.locator(".notice").innerText(), /Undone/);
    assert.equal(await tab.locator(".whole .said").innerText(), before);
    assert.ok(await found("logged out at random"));
    if (javaScriptEnabled) isClean(tab);
  });

  test(`a record is forgotten, undone, forgotten and erased, ${how}`, async () => {
    const { user, tab, found, room } = await somebody({ javaScriptEnabled });
    const record = await found("staging database");
    await house.reprise("link", record.id, (await found("Tuesdays")).id, "--user", user);
    await house.reprise("link", (await found("linker")).id, record.id, "--user", user);
    await room(record);
    await tab.click("text=Forget...");
    assert.match(await tab.locator("main").innerText(), /1 version/);
    await tab.fill("input[name=reason]", "a test asks for it");
    await tab.click("button.danger");
    assert.match(await tab.locator("main").innerText(), new RegExp(record.id));
    assert.equal(await found("staging database"), undefined);
    assert.equal((await room(record)).status(), 404);
    await tab.goBack();
    await tab.click(".notice button");
    const back = await found("staging database");
    assert.deepEqual([back.text, back.timestamp, back.tags, back.session_id],
      [record.text, record.timestamp, record.tags, record.session_id]);
    await room(back);
    assert.match(await tab.locator("main").innerText(), /related_to[\s\S]*related_to/, "its links are back");
    await room(back, "/forget");
    await tab.click("button.danger");
    await tab.click("button:text-is('Erase from the file')");
    assert.match(await tab.locator("main").innerText(), /The file had/);
    assert.equal(await found("staging database"), undefined);
    assert.equal((await house.list(user)).length, 9);
    await tab.goto(`${tab.origin}/`);
    assert.doesNotMatch(await tab.locator("main").innerText(), /staging database/, "nothing is left to undo");
  });

  test(`a record is pinned, shown to others and undone, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const before = await found("Tuesdays");
    await room(before);
    const standing = tab.locator("section", { has: tab.locator("h2:has-text('Who can see it')") });
    await standing.locator("summary").click();
    await standing.locator("input[value=workspace]").check();
    await standing.locator("input[name=pinned]").check();
    await standing.locator("button").click();
    assert.match(await tab.locator(".notice").innerText(), /Saved/);
    const settled = await found("Tuesdays");
    assert.deepEqual([settled.retention, settled.visibility, settled.tags], ["pinned", "workspace", before.tags]);
    assert.match(await standing.innerText(), /project's workspace[\s\S]*Pinned/);
    assert.match(await tab.locator(".versions").innerText(), /The text is the same/);
    await standing.locator("summary").click();
    await standing.locator("button").click();
    assert.match(await tab.locator(".notice").innerText(), /Nothing was changed/);
    await standing.locator("summary").click();
    await standing.locator("input[value=private]").check();
    await standing.locator("button").click();
    assert.equal((await found("Tuesdays")).metadata.visibility, "private");
    await tab.click(".notice button");
    const back = await found("Tuesdays");
    assert.deepEqual([back.retention, back.visibility, back.metadata], ["pinned", "workspace", before.metadata]);
    assert.equal((await found("Tuesdays")).text, before.text);
  });

  test(`tags are saved and undone, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const record = await found("Tuesdays");
    await room(record);
    await tab.click("summary:has-text('Correct')");
    await tab.fill("input[name=tags]", "release, calendar");
    await tab.click("text=Save the tags");
    assert.deepEqual((await found("Tuesdays")).tags, ["calendar", "release"]);
    await tab.click(".notice button");
    assert.deepEqual((await found("Tuesdays")).tags, record.tags);
  });

  test(`records are linked, unlinked and linked again, ${how}`, async () => {
    const { found, tab, room } = await somebody({ javaScriptEnabled });
    const [one, other] = [await found("Tuesdays"), await found("linker")];
    await room(one);
    await tab.fill("input[name=other]:visible", other.id);
    await tab.fill("input[name=relation]", "caused_by");
    await tab.click("button:text-is('Link')");
    assert.match(await tab.locator(".related").innerText(), /caused_by to/);
    await room(other);
    assert.match(await tab.locator(".related").innerText(), /caused_by from/);
    await tab.click("text=Unlink");
    assert.equal(await tab.locator(".related").count(), 0);
    await tab.click(".notice button");
    assert.match(await tab.locator(".related").innerText(), /caused_by to/, "the undoing shows the first of the two");
    await tab.fill("input[name=other]:visible", "no such record");
    await tab.click("button:text-is('Link')");
    assert.match(await tab.locator("main").innerText(), /no record/);
  });

  test(`a result is judged and learning switched, ${how}`, async () => {
    const { tab } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
    await tab.locator("button[value=yes]").first().click();
    await tab.waitForURL(/judged/);
    assert.match(await tab.locator(".notice:not(.warn)").innerText(), /learns/);
    await tab.goto(`${tab.origin}/learning`);
    assert.match(await tab.locator(".numbers").innerText(), /Runs\s*1/);
    const moved = tab.locator("[aria-label='What runs say most about'] tbody tr");
    assert.match(await moved.innerText(), /\w+[\s\S]*1\s+\+0\.\d+/);
    await moved.locator("a").click();
    assert.match(await tab.locator("[aria-label=Runs] tbody tr").innerText(), /page [\s\S]*1\.00/);
    await tab.goto(`${tab.origin}/learning`);
    await tab.click("text=Switch off");
    assert.match(await tab.locator("main").innerText(), /Learning is off/);
    await tab.click("text=Switch on");
    assert.match(await tab.locator("main").innerText(), /Learning is on/);
  });

  test(`tags that are one word are merged, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    await house.ingest(user, [{ text: "One more of the kind.", tags: ["backends"] }]);
    await tab.goto(`${tab.origin}/knowledge`);
    await tab.click(".review button");
    assert.match(await tab.locator(".notice").innerText(), /1 record changed/);
    const [record] = (await house.list(user)).filter((one) => one.text.startsWith("One more"));
    assert.deepEqual(record.tags, ["backend"]);
  });
}

test("a lesson is corrected by its parts", async () => {
  const { user, tab, found, room } = await somebody();
  await house.reprise("learn", "--user", user, "--title", "Migrations", "--content", "Test them on a copy.");
  await room(await found("Migrations"));
  await tab.click("summary:has-text('Correct')");
  assert.equal(await tab.inputValue("textarea[name=text]"), "Test them on a copy.");
  await tab.fill("input[name=title]", "Migrations of the ledger");
  await tab.click("text=Save as a new version");
  const lesson = await found("Migrations of the ledger");
  assert.equal(lesson.details.content, "Test them on a copy.");
});

test("the same text again changes nothing, and a form of another tab still works", async () => {
  const { user, tab, found, room } = await somebody();
  const record = await found("Tuesdays");
  await room(record);
  const second = await tab.context().newPage();
  await second.goto(tab.url());
  await tab.click("summary:has-text('Correct')");
  await tab.click("text=Save as a new version");
  assert.match(await tab.locator(".notice").innerText(), /Nothing was changed/);
  await tab.click("summary:has-text('Correct')");
  await tab.fill("textarea[name=text]", "Releases are cut on Mondays.");
  await tab.click("text=Save as a new version");
  await second.click("summary:has-text('Correct')");
  await second.fill("textarea[name=text]", "Releases are cut on Wednesdays.");
  await second.click("text=Save as a new version");
  const texts = (await house.list(user)).map((one) => one.text).filter((text) => text.startsWith("Releases"));
  assert.deepEqual(texts, ["Releases are cut on Wednesdays."], "the later word stands, once");
});
