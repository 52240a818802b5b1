// A daemon of a test file's own, and a browser that notes whatever a page must not do.
import assert from "node:assert";
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const libraries = createRequire(path.join(process.env.LIBRARIES, "x.js"));
const { chromium } = libraries("playwright-core");
const axe = fs.readFileSync(libraries.resolve("axe-core/axe.min.js"), "utf8");

export class House {
  /** `prepare` gets the house before its daemon starts. */
  static async start(prepare = async (_house) => {}) {
    const house = new House();
    house.folder = fs.mkdtempSync(path.join(os.tmpdir(), "reprise-page-"));
    const runtime = path.join(house.folder, "run");
    fs.mkdirSync(runtime, { mode: 0o700 });
    house.env = { ...process.env, XDG_RUNTIME_DIR: runtime, XDG_CONFIG_HOME: house.folder };
    await prepare(house);
    await house.serve();
    house.browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
    return house;
  }

  get common() {
    return ["--data-dir", path.join(this.folder, "data"), ...(this.model ? [] : ["--no-model"])];
  }

  async serve() {
    this.daemon = spawn(process.env.REPRISE, [...this.common, "serve"], { env: this.env, stdio: "ignore" });
    for (let tries = 0; tries < 200; tries += 1) {
      try {
        return await this.reprise("serve", "status");
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    assert.fail("the daemon does not answer");
  }

  async kill() {
    const gone = new Promise((resolve) => this.daemon.once("exit", resolve));
    this.daemon.kill("SIGKILL");
    await gone;
  }

  async reprise(...args) {
    const { stdout } = await run(process.env.REPRISE, [...this.common, ...args], { env: this.env, maxBuffer: 1 << 28, timeout: 60_000 });
    return stdout;
  }

  /** A hook gives up early where the machine is busy: it is asked again then. */
  async hook(user, report) {
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.reprise("call", "hook", JSON.stringify(report), "--user", user);
      } catch (error) {
        if (tries > 60 || !/did not answer within/.test(error.message)) throw error;
      }
    }
  }

  /** Keeps records: texts, or objects of the ingest form. */
  async ingest(user, records) {
    const file = path.join(this.folder, "records.jsonl");
    const lines = records.map((record, place) => {
      const whole = typeof record === "string" ? { text: record } : record;
      return JSON.stringify({ external_id: `${user} ${place} ${Math.random()}`, ...whole });
    });
    fs.writeFileSync(file, lines.join("\n") + "\n");
    return this.reprise("ingest", "--user", user, "--verbatim", file);
  }

  async list(user) {
    const lines = await this.reprise("export", "--user", user);
    return lines.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async link(user, ...flags) {
    return (await this.reprise("open", "--print", "--user", user, ...flags)).trim();
  }

  /** A tab that is signed in; `options` are those of a browser context. */
  async tab(user, options = {}, ...flags) {
    const tab = await this.stranger(options);
    await tab.goto(await this.link(user, ...flags));
    tab.origin = new URL(tab.url()).origin;
    return tab;
  }

  /** A tab that is not. */
  async stranger(options = {}) {
    const context = await this.browser.newContext(options);
    const tab = await context.newPage();
    tab.setDefaultTimeout(10_000);
    tab.wrong = [];
    tab.requests = [];
    tab.on("console", (said) => said.type() === "error" && tab.wrong.push(said.text()));
    tab.on("pageerror", (error) => tab.wrong.push(String(error)));
    tab.on("dialog", async (dialog) => {
      tab.wrong.push(`a dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    tab.on("request", (request) => {
      tab.requests.push(request.url());
      const own = tab.origin ?? new URL(request.url()).origin;
      if (!request.url().startsWith(own)) tab.wrong.push(`a request to ${request.url()}`);
    });
    if (options.javaScriptEnabled !== false) {
      await tab.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) => {
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
        });
      });
    }
    return tab;
  }

  async end() {
    await this.browser.close();
    await this.reprise("serve", "stop");
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Nothing went wrong in this tab so far. */
export function isClean(tab) {
  assert.deepEqual(tab.wrong, []);
}

/** What axe finds, target sizes included; in all of the page, or `within` what opened over it. */
export async function violations(tab, within) {
  await tab.evaluate(axe);
  const found = await tab.evaluate((within) => axe.run(within ?? document, { rules: { "target-size": { enabled: true } } }), within);
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Records of a team's week: lessons of every category, sessions, tags, and a plain one. */
export function week(count = 10) {
  const said = [
    "Look at the auth module: users are logged out at random, a race in the session refresh.",
    "The auth race is fixed: the refresh took the lock twice.",
    "Decision: PostgreSQL 16 for the ledger, SQLite stays for the tests.",
    "The build on main is red since the linker update; pin lld 18.",
    "Releases are cut on Tuesdays, never on Fridays.",
    "The staging database is reset every night at two.",
    "Drain a node before the upgrade; it takes ten minutes.",
    "Invoices are rounded half even, per line and not per sum.",
    "The search index is rebuilt when its version changes.",
    "Ada owns the payment service, Grace the importer.",
  ];
  const kinds = ["episode", "finding", "strategy", "pattern"];
  return Array.from({ length: count }, (_, place) => ({
    text: place < said.length ? said[place] : `Note ${place}: ${said[place % said.length]}`,
    kind: kinds[place % kinds.length],
    source: place % 3 ? "worker_result" : "user_input",
    session_id: `day-${Math.floor(place / 4)}`,
    timestamp: new Date(Date.now() - place * 5 * 3600_000).toISOString(),
    tags: place % 2 ? ["auth", "backend"] : ["ops"],
  }));
}

/** So many notes of which no two say the same: words drawn from two thousand, the same each time. */
export function crowd(count) {
  let state = 1;
  const draw = (most) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const parts = ["ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze", "fo"];
  const word = () => parts[draw(13)] + parts[draw(13)] + parts[draw(13)];
  return week(count).map((record, place) => ({
    ...record,
    text: `Note ${place}: ${Array.from({ length: 12 }, word).join(" ")}.`,
  }));
}
