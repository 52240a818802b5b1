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
  const tab = await house.tab(user, { viewport: { width: 1280, height: 900 }, ...options });
  const found = async (part) => (await house.list(user)).find((record) => record.text.includes(part));
  const room = async (record, more = "") => tab.goto(`${tab.origin}/records/${record.id}${more}`);
  return { user, tab, found, room };
}

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
    await house.reprise("link", record.id, (await found("Tuesdays")).id, "--user", user);
    await house.reprise("link", (await found("linker")).id, record.id, "--user", user);
    await room(record);
    await tab.click("article a:has-text('Forget')");
    assert.match(await tab.locator("main").innerText(), /1 record goes with 1 version/);
    await tab.fill("input[name=reason]", "a test asks for it");
    await tab.click("main button.danger");
    assert.match(await tab.locator("main").innerText(), new RegExp(record.id));
    assert.equal(await found("staging database"), undefined);
    assert.equal((await room(record)).status(), 404);
    assert.match(await tab.locator("main").innerText(), /Not here[\s\S]*Home/);
    await tab.goBack();
    assert.match(await tab.locator("main").innerText(), /under a new id and with its links; earlier versions and external ids do not/);
    await tab.click("main button:has-text('Undo')");
    assert.match(await said(tab), /Undone: it is kept again under a new id, without earlier versions/);
    const back = await found("staging database");
    assert.deepEqual([back.text, back.timestamp, back.tags, back.session_id],
      [record.text, record.timestamp, record.tags, record.session_id]);
    await room(back);
    assert.equal(await tab.locator(".linked > li").count(), 2, "its links are back");
    await room(back, "/forget");
    await tab.click("main button.danger");
    await tab.click("button:text-is('Erase from the file')");
    assert.match(await tab.locator("main").innerText(), /The file had/);
    assert.equal(await found("staging database"), undefined);
    assert.equal((await house.list(user)).length, 9);
    await tab.goto(`${tab.origin}/done`);
    assert.match(await tab.locator("main").innerText(), /Nothing was changed yet/, "nothing is left to undo");
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
    assert.match(await tab.locator("article .facts").first().innerText(), /project's workspace[\s\S]*Pinned/);
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
    const link = async (id) => {
      await tab.click("#link > summary");
      await tab.fill("input[name=other]:visible", id);
      await tab.fill("input[name=relation]:visible", "caused_by");
      await tab.click("#link button");
    };
    await link(other.id);
    assert.match(await tab.locator(".linked").textContent(), /caused by \u2192/);
    await room(other);
    assert.match(await tab.locator(".linked").textContent(), /caused by \u2190/);
    await tab.click(".fold:has(.linked) > summary");
    await tab.click("text=Unlink");
    assert.equal(await tab.locator(".linked").count(), 0);
    await undo(tab);
    assert.match(await tab.locator(".linked").textContent(), /caused by \u2192/, "the undoing shows the first of the two");
    await link("no such record");
    assert.match(await tab.locator("main").innerText(), /no record/);
  });

  test(`a result is judged, learning says so, and is switched, ${how}`, async () => {
    const { tab } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
    await tab.locator("button[value=yes]").first().click();
    assert.match(await said(tab), /learns/);
    await tab.goto(`${tab.origin}/learning`);
    assert.match(await tab.locator(".lead").innerText(), /After 1 run: too little to move a score; about 14 more/);
    const moved = tab.locator("[aria-label='What runs say most about'] tbody tr");
    assert.match(await moved.innerText(), /\w+[\s\S]*1\s+\+0\.\d+/);
    await moved.locator("a").click();
    await tab.click(".fold > summary:has-text('earned')");
    assert.match(await tab.locator("[aria-label=Runs] tbody tr").innerText(), /page [\s\S]*1\.00/);
    await tab.goto(`${tab.origin}/learning`);
    await tab.click("text=Switch off");
    assert.match(await tab.locator(".lead").innerText(), /Learning is off/);
    await tab.click("text=Switch on");
    await tab.click("summary:has-text('Forget what was learned')");
    await tab.click("button[value=reset]");
    assert.match(await tab.locator(".lead").innerText(), /No run has said yet/);
  });

  test(`what contradicts is answered side by side with its dates, and tidying says first what it does, ${how}`, async () => {
    const { user, tab } = await somebody({ javaScriptEnabled });
    const line = (external_id, text, day) => ({ external_id, session_id: external_id, text, timestamp: `2026-02-0${day}T08:00:00Z` });
    await house.ingest(user, [line("t-30", "The timeout of the login page is 30 seconds", 1), line("t-90", "The timeout of the login page is 90 seconds", 2),
      line("d-1", "The deploy script fails without the VPN.", 3), line("d-2", "the deploy script fails without the VPN", 4)]);
    await tab.goto(`${tab.origin}/knowledge/review`);
    const pair = tab.locator("[data-pair]").first();
    assert.match(await pair.innerText(), /2026-02-01[\s\S]*30 seconds[\s\S]*2026-02-02[\s\S]*90 seconds/);
    await pair.locator("button[value=newer]").click();
    assert.match(await said(tab), /Answered/);
    assert.equal((await house.list(user)).filter((one) => one.text.includes("timeout")).length, 1);
    await tab.goto(`${tab.origin}/done`);
    assert.doesNotMatch(await tab.locator("main").innerText(), /Nothing was changed/);
    await tab.locator("main .card:has-text('timeout') button:has-text('Undo')").click();
    assert.equal((await house.list(user)).filter((one) => one.text.includes("timeout")).length, 2);
    await tab.goto(`${tab.origin}/done`);
    assert.match(await tab.locator("main").innerText(), /Nothing was changed/);
    await tab.goto(`${tab.origin}/knowledge/tidy`);
    assert.match(await tab.locator("main").innerText(), /What tidying up would do[\s\S]*deploy script fails/);
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 2, "looking does nothing");
    await tab.click("button:text-is('Do this')");
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 1);
    await tab.locator("main .card button:has-text('Undo')").first().click();
    assert.equal((await house.list(user)).filter((one) => one.text.includes("deploy")).length, 2);
  });
}

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
  await second.waitForURL(/done=/);
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
  assert.match(await said(tab), /learns/);
  await tab.fill("main .card input[name=expected]", records.find((one) => one.text.includes("other shop")).id);
  await tab.click("main .card button:has-text('Why not?')");
  await tab.waitForURL(/expected=/);
  assert.match(await tab.locator("main").innerText(), /It is result \d|come before it/);
  isClean(tab);
});

