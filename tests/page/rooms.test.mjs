// Every room: empty, with ten records and with many; the figures that it is held to.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, crowd, isClean, week } from "./house.mjs";
import { plain } from "./rooms.mjs";

let house;
before(async () => {
  house = await House.start();
  await house.ingest("ten", week());
  await house.ingest("many", week(3000));
  await house.ingest("some", crowd(3000));
  await house.ingest("crowd", crowd(100_000));
});
after(() => house.end());

/** What compares every record with those like it, which takes seconds where there are many. */
const COMPARES = ["/knowledge/review", "/care/audit"];

for (const user of ["nobody", "ten", "some", "crowd"]) {
  for (const javaScriptEnabled of [true, false]) {
    test(`every room of ${user}, script ${javaScriptEnabled}`, async () => {
      const tab = await house.tab(user, { javaScriptEnabled });
      const rooms = plain().filter((room) => user !== "crowd" || !COMPARES.includes(room));
      for (const room of rooms) {
        const answer = await tab.goto(tab.origin + room);
        assert.equal(answer.status(), 200, room);
        assert.equal(await tab.locator("h1").count(), 1, room);
        assert.equal(await tab.locator("main").count(), 1, room);
      }
      isClean(tab);
    });
  }
}

test("an empty memory teaches the first commands", async () => {
  const tab = await house.tab("nobody");
  assert.match(await tab.locator("main").innerText(), /reprise learn[\s\S]*reprise recall[\s\S]*reprise connect/);
});

test("the first page is small, in few requests", async () => {
  const tab = await house.stranger();
  const link = await house.link("many");
  let bytes = 0;
  const counted = [];
  tab.on("requestfinished", (request) => {
    counted.push(request.sizes().then((sizes) => (bytes += sizes.responseBodySize + sizes.responseHeadersSize)));
  });
  await tab.goto(link);
  await tab.waitForLoadState("load");
  const requests = tab.requests.filter((address) => !address.endsWith("/live"));
  await Promise.all(counted);
  assert.ok(requests.length <= 6, requests.join("\n"));
  assert.ok(bytes > 5_000 && bytes <= 120_000, `${bytes} bytes`);
});

test("the timeline goes through everything once, newest first, and filters", async () => {
  const tab = await house.tab("ten");
  await tab.goto(`${tab.origin}/timeline?tag=ops`);
  assert.equal(await tab.locator("article.record").count(), 5);
  await tab.goto(`${tab.origin}/timeline?session=day-1`);
  assert.equal(await tab.locator("article.record").count(), 4);
  await tab.goto(`${tab.origin}/timeline?since=nonsense`);
  assert.match(await tab.locator("main").innerText(), /nonsense/);
  const all = await house.tab("many");
  await all.goto(`${all.origin}/timeline`);
  const seen = new Set();
  for (let pages = 0; pages < 4; pages += 1) {
    const ids = await all.locator("article.record a.title").evaluateAll((links) => links.map((link) => link.href));
    for (const id of ids) assert.ok(!seen.has(id), "a record twice");
    ids.forEach((id) => seen.add(id));
    await all.click("a[rel=next]");
  }
  assert.equal(seen.size, 100);
});

test("a hundred thousand records are gone through page by page, and their number is said", async () => {
  const tab = await house.tab("crowd");
  assert.match(await tab.locator(".numbers").innerText(), /Records\s+100,000/);
  await tab.goto(`${tab.origin}/timeline`);
  assert.match(await tab.locator("main [role=status]").innerText(), /25 of 100000 records/);
  await tab.click("a[rel=next]");
  assert.equal(await tab.locator("article.record").count(), 25);
  const record = tab.locator("article a.title").first();
  const words = await record.innerText();
  await tab.goto(`${tab.origin}/search?q=${encodeURIComponent(words)}`);
  assert.ok((await tab.locator(".hits a.title").allInnerTexts()).includes(words), words);
  isClean(tab);
});

test("a range of days has both its ends", async () => {
  const at = (day, clock) => ({ text: `On the ${day}. at ${clock}.`, timestamp: new Date(`2026-03-${day}T${clock}`).toISOString() });
  await house.ingest("days", [at("09", "23:59:59"), at("10", "00:00:00"), at("11", "23:59:59"), at("12", "00:00:00")]);
  const tab = await house.tab("days");
  await tab.goto(`${tab.origin}/timeline`);
  await tab.fill("input[name=since]", "2026-03-10");
  await tab.fill("input[name=until]", "2026-03-11");
  await tab.click("button:text-is('Filter')");
  assert.deepEqual(await tab.locator("article a.title").allInnerTexts(), ["On the 11. at 23:59:59.", "On the 10. at 00:00:00."]);
});

