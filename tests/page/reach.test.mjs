// Everybody can use it: axe, narrow and wide, light and dark, on paper.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, violations } from "./house.mjs";
import { NO_ROOMS, ROOMS, addresses, forgetOne, live, routes, visit, withTree } from "./rooms.mjs";

let house;
let lived;
before(async () => {
  house = await House.start((house) => withTree(house, "ada"));
  const say = (n) => `Note ${n} of the auth team: the refresh takes the lock twice, and users are logged out at random.`;
  lived = await live(house, "ada", say, 40);
});
after(() => house.end());

/** A tab with the addresses of all rooms, in which something was forgotten. */
async function looked(options) {
  const seen = await visit(house, lived, options);
  await forgetOne(seen);
  lived.records = seen.records;
  return { tab: seen.tab, rooms: addresses(seen) };
}

test("every address that the router has is a room that is tested, or none", () => {
  const got = routes().filter((route) => route.startsWith("GET"));
  assert.ok(got.length >= 20);
  assert.deepEqual([...Object.keys(ROOMS), ...Object.keys(NO_ROOMS)].sort(), got.sort());
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    test(`axe finds nothing in any room, ${colorScheme}, ${width} px`, async () => {
      const { tab, rooms } = await looked({ colorScheme, viewport: { width, height: 800 } });
      const found = [];
      for (const room of rooms) {
        await tab.goto(tab.origin + room);
        // What is folded away is looked at too.
        await tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
        found.push(...(await violations(tab)).map((one) => `${room}: ${one}`));
      }
      assert.deepEqual(found, []);
    });
  }
}

test("nothing is wider than the window, from 320 to 2560 px", async () => {
  for (const width of [320, 360, 768, 1280, 2560]) {
    const { tab, rooms } = await looked({ viewport: { width, height: 800 } });
    for (const room of rooms) {
      await tab.goto(tab.origin + room);
      await tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${room} at ${width}: ${wide} px too wide`);
    }
    await tab.context().close();
  }
});

test("every room is left to paper without its controls", async () => {
  const { tab, rooms } = await looked();
  await tab.emulateMedia({ media: "print" });
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const shown = await tab.locator("button:visible, header nav:visible").count();
    assert.equal(shown, 0, room);
    assert.ok(await tab.locator("h1").isVisible(), room);
  }
});

test("every field has a name, every picture a text or a table", async () => {
  const { tab, rooms } = await looked();
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const charts = await tab.locator(".chart").count();
    const tables = await tab.locator("table").count();
    assert.ok(tables >= charts, room);
    const ids = await tab.evaluate(() => [...document.querySelectorAll("[id]")].map((one) => one.id));
    assert.equal(new Set(ids).size, ids.length, `${room}: an id twice`);
  }
});
