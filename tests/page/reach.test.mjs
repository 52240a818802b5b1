// Everybody can use it: axe, keyboard alone, narrow and wide, light and dark, on paper.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, ROOMS, isClean, violations, week } from "./house.mjs";

let house;
let rooms;
before(async () => {
  house = await House.start();
  await house.ingest("ada", week(60));
  const [one, other] = await house.list("ada");
  await house.reprise("link", one.id, other.id, "--user", "ada");
  await house.reprise("edit", one.id, "--content", "Corrected: the lock is taken once.", "--user", "ada");
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/search?q=when+are+releases+cut`);
  await tab.locator("button[value=yes]").first().click();
  const [record] = (await house.list("ada")).filter((one) => one.text.startsWith("Corrected"));
  rooms = [...ROOMS, `/records/${record.id}`, `/records/${record.id}/forget`, "/no-such-room", "/enter/expired"];
});
after(() => house.end());

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    test(`axe finds nothing in any room, ${colorScheme}, ${width} px`, async () => {
      const tab = await house.tab("ada", { colorScheme, viewport: { width, height: 800 } });
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
    const tab = await house.tab("ada", { viewport: { width, height: 800 } });
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
  const tab = await house.tab("ada");
  await tab.emulateMedia({ media: "print" });
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const shown = await tab.locator("button:visible, header nav:visible").count();
    assert.equal(shown, 0, room);
    assert.ok(await tab.locator("h1").isVisible(), room);
  }
});

/** Goes to what `selector` names by the tab key alone, with its focus to be seen. */
async function reach(tab, selector) {
  for (let presses = 0; presses < 150; presses += 1) {
    const there = await tab.evaluate((wanted) => document.activeElement?.matches(wanted), selector);
    if (there) {
      const outline = await tab.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, "none", `${selector} shows no focus`);
      return;
    }
    await tab.keyboard.press("Tab");
  }
  assert.fail(`${selector} cannot be reached`);
}

test("with the keyboard alone: search, correct, forget, undo", async () => {
  const tab = await house.tab("ada");
  await tab.keyboard.press("Tab");
  assert.match(await tab.evaluate(() => document.activeElement.textContent), /Skip/);
  await tab.keyboard.press("/");
  await tab.waitForURL(/search/);
  await tab.keyboard.press("/");
  await tab.keyboard.type("invoices rounded");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(".hits li");
  await reach(tab, ".hits a.title");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/records/);
  await reach(tab, ".panel > summary");
  await tab.keyboard.press("Enter");
  await reach(tab, "textarea[name=text]");
  await tab.keyboard.press("ControlOrMeta+a");
  await tab.keyboard.type("Invoices are rounded half up.");
  await reach(tab, ".panel button");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/done=/);
  assert.match(await tab.locator(".whole .said").innerText(), /half up/);
  await reach(tab, "a.danger");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/forget$/);
  await reach(tab, "button.danger");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/forgotten/);
  await reach(tab, ".notice button");
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/records/);
  assert.match(await tab.locator(".notice").innerText(), /Undone/);
  isClean(tab);
});

test("every field has a name, every picture a text or a table", async () => {
  const tab = await house.tab("ada");
  for (const room of rooms) {
    await tab.goto(tab.origin + room);
    const charts = await tab.locator(".chart").count();
    const tables = await tab.locator("table").count();
    assert.ok(tables >= charts, room);
    const ids = await tab.evaluate(() => [...document.querySelectorAll("[id]")].map((one) => one.id));
    assert.equal(new Set(ids).size, ids.length, `${room}: an id twice`);
  }
});
