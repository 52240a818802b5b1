// The page of those who operate a service of published knowledge. It needs `reprise-global` beside `reprise`.
import assert from "node:assert";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import { House, isClean, violations } from "./house.mjs";

const beside = path.join(path.dirname(process.env.REPRISE), "reprise-global");
const skip = fs.existsSync(beside) ? false : "reprise-global is not beside reprise";

let house, service, origin, ann, olga, keeper, database;

/** A database in a server of PostgreSQL that ends with this file; the kit of the other tests keeps it. */
async function furnish() {
  const folder = path.join(os.tmpdir(), `reprise-pg-page-${process.pid}`);
  const script = path.join(import.meta.dirname, "../kit/postgres.py");
  const cache = path.join(os.tmpdir(), "reprise-postgres");
  keeper = spawn("python3", [script, cache, folder, "fsync=off"], { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]();
  const expect = async (line) => assert.equal((await answers.next()).value, line);
  await expect("ready");
  for (const [where, statement] of [["postgres", "CREATE ROLE reprise LOGIN CREATEROLE"],
    ["postgres", "CREATE DATABASE knowledge OWNER reprise"], ["knowledge", "CREATE EXTENSION vector"]]) {
    keeper.stdin.write(`sql ${where} ${statement}\n`);
    await expect("done");
  }
  return ["--database-url", `host=${folder} user=reprise dbname=knowledge`];
}

/** Asks the service as a program does. */
const ask = (address, token, method = "GET", body = undefined) =>
  fetch(`${origin}${address}`, { method, body: body && JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } });

before(async () => {
  if (skip) return;
  database = await furnish();
  house = await House.start();
  const token = async (name, ...granted) => {
    const words = ["global", "token", "add", name, "--user", name, ...granted, ...database];
    const made = await house.reprise("--json", ...words);
    return JSON.parse(made).token;
  };
  ann = await token("ann", "--org", "acme", "--project", "web");
  olga = await token("olga", "--org", "acme", "--may", "read,write,operate");
  await token("eve", "--org", "other");
  const arguments_ = [...house.common, "global", "serve", "--http", "127.0.0.1:0", ...database];
  service = spawn(process.env.REPRISE, arguments_, { env: house.env, stdio: ["ignore", "ignore", "pipe"] });
  origin = await new Promise((resolve) => {
    let said = "";
    service.stderr.on("data", (part) => {
      said += part;
      const found = /http:\/\/[0-9.:]+/.exec(said);
      if (found) resolve(found[0]);
    });
  });
});
after(async () => {
  if (skip) return;
  service.kill();
  await house.end();
  keeper.stdin.end();
});

/** A tab that an operator signed in. */
async function signedIn(options = {}) {
  const tab = await house.stranger(options);
  tab.origin = origin;
  await tab.goto(`${origin}/admin`);
  await tab.fill("input[name=token]", ann);
  await tab.click("button.main");
  assert.match(await tab.locator("main").innerText(), /may not operate/);
  await tab.fill("input[name=token]", olga);
  await tab.click("button.main");
  assert.equal(await tab.locator("h1").innerText(), "Health");
  // A browser notes that it was not signed in.
  tab.wrong.length = 0;
  return tab;
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with script" : "without script";

  test(`an operator takes down, puts back and reads of it, ${how}`, { skip }, async () => {
    const title = `Otters <b>${how}</b>`;
    const publication = { origin: how, content_type: "document", title, summary: "", content: `Hands, ${how}.`,
      tags: [], access_policy: "org", licence: "" };
    const published = await ask("/v1/publications", ann, "POST", publication);
    const { id } = await published.json();
    const tab = await signedIn({ javaScriptEnabled });
    await tab.click("nav >> text=Published");
    const row = tab.locator("tr", { hasText: title });
    await row.locator("input[name=reason]").fill("names a customer");
    await row.locator("button").click();
    assert.match(await tab.locator(".notice").innerText(), /Done/);
    assert.equal((await ask(`/v1/publications/${id}`, ann)).status, 404);
    await tab.click("nav >> text=Audit log");
    const line = tab.locator("tr", { hasText: id }).filter({ hasText: "take_down" });
    assert.match(await line.innerText(), /olga[\s\S]*names a customer/);
    await line.locator("button").click();
    assert.match(await tab.locator(".notice").innerText(), /Done/);
    await tab.click("nav >> text=Published");
    assert.equal(await row.count(), 1, "it is published again");
    if (javaScriptEnabled) {
      for (const name of ["Health", "People", "Published", "Reviews", "Quotas", "Audit log"]) {
        await tab.click(`nav >> text=${name}`);
        assert.deepEqual(await violations(tab), [], name);
      }
      assert.equal(await tab.evaluate(() => document.cookie), "", "no script reads the token");
      isClean(tab);
    }
  });
}

