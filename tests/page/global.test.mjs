// What leaves a memory through the page, and comes back.
import assert from "node:assert";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
  for (const user of ["ada", "bob"]) await house.ingest(user, week());
  await house.ingest("ada", [
    { text: "The vault's door code is kept elsewhere.", tags: ["sensitive"] },
    { text: "<img src=x onerror=ran=1> <script>ran=1</script> as the team writes it" },
  ]);
});
after(() => house.end());

const found = async (user, part) => (await house.list(user)).find((one) => one.text.includes(part));

for (const [user, javaScriptEnabled] of [["ada", true], ["bob", false]]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`a record is published as it was shown, found by others and taken back, ${how}`, async () => {
    const tab = await house.tab(user, { javaScriptEnabled });
    await tab.goto(`${tab.origin}/global`);
    assert.match(await tab.locator("main").innerText(), /Nothing is published[\s\S]*Nothing was published yet/);
    const record = await found(user, "Invoices");
    await tab.goto(`${tab.origin}/records/${record.id}`);
    await tab.click("article a:has-text('Publish')");
    await tab.fill("input[name=title]", `Rounding by ${user}`);
    await tab.click("text=Show preview");
    const shown = JSON.parse(await tab.locator(".leaving").textContent());
    assert.equal(shown.title, `Rounding by ${user}`);
    assert.ok(!JSON.stringify(shown).includes(record.session_id), "no session leaves");
    await tab.click("text=Publish this text");
    assert.match(await tab.locator(".toast").innerText(), /Published/);
    const seen = await tab.locator("main").innerText();
    assert.match(seen, /others can find version 1/);
    assert.doesNotMatch(seen, /Private/);

    const other = await house.tab("eve", { javaScriptEnabled });
    await other.goto(`${other.origin}/search?scope=global&q=Rounding+by+${user}+invoices`);
    assert.match(await other.locator(".hits li").first().innerText(), new RegExp(`published by ${user}, version 1`));
    await other.locator(".hits .x a").first().click();
    assert.match(await other.locator("main").innerText(), /Invoices are rounded half even/);
    assert.equal(await other.locator("button:has-text('Unpublish')").count(), 0);
    if (javaScriptEnabled) isClean(other);

    await tab.goto(`${tab.origin}/global`);
    const card = tab.locator(`li[aria-label="Rounding by ${user}"]`);
    assert.match(await card.innerText(), /version 1[\s\S]*the users of this machine/);
    assert.match(await tab.locator("[aria-label^='History']").innerText(), /published/);
    await card.locator("button").click();
    assert.match(await tab.locator(".toast").innerText(), /Unpublished 1 version\. The store was asked/);
    assert.equal(await card.count(), 0);
    assert.match(await tab.locator("[aria-label^='History']").innerText(), /unpublished[\s\S]*published/);
    if (javaScriptEnabled) isClean(tab);
  });

  test(`publishing is undone, ${how}`, async () => {
    const tab = await house.tab(user, { javaScriptEnabled });
    const record = await found(user, "Tuesdays");
    await tab.goto(`${tab.origin}/records/${record.id}/publish`);
    await tab.click("text=Publish this text");
    await tab.click(".toast button");
    assert.match(await tab.locator(".toast").innerText(), /Undone/);
    await tab.goto(`${tab.origin}/global`);
    assert.match(await tab.locator("main").innerText(), /Nothing is published/);
  });
}

test("forgetting what is published says before and after that it stays, with the way to take it back", async () => {
  await house.ingest("carl", week());
  const record = await found("carl", "Drain a node");
  const { published } = JSON.parse(await house.reprise("--json", "share", "publish", record.id, "--yes", "--user", "carl"));
  const tab = await house.tab("carl");
  const stays = tab.locator(`main .notice:has(a[href='/global/${published[0].id}'])`);
  await tab.goto(`${tab.origin}/records/${record.id}/forget`);
  assert.match(await stays.innerText(), /others can find it until you unpublish it[\s\S]*Unpublish/);
  await tab.click("main button.danger.first");
  assert.match(await tab.locator("main").innerText(), /can no longer be found/);
  assert.match(await stays.innerText(), /others can find it until you unpublish it/);
  const proof = tab.url();
  await stays.locator("button").click();
  assert.match(await tab.locator(".toast").innerText(), /Unpublished 1 version/);
  await tab.goto(proof);
  assert.match(await tab.locator("main").innerText(), /can no longer be found/);
  assert.equal(await stays.count(), 0);
  isClean(tab);
});

