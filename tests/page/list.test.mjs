// A list under the hands: one line a record, keys, the palette, selection of many, toasts with undo; and
// what the page costs a browser.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, crowd, isClean, week } from "./house.mjs";
import { memory } from "./memory.mjs";
import { plain } from "./rooms.mjs";

let house;
before(async () => {
  house = await House.start();
  await house.ingest("ada", memory());
  await house.ingest("many", crowd(3000));
});
after(() => house.end());

const shown = (tab) => tab.evaluate(() => [...document.querySelectorAll("[data-record]")].filter((row) => {
  const box = row.getBoundingClientRect();
  return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
}).length);

test("eighteen records and more stand on a screen", async () => {
  // Long sessions, three or four records a session of a day, and one record a day.
  await house.ingest("rare", crowd(60).map((record, place) => ({ ...record, session_id: `s-${place}`,
    details: { source_goal: "ship the ledger" }, timestamp: new Date(Date.now() - place * 26 * 3600_000).toISOString() })));
  const many = ["/", "/timeline", "/knowledge", "/knowledge?type=note"];
  for (const [user, rooms] of [["ada", ["/", "/timeline", "/knowledge?type=note"]], ["many", many], ["rare", many.slice(0, 3)]]) {
    const tab = await house.tab(user, { viewport: { width: 1280, height: 800 } });
    for (const room of rooms) {
      await tab.goto(tab.origin + room);
      const count = await shown(tab);
      const held = room === "/knowledge?type=note" && user === "ada" ? 9 : 18;
      assert.ok(count >= held, `${room} of ${user}: ${count}`);
    }
  }
});

test("Home and Timeline go by day and session: the prompt first, what came of it below, and a time in every row", async () => {
  const at = (hours, minutes = 0) => new Date(Date.now() - (hours * 60 + minutes) * 60_000).toISOString();
  const turn = (session, text, hours, minutes, type) => ({ text, session_id: session, timestamp: at(hours, minutes), kind: "episode",
    source: type === "prompt" ? "user_input" : "worker_result", tags: ["project:shop"], metadata: { type, author: "codex" } });
  const long = "Why is the checkout total wrong with a coupon, and why only on carts with more than three lines in them?";
  await house.ingest("days", [turn("cart", long, 30, 9, "prompt"), turn("cart", "It is taken once per line.", 30, 6, "answer"),
    turn("backup", "Why did the backup not run?", 30, 5, "prompt"), turn("backup", "Its host has another name.", 30, 4, "answer"),
    turn("cart", "cargo test: 12 passed, 0 failed", 30, 3, "test"), turn("late", "What is left for the release?", 100, 0, "prompt")]);
  for (const width of [1280, 1000, 390]) {
    const tab = await house.tab("days", { viewport: { width, height: 800 } });
    for (const room of ["/", "/timeline", "/timeline?project=shop"]) {
      await tab.goto(tab.origin + room);
      const rows = await tab.locator(".days [data-record]").evaluateAll((all) => all.map((row) => [row.querySelector(".x").textContent, row.querySelector("time").textContent]));
      assert.deepEqual(rows.map(([text]) => text.slice(0, 16)), ["Why is the check", "It is taken once", "cargo test: 12 p", "Why did the back", "Its host has ano", "What is left for"], room);
      assert.ok(rows.every(([, time]) => /^\d\d:\d\d$/.test(time)), JSON.stringify(rows));
      assert.equal(await tab.locator(".day > h2").count(), 2, room);
      const cut = await tab.locator(".days time").evaluateAll((all) => all.filter((time) => {
        const [box, row] = [time.getBoundingClientRect(), time.closest("li").getBoundingClientRect()];
        return !box.width || box.right > row.right || box.bottom > row.bottom || time.scrollWidth > time.clientWidth + 1;
      }).length);
      assert.equal(cut, 0, `${room} at ${width}: a time is cut`);
    }
    await tab.context().close();
  }
});

