// The room of agents says what is connected, by hooks or not, and since when; tokens say what they open, until when, and when they were used.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start(async (house) => {
    house.env.HOME = house.folder;
    for (const program of [".claude", ".config/zed", ".codex"]) fs.mkdirSync(path.join(house.folder, program), { recursive: true });
    for (const program of ["claude-code", "zed"]) await house.reprise("connect", program, "--user", "ada");
  });
  await house.ingest("ada", week());
  // The first question opens the memory, for which a hook does not wait.
  await house.reprise("recall", "when are the releases cut", "--user", "ada");
});
after(() => house.end());

test("each agent is there with its hooks, its last prompt, its week and what it may do", async () => {
  const prompt = { event: "user-prompt", session: "one", project: "shop", text: "when are the releases cut" };
  for (const agent of ["claude-code", "elsewhere"]) await house.hook("ada", { ...prompt, session: agent, agent });
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.click("[data-place=agents]");
  await tab.waitForURL(/agents$/);
  const rows = await tab.locator("[aria-label=Agents] tbody tr").evaluateAll((rows) =>
    rows.map((row) => Object.fromEntries([...row.cells].map((cell) => [cell.dataset.label, cell.innerText.trim()]))));
  const of = (name) => rows.find((row) => row.Agent === name);
  assert.deepEqual([of("claude-code").Hooks, of("claude-code").Prompts], ["present", "1"]);
  assert.equal(of("elsewhere").Hooks, "not found here");
  assert.deepEqual([of("zed").Hooks, of("zed")["Last prompt"], of("zed").Prompts], ["none, tools only", "none", "0"]);
  assert.equal(of("codex"), undefined, "what is not connected is no agent of this memory");
  const connect = await tab.locator("#connect .programs > li").allInnerTexts();
  assert.ok(connect.some((one) => /^Codex\s+found, not connected\s[\s\S]*reprise connect codex/.test(one)), connect.join());
  assert.ok(connect.some((one) => /^Zed\s+connected\s/.test(one)), connect.join());
  isClean(tab);
});

test("a token has a name, a scope, an end and a last use, and HTTP is turned on where it is off", async () => {
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 } });
  await tab.goto(`${tab.origin}/care/access`);
  assert.match(await tab.locator("main").innerText(), /HTTP is off/);
  await tab.fill("input[name=name]", "laptop");
  await tab.selectOption("select[name=days]", "30");
  await tab.click("button:text-is('Create token')");
  const token = (await tab.locator("pre").first().innerText()).trim();
  await tab.click("button:text-is('Turn HTTP on')");
  assert.match(await tab.locator(".toast").innerText(), /HTTP is on/);
  const row = () => tab.locator("[aria-label=Tokens] tbody tr").evaluate((row) => [...row.cells].map((cell) => cell.innerText.trim()));
  const [name, scope, , end, used] = await row();
  assert.deepEqual([name, scope, used], ["laptop", "this memory", "never"]);
  assert.match(end, /^\d{4}-\d\d-\d\d$/);
  const address = (await tab.locator("#http pre").first().innerText()).trim();
  const ask = (token) => fetch(`${address}/v1/users/ada/records?limit=1`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await ask("rpr_0")).status, 401);
  assert.notEqual((await ask(token)).status, 401);
  await tab.reload();
  assert.match((await row())[4], /just now|ago/);
  isClean(tab);
});
