// The seven tasks of a new user by the keyboard alone: find, correct, forget with its proof, approve,
// answer a contradiction, rate, publish; and every other form of the router, which fails without a row.
import assert from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";

import { House, isClean, week } from "./house.mjs";
import { routes } from "./rooms.mjs";

let house;
before(async () => {
  house = await House.start();
});
after(() => house.end());

/** Goes to what `selector` names by the tab key alone, with its focus to be seen. */
async function reach(tab, selector) {
  for (let presses = 0; presses < 300; presses += 1) {
    const there = await tab.evaluate((wanted) => document.activeElement?.matches(wanted), selector);
    if (there) {
      const shown = await tab.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        const around = getComputedStyle(document.activeElement.parentElement);
        return style.outlineStyle !== "none" || around.boxShadow !== "none";
      });
      assert.ok(shown, `${selector} shows no focus`);
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
const says = async (tab, words) => assert.match(await tab.locator("body").innerText(), words);

let people = 0;
/** A user with a week of notes, and a way to each of its records. */
async function somebody(more = []) {
  const user = `person${(people += 1)}`;
  await house.ingest(user, [...week(), ...more]);
  const tab = await house.tab(user, { viewport: { width: 1280, height: 800 } });
  const found = async (part) => (await house.list(user)).find((one) => one.text.includes(part));
  const open = async (part, more = "") => tab.goto(`${tab.origin}/records/${(await found(part)).id}${more}`);
  return { user, tab, found, open };
}

/** Asks by the keyboard, from Home. */
async function ask(tab, question) {
  await tab.keyboard.press("/");
  await tab.keyboard.type(question);
  await Promise.all([tab.waitForEvent("load"), tab.keyboard.press("Enter")]);
  await tab.waitForSelector("#results .hit");
}

const doubts = [30, 90].map((seconds) => ({
  external_id: `t-${seconds}`, session_id: `s-${seconds}`, text: `The timeout of the login page is ${seconds} seconds`,
}));
const twice = ["The deploy script fails without the VPN.", "the deploy script fails without the VPN"]
  .map((text, place) => ({ text, session_id: `s${place}` }));

/** How each form is sent, and what shows that it did what it says. */
const TASKS = {
  // Find, and rate.
  "/search/judge": async () => {
    const { tab } = await somebody();
    await tab.keyboard.press("Tab");
    assert.match(await tab.evaluate(() => document.activeElement.textContent), /Skip/);
    await ask(tab, "when are releases cut");
    await tab.keyboard.press("j");
    assert.match(await tab.evaluate(() => document.activeElement.textContent), /Tuesdays/);
    await send(tab, ".hit button[value=yes]");
    await says(tab, /Marked as helpful/);
    return tab;
  },
  // Find, and correct.
  "/records/{id}/correct": async () => {
    const { tab, found } = await somebody();
    await ask(tab, "how are invoices rounded");
    await tab.keyboard.press("j");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("#side article");
    await tab.keyboard.press("e");
    await tab.waitForSelector("#edit textarea:focus");
    await write(tab, "textarea[name=text]", "Invoices are rounded half up.");
    await send(tab, button("/correct"));
    assert.ok(await found("half up"));
    await says(tab, /Corrected/);
    return tab;
  },
  // Forget, with its proof.
  "/records/{id}/forget": async () => {
    const { tab, found } = await somebody();
    await ask(tab, "staging database reset");
    await tab.keyboard.press("j");
    await tab.keyboard.press("Control+k");
    await tab.keyboard.type("forget this");
    await Promise.all([tab.waitForEvent("load"), tab.keyboard.press("Enter")]);
    await write(tab, "input[name=reason]", "asked for");
    await send(tab, "main button.danger");
    await says(tab, /can no longer be found/);
    assert.equal(await found("staging database"), undefined);
    return tab;
  },
  // A contradiction, from Home.
  "/knowledge/answer": async () => {
    const { user, tab } = await somebody(doubts);
    await tab.waitForSelector("#needs [data-pair]");
    await send(tab, "[data-pair] button[value=newer]");
    await says(tab, /Kept only the (newer|second)/);
    assert.equal(new URL(tab.url()).pathname, "/", "one stays where one answered");
    const held = async () => (await house.list(user)).map((one) => one.text).filter((text) => text.includes("timeout"));
    assert.deepEqual(await held(), ["The timeout of the login page is 90 seconds"]);
    await send(tab, button("/knowledge/undo"));
    assert.equal((await held()).length, 2);
    return tab;
  },
  "/records/{id}/publish": async () => {
    const { tab, found, open } = await somebody();
    const { id } = await found("Drain a node");
    await open("Drain a node");
    await send(tab, "article a[href$=publish]");
    await write(tab, "input[name=title]", "Drain first");
    await send(tab, "form:not([method]) button:not(.first)");
    await says(tab, /Drain first/);
    await send(tab, "main .acts button.first");
    await says(tab, /its users can find it now/);
    assert.match(await tab.locator("article .meta").innerText(), /published/);
    const row = () => tab.locator(`[data-record="${id}"] .w`).innerText();
    for (const room of ["/", "/timeline", "/knowledge"]) {
      await tab.goto(tab.origin + room);
      assert.match(await row(), /published/, room);
    }
    return tab;
  },
  "/knowledge/consolidate": async () => {
    const { tab, user } = await somebody(twice);
    await tab.goto(`${tab.origin}/knowledge/tidy`);
    await says(tab, /1 group of duplicates[\s\S]*deploy script/);
    await send(tab, button("/knowledge/consolidate"));
    await says(tab, /Merged/);
    assert.equal((await house.list(user)).length, 11);
    return tab;
  },
  "/records/{id}/tags": async () => {
    const { tab, found, open } = await somebody();
    await open("Tuesdays");
    await press(tab, "#tag > summary");
    await write(tab, "input[name=tags]", "release");
    await send(tab, button("/tags"));
    assert.deepEqual((await found("Tuesdays")).tags, ["release"]);
    return tab;
  },
  "/records/{id}/standing": async () => {
    const { tab, found, open } = await somebody();
    await open("Tuesdays");
    await press(tab, "#standing > summary");
    await reach(tab, "input[name=pinned]");
    // A browser tells of what opened some time after it did.
    await tab.evaluate(() => document.getElementById("standing").dispatchEvent(new Event("toggle")));
    await tab.keyboard.press("Space");
    await send(tab, button("/standing"));
    assert.equal((await found("Tuesdays")).retention, "pinned");
    return tab;
  },
  "/records/{id}/link": async () => {
    const { tab, found, open } = await somebody();
    const other = await found("linker");
    await open("Tuesdays");
    await press(tab, "#link > summary");
    await write(tab, "input[name=other]", other.id);
    await send(tab, button("/link"));
    await says(tab, /Linked/);
    await send(tab, button("/unlink"));
    await says(tab, /Link removed/);
    await send(tab, button("/undo"));
    await says(tab, /Undone/);
    return tab;
  },
  "/many": async () => {
    const { tab, user } = await somebody();
    await tab.goto(`${tab.origin}/timeline`);
    for (const key of ["j", "x", "j", "x"]) await tab.keyboard.press(key);
    await write(tab, ".many input[name=tag]", "both");
    await send(tab, ".many button[value=tag]");
    assert.equal((await house.list(user)).filter((one) => one.tags.includes("both")).length, 2);
    return tab;
  },
  "/erase": async () => {
    const { tab, user, found } = await somebody();
    await house.reprise("forget", (await found("staging")).id, "--user", user);
    await tab.goto(`${tab.origin}/care`);
    await send(tab, "main a[href='/erase']");
    await says(tab, /1 forgotten text will be erased[\s\S]*staging database/);
    await send(tab, button("/erase"));
    await says(tab, /the forgotten text is not in it[\s\S]*The file had/);
    return tab;
  },
  "/knowledge/merge": async () => {
    const { tab, user } = await somebody([{ text: "One more of the kind.", tags: ["backends"] }]);
    await tab.goto(`${tab.origin}/knowledge`);
    await send(tab, button("/knowledge/merge"));
    await says(tab, /is now .backend. in 1 memory/);
    assert.ok((await house.list(user)).every((one) => !one.tags.includes("backends")));
    return tab;
  },
  "/learning": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/learning`);
    await send(tab, button("/learning"));
    await says(tab, /Learning is off/);
    return tab;
  },
  "/learning/withdraw": async () => {
    const { tab, user, found } = await somebody();
    const used = (await found("Tuesdays")).id;
    for (const run of ["right", "wrong"]) {
      const outcome = { run_id: run, query: "when are releases cut", used: [used], quality: run === "right" ? 0.9 : 0.1 };
      await house.reprise("call", "outcome", JSON.stringify(outcome), "--user", user);
    }
    await tab.goto(`${tab.origin}/learning`);
    await press(tab, "tbody tr:first-child details > summary");
    await send(tab, button("/withdraw"));
    await says(tab, /Withdrawn/);
    const { runs } = JSON.parse(await house.reprise("call", "runs", "{}", "--user", user));
    assert.deepEqual(runs.map((run) => run.revised), ["withdrawn", undefined]);
    return tab;
  },
  "/global/unpublish": async () => {
    const { tab, user, found } = await somebody();
    await house.reprise("share", "publish", (await found("Drain")).id, "--yes", "--user", user);
    await tab.goto(`${tab.origin}/global`);
    await send(tab, button("/unpublish"));
    await says(tab, /Unpublished 1 version/);
    return tab;
  },
  "/new": async () => {
    const { tab, found } = await somebody();
    await tab.keyboard.press("c");
    await tab.waitForURL(/new/);
    await write(tab, "textarea[name=text]", "The proxy needs HTTP/1.1.");
    await send(tab, "main button.first");
    await says(tab, /Saved/);
    assert.ok(await found("HTTP/1.1"));
    return tab;
  },
  "/pause": async () => {
    const { user, tab } = await somebody();
    await press(tab, ".menu.pause > summary");
    await send(tab, ".menu.pause button");
    await says(tab, /Memory is paused/);
    await house.hook(user, { event: "user-prompt", session: "off", project: "shop", text: "when are the releases cut" });
    assert.ok((await house.list(user)).every((one) => one.session_id !== "off"), "nothing is stored while memory is paused");
    await press(tab, ".menu.pause > summary");
    await send(tab, ".menu.pause button");
    await says(tab, /Memory on/);
    return tab;
  },
  "/care/backups": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/care/backups`);
    await send(tab, button("/care/backups"));
    await says(tab, /Backup saved/);
    return tab;
  },
  "/care/schedule": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/care/backups`);
    await press(tab, "select[name=every]", "ArrowDown");
    await write(tab, "input[name=kept]", "3");
    await send(tab, button("/care/schedule"));
    await says(tab, /Schedule saved/);
    return tab;
  },
  "/care/restore": async () => {
    const { user, tab, found } = await somebody();
    await tab.goto(`${tab.origin}/care/backups`);
    await send(tab, button("/care/backups"));
    await house.ingest(user, ["The importer is Grace's."]);
    await send(tab, "a[href*='/care/restore']");
    await says(tab, /1 memory of now is not in this backup/);
    await send(tab, button("/care/restore"));
    await says(tab, /Restored/);
    assert.equal(await found("The importer"), undefined);
    return tab;
  },
  "/care/upload": async () => {
    const { user, tab } = await somebody();
    const file = path.join(house.folder, `${user}.rvf`);
    await house.reprise("backup", "--user", user, file);
    await tab.goto(`${tab.origin}/care/backups`);
    await tab.setInputFiles("form[action='/care/upload'] input[type=file]", file);
    await send(tab, button("/care/upload"));
    await says(tab, /Replace the memory of/);
    return tab;
  },
  "/care/import": async () => {
    const { tab, found } = await somebody();
    const file = path.join(house.folder, "more.jsonl");
    fs.writeFileSync(file, `${JSON.stringify({ text: "Drain node 7 before the upgrade." })}\n{"tex": 1}\n`);
    await tab.goto(`${tab.origin}/care/backups`);
    await tab.setInputFiles("form[action='/care/import'] input[type=file]", file);
    await send(tab, button("/care/import"));
    await says(tab, /1 memory added/);
    assert.ok(await found("Drain node 7"));
    return tab;
  },
  "/care/delete": async () => {
    const { user, tab } = await somebody();
    const file = path.join(house.folder, `${user}-old.rvf`);
    await house.reprise("backup", "--user", user, file);
    await tab.goto(`${tab.origin}/care/backups`);
    await press(tab, "summary[aria-label^='Delete']");
    await send(tab, button("/care/delete"));
    await says(tab, /Backup deleted/);
    assert.equal(fs.existsSync(file), false);
    return tab;
  },
  "/care/configuration": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/care/configuration`);
    await write(tab, "#memory-prompt_tokens_per_day input[type=number]", "5000");
    await send(tab, "#memory-prompt_tokens_per_day button");
    await says(tab, /Saved. It holds from the next start/);
    await says(tab, /needs a restart[\s\S]*Now: no limit, from the next start: 5000/);
    assert.match(fs.readFileSync(path.join(house.folder, "reprise", "config.toml"), "utf8"), /\[memory\]\s+prompt_tokens_per_day = 5000/);
    return tab;
  },
  "/care/tokens": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/care/access`);
    await write(tab, "input[name=name]", `laptop-${people}`);
    await send(tab, button("/care/tokens"));
    await says(tab, /shown once/);
    await send(tab, "main a.button");
    await send(tab, button("/tokens/revoke"));
    await says(tab, /Token revoked/);
    return tab;
  },
  "/care/http": async () => {
    const { tab } = await somebody();
    await tab.goto(`${tab.origin}/care/access`);
    await says(tab, /HTTP is off/);
    await send(tab, button("/care/http"));
    await says(tab, /HTTP is on/);
    return tab;
  },
  "/switch": async () => {
    await house.ingest("zoe", ["Zoe's own."]);
    const tab = await house.tab("zoe", {}, "--all-users");
    await tab.goto(`${tab.origin}/users`);
    await send(tab, "button[aria-label='Switch to the memory of person1']");
    assert.match(await tab.locator(".menu .user").innerText(), /person1/);
    return tab;
  },
  "/sign-out": async () => {
    const { tab } = await somebody();
    await press(tab, ".menu:not(.pause) > summary");
    await send(tab, button("/sign-out"));
    await says(tab, /Signed out/);
    return tab;
  },
};
/** Forms that stand in the tasks of others. */
const WITHIN = ["/undo", "/knowledge/undo", "/records/{id}/unlink", "/care/tokens/revoke", "/knowledge/tidy"];

test("every form that the router takes is a task here", () => {
  const posts = routes().filter((route) => route.startsWith("POST")).map((route) => route.slice(5));
  assert.deepEqual([...Object.keys(TASKS), ...WITHIN].sort(), posts.sort());
});

for (const [form, task] of Object.entries(TASKS)) {
  test(`by the keyboard alone: ${form}`, async () => isClean(await task()));
}

test("a screen reader's tree has the names of all that the tasks need", async () => {
  const { tab, open } = await somebody(doubts);
  const roles = async (...wanted) => {
    for (const [role, name] of wanted) {
      const found = await tab.getByRole(role, { name }).count();
      assert.ok(found > 0, `${role} ${name} at ${tab.url()}`);
    }
  };
  await tab.waitForSelector("#needs [data-pair]");
  await roles(["searchbox", "Question"], ["navigation", "Main"], ["button", /Keep this \w: the (newer|second)/], ["link", /Tuesdays/], ["checkbox", /Select/]);
  await open("Tuesdays");
  await roles(["article", "Memory"], ["link", /Publish/], ["link", /Forget/]);
  await tab.click("#edit > summary");
  await roles(["textbox", "Text"], ["button", "Save"]);
});