test("the first paint takes at most 60 KB, and everything 250 KB", async () => {
  const tab = await house.stranger();
  const link = await house.link("many");
  const sizes = [];
  tab.on("requestfinished", (request) => {
    sizes.push(request.sizes().then((all) => [new URL(request.url()).pathname, all.responseBodySize + all.responseHeadersSize]));
  });
  await tab.goto(link);
  await tab.waitForSelector("#needs [data-total]");
  const all = await Promise.all(sizes);
  const sum = (of) => all.filter(([path]) => of(path)).reduce((total, [, bytes]) => total + bytes, 0);
  const first = sum((path) => path === "/" || path.startsWith("/enter/") || path.endsWith(".css"));
  const whole = sum((path) => path !== "/live");
  assert.ok(first > 2_000 && first <= 60_000, `${first} bytes before the first paint`);
  assert.ok(whole > first && whole <= 250_000, `${whole} bytes in all`);
  assert.ok(all.some(([path]) => path.endsWith(".woff2")), "the typeface comes from here");
});

test("keys walk a list, open a record beside it, open its text in place, and select", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/timeline`);
  await tab.keyboard.press("j");
  await tab.keyboard.press("j");
  await tab.keyboard.press("k");
  await tab.keyboard.press("j");
  const row = tab.locator("[data-record].on");
  assert.equal(await row.count(), 1);
  assert.match(await tab.locator("[data-record]").nth(1).getAttribute("class"), /^row( below)? on$/);
  const id = await row.getAttribute("data-record");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(`#side [data-open="${id}"]`);
  assert.match(tab.url(), /timeline/, "the list stays");
  await tab.keyboard.press("x");
  assert.ok(await row.locator("input").isChecked());
  assert.ok(await tab.locator(".many").isVisible());
  await tab.keyboard.press("x");
  assert.ok(await tab.locator(".many").isHidden());
  const long = tab.locator("[data-record]", { hasText: "Coupons apply once" });
  for (let steps = 0; steps < 40 && !(await long.getAttribute("class")).includes("on"); steps += 1) await tab.keyboard.press("j");
  assert.ok(await long.locator(".more").isHidden());
  await tab.keyboard.press("Space");
  assert.ok(await long.locator(".more").isVisible());
  assert.match(await long.locator(".more").innerText(), /a line of its own on the invoice/);
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#side .said li:has-text('sums first')");
  await tab.keyboard.press("e");
  await tab.waitForSelector("#side #edit[open] textarea:focus");
  isClean(tab);
});

test("a memory that is open is not fetched again, so that a form in it stays open", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/timeline`);
  let fetched = 0;
  await tab.route("**/records/*?part=1", async (route) => {
    fetched += 1;
    if (fetched > 2) await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await tab.keyboard.press("j");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#side [data-open]");
  await tab.keyboard.press("j");
  await tab.keyboard.press("Enter");
  const id = await tab.locator("[data-record].on").getAttribute("data-record");
  await tab.waitForSelector(`#side [data-open="${id}"]`);
  await tab.keyboard.press("e");
  await tab.waitForSelector("#side #edit[open] textarea:focus");
  await tab.waitForTimeout(1_000);
  assert.ok(await tab.locator("#side #edit[open] textarea:focus").isVisible());
  assert.equal(fetched, 2);
  isClean(tab);
});

test("of two memories that were opened the later stays, and one that was closed stays closed", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/timeline`);
  const row = async () => await tab.locator("[data-record].on").getAttribute("data-record");
  await tab.keyboard.press("j");
  const slow = await row();
  await tab.route(`**/records/${slow}?part=1`, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 700));
    await route.continue();
  });
  const answered = async () => {
    await (await tab.waitForResponse(`**/records/${slow}?part=1`)).finished();
    await tab.waitForTimeout(200);
  };
  let late = answered();
  await tab.keyboard.press("Enter");
  await tab.keyboard.press("j");
  const later = await row();
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(`#side [data-open="${later}"]`);
  await late;
  assert.equal(await tab.locator("#side [data-open]").getAttribute("data-open"), later);
  assert.equal(new URL(tab.url()).searchParams.get("open"), later);
  late = answered();
  await tab.keyboard.press("k");
  await tab.keyboard.press("Escape");
  await late;
  assert.equal(await tab.locator("#side [data-open]").count(), 0);
  isClean(tab);
});

