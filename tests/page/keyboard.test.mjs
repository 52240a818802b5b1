// Every change that a person can make, by the keyboard alone: a form that the router takes and that
// has no row here fails.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";
import { routes, withTree } from "./rooms.mjs";

let house;
before(async () => {
  house = await House.start((house) => withTree(house, "ada"));
});
after(() => house.end());

/** Goes to what `selector` names by the tab key alone, with its focus to be seen. */
async function reach(tab, selector) {
  for (let presses = 0; presses < 250; presses += 1) {
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

async function press(tab, selector, key = "Enter") {
  await reach(tab, selector);
  await tab.keyboard.press(key);
}

async function write(tab, selector, text) {
  await reach(tab, selector);
  await tab.keyboard.press("ControlOrMeta+a");
  await tab.keyboard.type(text);
}

/** Sends what has the focus, and waits for the page that it leads to. */
async function send(tab, selector, key = "Enter") {
  await reach(tab, selector);
  await Promise.all([tab.waitForEvent("load"), tab.keyboard.press(key)]);
}

const button = (action) => `form[action$="${action}"] button`;
const says = async (tab, words) => assert.match(await tab.locator("main").innerText(), words);

let people = 0;
/** A user with a week of notes, and a way to each of its records. */
async function somebody(more = []) {
  const user = `person${(people += 1)}`;
  await house.ingest(user, [...week(), ...more]);
  const tab = await house.tab(user);
  const found = async (part) => (await house.list(user)).find((one) => one.text.includes(part));
  const open = async (part, more = "") => tab.goto(`${tab.origin}/records/${(await found(part)).id}${more}`);
  return { user, tab, found, open };
}

const doubts = ["thirty|30", "ninety|90"].map((one) => {
  const [external_id, seconds] = one.split("|");
  return { external_id, session_id: external_id, text: `The timeout of the login page is ${seconds} seconds` };
});
const twice = ["The deploy script fails without the VPN.", "the deploy script fails without the VPN"]
  .map((text, place) => ({ text, session_id: `s${place}` }));

const tree = () => path.join(house.folder, "tree");
const git = (...args) => execFileSync("git", ["-C", tree(), "-c", "user.name=Ada", "-c", "user.email=ada@example.invalid", ...args], { stdio: "pipe" });

/** A tab of the one with a workspace, on a branch that waits for a person. */
async function waiting(name) {
  const file = path.join(house.folder, "file");
  fs.writeFileSync(file, JSON.stringify({ by: "prm", for: name }));
  await house.reprise("--json", "workspace", "-C", tree(), "write", "--actor", "prm", `core/prd/PRD-001.json=${file}`);
  git("switch", "-qc", name);
  fs.writeFileSync(path.join(tree(), "core/prd/PRD-001.json"), JSON.stringify({ by: name }));
  git("commit", "-qam", name);
  git("switch", "-q", "main");
  const tab = await house.tab("ada");
  await tab.goto(`${tab.origin}/workspace`);
  return { tab, card: `article[aria-label="${name}"]` };
}

/** How each form is sent, and what shows that it did what it says. */
const TASKS = {
  "/search/judge": async () => {
    const { tab } = await somebody();
    await tab.keyboard.press("Tab");
    assert.match(await tab.evaluate(() => document.activeElement.textContent), /Skip/);
    await tab.keyboard.press("/");
    await tab.waitForURL(/search/);
    await tab.waitForFunction(() => document.activeElement?.getAttribute("name") === "q");
    await tab.keyboard.type("when are releases cut");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector(".hits li");
    await send(tab, ".hits button[value=yes]");
    await says(tab, /learns from it/);
    return tab;
  },
  "/records/{id}/correct": async () => {
    const { tab, found, open } = await somebody();
    await open("Invoices");
    await press(tab, ".panel > summary");
    await write(tab, "textarea[name=text]", "Invoices are rounded half up.");
    await send(tab, button("/correct"));
    assert.ok(await found("half up"));
    return tab;
  },
  "/records/{id}/tags": async () => {
    const { tab, found, open } = await somebody();
    await open("Tuesdays");
    await press(tab, ".panel > summary");
    await write(tab, "input[name=tags]", "release");
    await send(tab, button("/tags"));
    assert.deepEqual((await found("Tuesdays")).tags, ["release"]);
    return tab;
  },
  "/records/{id}/standing": async () => {
    const { tab, found, open } = await somebody();
    await open("Tuesdays");
    await press(tab, "details:has(input[name=seen]) > summary");
    await press(tab, "input[name=seen]", "ArrowDown");
    await press(tab, "input[name=pinned]", "Space");
    await send(tab, button("/standing"));
    const { retention, metadata } = await found("Tuesdays");
    assert.deepEqual([retention, metadata.visibility], ["pinned", "private"]);
    return tab;
  },
  "/records/{id}/link": async () => {
    const { tab, found, open } = await somebody();
    await open("Tuesdays");
    await write(tab, "input[name=other]", (await found("linker")).id);
    await send(tab, button("/link"));
    await says(tab, /related_to to/);
    return tab;
  },
  "/records/{id}/unlink": async () => {
    const { user, tab, found, open } = await somebody();
    await house.reprise("link", (await found("Tuesdays")).id, (await found("linker")).id, "--user", user);
    await open("Tuesdays");
    await send(tab, button("/unlink"));
    await says(tab, /Linked with nothing/);
    return tab;
  },
  "/records/{id}/forget": async () => {
    const { tab, found, open } = await somebody();
    await open("Invoices");
    await send(tab, "a.danger");
    await write(tab, "input[name=reason]", "it is over");
    await send(tab, "button.danger");
    await says(tab, /Memory was asked/);
    assert.equal(await found("Invoices"), undefined);
    return tab;
  },
  "/undo": async () => {
    const { tab, found, open } = await somebody();
    await open("Invoices", "/forget");
    await send(tab, "button.danger");
    await send(tab, ".notice button");
    await says(tab, /Undone/);
    assert.ok(await found("Invoices"));
    return tab;
  },
  "/erase": async () => {
    const { tab, open } = await somebody();
    await open("Invoices", "/forget");
    await send(tab, "button.danger");
    await send(tab, button("/erase"));
    await says(tab, /of 1 forgotten record/);
    return tab;
  },
  "/records/{id}/publish": async () => {
    const { tab, open } = await somebody();
    await open("Invoices");
    await send(tab, 'a[href$="/publish"]');
    await send(tab, 'form[method=post][action$="/publish"] button');
    await says(tab, /Published: others can find it/);
    return tab;
  },
  "/global/unpublish": async () => {
    const { user, tab, found } = await somebody();
    await house.reprise("publish", (await found("Invoices")).id, "--yes", "--user", user);
    await tab.goto(`${tab.origin}/global`);
    await send(tab, button("/unpublish"));
    await says(tab, /Taken back, in 1 version/);
    return tab;
  },
  "/knowledge/merge": async () => {
    const { tab, found } = await somebody([{ text: "One more of the kind.", tags: ["backends"] }]);
    await tab.goto(`${tab.origin}/knowledge`);
    await send(tab, button("/merge"));
    assert.deepEqual((await found("One more")).tags, ["backend"]);
    return tab;
  },
  "/knowledge/answer": async () => {
    const { tab, found } = await somebody(doubts);
    await tab.goto(`${tab.origin}/knowledge/review`);
    await send(tab, "[data-pair] button", "n");
    await says(tab, /One answers for both/);
    assert.equal(await found("30 seconds"), undefined);
    return tab;
  },
  "/knowledge/consolidate": async () => {
    const { user, tab } = await somebody(twice);
    await tab.goto(`${tab.origin}/knowledge/review`);
    await send(tab, button("/consolidate"));
    await says(tab, /Tidied up/);
    assert.equal((await house.list(user)).length, 11);
    return tab;
  },
  "/knowledge/undo": async () => {
    const { user, tab } = await somebody(twice);
    await house.reprise("consolidate", "--user", user);
    await tab.goto(`${tab.origin}/knowledge`);
    await send(tab, button("/knowledge/undo"));
    await says(tab, /1 record answers again/);
    assert.equal((await house.list(user)).length, 12);
    return tab;
  },
  "/learning": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/learning`);
    await send(tab, button("/learning"));
    await says(tab, /Learning is off/);
    return tab;
  },
  "/workspace/approve": async () => {
    const { tab, card } = await waiting("approved");
    await send(tab, `${card} ${button("/approve")}`);
    await says(tab, /Approved by human:ada/);
    return tab;
  },
  "/workspace/decline": async () => {
    const { tab, card } = await waiting("declined");
    await write(tab, `${card} input[name=message]`, "no goal in it");
    await send(tab, `${card} ${button("/decline")}`);
    await says(tab, /Declined by human:ada\.\s+no goal in it/);
    return tab;
  },
  "/workspace/merge": async () => {
    const { tab, card } = await waiting("merged");
    await send(tab, `${card} ${button("/approve")}`);
    await send(tab, `${card} ${button("/merge")}`);
    assert.equal(await tab.locator(card).count(), 0);
    assert.match(fs.readFileSync(path.join(tree(), "core/prd/PRD-001.json"), "utf8"), /merged/);
    return tab;
  },
  "/workspace/recover": async () => {
    const { tab } = await waiting("loose");
    // What a crash between the beginning of a transaction and its end leaves.
    const log = path.join(tree(), ".sdlc_ide/logs/wal.jsonl");
    const lines = fs.readFileSync(log, "utf8").trimEnd().split("\n");
    fs.writeFileSync(log, `${lines.slice(0, -1).join("\n")}\n`);
    await tab.reload();
    await send(tab, button("/recover"));
    assert.equal(await tab.locator(button("/recover")).count(), 0);
    return tab;
  },
  "/care/tokens": async () => {
    const { user, tab } = await somebody();
    await tab.goto(`${tab.origin}/care`);
    await write(tab, "form[action='/care/tokens'] input[name=name]", `of-${user}`);
    await send(tab, button("/care/tokens"));
    await says(tab, /rpr_\w{20,}/);
    return tab;
  },
  "/care/tokens/revoke": async () => {
    const { user, tab } = await somebody();
    await house.reprise("token", "add", `of-${user}`, "--user", user);
    await tab.goto(`${tab.origin}/care`);
    await send(tab, button("/revoke"));
    await says(tab, /Revoked/);
    return tab;
  },
  "/sign-out": async () => {
    const { tab } = await somebody();
    await send(tab, button("/sign-out"));
    await says(tab, /Signed out/);
    return tab;
  },
};

test("every form that the router takes is sent by keyboard here", () => {
  const posts = routes().filter((route) => route.startsWith("POST"));
  assert.ok(posts.length >= 20);
  assert.deepEqual(Object.keys(TASKS).map((task) => `POST ${task}`).sort(), posts.sort());
});

for (const [route, task] of Object.entries(TASKS)) {
  test(`${route}, with the keyboard alone`, async () => isClean(await task()));
}
