// A governed workspace on the page: what waits for a person, what was done, and by whom.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean } from "./house.mjs";
import { payloads } from "./payloads.mjs";

const HOSTILE = payloads();
let house;
let tree;
let theirs;

const workspace = (...args) => house.reprise("--json", "workspace", "-C", tree, ...args);
const git = (...args) => execFileSync("git", ["-C", tree, "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", ...args], { stdio: "pipe" });

async function write(actor, place, text) {
  const file = path.join(house.folder, "file");
  fs.writeFileSync(file, text);
  return workspace("write", "--actor", actor, `${place}=${file}`).catch((error) => error);
}

/** A branch on which a person has changed the PRD. */
function branch(name, text) {
  git("switch", "-qc", name);
  fs.writeFileSync(path.join(tree, "core/prd/PRD-001.json"), text);
  git("commit", "-qam", name);
  git("switch", "-q", "main");
}

before(async () => {
  house = await House.start(async (house) => {
    tree = path.join(house.folder, "tree");
    theirs = path.join(house.folder, "theirs");
    for (const place of [tree, theirs]) await house.reprise("workspace", "init", place);
    fs.mkdirSync(path.join(house.folder, "reprise"));
    const config = `[workspaces.app]\npath = "${tree}"\nusers = { ada = ["human"], eve = ["human"] }\n` +
      `[workspaces.theirs]\npath = "${theirs}"\nusers = { bob = ["human"] }\n`;
    fs.writeFileSync(path.join(house.folder, "reprise/config.toml"), config);
  });
  await write("prm", "core/prd/PRD-001.json", `{"v":1}`);
  await write("researcher", "core/prd/PRD-001.json", `{"v":9}`);
});
after(() => house.end());

test("who has no workspace is told how one is registered, and reaches nobody's", async () => {
  const tab = await house.tab("nobody");
  await tab.goto(`${tab.origin}/workspace`);
  assert.match(await tab.locator("main").innerText(), /\[workspaces\.app\]/);
  const ada = await house.tab("ada");
  for (const name of ["theirs", tree, "../tree", ""]) {
    const answer = await ada.goto(`${ada.origin}/workspace?tree=${encodeURIComponent(name)}`);
    assert.equal(answer.status(), name === "" ? 200 : 404, name);
  }
  isClean(tab);
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`a branch is declined, approved and merged, ${how}`, async () => {
    const name = `edit-${javaScriptEnabled}`;
    branch(name, JSON.stringify({ v: 2, by: name }));
    const tab = await house.tab("ada", { javaScriptEnabled });
    await tab.goto(`${tab.origin}/workspace`);
    const card = tab.locator(`article[aria-label="${name}"]`);
    assert.match(await card.innerText(), /core\/prd\/PRD-001\.json/);
    await card.locator("text=Show what it would bring").click();
    assert.match(await tab.locator("main ins").first().innerText(), new RegExp(name));
    await tab.goto(`${tab.origin}/workspace`);
    assert.equal(await card.locator("button:text-is('Merge')").count(), 0);
    await card.locator("summary").click();
    await card.locator("input[name=message]").fill("no goal in it");
    await card.locator("button:text-is('Decline')").click();
    assert.match(await card.innerText(), /Declined by human:ada\.\s+no goal in it/);
    await card.locator("button:text-is('Approve this commit')").click();
    assert.match(await card.innerText(), /Approved by human:ada/);
    await tab.goto(`${tab.origin}/needs`);
    assert.match(await tab.locator("main").innerText(), new RegExp(`${name} is approved and waits for its merge`));
    await tab.goto(`${tab.origin}/workspace`);
    await card.locator("button:text-is('Merge')").click();
    await tab.waitForURL(/workspace/);
    assert.equal(await card.count(), 0);
    assert.match(fs.readFileSync(path.join(tree, "core/prd/PRD-001.json"), "utf8"), new RegExp(name));
    const lines = (await workspace("audit", "--action", "merge")).trim().split("\n").map((line) => JSON.parse(line));
    assert.equal(lines.at(-1).actor, "human:ada");
    assert.equal(lines.at(-1).identity, "the page of ada");
    if (javaScriptEnabled) isClean(tab);
  });
}

