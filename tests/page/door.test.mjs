// Who is let in, and who is not.
import assert from "node:assert";
import http from "node:http";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";
import { plain, routes } from "./rooms.mjs";

let house;
before(async () => {
  house = await House.start();
  await house.ingest("ada", week());
  await house.ingest("bob", ["Bob keeps this to himself: plum."]);
});
after(() => house.end());

/** A request as a program sends it. */
function send(address, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(address, { method, headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Follows a link without a browser. */
async function session(...flags) {
  const link = await house.link("ada", ...flags);
  const origin = new URL(link).origin;
  const entered = await send(link);
  assert.equal(entered.status, 303);
  const [cookie] = entered.headers["set-cookie"];
  return { origin, cookie: cookie.split(";")[0], attributes: cookie };
}

test("the link is one line and lets one browser in once", async () => {
  const link = await house.link("ada");
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/enter\/[0-9a-f]{64}$/);
  const tab = await house.stranger();
  await tab.goto(link);
  assert.equal(new URL(tab.url()).pathname, "/");
  assert.equal(await tab.locator("h1").textContent(), "Home");
  isClean(tab);
  const again = await house.stranger();
  const answer = await again.goto(link);
  assert.equal(answer.status(), 410);
  assert.match(await again.locator("h1").innerText(), /expired/);
});

test("what only looks ahead does not use the link up", async () => {
  const link = await house.link("ada");
  assert.equal((await send(link, { method: "HEAD" })).status, 204);
  assert.equal((await send(link, { headers: { "sec-purpose": "prefetch" } })).status, 204);
  assert.equal((await send(link)).status, 303);
});

test("a click on another site's page signs in as well", async () => {
  const link = await house.link("ada");
  const tab = await house.stranger();
  await tab.goto(`data:text/html,<a href="${link}">open</a>`);
  tab.origin = new URL(link).origin;
  await tab.click("a");
  await tab.waitForURL(`${tab.origin}/`);
  assert.equal(await tab.locator("h1").textContent(), "Home");
});

test("without a session every room says how to get one", async () => {
  const { origin } = await session();
  for (const room of [...plain(), "/live", "/records/x", "/undo", "/erase"]) {
    const answer = await send(origin + room);
    assert.equal(answer.status, 401, room);
    assert.match(answer.text, /reprise open/, room);
    assert.doesNotMatch(answer.text, /auth race/, room);
  }
  const guessed = await send(origin, { headers: { cookie: `reprise-${new URL(origin).port}=${"0".repeat(64)}` } });
  assert.equal(guessed.status, 401);
});

test("the cookie is out of reach of scripts and other sites, and signing out ends it", async () => {
  const { attributes } = await session();
  assert.match(attributes, /HttpOnly/);
  assert.match(attributes, /SameSite=Strict/);
  const tab = await house.tab("ada");
  await tab.click(".menu:not(.pause) > summary");
  await tab.click("text=Sign out");
  assert.match(await tab.locator("h1").innerText(), /Signed out/);
  const answer = await tab.goto(`${tab.origin}/`);
  assert.equal(answer.status(), 401);
});

test("another host's name, another site's form and a form without its token are refused", async () => {
  const { origin, cookie } = await session();
  const [record] = await house.list("ada");
  const rebound = await send(origin, { headers: { cookie, host: "evil.example:80" } });
  assert.equal(rebound.status, 403);
  const form = { cookie, "content-type": "application/x-www-form-urlencoded" };
  const posts = routes().filter((route) => route.startsWith("POST")).map((route) => route.slice(5).replace("{id}", record.id));
  assert.ok(posts.length >= 20);
  const room = await send(origin, { headers: { cookie } });
  const token = /name="form_token" value="([0-9a-f]{64})"/.exec(room.text)[1];
  for (const path of posts) {
    for (const [body, headers] of [
      ["text=x", form],
      [`form_token=${"0".repeat(64)}&text=x`, form],
      [`form_token=${token}&text=x`, { ...form, origin: "http://evil.example" }],
      [`form_token=${token}&text=x`, { ...form, origin: "null" }],
      [`form_token=${token}&text=x`, { ...form, "sec-fetch-site": "cross-site" }],
    ]) {
      const answer = await send(origin + path, { method: "POST", headers, body });
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`);
    }
  }
  assert.equal((await house.list("ada")).length, 10);
});

test("one user's session shows nothing of another's", async () => {
  const [theirs] = await house.list("bob");
  const tab = await house.tab("ada");
  for (const room of [...plain(), "/search?q=plum+bob+himself"]) {
    await tab.goto(tab.origin + room);
    assert.ok(!(await tab.content()).includes("Bob keeps this"), room);
  }
  const answer = await tab.goto(`${tab.origin}/records/${theirs.id}`);
  assert.equal(answer.status(), 404);
});

test("a session that may only read shows no form and can change nothing", async () => {
  const tab = await house.tab("ada", {}, "--read-only");
  const [record] = await house.list("ada");
  for (const room of [...plain(), `/records/${record.id}`, `/records/${record.id}/forget`].filter((room) => room !== "/users")) {
    await tab.goto(tab.origin + room);
    assert.deepEqual(await tab.locator("form[method=post]").evaluateAll((all) => all.map((form) => form.action)),
      [`${tab.origin}/sign-out`], room);
  }
  assert.match(await tab.locator("main").innerText(), /This sign-in may only read/);
  await tab.goto(`${tab.origin}/timeline`);
  assert.equal(await tab.locator("a[href='/new']").count(), 0, "nothing can be written, so nothing offers it");
  await tab.keyboard.press("j");
  await tab.keyboard.press("Control+k");
  const offered = (await tab.locator("dialog li > span").allInnerTexts()).join();
  assert.match(offered, /Open this memory/);
  assert.doesNotMatch(offered, /(Edit|Publish|Forget) this memory/);
  isClean(tab);
  const { origin, cookie } = await session("--read-only");
  const room = await send(origin, { headers: { cookie } });
  const token = /name="form_token" value="([0-9a-f]{64})"/.exec(room.text)[1];
  const posts = routes().filter((route) => route.startsWith("POST") && !/sign-out|switch/.test(route));
  for (const route of posts) {
    const answer = await send(origin + route.slice(5).replace("{id}", record.id), {
      method: "POST",
      headers: { cookie, "content-type": "application/x-www-form-urlencoded" },
      body: `form_token=${token}`,
    });
    assert.equal(answer.status, 403, route);
    assert.match(answer.text, /only read/, route);
  }
});

test("every answer carries the policy, and nothing of a page is kept by a cache", async () => {
  const { origin, cookie } = await session();
  for (const path of [...plain(), "/no-such-room", "/enter/x"]) {
    const { headers } = await send(origin + path, { headers: { cookie } });
    assert.match(headers["content-security-policy"], /default-src 'none'/, path);
    assert.doesNotMatch(headers["content-security-policy"], /unsafe/, path);
    assert.equal(headers["cache-control"], "no-store", path);
    assert.equal(headers["x-content-type-options"], "nosniff", path);
  }
});

test("a dead daemon is said, and a new one asks to sign in again", async () => {
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/search`);
  await house.kill();
  await tab.fill("input[name=q]", "auth");
  await tab.waitForFunction(() => /reprise open/.test(document.getElementById("said")?.textContent ?? ""));
  await house.serve();
  const fresh = await house.tab("ada");
  assert.equal(await fresh.locator("h1").textContent(), "Home");
});
