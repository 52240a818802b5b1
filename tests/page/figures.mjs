// What the page costs, printed: `tests/page/run.sh target/release/reprise figures.mjs`, with
// RECORDS=100000 by default. The figures are those of docs/benchmarks.md.
import fs from "node:fs";
import http from "node:http";

import { House, week } from "./house.mjs";

const RECORDS = Number(process.env.RECORDS ?? 100_000);
const TIMES = 15;
/** Daemons whose first page is taken. */
const COLD = 5;
const ROOMS = ["/", "/timeline", "/search?q=when+are+releases+cut", "/prompts", "/activity", "/knowledge", "/projects", "/agents", "/learning",
  "/global", "/care", "/done"];
/** What each room asks of memory, by the same operations. */
const OPERATIONS = {
  "/": ["stats", "list", "prompts"],
  "/timeline": ["list", "tags"],
  "/search?q=when+are+releases+cut": ["recall", "tags"],
  "/prompts": ["prompts"],
  "/activity": [],
  "/knowledge": ["list", "tags"],
  "/projects": ["tags"],
  "/agents": ["prompts"],
  "/done": ["diary"],
  "/learning": ["learning_report", "runs"],
  "/global": ["published", "receipts"],
  "/care": ["stats"],
};
const ARGUMENTS = {
  recall: { query: "when are releases cut", limit: 50 },
  list: { limit: 25 },
  tags: { review: true },
};

const assets = new URL("../../crates/reprise-page/assets/", import.meta.url);
const SCRIPTS = fs.readdirSync(assets).filter((name) => name.endsWith(".js"));

/** A request; answers its milliseconds to the last byte, and its bytes. */
function timed(options, body) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const request = http.request(options, (answer) => {
      let bytes = 0;
      answer.on("data", (part) => (bytes += part.length));
      answer.on("end", () => resolve({ ms: performance.now() - began, bytes, answer }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
/** Mebibytes that the daemon has for itself, without the pages of its program. */
const own = (pid) => Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

/** Waits until the daemon has done what it does while nobody asks, and its memory stays as it is. */
async function settled(pid) {
  let last = own(pid);
  for (let tries = 0, still = 0; tries < 120 && still < 8; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = own(pid);
    still = Math.abs(now - last) < 0.5 ? still + 1 : 0;
    last = now;
  }
  return last;
}

/** In the page: one letter more in the question; answers the milliseconds until the results are in place. */
async function keystroke(letter) {
  const question = document.querySelector("input[name=q]");
  const results = document.getElementById("results");
  const began = performance.now();
  const swapped = new Promise((resolve) => {
    const watch = new MutationObserver(() => {
      if (results.hasAttribute("aria-busy")) return;
      watch.disconnect();
      resolve(performance.now() - began);
    });
    watch.observe(results, { attributes: true, attributeFilter: ["aria-busy"] });
  });
  question.value += letter;
  question.dispatchEvent(new InputEvent("input", { bubbles: true }));
  return swapped;
}

const house = await House.start();
try {
  await house.ingest("ada", week(RECORDS));
  /** A way to the rooms of a daemon that has just begun. */
  const enter = async () => {
    const link = new URL(await house.link("ada"));
    const entered = await timed(link);
    const cookie = entered.answer.headers["set-cookie"][0].split(";")[0];
    return (path) => timed({ host: link.hostname, port: link.port, path, headers: { cookie } });
  };
  const cold = [];
  let first;
  for (let time = 0; time < COLD; time += 1) {
    await house.reprise("serve", "stop");
    await house.serve();
    first = await (await enter())("/");
    cold.push(first.ms);
  }
  console.log(`records                 ${RECORDS}`);
  console.log(`first page, cold        ${median(cold).toFixed(1)} ms in the middle, ${Math.max(...cold).toFixed(1)} at most, of ${COLD} daemons; ${first.bytes} bytes of HTML`);

  const tab = await house.stranger();
  let bytes = 0;
  const sizes = [];
  tab.on("requestfinished", (request) => {
    sizes.push(request.sizes().then((all) => (bytes += all.responseBodySize + all.responseHeadersSize)));
  });
  await tab.goto(await house.link("ada"));
  await tab.waitForLoadState("load");
  const requests = tab.requests.filter((address) => !address.endsWith("/live")).length;
  await Promise.all(sizes);
  console.log(`in a browser            ${requests} requests, ${bytes} bytes`);
  console.log(`records on 1280 x 800   ${await tab.evaluate(() => [...document.querySelectorAll("[data-record]")].filter((row) => row.getBoundingClientRect().bottom <= 800).length)}`);
  await tab.goto(`${new URL(tab.url()).origin}/search`);
  const typed = [];
  for (const letter of "when are releases cut on tuesdays") {
    typed.push(await tab.evaluate(keystroke, letter));
  }
  console.log(`key to results          ${median(typed).toFixed(1)} ms in the middle, ${Math.max(...typed).toFixed(1)} at most, ${typed.length} keys, no model`);
  await tab.context().close();

  // What the rooms cost a daemon that has the memory open and has settled.
  await house.reprise("serve", "stop");
  await house.serve();
  await house.reprise("stats", "--user", "ada");
  const room = await enter();
  const before = await settled(house.daemon.pid);
  for (let time = 0; time < TIMES; time += 1) for (const path of ROOMS) await room(path);
  console.log(`memory of the daemon    ${before.toFixed(1)} MiB of its own with the memory open, ${((await settled(house.daemon.pid)) - before).toFixed(1)} more after ${TIMES} visits of each room`);

  const socket = JSON.parse(await house.reprise("serve", "status", "--json")).socket;
  const operation = async (name) => {
    const listed = name === "list";
    const body = JSON.stringify(ARGUMENTS[name] ?? {});
    const options = { socketPath: socket, headers: { "content-type": "application/json" } };
    const paths = { list: "/v1/users/ada/records?limit=25", published: "/v1/users/ada/published", receipts: "/v1/users/ada/receipts", stats: "/v1/users/ada/stats", tags: "/v1/users/ada/tags?review=true" };
    const path = paths[name] ?? `/v1/users/ada/${name}`;
    const reads = listed || paths[name] !== undefined;
    let found = await timed({ ...options, method: reads ? "GET" : "POST", path }, reads ? undefined : body);
    if (found.answer.statusCode >= 400) found = await timed({ ...options, method: "POST", path: `/v1/users/ada/${name}` }, body);
    if (found.answer.statusCode >= 400) throw new Error(`${name}: ${found.answer.statusCode}`);
    return found.ms;
  };
  console.log("room                                room    operations  beyond   bytes");
  for (const path of ROOMS) {
    const shown = [];
    const asked = [];
    let size = 0;
    for (let time = 0; time < TIMES; time += 1) {
      const one = await room(path);
      shown.push(one.ms);
      size = one.bytes;
      let sum = 0;
      for (const name of OPERATIONS[path]) sum += await operation(name);
      asked.push(sum);
    }
    const [ours, theirs] = [median(shown), median(asked)];
    const beyond = (ours - theirs).toFixed(1).padStart(7);
    console.log(`${path.padEnd(34)} ${ours.toFixed(1).padStart(6)} ms ${theirs.toFixed(1).padStart(6)} ms ${beyond} ms ${size}`);
  }
  console.log(`hand-written script     ${SCRIPTS.map((name) => fs.readFileSync(new URL(name, assets), "utf8").split("\n").length - 1).reduce((a, b) => a + b)} lines`);
} finally {
  await house.end();
}