test("the word is of the commit that was shown, not of what the branch became", async () => {
  branch("moving", `{"v":3}`);
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/workspace`);
  git("switch", "-q", "moving");
  fs.writeFileSync(path.join(tree, "core/prd/PRD-001.json"), `{"v":"worse"}`);
  git("commit", "-qam", "worse");
  git("switch", "-q", "main");
  const card = tab.locator(`article[aria-label="moving"]`);
  await card.locator("button:text-is('Approve this commit')").click();
  await tab.waitForURL(/workspace/);
  assert.equal(await card.locator("button:text-is('Merge')").count(), 0, await card.innerText());
  git("branch", "-qD", "moving");
});

test("the trail says who was refused under which rule, and is filtered", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/workspace`);
  await tab.selectOption("select[name=action]", "violation");
  await tab.click("button:text-is('Filter')");
  const rows = tab.locator("[aria-label='Audit trail'] tbody tr");
  assert.equal(await rows.count(), 1);
  assert.match(await rows.first().innerText(), /researcher[\s\S]*violation[\s\S]*core\/prd\/PRD-001\.json[\s\S]*core-prd/);
  await tab.goto(`${tab.origin}/workspace?actor=prm&path=core`);
  assert.equal(await rows.count(), 1);
  await rows.first().locator("a:text-is('Show')").click();
  assert.match(await tab.locator("main ins").first().innerText(), /"v":1/);
  await tab.goto(`${tab.origin}/workspace?actor=nobody`);
  assert.match(await tab.locator("main").innerText(), /No line fits/);
  isClean(tab);
});

test("what is hostile is text", async () => {
  const text = HOSTILE.map((payload) => `${payload}\n`).join("");
  await write("prm", "core/kb/hostile.md", text);
  git("switch", "-qc", "evil");
  fs.writeFileSync(path.join(tree, "core/prd/PRD-001.json"), JSON.stringify({ text: HOSTILE }));
  git("commit", "-qam", HOSTILE[0]);
  git("switch", "-q", "main");
  const tab = await house.tab("ada");
  const shown = (await workspace("log", "--limit", "1")).trim();
  for (const more of ["", "?branch=evil", `?of=${JSON.parse(shown).commit}`]) {
    await tab.goto(`${tab.origin}/workspace${more}`);
    assert.equal(await tab.locator("main script, main img, main iframe, main svg[onload]").count(), 0, more);
  }
  git("branch", "-qD", "evil");
  isClean(tab);
});

test("a session that may only read changes nothing, nor does a form without its token", async () => {
  branch("waiting", `{"v":4}`);
  const head = git("rev-parse", "main").toString();
  const reader = await house.tab("eve", {}, "--read-only");
  await reader.goto(`${reader.origin}/workspace`);
  assert.equal(await reader.locator("main form[method=post]").count(), 0);
  const commit = git("rev-parse", "waiting").toString().trim();
  const tab = await house.tab("ada");
  for (const one of [reader, tab]) {
    await one.goto(`${one.origin}/workspace`);
    for (const act of ["approve", "decline", "merge", "recover"]) {
      const form = { tree: "app", branch: "waiting", commit };
      const answer = await one.request.post(`${one.origin}/workspace/${act}`, { form });
      assert.equal(answer.status(), 403, act);
    }
  }
  // Nor on a tree that is somebody else's.
  const token = await tab.locator("main input[name=form_token]").first().inputValue();
  const form = { form_token: token, tree: "theirs", branch: "main", commit };
  const answer = await tab.request.post(`${tab.origin}/workspace/approve`, { form });
  assert.equal(answer.status(), 404);
  assert.equal(git("rev-parse", "main").toString(), head);
  git("branch", "-qD", "waiting");
});
