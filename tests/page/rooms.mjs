// Every address that the page answers at, as its router has them, and a memory in which everything
// happened that a room can show: a room without a row here fails the tests that go through all.
import fs from "node:fs";
import path from "node:path";

const source = fs.readFileSync(new URL("../../crates/reprise-page/src/pages.rs", import.meta.url), "utf8");
const shell = ["shell.rs", "shell/document.rs"].map((file) => new URL(`../../crates/reprise-page/src/${file}`, import.meta.url))
  .filter((file) => fs.existsSync(file)).map((file) => fs.readFileSync(file, "utf8")).join("\n");

/** The routes of the router: `GET /timeline`. */
export function routes() {
  const named = Object.fromEntries([...shell.matchAll(/const (SIGN_OUT|SWITCH): &str = "([^"]+)"/g)].map((one) => one.slice(1)));
  const router = source.slice(source.indexOf(".route("));
  const found = [];
  // From one `.route(` to the next one, so that no depth of brackets hides an address.
  for (const one of router.slice(0, router.indexOf("\n}")).split(".route(").slice(1)) {
    const name = /"[^"]+"|shell::\w+/.exec(one)[0];
    const address = name.startsWith("shell::") ? named[name.slice(7)] : name.slice(1, -1);
    for (const [, method] of one.matchAll(/\b(get|post)\(/g)) found.push(`${method.toUpperCase()} ${address}`);
  }
  return found;
}

/** What is no room: it answers no page, or none to whoever is signed in. */
export const NO_ROOMS = {
  "GET /live": "a stream of events",
  "GET /assets/{version}/{name}": "the style, the script, the pictures",
  "GET /care/backup": "a file to be saved",
  "GET /care/export": "a file to be saved",
};

/** Where each room is found in a lived-in memory; a room that needs a visit's own doing goes there. */
export const ROOMS = {
  "GET /": () => ["/"],
  "GET /needs": () => ["/needs"],
  "GET /help": () => ["/help"],
  "GET /timeline": () => ["/timeline", "/timeline?kind=finding&since=2020-01-01"],
  "GET /knowledge": () => ["/knowledge", "/knowledge?show=week"],
  "GET /projects": () => ["/projects"],
  "GET /search": (lived) => ["/search", `/search?q=${asked(lived)}`, `/search?q=${asked(lived)}&scope=local%2Bglobal&back=3`,
    `/search?q=${asked(lived)}&top_k=1&expected=${lived.records.at(-1).id}`, "/search?q=zxqv+wvut+never"],
  "GET /new": () => ["/new"],
  "GET /prompts": () => ["/prompts", "/prompts?show=week", "/prompts?session=now"],
  "GET /agents": () => ["/agents"],
  "GET /prompts/{id}": (lived) => lived.prompts.slice(0, 1).map((one) => `/prompts/${one.id}`),
  "GET /activity": () => ["/activity"],
  "GET /learning": () => ["/learning"],
  "GET /records/{id}": (lived) => lived.told.slice(0, 2).map((one) => `/records/${one.id}`),
  "GET /records/{id}/forget": (lived) => [`/records/${lived.told[0].id}/forget`],
  "GET /records/{id}/publish": (lived) => [`/records/${lived.told[0].id}/publish?title=${encodeURIComponent(lived.say(3))}`],
  "GET /forgotten/{number}": (lived) => lived.forgotten ? [lived.forgotten] : [],
  "GET /erase": () => ["/erase"],
  "GET /done": () => ["/done"],
  "GET /knowledge/review": () => ["/knowledge/review"],
  "GET /compare": (lived) => [`/compare?one=${lived.records[0].id}&other=${lived.records[1].id}`],
  "GET /knowledge/tidy": () => ["/knowledge/tidy"],
  "GET /global": () => ["/global"],
  "GET /global/{id}": (lived) => lived.published.map((id) => `/global/${id}`),
  "GET /care": () => ["/care"],
  "GET /care/backups": () => ["/care/backups"],
  "GET /care/restore": (lived) => [`/care/restore?file=${encodeURIComponent(lived.backup)}`],
  "GET /care/access": () => ["/care/access"],
  "GET /care/configuration": () => ["/care/configuration"],
  "GET /care/audit": () => ["/care/audit"],
  "GET /users": () => ["/users"],
  "GET /enter/{secret}": () => ["/enter/expired"],
};

/** Addresses that hold for anybody, whatever happened. */
export function plain() {
  const got = routes().filter((route) => route.startsWith("GET") && !NO_ROOMS[route] && !route.includes("{"));
  return [...got.map((route) => route.slice(4)), "/search?q=auth+race"];
}

const asked = (lived) => encodeURIComponent(lived.say(0).slice(0, 200));

/** Every address of every room; what is in no router is shown too. */
export function addresses(lived) {
  return [...Object.values(ROOMS).flatMap((of) => of(lived)), "/no-such-room"];
}

/**
 * Lets everything happen to `user` that a room can show; `say(n)` is the nth text of `count`.
 */
export async function live(house, user, say, count) {
  const line = (n, more = {}) => ({
    text: say(n), kind: "finding", session_id: say(n).slice(0, 100), tags: [say(n).slice(0, 60)],
    metadata: { project: say(n).slice(0, 100), author: say(n).slice(0, 100), [say(n).slice(0, 40) || "key"]: say(n) },
    details: { type: say(n).slice(0, 40), category: say(n).slice(0, 40), source_goal: say(n).slice(0, 100) },
    timestamp: new Date(Date.now() - n * 60_000).toISOString(), ...more,
  });
  const named = (n, how, text, more) => line(n, { external_id: `${how} ${say(n)}`.slice(0, 200), session_id: how, text, details: undefined, ...more });
  const numbers = Array.from({ length: count }, (_, n) => n);
  await house.ingest(user, numbers.map((n) => line(n)));
  // Duplicates for the diary, pairs for the review, what is over for the audit.
  const few = numbers.slice(0, 12);
  await house.ingest(user, few.flatMap((n) => [
    named(n, "one", `It was said twice: ${say(n)}`), named(n, "two", `it was said twice: ${say(n)}`),
    named(n, "thirty", `The timeout of ${say(n)} is 30 seconds`), named(n, "ninety", `The timeout of ${say(n)} is 90 seconds`),
  ]));
  await house.reprise("doctor", "tidy", "--user", user);
  await house.ingest(user, few.flatMap((n) => [
    named(n, "over", `A buffer that had its time: ${say(n)}`, { metadata: { expires_at: "2020-01-01" } }),
    named(n, "key", `token = ghp_${"a1B2".repeat(9)} ${say(n)}`),
  ]));
  const call = (name, body) => house.reprise("call", name, JSON.stringify(body), "--user", user);
  const records = await house.list(user);
  const told = records.filter((one) => one.text === say(0) || one.text === say(1));
  for (const n of few) {
    await call("outcome", { run_id: `run ${say(n)}`, query: say(n), used: [told[n % told.length].id], quality: n % 2 ? 0.9 : 0.2 });
  }
  await house.reprise("tags", "link", told[0].id, told.at(-1).id, "--user", user);
  await house.reprise("tags", "link", told[0].id, records.at(-1).id, "--user", user);
  await house.reprise("edit", told[0].id, "--content", `${say(0)} (corrected)`, "--user", user);
  for (const n of few) {
    await house.hook(user, { event: "user-prompt", session: "now", project: "shop", text: `why is it so: ${say(n)}` });
    await house.hook(user, { event: "stop", session: "now", project: "shop", text: `As in ${told.at(-1).id}: ${say(n)}` });
  }
  await house.reprise("share", "publish", told.at(-1).id, "--title", say(2).slice(0, 80), "--licence", "MIT", "--yes", "--user", user);
  const backup = path.join(house.folder, "<img src=x onerror=ran=1>.rvf");
  await house.reprise("backup", "--user", user, backup);
  await house.reprise("serve", "token", "add", "<script>ran=1<script>", "--user", user);
  const all = await house.list(user);
  const published = JSON.parse(await house.reprise("share", "list", "--json", "--user", user).then((text) => text.trim().split("\n")[0]));
  return {
    user, say, backup, records: all,
    told: all.filter((one) => one.text.startsWith(say(0)) || one.text === say(1)),
    prompts: all.filter((one) => one.text.startsWith("why is it so")),
    published: [published.id ?? published.published?.[0]?.id].filter(Boolean),
  };
}

/** A tab of a lived-in memory. */
export async function visit(house, lived, options = {}, ...flags) {
  const tab = await house.tab(lived.user, options, "--all-users", ...flags);
  return { ...lived, tab };
}

/** Forgets a record in this tab: its proof is a room too. */
export async function forgetOne(visited) {
  const { tab } = visited;
  const gone = visited.records.find((one) => one.text.startsWith("it was said") || one.text.startsWith("A buffer"));
  await tab.goto(`${tab.origin}/records/${gone.id}/forget`);
  await tab.click("main button.danger");
  visited.forgotten = new URL(tab.url()).pathname;
  visited.records = visited.records.filter((one) => one !== gone);
}
