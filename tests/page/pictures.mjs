// A picture of every room, for people to look at and for docs/page:
// `tests/page/run.sh target/release/reprise pictures.mjs FOLDER`.
import path from "node:path";
import process from "node:process";

import { House, week } from "./house.mjs";

const folder = path.resolve(process.env.PICTURES ?? process.argv[2] ?? "../../docs/page");
const house = await House.start();
const line = (external_id, session_id, text, more = {}) => ({ external_id, session_id, text, ...more });
try {
  await house.ingest("ada", week(40));
  await house.ingest("ada", [
    line("d-1", "mon", "The deploy script fails without the VPN."),
    line("d-2", "tue", "the deploy script fails without the VPN"),
    line("t-30", "mon", "The timeout of the login page is 30 seconds"),
    line("t-90", "tue", "The timeout of the login page is 90 seconds"),
    line("c-1", "before", "The checkout total is wrong where a coupon is counted per line.", { tags: ["project:shop"] }),
    line("c-2", "before", "The checkout total with a coupon is wrong in the other shop too.", { tags: ["project:other"] }),
  ]);
  for (const lesson of [["Migrations", "Test them on a copy."], ["Releases", "Tag before the build, not after it."]])
    await house.reprise("learn", "--user", "ada", "--title", lesson[0], "--content", lesson[1]);
  const all = await house.list("ada");
  const [one, other, third] = all.filter((record) => record.text.includes("auth") || record.text.includes("build"));
  await house.reprise("link", one.id, other.id, "--user", "ada");
  await house.reprise("link", one.id, third.id, "--user", "ada");
  await house.reprise("edit", one.id, "--content", `${one.text} It is fixed in 2.4.`, "--user", "ada");
  const named = (part) => all.find((record) => record.text.includes(part));
  const moment = (event, report) =>
    house.reprise("call", "hook", JSON.stringify({ event, session: "now", project: "shop", ...report }), "--user", "ada");
  await moment("user-prompt", { text: "why is the checkout total wrong with a coupon" });
  await moment("post-tool", { command: "cargo test -p shop", succeeded: true });
  await moment("stop", { text: `As in ${named("counted per line").id}: the coupon is taken once now, per sum.` });
  const tab = await house.tab("ada", { viewport: { width: 1280, height: 900 } });
  for (let times = 0; times < 6; times += 1) {
    await tab.goto(`${tab.origin}/search?q=when+are+releases+cut+${times}`);
    await tab.locator(`button[value=${times % 3 ? "yes" : "no"}]`).first().click();
  }
  const invoices = named("Invoices");
  await tab.goto(`${tab.origin}/records/${invoices.id}/publish`);
  await tab.screenshot({ path: path.join(folder, "publish.png") });
  await tab.click("text=Publish these bytes");
  const corrected = (await house.list("ada")).find((record) => record.text.includes("fixed in 2.4"));
  const prompt = (await house.list("ada")).find((record) => record.text.startsWith("why is"));
  const rooms = {
    now: "/", timeline: "/timeline", search: "/search?q=who+is+logged+out+by+the+auth+race", prompts: "/prompts",
    prompt: `/prompts/${prompt.id}`, record: `/records/${corrected.id}`, forget: `/records/${corrected.id}/forget`,
    knowledge: "/knowledge", review: "/knowledge/review", learning: "/learning", workspace: "/workspace",
    global: "/global", care: "/care", audit: "/care/audit",
  };
  for (const [name, room] of Object.entries(rooms)) {
    await tab.goto(tab.origin + room);
    if (name === "search") await tab.locator(".hits summary").first().click();
    await tab.screenshot({ path: path.join(folder, `${name}.png`) });
  }
  for (const [name, options, room] of [
    ["search-dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }, rooms.search],
    ["search-narrow", { viewport: { width: 360, height: 800 } }, rooms.search],
    ["record-dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }, rooms.record],
    ["now-wide", { viewport: { width: 2560, height: 1200 } }, rooms.now],
  ]) {
    const second = await house.tab("ada", options);
    await second.goto(second.origin + room);
    await second.screenshot({ path: path.join(folder, `${name}.png`) });
  }
  await tab.emulateMedia({ media: "print" });
  await tab.goto(tab.origin + rooms.record);
  await tab.screenshot({ path: path.join(folder, "record-print.png") });
  console.log(`${Object.keys(rooms).length + 6} pictures in ${folder}`);
} finally {
  await house.end();
}