test("search shows why, and why not", async () => {
  const tab = await house.tab("ten");
  await tab.goto(`${tab.origin}/search?q=auth+race&top_k=1`);
  assert.equal(await tab.locator(".hits > li").count(), 1);
  assert.match(await tab.locator(".hits mark").first().innerText(), /auth|race/i);
  await tab.click(".hits summary");
  assert.ok((await tab.locator(".hits .signals tbody tr").count()) >= 3);
  assert.match(await tab.locator(".prompt").innerText(), /reprise-memory-/);
  const shown = await tab.locator(".hits a.title").first().getAttribute("href");
  const records = await house.list("ten");
  const other = records.find((record) => record.text.includes("auth") && !shown.endsWith(record.id));
  await tab.fill("input[name=expected]", other.id);
  await tab.click("button:text-is('Why not this one?')");
  assert.match(await tab.locator(".why-not").innerText(), /in place \d+ with a score/);
  const stranger = records.find((record) => record.text.includes("Tuesdays"));
  await tab.goto(`${tab.origin}/search?q=auth+race&top_k=1&expected=${stranger.id}`);
  assert.match(await tab.locator(".why-not").innerText(), /not among the first|place \d+/);
  const why = async (more, expected) => {
    await tab.goto(`${tab.origin}/search?q=auth+race&top_k=1${more}&expected=${expected}`);
    return tab.locator(".why-not [role=status]").innerText();
  };
  assert.match(await why("", "01HZZZZZZZZZZZZZZZZZZZZZZZ"), /has no such record/);
  assert.match(await why("&kind=pattern", records.find((one) => one.kind === "episode").id), /leaves it out by "Kind"/);
  assert.match(await why("&tag=auth", records.find((one) => one.tags.includes("ops")).id), /leaves it out by "Tag"/);
  assert.match(await why("&back=300", stranger.id), /leaves it out by "As memory stood/);
  isClean(tab);
});

test("why not holds for what lies behind hundreds, and for what was corrected", async () => {
  const all = await house.list("many");
  const tab = await house.tab("many");
  const shown = async (expected) => {
    await tab.goto(`${tab.origin}/search?q=releases+are+cut+on+Tuesdays&expected=${expected}`);
    return tab.locator(".why-not").innerText();
  };
  const places = [];
  const alike = all.filter((record) => record.text.includes("Tuesdays"));
  for (let place = 0; place < alike.length; place += 37) places.push(await shown(alike[place].id));
  for (const place of places) assert.match(place, /after the first \d+\. Asked for alone it scores \d|place \d+/);
  assert.ok(places.some((place) => /Asked for alone/.test(place)), places.join("\n"));
  const old = all[0];
  await house.reprise("edit", old.id, "--content", "Another word.", "--user", "many");
  assert.match(await shown(old.id), /corrected since/);
  isClean(tab);
});

test("a question is taken elsewhere with its filters", async () => {
  const tab = await house.tab("ten");
  await tab.goto(`${tab.origin}/search?q=auth+race+it's&kind=finding&tag=auth&back=3&top_k=4`);
  await tab.click("summary:has-text('elsewhere')");
  const command = await tab.locator("[data-copy]").first().innerText();
  assert.equal(command, String.raw`reprise recall 'auth race it'\''s' --limit 4 --kind 'finding' --tag 'auth' --as-of 3d`);
});

test("search answers while somebody types, one question at a time, the last one wins", async () => {
  const tab = await house.tab("ten");
  await tab.goto(`${tab.origin}/search`);
  let underWay = 0;
  let most = 0;
  await tab.route("**/search?*", async (route) => {
    most = Math.max(most, (underWay += 1));
    await new Promise((resolve) => setTimeout(resolve, 150));
    await route.continue();
    underWay -= 1;
  });
  await tab.locator("input[name=q]").pressSequentially("releases cut Tuesdays", { delay: 60 });
  await tab.waitForURL(/q=releases\+cut\+Tuesdays/);
  await tab.waitForSelector(".hits mark:text-is('Tuesdays')");
  assert.equal(most, 1);
  assert.match(await tab.locator("#said").innerText(), /result/);
});

test("memory as it stood is asked by the day", async () => {
  const tab = await house.tab("ten");
  await tab.goto(`${tab.origin}/search?q=auth+race&back=300`);
  assert.equal(await tab.locator(".hits > li").count(), 0);
  assert.equal(await tab.locator("#back-says").innerText(), "300");
});

test("news come by themselves", async () => {
  await house.ingest("fresh", ["The first of all."]);
  const tab = await house.tab("fresh");
  await tab.waitForSelector("text=The first of all.");
  await house.ingest("fresh", ["Fresh from the daemon."]);
  await tab.waitForSelector("text=Fresh from the daemon.");
  isClean(tab);
});