test("an operator goes from user to user, and nobody else", async () => {
  await house.ingest("owner", ["The owner's note."]);
  await house.ingest("guest", ["The guest's note."]);
  const tab = await house.tab("owner", {}, "--all-users", "--read-only");
  await tab.goto(`${tab.origin}/users`);
  await tab.click("button[aria-label='Go to the memory of guest']");
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

test("the map is walked, and a list beside it says the same", async () => {
  const { user, tab, found } = await somebody();
  const [one, other, third] = [await found("Tuesdays"), await found("linker"), await found("Invoices")];
  await house.reprise("link", one.id, other.id, "--user", user);
  await house.reprise("link", other.id, third.id, "--user", user);
  await tab.goto(`${tab.origin}/map?around=${one.id}`);
  await tab.waitForTimeout(300);
  const drawn = await tab.evaluate(() => {
    const canvas = document.querySelector("canvas");
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.filter((value, at) => at % 4 === 3 && value > 0).length;
  });
  assert.ok(drawn > 500, `${drawn} pixels`);
  assert.match(await tab.locator("#map-list").innerText(), /Tuesdays[\s\S]*2 links[\s\S]*related to[\s\S]*linker/);
  await tab.locator("#map-list a:has-text('Invoices')").first().click();
  await tab.waitForURL((address) => address.search.includes(third.id));
  assert.match(await tab.locator("#map-list h2").innerText(), /Invoices/);
  isClean(tab);
});

test("titles on the map cover neither each other nor the edge, and the drawing fills its canvas", async () => {
  const { tab } = await somebody();
  await tab.emulateMedia({ reducedMotion: "reduce" });
  for (const [width, height] of [[390, 844], [1280, 900], [2560, 1300]]) {
    await tab.setViewportSize({ width, height });
    await tab.goto(`${tab.origin}/map`);
    await tab.waitForTimeout(300);
    const { titles, dots, canvas } = await tab.evaluate(() => {
      const [titles, dots, pen] = [[], [], CanvasRenderingContext2D.prototype];
      const { fillText, arc } = pen;
      pen.fillText = function (text, x, y) {
        const half = this.measureText(text).width / 2;
        titles.push({ text, left: x - half, right: x + half, top: y - 9, bottom: y });
        fillText.call(this, text, x, y);
      };
      pen.arc = function (x, y, ...more) {
        dots.push(x);
        arc.call(this, x, y, ...more);
      };
      dispatchEvent(new Event("resize"));
      [pen.fillText, pen.arc] = [fillText, arc];
      return { titles, dots, canvas: document.querySelector("canvas").clientWidth };
    });
    assert.ok(titles.length > 2, `${width}: ${titles.length} titles`);
    for (const [place, one] of titles.entries()) {
      assert.ok(one.left >= 0 && one.right <= canvas, `${width}: ${one.text} is cut`);
      for (const other of titles.slice(place + 1)) {
        const clear = one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
        assert.ok(clear, `${width}: ${one.text} lies on ${other.text}`);
      }
    }
    const across = (Math.max(...dots) - Math.min(...dots)) / canvas;
    assert.ok(across > 0.4, `${width}: ${across} of the canvas`);
  }
  isClean(tab);
});

test("what is alike stands in groups, which are walked from record to record", async () => {
  const { tab } = await somebody();
  await tab.goto(`${tab.origin}/map`);
  await tab.waitForTimeout(300);
  const groups = await tab.locator("#map-list .put").count();
  assert.ok(groups > 1, `${groups} groups`);
  // A record of the largest group, by its colour: where it was drawn, it is clicked.
  const spot = () => tab.evaluate(() => {
    const canvas = document.querySelector("canvas");
    const { width, height } = canvas;
    const [red, green, blue] = getComputedStyle(document.querySelector(".dot-0")).backgroundColor.match(/\d+/g).map(Number);
    const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
    for (let at = 0; at < pixels.length; at += 4) {
      if (pixels[at] === red && pixels[at + 1] === green && pixels[at + 2] === blue && pixels[at + 3] === 255) {
        const box = canvas.getBoundingClientRect();
        return { x: box.left + ((at / 4) % width) * (box.width / width), y: box.top + Math.floor(at / 4 / width) * (box.height / height) + 4 };
      }
    }
    return undefined;
  });
  // On a busy machine it moves still: the next click finds it where it is then.
  for (let clicked = 0; clicked < 10 && !tab.url().includes("at="); clicked += 1) {
    const found = await spot();
    assert.ok(found, "no record is drawn in its group's colour");
    await tab.mouse.click(found.x, found.y);
    await tab.waitForURL(/at=/, { timeout: 1000 }).catch(() => undefined);
  }
  assert.match(tab.url(), /at=/);
  await tab.waitForSelector("#map-list h2 a[href^='/records/']");
  const title = await tab.locator("#map-list h2").first().innerText();
  await tab.locator("#map-list li a").first().click();
  await tab.waitForURL(/at=/);
  assert.notEqual(await tab.locator("#map-list h2").first().innerText(), title);
  isClean(tab);
});
