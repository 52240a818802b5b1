// A memory as a team has one: three projects, three agents, three weeks; sessions in which something was
// asked, tried, decided and learned. Nothing in it is random, so that pictures can be compared.

const MINUTE = 60_000;

/** What was said in each session: kind, and text; `!` marks what failed. */
const SESSIONS = [
  ["shop-api", "claude-code", "Why is the checkout total wrong with a coupon?", 0, [
    ["answer", "The coupon is taken once per line: `total()` calls `apply_coupon` inside the loop over lines."],
    ["test!", "cargo test -p shop: 1 failed: total_with_coupon, 90.00 is not 95.00"],
    ["document", "src/cart/total.rs: the coupon is applied after the sum"],
    ["commit", "3f2a1c9 cart: take the coupon once"],
    ["test", "cargo test -p shop: 12 passed, 0 failed"],
    ["decision", "Coupons apply once, to the sum; line discounts are gone\n\nWe tried both for a week. Per line, three coupons on one cart took more than the cart was worth.\n\n- `total()` sums first\n- the coupon is a line of its own on the invoice"],
  ]],
  ["shop-api", "codex", "Upgrade the ledger to PostgreSQL 18", 1.3, [
    ["command", "docker compose up -d db && psql -c 'select version()'"],
    ["commit", "9be0d12 db: postgres 18 in compose and CI"],
    ["note", "Migration 41 needs the lock_timeout raised; ask Priya before the freeze"],
    ["lesson", "Run pg_upgrade with --swap only when both data folders are on one file system"],
    ["test", "cargo test -p ledger: 31 passed, 0 failed, on 17 and on 18"],
  ]],
  ["shop-web", "claude-code", "Flaky websocket reconnect", 17, [
    ["test!", "npm test: 1 failed: reconnects after the proxy closes"],
    ["answer", "The proxy speaks HTTP/1.0 to us and drops the upgrade."],
    ["lesson", "Websockets break behind the proxy unless it speaks HTTP/1.1: upgrades are dropped. Set it in the ingress, not in `nginx.conf`"],
    ["decision", "Reconnect with jitter 1 to 5 s; no exponential back-off for carts"],
    ["commit", "77ab01e ws: reconnect with jitter"],
    ["test", "npm test: 214 passed, 0 failed"],
  ]],
  ["infra", "codex", "Why did the nightly backup not run?", 26, [
    ["command", "systemctl list-timers | grep backup"],
    ["note", "The backup host was renamed to vault-2 on 12 November; the timer still named vault-1"],
    ["commit", "c01dd11 backup: name the host by its role"],
    ["lesson", "A timer that fails sends no mail: let the unit that follows it check for its file"],
  ]],
  ["shop-web", "claude-code", "The cart page jumps when prices load", 30, [
    ["answer", "The price column has no width until the prices are there."],
    ["document", "src/cart/Row.tsx: the column keeps the width of the longest price"],
    ["commit", "1d9e2aa cart: keep the width of prices"],
    ["test", "npm test -- cart: 41 passed, 0 failed; the row keeps its width"],
  ]],
  ["shop-api", "claude-code", "Which endpoint leaks the customer's address?", 51, [
    ["command", "rg -n 'address' src/api"],
    ["note", "GET /orders/{id} answers the address to whoever has the link"],
    ["decision", "Order links carry a token that ends after a day; the address is for signed-in customers alone"],
    ["commit", "5b77c30 api: order links end after a day"],
    ["test", "cargo test -p api: 88 passed, 0 failed, links that ended are refused"],
  ]],
  ["infra", "claude-code", "Release 2.8: what is left?", 75, [
    ["note", "2.8 freezes on Thursday 26 November"],
    ["decision", "Releases are cut on Tuesdays, never on Fridays"],
    ["note", "Staging resets at 2 am, do not leave a load test running"],
    ["run", "The release rehearsal took 34 minutes, of which 20 were the image build"],
  ]],
  ["shop-api", "codex", "Make the importer faster", 99, [
    ["command", "hyperfine 'importer big.csv'"],
    ["answer", "Each row is a transaction of its own; a batch of 500 is eleven times faster."],
    ["commit", "e4410fe importer: batches of 500"],
    ["lesson", "The importer holds a lock per batch: more than 1,000 rows and the checkout waits"],
    ["test", "cargo test -p importer: 19 passed, 0 failed, in 2 s where it took 23"],
  ]],
];

const NOTES = [
  ["The timeout of the login page is 90 seconds", "shop-web", 3],
  ["The timeout of the login page is 30 seconds", "shop-web", 290],
  ["staging resets at 2 am, do not leave a load test running", "infra", 4],
  ["Ada owns the payment service, Grace the importer", "shop-api", 120],
  ["Invoices are rounded half even, per line and not per sum", "shop-api", 140],
  ["The search index is rebuilt when its version changes", "shop-api", 190],
  ["Drain a node before the upgrade; it takes ten minutes", "infra", 230],
  ["The build on main is red since the linker update; pin lld 18", "infra", 260],
];

const KIND = { lesson: "finding", decision: "finding", note: "finding" };

/** The records, as `reprise ingest` takes them; `now` is when all of it ends. */
export function memory(now = Date.now()) {
  const at = (hours) => new Date(now - hours * 60 * MINUTE).toISOString();
  const lines = SESSIONS.flatMap(([project, agent, prompt, hours, said], session) => {
    const line = (place, type, text, more) => ({
      external_id: `m-${session}-${place}`, session_id: `${project}-${session}`, text, kind: KIND[type] ?? "episode",
      source: type === "prompt" ? "user_input" : "worker_result", tags: [`project:${project}`],
      timestamp: at(hours + (said.length - place) / 7), metadata: { author: agent, ...more },
    });
    return [
      line(0, "prompt", prompt, { role: "user", author: "ada" }),
      ...said.map(([kind, text], place) => {
        const type = kind.replace("!", "");
        const made = line(place + 1, type, text, { type });
        return ["lesson", "decision"].includes(type) ? { ...made, details: { type, author: agent } } : made;
      }),
    ];
  });
  return [...lines, ...NOTES.map(([text, project, hours], place) => ({
    external_id: `n-${place}`, text, kind: "finding", source: "user_input", tags: [`project:${project}`], timestamp: at(hours),
    metadata: { author: "ada", type: "note" },
  }))];
}

/** What followed what: the map has something to show. */
export const LINKS = [["m-0-4", "m-0-6", "made"], ["m-0-1", "m-0-6", "led_to"], ["m-0-2", "m-0-1", "led_to"], ["m-0-3", "m-0-4", "part_of"],
  ["m-0-5", "m-0-4", "proves"], ["m-0-0", "m-0-1", "asked"], ["n-3", "m-0-6", "related_to"], ["m-2-3", "m-2-4", "led_to"],
  ["m-2-5", "m-2-4", "made"], ["m-7-4", "m-7-3", "about"], ["m-1-3", "m-1-4", "led_to"], ["m-1-2", "m-1-4", "part_of"], ["m-0-6", "m-5-3", "related_to"]];
