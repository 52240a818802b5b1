// Backups by the page: what is there is never lost, nobody restores another's, and a file from outside
// passes the same reader, bounds and redaction as `reprise import`.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, violations, week } from "./house.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

let people = 0;
async function somebody(...flags) {
  const user = `keeper${(people += 1)}`;
  await house.ingest(user, week());
  const tab = await house.tab(user, { viewport: { width: 1280, height: 800 } }, ...flags);
  await tab.goto(`${tab.origin}/care/backups`);
  return { user, tab };
}

const texts = async (user) => (await house.list(user)).map((one) => one.text).sort();
const body = (tab) => tab.locator("main").innerText();
const said = (tab) => tab.locator(".toast").innerText();
const click = (tab, selector) => Promise.all([tab.waitForEvent("load"), tab.click(selector)]);
const rows = (tab) => tab.locator("[aria-label=Backups] tbody tr").allInnerTexts();
const mine = (name) => path.join(house.folder, name);

async function send(tab, action, file) {
  await tab.goto(`${tab.origin}/care/backups`);
  await tab.setInputFiles(`form[action='${action}'] input[type=file]`, file);
  await click(tab, `form[action='${action}'] button`);
}

test("a restore shows what it replaces, loses nothing, and is taken back by another one", async () => {
  const { user, tab } = await somebody();
  await click(tab, "form[action='/care/backups'] button");
  assert.match(await said(tab), /Backup saved/);
  assert.match((await rows(tab)).join(), /on this page/);
  const then = await texts(user);
  const gone = (await house.list(user)).find((one) => one.text.includes("Tuesdays"));
  await house.reprise("forget", gone.id, "--user", user, "--yes").catch(() => house.reprise("forget", gone.id, "--user", user));
  await house.ingest(user, ["The importer is Grace's."]);
  const now = await texts(user);
  await click(tab, "a[href*='/care/restore']");
  assert.match(await body(tab), /1 memory of now is not in this backup/);
  assert.match(await body(tab), /1 forgotten memory will be found again/);
  assert.deepEqual(await violations(tab), []);
  assert.deepEqual(await texts(user), now, "a look changes nothing");
  await click(tab, "form[action='/care/restore'] button");
  assert.match(await said(tab), /had forgotten/);
  assert.deepEqual(await texts(user), then);
  const earlier = tab.locator("tr", { hasText: "before a restore" }).locator("a");
  await Promise.all([tab.waitForEvent("load"), earlier.click()]);
  await click(tab, "form[action='/care/restore'] button");
  assert.deepEqual(await texts(user), now, "what was replaced comes back");
  isClean(tab);
});

test("what changed since a person looked is not replaced unseen", async () => {
  const { user, tab } = await somebody();
  await click(tab, "form[action='/care/backups'] button");
  await click(tab, "a[href*='/care/restore']");
  await house.ingest(user, ["Said in the meantime."]);
  await click(tab, "form[action='/care/restore'] button");
  assert.match(await body(tab), /has changed since this page was shown, and nothing was replaced/);
  assert.ok((await texts(user)).includes("Said in the meantime."));
  assert.match(await body(tab), /1 memory of now is not in this backup/);
});

test("nobody restores a file that is not listed as theirs", async () => {
  const ada = await somebody();
  await click(ada.tab, "form[action='/care/backups'] button");
  const theirs = await ada.tab.locator("a[href*='/care/restore']").first().getAttribute("href");
  const { user, tab } = await somebody();
  const own = await texts(user);
  for (const file of [theirs.split("file=")[1], encodeURIComponent("/etc/passwd"), "x", encodeURIComponent(`${house.folder}/data/${ada.user}/memory.rvf`)]) {
    const answer = await tab.goto(`${tab.origin}/care/restore?file=${file}`);
    assert.equal(answer.status(), 404, file);
  }
  assert.deepEqual(await texts(user), own);
});

test("a backup of another machine is taken in only if it is whole, and stays listed", async () => {
  const { user, tab } = await somebody();
  const [whole, cut, other] = ["whole.rvf", "cut.rvf", "other.rvf"].map(mine);
  await house.reprise("backup", "--user", user, whole);
  const bytes = fs.readFileSync(whole);
  fs.writeFileSync(cut, bytes.subarray(0, bytes.length - 900));
  fs.writeFileSync(other, "this is no memory at all\n".repeat(100));
  const own = await texts(user);
  for (const file of [cut, other]) {
    await send(tab, "/care/upload", file);
    assert.match(await tab.locator("body").innerText(), /nothing was restored/i, file);
  }
  assert.equal((await rows(tab).catch(() => [])).filter((row) => /uploaded/.test(row)).length, 0);
  const fresh = await house.tab("newcomer", { viewport: { width: 1280, height: 800 } });
  await send(fresh, "/care/upload", whole);
  assert.match(await fresh.locator("main").innerText(), new RegExp(`memories in the backup\\s+${own.length}`, "i"));
  await click(fresh, "form[action='/care/restore'] button");
  assert.match((await rows(fresh)).join(), /uploaded/);
  assert.deepEqual(await texts("newcomer"), own);
  assert.deepEqual(fs.readdirSync(path.join(house.folder, "data/.reprise/uploads")), [], "no upload stays behind");
});

