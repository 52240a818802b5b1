// Everybody can use it: axe, narrow and wide, light and dark, on paper; and how it looks.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, violations } from "./house.mjs";
import { NO_ROOMS, ROOMS, addresses, forgetOne, live, routes, visit } from "./rooms.mjs";

const WIDTHS = [390, 768, 1280, 2560];
const SCHEMES = ["light", "dark"];
/** Widths between them, at which columns could squeeze each other. */
const BETWEEN = [861, 900, 1024, 1100, 1151, 1200];
/** Fewest pixels of the title of a row, of 200 letters. */
const TITLE_MIN = 150;

let house;
let lived;
before(async () => {
  house = await House.start();
  const say = (n) => `Note ${n} of the auth team: the refresh takes the lock twice, and users are logged out at random.`;
  lived = await live(house, "ada", say, 40);
  await house.reprise("pause", "--project", "shop", "--user", "ada");
});
after(() => house.end());

/** A tab with the addresses of all rooms, in which something was forgotten. */
async function looked(options) {
  const seen = await visit(house, lived, options);
  await forgetOne(seen);
  lived.records = seen.records;
  return { tab: seen.tab, rooms: addresses(seen) };
}

/** What is folded away is looked at too; of menus and chips one after the other, as a person opens them. */
const unfold = (tab) => tab.evaluate(() => document.querySelectorAll("details:not(.menu, .f)").forEach((one) => (one.open = true)));

test("every address that the router has is a room that is tested, or none", () => {
  const got = routes().filter((route) => route.startsWith("GET"));
  assert.ok(got.length >= 25);
  assert.deepEqual([...Object.keys(ROOMS), ...Object.keys(NO_ROOMS)].sort(), got.sort());
});

test("axe finds nothing in any room, and none is wider than its window, light and dark, at four widths", async () => {
  const { tab, rooms } = await looked({ viewport: { width: 1280, height: 900 } });
  const found = [];
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    await unfold(tab);
    for (const width of WIDTHS) {
      await tab.setViewportSize({ width, height: 900 });
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) found.push(`${room} at ${width}: ${wide} px too wide`);
      for (const colorScheme of SCHEMES) {
        await tab.emulateMedia({ colorScheme });
        // What opened may have scrolled: what lies half under the head is no target there.
        await tab.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
        found.push(...(await violations(tab)).map((one) => `${room} ${width} ${colorScheme}: ${one}`));
      }
    }
  }
  assert.deepEqual(found, []);
});

test("no room is too wide between these widths, and none leaves a title without room", async () => {
  const { tab, rooms } = await looked({ viewport: { width: 1280, height: 900 } });
  const found = [];
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    await unfold(tab);
    for (const width of BETWEEN) {
      await tab.setViewportSize({ width, height: 900 });
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) found.push(`${room} at ${width}: ${wide} px too wide`);
      const narrow = await tab.evaluate((least) => [...document.querySelectorAll("main .row .x")]
        .filter((one) => one.checkVisibility() && one.clientWidth < Math.min(least, one.scrollWidth)).length, TITLE_MIN);
      if (narrow) found.push(`${room} at ${width}: ${narrow} titles below ${TITLE_MIN} px`);
    }
  }
  assert.deepEqual(found, []);
});

test("menus, chips, the palette and the keys are reached by everybody, too", async () => {
  for (const width of [390, 1280]) {
    const { tab } = await looked({ viewport: { width, height: 900 } });
    await tab.goto(`${tab.origin}/search?q=auth`);
    const folded = await tab.locator("details.menu > summary, details.f > summary").count();
    for (let at = 0; at < folded; at += 1) {
      const one = tab.locator("details.menu > summary, details.f > summary").nth(at);
      if (!(await one.isVisible())) continue;
      await one.click();
      // What it covers in part is no target meanwhile.
      assert.deepEqual(await violations(tab, "details:is(.menu, .f)[open]"), [], `${width} ${await one.innerText()}`);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${await one.innerText()} at ${width}: ${wide}`);
      await tab.keyboard.press("Escape");
    }
    for (const key of ["Control+k", "?"]) {
      await tab.evaluate(() => document.activeElement?.blur());
      await tab.keyboard.press(key);
      await tab.waitForSelector("dialog[open]");
      assert.deepEqual(await violations(tab), [], `${width} ${key}`);
      await tab.keyboard.press("Escape");
    }
  }
});

test("on a phone one line is the head, and the bar at the lower edge leads to every place", async () => {
  const tab = await house.tab("ada", { viewport: { width: 390, height: 800 } });
  const head = await tab.locator("header").boundingBox();
  assert.ok(head.height <= 48, `${head.height}`);
  await tab.click("[data-place=agents]");
  await tab.waitForURL(/agents/);
  await tab.goto(`${tab.origin}/timeline`);
  await tab.locator("[data-record] .x").first().click();
  await tab.waitForURL(/records/);
});

test("nothing scrolls inside what scrolls", async () => {
  const { tab, rooms } = await looked({ viewport: { width: 1280, height: 800 } });
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    await unfold(tab);
    const inner = await tab.evaluate(() => [...document.querySelectorAll("main *")].filter((one) => {
      const style = getComputedStyle(one);
      return /auto|scroll/.test(style.overflowY) && one.scrollHeight > one.clientHeight + 1 && one.tagName !== "TEXTAREA";
    }).map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(inner, [], room);
  }
});

test("every room is left to paper without its controls", async () => {
  const { tab, rooms } = await looked();
  await tab.emulateMedia({ media: "print" });
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const shown = await tab.locator("main button:visible, header nav:visible").count();
    assert.equal(shown, 0, room);
  }
});

test("every field has a name, and no id is there twice", async () => {
  const { tab, rooms } = await looked();
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const ids = await tab.evaluate(() => [...document.querySelectorAll("[id]")].map((one) => one.id));
    assert.equal(new Set(ids).size, ids.length, `${room}: an id twice`);
  }
});