test("what was said once stands in the form of the next version, and is taken away by hand", async () => {
  const record = await found("bob", "Drain a node");
  await house.reprise("global", "branch", "add", "next", "--user", "bob");
  const publish = ["share", "publish", record.id, "--user", "bob", "--yes"];
  await house.reprise(...publish, "--title", "Tried", "--branch", "next");
  await house.reprise(...publish, "--title", "Nodes", "--licence", "MIT", "--policy", "paid");
  const tab = await house.tab("bob");
  await tab.goto(`${tab.origin}/global`);
  const receipts = await tab.locator("[aria-label^='History']").innerText();
  assert.match(receipts, /on branch next/);
  assert.doesNotMatch(receipts, /drafted/);
  await tab.goto(`${tab.origin}/records/${record.id}/publish`);
  assert.equal(await tab.inputValue("input[name=title] >> visible=true"), "Nodes");
  assert.equal(await tab.inputValue("input[name=licence] >> visible=true"), "MIT");
  assert.equal(await tab.inputValue("select[name=policy]"), "paid");
  await tab.fill("input[name=licence] >> visible=true", "");
  await tab.click("text=Show preview");
  assert.equal(JSON.parse(await tab.locator(".leaving").textContent()).licence, "");
  await tab.click("text=Publish this text");
  assert.match(await tab.locator("main").innerText(), /others can find version 2/);
  const listed = JSON.parse(await house.reprise("call", "visibility", `{"id":"${record.id}"}`, "--user", "bob"));
  await house.reprise("share", "unpublish", listed.published, "--user", "bob");
  isClean(tab);
});

test("what is sensitive or private shows why it stays, and does not leave by a form either", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/timeline?tag=sensitive`);
  const id = (await tab.locator(".row .x").first().getAttribute("href")).split("/").at(-1);
  const secret = { id };
  await tab.goto(`${tab.origin}/records/${secret.id}`);
  assert.match(await tab.locator("main").innerText(), /marked sensitive/);
  assert.equal(await tab.locator("article a:has-text('Publish')").count(), 0);
  await tab.goto(`${tab.origin}/records/${secret.id}/publish`);
  assert.match(await tab.locator("main").innerText(), /sensitive/);
  assert.equal(await tab.locator("text=Publish this text").count(), 0);
  const form_token = await tab.locator("input[name=form_token]").first().inputValue();
  const form = { form_token, policy: "public", agreed: "0".repeat(64) };
  const answer = await tab.request.post(`${tab.origin}/records/${secret.id}/publish`, { form });
  assert.equal(answer.status(), 403);
});

test("a yes is to the bytes that were shown, and to no others", async () => {
  const tab = await house.tab("ada");
  const record = await found("ada", "Drain a node");
  await tab.goto(`${tab.origin}/records/${record.id}/publish`);
  await house.reprise("edit", record.id, "--content", "Drain a node first.", "--user", "ada");
  await tab.click("text=Publish this text");
  assert.match(await tab.locator("main").innerText(), /not what was shown/);
  await tab.goto(`${tab.origin}/global`);
  assert.match(await tab.locator("main").innerText(), /Nothing is published/);
});

test("what is hostile is text there too, and a session that may only read publishes nothing", async () => {
  const record = await found("ada", "onerror");
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/records/${record.id}/publish?title=${encodeURIComponent("<script>ran=1</script>")}`);
  await tab.click("text=Publish this text");
  for (const room of ["/global", `/records/${record.id}/publish`, "/search?scope=local%2Bglobal&q=script+team+writes"]) {
    await tab.goto(tab.origin + room);
    assert.equal(await tab.evaluate(() => globalThis.ran ?? 0), 0, room);
    assert.equal(await tab.locator("main :is(script, img)").count(), 0, room);
  }
  await tab.goto(`${tab.origin}/global`);
  await tab.locator(".grouping h3 a").first().click();
  assert.match(await tab.locator(".said").innerText(), /<img src=x onerror/);
  isClean(tab);
  const reader = await house.tab("ada", {}, "--read-only");
  for (const room of ["/global", `/records/${record.id}/publish`]) {
    await reader.goto(reader.origin + room);
    assert.equal(await reader.locator("main form[method=post]").count(), 0, room);
  }
});