test("on a narrow screen a record comes before its session, which says how much of it is shown", async () => {
  await house.ingest("phone", crowd(60).map((record, place) => ({ ...record, session_id: "long",
    timestamp: new Date(Date.UTC(2026, 1, 1, 12, place)).toISOString() })));
  const tab = await house.tab("phone", { viewport: { width: 375, height: 720 } });
  const { id } = (await house.list("phone")).at(-1);
  for (const width of [375, 1280]) {
    await tab.setViewportSize({ width, height: 720 });
    await tab.goto(`${tab.origin}/records/${id}`);
    const [edit, row] = [await tab.locator("#edit > summary").boundingBox(), await tab.locator("[data-record]").first().boundingBox()];
    assert.ok(edit.y + edit.height < 720, `${width}: ${edit.y}`);
    if (width > 860) assert.ok(edit.x < row.x && row.y < 300, "they stand side by side, the memory first");
    assert.match(await tab.locator(".list .grouping").first().innerText(), /40 memories shown/);
  }
  await tab.goto(`${tab.origin}/timeline?session=long`);
  assert.match(await tab.locator(".grouping").first().innerText(), /50 memories shown/);
  isClean(tab);
});

test("a key decides only the pair that has the focus, and one stays where one answered", async () => {
  for (const [user, room] of [["torn", "/"], ["torn-too", "/knowledge/review"]]) {
    await house.ingest(user, [30, 90].map((seconds) => ({ session_id: `s-${seconds}`,
      text: `The timeout of the login page is ${seconds} seconds` })));
    const tab = await house.tab(user, { viewport: { width: 1280, height: 800 } });
    await tab.goto(tab.origin + room);
    await tab.waitForSelector("[data-pair]");
    await tab.keyboard.press("2");
    await tab.waitForTimeout(200);
    assert.equal(await tab.locator(".toast").count(), 0, "without a focus a key decides nothing");
    assert.deepEqual(await tab.locator("[data-pair] mark").allInnerTexts(), ["30", "90"], "the difference is marked");
    assert.equal(await tab.locator("[data-pair] button.first").count(), 0, "the page suggests no answer");
    await tab.focus("[data-pair]");
    await Promise.all([tab.waitForEvent("load"), tab.keyboard.press("2")]);
    assert.match(await tab.locator(".toast").innerText(), /Kept only the second/);
    assert.equal(new URL(tab.url()).pathname, room);
    isClean(tab);
  }
});

test("keys of one letter can be switched off", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/timeline`);
  await tab.keyboard.press("?");
  await tab.click("dialog label.choice input");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("j");
  assert.equal(await tab.locator(".row.on").count(), 0);
  isClean(tab);
});

test("an open memory is in the address, Escape closes it, and a reload keeps it", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/timeline`);
  await tab.keyboard.press("j");
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#side [data-open]");
  const id = await tab.locator("#side [data-open]").getAttribute("data-open");
  assert.equal(new URL(tab.url()).searchParams.get("open"), id);
  await tab.reload();
  await tab.waitForSelector(`#side [data-open="${id}"]`);
  await tab.keyboard.press("Escape");
  await tab.waitForSelector("#side [data-open]", { state: "detached" });
  assert.equal(new URL(tab.url()).searchParams.get("open"), null);
  await tab.goBack();
  await tab.waitForSelector(`#side [data-open="${id}"]`);
  isClean(tab);
});

