// Pairs in doubt side by side, tidying up, and taking all of it back.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, violations } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

let people = 0;
async function somebody(options) {
  const user = `person${(people += 1)}`;
  const line = (external_id, session_id, text, more = {}) => ({ external_id, session_id, text, ...more });
  await house.ingest(user, [
    line("d-1", "mon", "The deploy script fails without the VPN."),
    line("d-2", "tue", "the deploy script fails without the VPN"),
    line("d-3", "wed", "The deploy script just fails without the VPN!"),
    line("p-260", "mon", "Reviewed PR 260 for the payment service"),
    line("p-480", "tue", "Reviewed PR 480 for the payment service"),
    line("t-30", "mon", "The timeout of the login page is 30 seconds"),
    line("t-90", "tue", "The timeout of the login page is 90 seconds"),
    line("s-1", "mon", "<b>a buffer</b> that had its time", { metadata: { expires_at: "2020-01-01" } }),
  ]);
  const tab = await house.tab(user, options);
  const texts = async () => (await house.list(user)).map((one) => one.text);
  return { user, tab, texts };
}
const pair = (tab, part) => tab.locator("[data-pair]", { hasText: part });

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`a contradiction is answered and the answer undone, ${how}`, async () => {
    const { tab, texts } = await somebody({ javaScriptEnabled });
    await tab.goto(`${tab.origin}/knowledge`);
    await tab.click("text=Look at what may contradict");
    const timeout = pair(tab, "timeout of the login page");
    assert.match(await timeout.innerText(), /Older[\s\S]*30 seconds[\s\S]*Newer[\s\S]*90 seconds/);
    await timeout.locator("button[value=newer]").click();
    assert.match(await tab.locator(".notice").innerText(), /One answers for both/);
    assert.equal(await timeout.count(), 0);
    assert.ok(!(await texts()).some((text) => text.includes("30 seconds")));
    await tab.click(".notice button");
    assert.match(await tab.locator(".notice").innerText(), /1 record answers again/);
    assert.ok((await texts()).some((text) => text.includes("30 seconds")));
    if (javaScriptEnabled) isClean(tab);
  });

  test(`memory is tidied up as it was said, and all of it undone, ${how}`, async () => {
    const { tab, texts } = await somebody({ javaScriptEnabled });
    const before = await texts();
    await tab.goto(`${tab.origin}/knowledge/review`);
    assert.match(await tab.locator("main").innerText(), /2 records would be put behind another[\s\S]*1 put away/);
    await tab.click("button:has-text('Tidy up now')");
    assert.match(await tab.locator(".notice").innerText(), /Tidied up/);
    const after = await texts();
    assert.equal(after.length, before.length - 2, "two duplicates and one that is over, and one distilled of them");
    assert.ok(!after.some((text) => text.includes("had its time")));
    assert.match(await tab.locator("main").innerText(), /d-3 answers for 2 others that say the same: d-1 d-2/);
    await tab.click(".notice button");
    assert.match(await tab.locator(".notice").innerText(), /3 records answer again/);
    assert.deepEqual((await texts()).sort(), before.sort());
    assert.match(await tab.locator("main").innerText(), /undone/);
    if (javaScriptEnabled) isClean(tab);
  });
}

test("one key answers the pair that has the focus, and no other key or place does", async () => {
  const { tab, texts } = await somebody();
  await tab.goto(`${tab.origin}/knowledge/review`);
  await tab.keyboard.press("n");
  assert.equal(await pair(tab, "timeout").count(), 1, "nothing has the focus yet");
  await pair(tab, "timeout").locator("button").first().focus();
  await tab.keyboard.press("x");
  assert.equal(await pair(tab, "timeout").count(), 1);
  await tab.keyboard.press("o");
  await tab.waitForSelector(".notice");
  assert.ok(!(await texts()).some((text) => text.includes("90 seconds")), "the older holds");
  assert.ok(await tab.evaluate(() => document.activeElement?.closest("[data-pair]")), "the next is under the hands");
  await tab.keyboard.press("d");
  await tab.waitForURL(/answered=apart/);
  assert.equal(await pair(tab, "Reviewed PR").count(), 0);
  assert.equal((await texts()).filter((text) => text.startsWith("Reviewed PR")).length, 2);
  isClean(tab);
});

test("the audit says how memory stands, and axe finds nothing in the rooms of tending", async () => {
  const { user } = await somebody();
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280]) {
      const tab = await house.tab(user, { colorScheme, viewport: { width, height: 800 } });
      for (const room of ["/knowledge/review", "/care/audit", "/knowledge"]) {
        await tab.goto(tab.origin + room);
        await tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
        assert.deepEqual(await violations(tab), [], `${room} ${colorScheme} ${width}`);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${room}: ${wide} pixels too wide at ${width}`);
      }
      isClean(tab);
    }
  }
  const tab = await house.tab(user);
  await tab.goto(`${tab.origin}/care`);
  await tab.click("text=How well this memory stands");
  const numbers = await tab.locator(".numbers").innerText();
  assert.match(numbers, /Score\s+0\.\d{3}[\s\S]*Duplicates\s+2[\s\S]*Contradictions\s+1/);
  assert.match(await tab.locator("main").innerText(), /Their time is over[\s\S]*s-1/);
});

test("a session that may only read answers nothing and tidies nothing up", async () => {
  const { user } = await somebody();
  const tab = await house.tab(user, {}, "--read-only");
  await tab.goto(`${tab.origin}/knowledge/review`);
  assert.equal(await tab.locator("main form[method=post]").count(), 0);
  for (const path of ["answer", "consolidate", "undo"]) {
    const form = { one: "t-30", other: "t-90", answer: "newer", action: "t-30" };
    const answer = await tab.request.post(`${tab.origin}/knowledge/${path}`, { form });
    assert.equal(answer.status(), 403, path);
  }
});

test("of many pairs the first are shown, and how many more there are", async () => {
  const user = `person${(people += 1)}`;
  const parts = ["login", "ledger", "search", "backup", "import", "export", "invoice", "mail", "audit", "cache", "queue", "proxy", "staging"];
  const places = parts.flatMap((one, n) => [`${one} of ${parts[(n + 1) % parts.length]}`, `${one} beside ${parts[(n + 4) % parts.length]}`]);
  await house.ingest(user, places.flatMap((place) => [30, 90].map((seconds) => ({ session_id: `s${seconds}`, text: `The timeout for the ${place} is ${seconds} seconds` }))));
  const tab = await house.tab(user);
  await tab.goto(`${tab.origin}/knowledge/review`);
  const contradictions = tab.locator("section", { has: tab.locator("h2:text-is('Contradictions')") });
  assert.equal(await contradictions.locator("[data-pair]").count(), 20);
  assert.match(await tab.locator("main").innerText(), /\d+ pairs more come when these are answered/);
  isClean(tab);
});