test("a form of elsewhere does nothing, and who is removed has no token", { skip }, async () => {
  const form = (headers, fields) => fetch(`${origin}/admin/people/revoke`, {
    method: "POST", redirect: "manual", body: new URLSearchParams({ subject: "ann", ...fields }),
    headers: { cookie: `reprise-operator=${olga}`, ...headers } });
  assert.equal((await form({ origin: "https://evil.example" }, {})).status, 403);
  assert.equal((await form({ "sec-fetch-site": "cross-site" }, {})).status, 403);
  assert.equal((await form({ origin }, { form_token: "guessed" })).status, 403);
  assert.equal((await ask("/v1/projects", ann)).status, 200);

  const tab = await signedIn();
  await tab.click("nav >> text=People");
  const members = tab.locator("table[aria-label=Members]");
  assert.match(await members.innerText(), /ann[\s\S]*web[\s\S]*olga/);
  assert.doesNotMatch(await members.innerText(), /\beve\b/, "of another organisation");
  const row = members.locator("tr", { hasText: "web" });
  await row.locator("input[name=confirm]").fill("anna");
  await row.locator("button").click();
  assert.match(await tab.locator(".notice").innerText(), /Nobody was removed/);
  assert.equal((await ask("/v1/projects", ann)).status, 200);
  await row.locator("input[name=confirm]").fill("ann");
  await row.locator("button").click();
  assert.equal((await ask("/v1/projects", ann)).status, 401);
  await tab.click("text=Sign out");
  assert.match(await tab.locator("h1").innerText(), /Operate this service/);
});

test("an operator limits one person, and signs in by a link once", { skip }, async () => {
  const words = ["global", "open", "--user", "olga", "--org", "acme", "--url", origin, ...database];
  const { link } = JSON.parse(await house.reprise("--json", ...words));
  const tab = await house.stranger();
  tab.origin = origin;
  await tab.goto(link);
  assert.equal(await tab.locator("h1").innerText(), "Health");
  await tab.click("nav >> text=Quotas");
  const row = tab.locator("tr", { hasText: "user olga" });
  assert.match(await row.innerText(), /no limit/);
  await row.locator("input[name=things]").fill("many");
  await row.locator("button").click();
  assert.match(await tab.locator(".notice").innerText(), /digits alone/);
  await row.locator("input[name=things]").fill("0");
  await row.locator("button").click();
  assert.match(await tab.locator(".notice").innerText(), /Done/);
  assert.match(await row.innerText(), /0 memories/);
  const publication = { origin: "limited", content_type: "document", title: "Otters", summary: "", content: "Limited.",
    tags: [], access_policy: "public", licence: "" };
  assert.equal((await ask("/v1/publications", olga, "POST", publication)).status, 429);
  await tab.click("nav >> text=Audit log");
  assert.match(await tab.locator("tr", { hasText: "quota" }).first().innerText(), /olga[\s\S]*things: 0/);
  await tab.click("text=Sign out");
  assert.match(await tab.locator("h1").innerText(), /Operate this service/);
  assert.equal((await fetch(link, { redirect: "manual" })).status, 401, "a link works once");
});