test("Home says in one line what memory did this week, each number a link, and nothing shifts", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.addInitScript(() => {
    Object.assign(globalThis, { shift: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await tab.goto(tab.origin);
  await tab.waitForSelector("#needs [data-total]");
  await tab.waitForTimeout(300);
  assert.ok((await tab.evaluate(() => globalThis.shift)) <= 0.02);
  const strip = tab.locator("[data-strip]");
  assert.match(await strip.innerText(), /Last 7 days:[\s\S]*prompts?[\s\S]*received[\s\S]*helped[\s\S]*failed anyway[\s\S]*tokens[\s\S]*lessons? (and|or) decisions?[\s\S]*Now:[\s\S]*to decide/);
  const links = await strip.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  const others = await strip.locator("[data-others]").count();
  assert.equal(links.length - others, links.includes("/prompts?day=yesterday") ? 9 : 8);
  for (const link of links) assert.equal((await tab.goto(tab.origin + link)).status(), 200, link);
  const places = await tab.locator("[data-place]").evaluateAll((all) => all.map((one) => one.dataset.place));
  assert.deepEqual(places, ["home", "memory", "ask", "agents", "to decide", "settings"]);
  isClean(tab);
});

test("Home takes at most 8 KB over the wire", async () => {
  const tab = await house.tab("ada");
  const [page] = await Promise.all([tab.waitForEvent("requestfinished", (request) => new URL(request.url()).pathname === "/"), tab.goto(`${tab.origin}/`)]);
  const sizes = await page.sizes();
  assert.ok(sizes.responseBodySize <= 8_192, `${sizes.responseBodySize}`);
});

test("the keys are told, and a person who writes is left alone", async () => {
  const tab = await house.tab("ada");
  await tab.keyboard.press("?");
  assert.match(await tab.locator("dialog").innerText(), /next, previous memory[\s\S]*show all commands/);
  const [last, close] = [await tab.locator("dialog kbd").last().boundingBox(), await tab.locator("dialog button").boundingBox()];
  assert.ok(last.y + last.height + 4 <= close.y, "Close stands clear of the last key");
  await tab.keyboard.press("Escape");
  await tab.waitForSelector("dialog", { state: "detached" });
  await tab.keyboard.press("/");
  await tab.keyboard.type("jkx?e");
  assert.equal(await tab.inputValue("input[name=q]"), "jkx?e");
  assert.equal(await tab.locator("dialog, .row.on").count(), 0);
  isClean(tab);
});

test("the palette goes everywhere, acts on the record under the cursor, and asks", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  const choose = async (words) => {
    await tab.keyboard.press("Control+k");
    await tab.waitForSelector("dialog input:focus");
    await tab.keyboard.type(words);
    await Promise.all([tab.waitForEvent("load"), tab.keyboard.press("Enter")]);
  };
  await choose("learning");
  assert.match(tab.url(), /learning/);
  await choose("contradictions");
  assert.match(tab.url(), /review/);
  await tab.goto(`${tab.origin}/timeline`);
  await tab.keyboard.press("j");
  const id = await tab.locator(".row.on").getAttribute("data-record");
  await choose("forget this");
  assert.equal(new URL(tab.url()).pathname, `/records/${id}/forget`);
  await choose("who owns the importer");
  assert.match(tab.url(), /search\?q=who%20owns/);
  // What is done to selected records is offered once some are; how the page is made is nobody's errand.
  const offers = async () => {
    await tab.keyboard.press("Control+k");
    await tab.waitForSelector("dialog input:focus");
    const all = await tab.locator("dialog li > span").allInnerTexts();
    await tab.keyboard.press("Escape");
    await tab.waitForSelector("dialog", { state: "detached" });
    return all;
  };
  await tab.goto(`${tab.origin}/timeline`);
  assert.doesNotMatch((await offers()).join(), /selected memories|How this page/);
  await tab.keyboard.press("j");
  await tab.keyboard.press("x");
  assert.match((await offers()).join(), /Forget the selected memories/);
  // Every place of the menus and every act of a room is in it.
  await tab.goto(`${tab.origin}/records/${id}`);
  await tab.keyboard.press("Control+k");
  const offered = await tab.locator("dialog li > span").allInnerTexts();
  for (const act of ["Edit this memory", "Tag this memory", "Link this memory", "Publish this memory", "Forget this memory", "Sign out",
    "Home", "Ask", "Duplicates", "Health", "Recent changes (undo)", "Help"]) assert.ok(offered.includes(act), `${act}: ${offered}`);
  isClean(tab);
});

for (const javaScriptEnabled of [true, false]) {
  test(`many are tagged, and forgotten with one proof, and both undone, script ${javaScriptEnabled}`, async () => {
    const user = `m${javaScriptEnabled}`;
    await house.ingest(user, week());
    const tab = await house.tab(user, { javaScriptEnabled, viewport: { width: 1280, height: 800 } });
    const few = async () => {
      await tab.goto(`${tab.origin}/timeline`);
      for (const part of ["logged out", "auth race", "PostgreSQL 16"]) await tab.locator(`.row:has-text("${part}") input`).check();
    };
    await few();
    await tab.fill(".many input[name=tag]", "chosen");
    await tab.click(".many button[value=tag]");
    assert.equal(await tab.locator("[data-record]").count(), 3);
    assert.equal((await house.list(user)).filter((one) => one.tags.includes("chosen")).length, 3);
    await tab.click(".toast button:has-text('Undo')");
    assert.equal((await house.list(user)).filter((one) => one.tags.includes("chosen")).length, 0);
    await few();
    await tab.click(".many button[value=forget]");
    assert.match(await tab.locator("main").innerText(), /3 memories will be forgotten, with their links[\s\S]*logged out/);
    await tab.click("main button.danger");
    assert.match(await tab.locator("main").innerText(), /can no longer be found/);
    assert.equal((await house.list(user)).length, 7);
    await tab.click("main button:has-text('Undo')");
    assert.equal((await house.list(user)).length, 10);
  });
}

test("typing asks at once, a filter is a chip that completes, and a bar leads to its days", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/search`);
  await tab.keyboard.type("which lessons about the proxy");
  await tab.waitForSelector("#results [data-record]");
  await tab.click(".f summary:text-is('Project')");
  await tab.waitForSelector("select[name=project]:focus");
  await tab.selectOption("select[name=project]", "shop-web");
  await Promise.all([tab.waitForEvent("load"), tab.click(".f[open] button")]);
  assert.match(tab.url(), /project=shop-web/);
  assert.match(await tab.locator(".f.set").innerText(), /shop-web/);
  await tab.goto(`${tab.origin}/search?q=cart&project=shop-web`);
  await tab.locator("[aria-label='Matches over time'] a").last().click();
  await tab.waitForURL(/since=/);
  assert.equal(await tab.locator(".f.set").count(), 3);
  await tab.click("[aria-label='Remove the project filter']");
  await tab.waitForURL((address) => !address.search.includes("project"));
  isClean(tab);
});

test("what a prompt would get stands in its panel, which is empty where that is nothing", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/search?q=proxy+upgrades+are+dropped`);
  assert.match(await tab.locator("[data-prompt]").innerText(), /HTTP\/1\.1/);
  assert.match(await tab.locator("[data-count]").innerText(), /relevant memor|weak match/);
  const lesson = tab.locator(".hit", { hasText: "HTTP/1.1" });
  await lesson.locator("summary:text-is('Why')").click();
  const details = await lesson.locator("table").first().innerText();
  assert.doesNotMatch(details, /base/);
  await tab.goto(`${tab.origin}/search?q=zxqv+wvut`);
  assert.equal((await tab.locator("[data-prompt]").textContent()).trim(), "");
  assert.match(await tab.locator("main").innerText(), /No memory is about this[\s\S]*What may help/);
  isClean(tab);
});

