// A picture of every place, for people to look at and for docs/page, with the model where it is installed:
// `tests/page/run.sh target/release/reprise pictures.mjs FOLDER`.
import path from "node:path";
import process from "node:process";

import { House } from "./house.mjs";
import { LINKS, memory } from "./memory.mjs";

const folder = path.resolve(process.env.PICTURES ?? process.argv[2] ?? "../../docs/page");
const house = await House.start(async (house) => (house.model = true));
try {
  await house.ingest("ada", memory());
  const all = await house.list("ada");
  const named = (text) => all.find((one) => one.text.includes(text)).id;
  const ids = Object.fromEntries(memory().map((one) => [one.external_id, all.find((kept) => kept.text === one.text)?.id]));
  const call = (name, body) => house.reprise("call", name, JSON.stringify(body), "--user", "ada");
  for (const [from, to, relation] of LINKS) if (ids[from] && ids[to]) await call("link", { from: ids[from], to: ids[to], relation });
  const moment = (event, report) => house.hook("ada", { event, session: "shop-web-9", project: "shop-web", ...report });
  const said = [
    ["websockets drop behind the proxy again", `As in ${named("unless it speaks HTTP/1.1")}: the ingress speaks HTTP/1.0 once more.`],
    ["when are releases cut?", "On Tuesdays, never on Fridays."],
    ["what is the capital of Australia?", "Canberra."],
  ];
  for (const [text, answer] of said) {
    await house.reprise("recall", text, "--user", "ada");
    await moment("user-prompt", { text });
    await moment("post-tool", { command: "npm test", succeeded: true });
    await moment("stop", { text: answer });
  }
  for (let run = 0; run < 26; run += 1) {
    const used = [named(run % 3 ? "unless it speaks HTTP/1.1" : "Reconnect with jitter")];
    await call("outcome", { run_id: `websockets ${run}`, query: "websockets drop behind the proxy", used, quality: run % 3 ? 0.9 : 0.3 });
  }
  const invoices = named("Invoices are rounded");
  await house.reprise("share", "publish", invoices, "--title", "How invoices are rounded", "--licence", "MIT", "--yes", "--user", "ada");
  await house.reprise("recall", "who owns the importer", "--user", "ada");
  const prompt = (await house.list("ada")).find((one) => one.text.startsWith("websockets drop"));
  const ask = "/search?q=why+do+websockets+break+behind+the+proxy";
  const record = `/records/${named("Coupons apply once")}`;
  const rooms = [
    ["home", "/"], ["ask", ask], ["record", record], ["timeline", "/timeline"], ["knowledge", "/knowledge"], ["projects", "/projects"], ["prompts", "/prompts"], ["conversation", `/prompts?session=${prompt.session_id}`],
    ["lately", "/activity"], ["learning", "/learning"], ["global", "/global"], ["publish", `/records/${invoices}/publish`],
    ["forget", `${record}/forget`], ["review", "/knowledge/review"], ["tidy", "/knowledge/tidy"], ["audit", "/care/audit"], ["care", "/care"],
    ["nothing", "/search?q=what+is+the+capital+of+australia"], ["home-dark", "/", { colorScheme: "dark" }], ["record-dark", record, { colorScheme: "dark" }],
    ["home-narrow", "/", { viewport: { width: 390, height: 844 } }], ["ask-narrow-dark", ask, { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
    ["home-wide", "/", { viewport: { width: 2560, height: 1300 } }], ["palette", "/timeline", {}, ["j", "Control+k"]],
  ];
  for (const [name, room, options = {}, keys = []] of rooms) {
    const tab = await house.tab("ada", { viewport: { width: 1280, height: 800 }, ...options });
    await tab.goto(tab.origin + room);
    if (room === "/") await tab.waitForSelector("#needs [data-total]");
    for (const key of keys) await tab.keyboard.press(key);
    await tab.evaluate(() => document.fonts.ready);
    await tab.screenshot({ path: path.join(folder, `${name}.png`) });
    await tab.context().close();
  }
  console.log(`${rooms.length} pictures in ${folder}`);
} finally {
  await house.end();
}
