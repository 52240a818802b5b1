// The file's copies, who may come in, and what is set.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start(async (house) => {
    fs.mkdirSync(path.join(house.folder, "reprise"));
    const file = `[memory]\nopen_max = 7\n\n[global]\nurl = "http://127.0.0.1:9/"\ntoken = "rpr_kept_to_itself"\n`;
    fs.writeFileSync(path.join(house.folder, "reprise/config.toml"), file);
  });
  await house.ingest("ada", week());
  await house.ingest("bob", ["Bob's own."]);
});
after(() => house.end());

const section = (tab, name) => tab.locator("section", { has: tab.locator(`h2:text-is("${name}")`) });

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`a token is made, shown once, and revoked, ${how}`, async () => {
    const tab = await house.tab("ada", { javaScriptEnabled });
    await tab.goto(`${tab.origin}/care`);
    const name = `laptop-${javaScriptEnabled}`;
    await tab.fill("input[name=name]:visible", name);
    await tab.click("button:has-text('Make a token')");
    const token = await tab.locator("main pre").innerText();
    assert.match(token, /^rpr_\w{20,}/);
    await tab.click("text=Back to Care");
    assert.ok(!(await tab.content()).includes(token), "it is shown once");
    const listed = await house.reprise("token", "list");
    assert.match(listed, new RegExp(`${name}.*ada`));
    await tab.fill("input[name=name]:visible", name);
    await tab.click("button:has-text('Make a token')");
    assert.match(await tab.locator("main").innerText(), /there is a token .* already/);
    await tab.goto(`${tab.origin}/care`);
    await section(tab, "Tokens").locator("li", { hasText: name }).locator("button").click();
    assert.match(await tab.locator(".notice").innerText(), /Revoked/);
    assert.ok(!(await house.reprise("token", "list")).includes(name));
  });
}

test("tokens of others are neither shown nor revoked, and one for all is not revoked by one", async () => {
  await house.reprise("token", "add", "bobs", "--user", "bob");
  await house.reprise("token", "add", "everything");
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/care`);
  const tokens = section(tab, "Tokens");
  assert.doesNotMatch(await tokens.innerText(), /bobs/);
  assert.match(await tokens.innerText(), /everything[\s\S]*opens every memory/);
  const form_token = await tab.locator("main input[name=form_token]").first().inputValue();
  for (const name of ["bobs", "everything"]) {
    const answer = await tab.request.post(`${tab.origin}/care/tokens/revoke`, { form: { form_token, name } });
    assert.equal(answer.status(), 404, name);
  }
  assert.match(await house.reprise("token", "list"), /bobs[\s\S]*everything|everything[\s\S]*bobs/);
  isCleanBut404(tab);
});

function isCleanBut404(tab) {
  assert.deepEqual(tab.wrong.filter((said) => !/404/.test(said)), []);
}

test("a copy is taken through the page, and comes back", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/care`);
  const coming = tab.waitForEvent("download");
  await tab.click("text=Take a copy now");
  const copy = await coming;
  assert.match(copy.suggestedFilename(), /^reprise-ada-\d{4}-\d\d-\d\d\.rvf$/);
  const file = path.join(house.folder, "copy.rvf");
  await copy.saveAs(file);
  await house.reprise("restore", "--user", "again", file);
  assert.equal((await house.list("again")).length, 10);
  isClean(tab);
});

test("copies of the command line are listed, with those that are there no more", async () => {
  const [kept, gone] = ["kept.rvf", "gone.rvf"].map((name) => path.join(house.folder, name));
  for (const file of [kept, gone]) await house.reprise("backup", "--user", "ada", file);
  fs.rmSync(gone);
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/care`);
  const rows = section(tab, "Backups").locator("tbody tr");
  assert.match(await rows.filter({ hasText: "kept.rvf" }).innerText(), /\d{4}-\d\d-\d\d[\s\S]*KiB|MiB/);
  assert.match(await rows.filter({ hasText: "gone.rvf" }).innerText(), /there no more/);
  const bob = await house.tab("bob");
  await bob.goto(`${bob.origin}/care`);
  assert.doesNotMatch(await bob.locator("main").innerText(), /kept\.rvf/);
});

test("each setting says where it comes from, and no secret", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/care`);
  const rows = section(tab, "Settings in effect").locator("tbody tr");
  const row = (name) => rows.filter({ has: tab.locator(`th:text-is("${name}")`) }).innerText();
  assert.match(await row("data"), /data\s+flag/);
  assert.match(await row("model"), /none.*\s+flag/);
  assert.match(await row("memory.open_max"), /7\s+file/);
  assert.match(await row("learning.implicit_weight"), /0\.5\s+default/);
  assert.match(await row("global.token"), /set\s+file/);
  assert.ok(!(await tab.content()).includes("rpr_kept_to_itself"));
  assert.match(await section(tab, "Memories on this machine").innerText(), /ada[\s\S]*bob/);
});

test("a session that may only read gets the copy and no token", async () => {
  const tab = await house.tab("ada", {}, "--read-only");
  await tab.goto(`${tab.origin}/care`);
  assert.equal(await tab.locator("main form[method=post]").count(), 0);
  assert.equal((await tab.request.get(`${tab.origin}/care/backup`)).status(), 200);
  const answer = await tab.request.post(`${tab.origin}/care/tokens`, { form: { name: "sly" } });
  assert.equal(answer.status(), 403);
});