for (const user of ["nobody", "ada", "many"]) {
  for (const javaScriptEnabled of [true, false]) {
    test(`every room of ${user}, script ${javaScriptEnabled}`, async () => {
      const tab = await house.tab(user, { javaScriptEnabled }, "--all-users");
      for (const room of plain()) {
        const answer = await tab.goto(tab.origin + room);
        assert.equal(answer.status(), 200, room);
        assert.equal(await tab.locator("h1").count(), 1, room);
        assert.equal(await tab.locator("main").count(), 1, room);
      }
      isClean(tab);
    });
  }
}

test("an empty memory teaches the first commands, and a small one needs nothing", async () => {
  const nobody = await house.tab("nobody");
  assert.match(await nobody.locator("main").innerText(), /reprise learn .* --user nobody\s[\s\S]*reprise recall .* --user nobody\s[\s\S]*reprise connect claude-code --user nobody(\s|$)/);
  assert.equal(await nobody.locator(".empty a[href='/agents']").count(), 1, "and has a button for the first step");
});

test("what is kept shows by itself, when it happened; and what programs asked in its room", async () => {
  const tab = await house.tab("ada");
  await house.reprise("learn", "--user", "ada", "--title", "Fresh of this minute", "--content", "A lesson.");
  await tab.waitForSelector("[data-record] .x:has-text('Fresh of this minute')");
  await tab.goto(`${tab.origin}/activity`);
  assert.match(await tab.locator("main").innerText(), /No program asked[\s\S]*Memories stored in the last hour\s+\d+[\s\S]*Fresh of this minute/);
  await house.reprise("recall", "<script>ran=1</script> who owns the importer", "--user", "ada");
  await tab.waitForSelector("[aria-label='Recent questions'] a:has-text('who owns the importer')");
  await house.ingest("old", [{ text: "Long ago.", timestamp: "2001-01-01T00:00:00Z" }]);
  const old = await house.tab("old");
  await old.locator("[data-record] .x").click();
  await old.waitForSelector("article.card");
  assert.match(await old.title(), /^Long ago\. - Reprise$/, "the browser's tab says which memory it is");
  assert.match(await old.locator("article .facts").first().innerText(), /Happened\s+2001-01-01[\s\S]*Saved\s+20[2-9]\d-/);
  isClean(tab);
});