test("an import says what came in and what was refused by line, and removes secrets", async () => {
  const { user, tab } = await somebody();
  const key = `ghp_${"a1B2".repeat(9)}`;
  const lines = mine("more.jsonl");
  fs.writeFileSync(lines, `{"text": "The cache is Redis 7."}\n{"tex": 1}\nno JSON\n{"text": "token = ${key}"}\n`);
  await send(tab, "/care/import", lines);
  assert.match(await body(tab), /2 memories added from more\.jsonl/);
  assert.match(await body(tab), /line 2: `text` is missing/);
  assert.match(await body(tab), /secrets removed\s+1/i);
  assert.ok((await texts(user)).includes("The cache is Redis 7."));
  assert.ok(!(await texts(user)).join().includes(key));
  const notes = mine("Week 3.md");
  fs.writeFileSync(notes, "# Deploys\n\nThe deploy needs the VPN.\n");
  await send(tab, "/care/import", notes);
  assert.match(await body(tab), /1 memory added from Week-3\.md/);
  await send(tab, "/care/import", notes);
  assert.match(await body(tab), /0 memories added/);
  assert.match(await body(tab), /known already\s+1/i);
  const chats = mine("conversations.json");
  const message = (id, role, text, parent) => ({ id, parent, children: [], message: { id, author: { role }, create_time: 1764000000, content: { content_type: "text", parts: [text] } } });
  fs.writeFileSync(chats, JSON.stringify([{ title: "Ports", create_time: 1764000000, conversation_id: "c-1", current_node: "b",
    mapping: { a: { ...message("a", "user", "Which port has the ledger?", null), children: ["b"] }, b: message("b", "assistant", "The ledger listens on 5433.", "a") } }]));
  await send(tab, "/care/import", chats);
  assert.match(await body(tab), /recognised as\s+chatgpt/i);
  assert.ok((await texts(user)).some((text) => text.includes("5433")));
  await send(tab, "/care/import", { name: "<img src=x onerror=ran=1>.bin", mimeType: "x/y", buffer: Buffer.alloc(2_000, 7) });
  assert.match(await body(tab), /kind of .* is not known/i);
  await send(tab, "/care/import", { name: "empty.jsonl", mimeType: "x/y", buffer: Buffer.alloc(0) });
  isClean(tab);
});

test("a file without the form's token, or from a sign-in that only reads, is not taken", async () => {
  const { user, tab } = await somebody();
  const own = await texts(user);
  const cookie = (await tab.context().cookies()).map((one) => `${one.name}=${one.value}`).join("; ");
  const token = await tab.locator("input[name=form_token]").first().inputValue();
  const part = (name, value, more = "") => `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const file = part("file", '{"text": "Put in from outside."}', '; filename="in.jsonl"');
  const post = (body, headers = {}) => fetch(`${tab.origin}/care/import`, {
    method: "POST", headers: { cookie, "content-type": "multipart/form-data; boundary=x", ...headers }, body: `${body}--x--\r\n`,
  });
  for (const [body, headers] of [
    [file], [part("form_token", "0".repeat(64)) + file], [file + part("form_token", token)],
    [part("form_token", token) + file, { origin: "http://evil.example" }],
    [part("form_token", token) + file, { "content-type": "text/plain" }],
  ]) {
    assert.equal((await post(body, headers)).status, 403, body.slice(0, 80));
  }
  assert.deepEqual(await texts(user), own);
  assert.equal((await post(part("form_token", token) + file)).status, 200, "with its token it is taken");
  const reader = await house.tab(user, {}, "--read-only");
  await reader.goto(`${reader.origin}/care/backups`);
  assert.equal(await reader.locator("input[type=file]").count(), 0);
});

test("a schedule saves a backup, keeps the last ones, and is turned off", async () => {
  const { user, tab } = await somebody();
  await tab.selectOption("select[name=every]", "day");
  await tab.fill("input[name=kept]", "2");
  await click(tab, "form[action='/care/schedule'] button");
  assert.match(await said(tab), /Schedule saved/);
  const folder = path.join(house.folder, "data/.reprise/backups", user);
  const saved = () => (fs.existsSync(folder) ? fs.readdirSync(folder) : []).filter((name) => name.startsWith("scheduled-") && name.endsWith(".rvf"));
  while (saved().length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await tab.reload();
  assert.match((await rows(tab)).join(), /by schedule/);
  assert.equal(await tab.inputValue("select[name=every]"), "day");
  assert.equal(await tab.inputValue("input[name=kept]"), "2");
  await tab.selectOption("select[name=every]", "");
  await click(tab, "form[action='/care/schedule'] button");
  assert.match(await said(tab), /Schedule off/);
  assert.equal(saved().length, 1, "what was saved stays");
});
