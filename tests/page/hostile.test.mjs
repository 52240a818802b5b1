// Hostile texts, stored in every field that a record has and shown in every room: none of them acts.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean } from "./house.mjs";
import { addresses, forgetOne, live, visit } from "./rooms.mjs";
import { payloads } from "./payloads.mjs";

let house;
let lived;
before(async () => {
  house = await House.start();
  const all = payloads();
  lived = await live(house, "mallory", (n) => all[n % all.length], all.length);
});
after(() => house.end());

/** What a page has when a text became markup. */
async function isInert(tab, where) {
  const grown = await tab.evaluate(() => ({
    scripts: [...document.scripts].filter((one) => !one.src.startsWith(location.origin + "/assets/")).length,
    foreign: document.querySelectorAll("main :is(iframe, object, embed, img, video, audio, base, meta, link, style, math)").length,
    handlers: [...document.querySelectorAll("*")].filter((one) =>
      [...one.attributes].some(({ name }) => name.startsWith("on"))).length,
    addresses: [...document.querySelectorAll("[href], [action], [src], [formaction]")].filter((one) =>
      ["href", "action", "src", "formaction"].some((name) =>
        one.hasAttribute(name) && new URL(one.getAttribute(name), location.href).origin !== location.origin)).length,
    ran: globalThis.ran ?? 0,
  }));
  assert.deepEqual(grown, { scripts: 0, foreign: 0, handlers: 0, addresses: 0, ran: 0 }, where);
}

test("there are two hundred of them, all different", () => {
  const all = payloads();
  assert.ok(all.length >= 200, `${all.length}`);
  assert.equal(new Set(all).size, all.length);
});

test("no stored text acts in any room", async () => {
  const seen = await visit(house, lived);
  const { tab } = seen;
  await forgetOne(seen);
  for (const room of addresses(seen)) {
    await tab.goto(tab.origin + room);
    await tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await isInert(tab, room);
  }
  for (const [first, least] of [["/timeline", 5], ["/knowledge", 4], ["/prompts", 1]]) {
    let pages = 0;
    for (let next = first; next; pages += 1) {
      await tab.goto(tab.origin + next);
      await isInert(tab, next);
      const link = tab.locator("a[rel=next]");
      next = (await link.count()) ? await link.getAttribute("href") : undefined;
    }
    assert.ok(pages >= least, `${first}: ${pages}`);
  }
  // What a form answers is a page as well.
  for (const [room, button] of [["/care/access", "Create token"], ["/erase", "Erase"]]) {
    await tab.goto(tab.origin + room);
    if (button === "Create token") await tab.fill("input[name=name]:visible", "</code><img/src=x/onerror=ran=1>");
    await tab.click(`button:has-text('${button}')`);
    await isInert(tab, button);
  }
  assert.deepEqual(tab.wrong.filter((said) => !/Failed to load resource/.test(said)), []);
});

test("no stored text acts on its own page, where it is asked for, or where it is forgotten", async () => {
  const tab = await house.tab("mallory");
  const records = await house.list("mallory");
  assert.ok(records.length >= 200);
  // Each of the texts on its own page; asked for, every second one, since a question is escaped as all are.
  const known = new Set(payloads());
  const own = records.filter((record) => known.has(record.text));
  assert.ok(own.length >= 150, `${own.length}`);
  for (const [place, record] of own.entries()) {
    await tab.goto(`${tab.origin}/records/${record.id}`);
    await isInert(tab, record.text);
    if (place % 2) continue;
    await tab.goto(`${tab.origin}/search?q=${encodeURIComponent(record.text.slice(0, 400))}`);
    await isInert(tab, `asked: ${record.text}`);
  }
  for (const record of records.slice(0, 40)) {
    for (const more of ["forget", "publish"]) {
      await tab.goto(`${tab.origin}/records/${record.id}/${more}`);
      await isInert(tab, `${more}: ${record.text}`);
    }
  }
  isClean(tab);
});

test("a text is shown as what it is, character for character", async () => {
  const tab = await house.tab("mallory");
  const [script] = (await house.list("mallory")).filter((one) => one.text === "<script/x>ran=1</script>");
  await tab.goto(`${tab.origin}/records/${script.id}`);
  assert.equal(await tab.locator("article[data-open] .said").innerText(), script.text);
  await tab.click("#edit > summary");
  assert.equal(await tab.inputValue("textarea"), script.text);
  const [turned] = (await house.list("mallory")).filter((one) => one.text.includes("\u202e"));
  await tab.goto(`${tab.origin}/records/${turned.id}`);
  assert.match(await tab.locator("article[data-open] .said").innerText(), /U\+202E/);
});

test("a megabyte in one line is cut by memory and does not break the page", async () => {
  await house.ingest("long", ["x".repeat(1 << 20)]);
  const tab = await house.tab("long", { viewport: { width: 800, height: 600 } });
  const [record] = await house.list("long");
  for (const room of ["/", "/timeline", "/search?q=x", `/records/${record.id}`]) {
    await tab.goto(tab.origin + room);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${room}: ${wide}`);
  }
  isClean(tab);
});

test("what stands in an address is no markup either", async () => {
  const tab = await house.tab("mallory");
  const names = ["q", "done", "expected", "after", "tag", "session", "since", "back", "merged"];
  for (const text of payloads().slice(0, 24)) {
    for (const room of ["/search", "/timeline", "/knowledge", "/records/x", "/"]) {
      const asked = names.map((name) => `${name}=${encodeURIComponent(text)}`).join("&");
      await tab.goto(`${tab.origin}${room}?${asked}`);
      await isInert(tab, `${room} ${text}`);
    }
  }
  const refused = tab.wrong.filter((said) => !/Failed to load resource/.test(said));
  assert.deepEqual(refused, []);
});
