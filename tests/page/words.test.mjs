// What the page calls things: projects, sessions, versions, contradictions, and a daemon without a model.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, violations } from "./house.mjs";

let house;
before(async () => (house = await House.start()));
after(() => house.end());

test("a daemon that was started without a model has no problem for that, and says what it cannot do", async () => {
  await house.ingest("ada", ["Releases are cut on Tuesdays, never on Fridays."]);
  const tab = await house.tab("ada");
  await tab.waitForSelector("#needs [data-total]");
  assert.doesNotMatch(await tab.locator("main").innerText(), /Problem|does not answer|models pull/);
  assert.match(await tab.locator("main").innerText(), /--no-model[\s\S]*not by meaning[\s\S]*stop the daemon/);
  await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
  assert.match(await tab.locator("main").innerText(), /--no-model/);
  assert.equal(await tab.locator("main .notice").count(), 0);
  isClean(tab);
});

test("both sides of a contradiction that the review found have a chip in Ask that leads there", async () => {
  await house.ingest("bob", [
    { text: "The timeout of the login page is 30 seconds", kind: "finding", timestamp: "2026-01-05T10:00:00Z" },
    { text: "The timeout of the login page is 90 seconds", kind: "finding", timestamp: "2026-03-05T10:00:00Z" },
    { text: "The login page is drawn by the shop", kind: "finding", timestamp: "2026-03-06T10:00:00Z" },
  ]);
  const tab = await house.tab("bob");
  await tab.waitForSelector("#needs [data-pair]");
  await tab.goto(`${tab.origin}/search?q=timeout+of+the+login+page`);
  const chips = await tab.locator(".hit").evaluateAll((all) => all.map((hit) => [/timeout/.test(hit.querySelector(".x").textContent), /conflicts/.test(hit.querySelector(".meta").textContent)]));
  assert.ok(chips.filter(([is]) => is).length === 2 && chips.every(([is, has]) => is === has), JSON.stringify(chips));
  assert.deepEqual(await violations(tab), [], "the chip leaves the title its room");
  await tab.locator(".hit a.chip.warn").first().click();
  await tab.waitForSelector("[data-pair]");
  isClean(tab);
});

test("the address of an older version says that there is a newer text, and shows that", async () => {
  await house.ingest("cyd", ["Drain a node before the upgrade; it takes ten minutes"]);
  const [{ id }] = await house.list("cyd");
  await house.reprise("edit", id, "--content", "Drain a node before the upgrade; it takes twenty minutes", "--user", "cyd");
  const tab = await house.tab("cyd");
  await tab.goto(`${tab.origin}/records/${id}`);
  assert.match(await tab.locator("#side [role=status]").innerText(), /older version[\s\S]*current text/);
  assert.match(await tab.locator("article .said").first().innerText(), /twenty minutes/);
  const present = await tab.locator("[data-open]").getAttribute("data-open");
  assert.notEqual(present, id);
  await tab.goto(`${tab.origin}/records/${present}`);
  assert.equal(await tab.locator("#side [role=status]").count(), 0);
  isClean(tab);
});

test("a person reads names of projects and sessions, and no fingerprint of them", async () => {
  const session = "0f3c8a44-9d1e-4c55-8e3e-1b7c6a0f2d11";
  const line = (text, minutes, more) => ({ text, kind: "finding", session_id: session, tags: ["project:api-1f2e3d4c"],
    timestamp: new Date(Date.now() - minutes * 60_000).toISOString(), ...more });
  await house.ingest("dan", [line("The importer reads in batches of 500", 9), line("The checkout waits for the importer", 7),
    line("A bigger batch holds the lock for longer", 5), line("Alone in its session", 3, { session_id: "9f86d081884c7d659a2f" })]);
  const tab = await house.tab("dan");
  for (const room of ["/", "/timeline", "/knowledge"]) {
    await tab.goto(tab.origin + room);
    const list = await tab.locator("main .list").innerText();
    assert.match(list, /importer[\s\S]*\bapi\b/, room);
    assert.doesNotMatch(list, /1f2e3d4c|0f3c8a44|9f86d081/, room);
  }
  await tab.click("text=A bigger batch holds the lock");
  await tab.waitForSelector("article[data-open]");
  const article = tab.locator("article[data-open]");
  assert.match(await article.locator(".meta").first().innerText(), /in api\b/);
  assert.match(await article.locator(".facts").first().innerText(), /Session\s+Unnamed session[\s\S]*Visibility\s+Private/);
  isClean(tab);
});

test("on a phone no text stands one letter a line, and no menu is cut off", async () => {
  await house.ingest("eve", [{ text: "Websockets break behind the proxy unless it speaks HTTP/1.1: upgrades are dropped", kind: "finding", tags: ["project:shop"],
    timestamp: "2026-03-05T10:00:00Z", metadata: { type: "lesson" } }]);
  const hook = { session: "now", project: "shop", agent: "claude-code" };
  await house.hook("eve", { ...hook, event: "user-prompt", text: "why do websockets break behind the proxy" });
  await house.hook("eve", { ...hook, event: "stop", text: "Because it speaks HTTP/1.0." });
  const { prompts } = JSON.parse(await house.reprise("call", "prompts", "{}", "--user", "eve"));
  const tab = await house.tab("eve", { viewport: { width: 390, height: 844 } });
  for (const room of [`/prompts/${prompts[0].id}`, "/prompts?session=now", "/agents", "/", "/care/backups", "/knowledge/review"]) {
    await tab.goto(tab.origin + room);
    const narrow = await tab.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => {
      const own = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()).join(" ");
      const box = one.getBoundingClientRect();
      return own.length > 20 && box.height > 60 && box.width > 1 && box.width < 8 * parseFloat(getComputedStyle(one).fontSize);
    }).map((one) => one.textContent.slice(0, 60)));
    assert.deepEqual(narrow, [], room);
  }
  assert.match(await tab.locator(".pause > summary").innerText(), /Memory on/);
  await tab.click(".pause > summary");
  const box = await tab.locator(".pause > .pop").boundingBox();
  assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  isClean(tab);
});

test("the palette begins with places, and decides nothing that is not read", async () => {
  const tab = await house.tab("bob", { viewport: { width: 1280, height: 800 } });
  await tab.waitForSelector("#needs [data-pair]");
  await tab.keyboard.press("Control+k");
  const offered = await tab.locator("dialog li > span").allInnerTexts();
  assert.ok(!/pause|read only|true/i.test(offered[0]), offered[0]);
  assert.ok(offered.every((one) => !/Keep this|Both are true/.test(one)), offered.join());
  await tab.keyboard.type("theme dark");
  await tab.keyboard.press("Enter");
  assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
  // On the page of questions j chooses the first one, whose keys count then.
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.waitForSelector("[data-pair]");
  await tab.keyboard.press("j");
  assert.equal(await tab.evaluate(() => document.activeElement?.matches("[data-pair]")), true);
  assert.ok(await tab.locator("[data-pair] kbd").first().isVisible());
  isClean(tab);
});

test("the key of an answer is shown with the focus, and belongs to the button's name", async () => {
  const tab = await house.tab("bob", { viewport: { width: 390, height: 844 } });
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.waitForSelector("[data-pair]");
  await tab.focus("[data-pair]");
  assert.ok(await tab.locator("[data-pair] kbd").first().isVisible());
  assert.deepEqual(await violations(tab), []);
});
