// What the page costs, printed: `tests/page/run.sh target/release/reprise figures.mjs`, with
// RECORDS=100000 by default. The figures are those of docs/guide/page.md.
import fs from "node:fs";
import http from "node:http";

import { House, week } from "./house.mjs";

const RECORDS = Number(process.env.RECORDS ?? 100_000);
const TIMES = 15;
const ROOMS = ["/", "/timeline", "/search?q=when+are+releases+cut", "/prompts", "/knowledge", "/learning", "/workspace",
  "/global", "/care"];
/** What each room asks of memory, by the same operations. */
const OPERATIONS = {
  "/": ["stats", "list", "list", "growth"],
  "/timeline": ["list"],
  "/search?q=when+are+releases+cut": ["recall"],
  "/prompts": ["prompts"],
  "/knowledge": ["stats", "list", "tags", "diary"],
  "/learning": ["learning_report", "runs"],
  "/workspace": [],
  "/global": ["published", "receipts"],
  "/care": ["stats"],
};
const ARGUMENTS = {
  recall: { query: "when are releases cut", limit: 10 },
  list: { limit: 25 },
  tags: { review: true },
};

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
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

const house = await House.start();
try {
  await house.ingest("ada", week(RECORDS));
  await house.reprise("stop");
  await house.serve();
  const link = new URL(await house.link("ada"));
  const entered = await timed(link);
  const cookie = entered.answer.headers["set-cookie"][0].split(";")[0];
  const room = (path) => timed({ host: link.hostname, port: link.port, path, headers: { cookie } });
  const first = await room("/");
  console.log(`records                 ${RECORDS}`);
  console.log(`first page, cold        ${first.ms.toFixed(1)} ms, ${first.bytes} bytes of HTML`);

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
  await tab.context().close();

  const socket = JSON.parse(await house.reprise("status", "--json")).socket;
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
  for (const name of new Set(Object.values(OPERATIONS).flat())) await operation(name);
  await house.reprise("recall", "warm", "--user", "ada");
  const before = rss(house.daemon.pid);
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
  console.log(`memory of the daemon    ${before.toFixed(1)} MiB before the rooms, +${(rss(house.daemon.pid) - before).toFixed(1)} after`);
  console.log(`hand-written script     ${fs.readFileSync(new URL("../../crates/reprise-page/assets/page.js", import.meta.url), "utf8").split("\n").length - 1} lines`);
} finally {
  await house.end();
}
