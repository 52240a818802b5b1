// The official TypeScript client's whole OAuth against a daemon that issues its own tokens:
// node oauth.mjs URL COMMAND ARGUMENT... where the command is reprise with its data directory.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, command, ...args] = process.argv.slice(2);
const reprise = (...more) => execFileSync(command, [...args, ...more], { encoding: "utf8" });
const kept = {};
let asked;
const provider = {
  redirectUrl: "http://127.0.0.1:51004/callback",
  clientMetadata: {
    client_name: "reprise-check",
    redirect_uris: ["http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "a state",
  clientInformation: () => kept.client,
  saveClientInformation: (client) => (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => (kept.tokens = tokens),
  redirectToAuthorization: (to) => (asked = to),
  saveCodeVerifier: (verifier) => (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
};
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: "reprise-check", version: "1.0.0" });
  await client.connect(transport);
  return client;
};
const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
const first = new Client({ name: "reprise-check", version: "1.0.0" });
await assert.rejects(first.connect(transport), UnauthorizedError);

// The browser: it waits on a page until somebody confirms on the daemon's machine.
const manual = { redirect: "manual" };
const begun = await fetch(asked, manual);
assert.equal(begun.status, 303, await begun.text());
const wait = new URL(begun.headers.get("location"), url);
const shown = await (await fetch(wait)).text();
const code = shown.match(/token approve ([A-Z]{4}-[A-Z]{4})/)[1];
assert.ok(reprise("serve", "token", "approve", code, "--user", "ada").includes("may open the memories of ada"));
const back = new URL((await fetch(wait, manual)).headers.get("location"));
assert.equal(back.origin + back.pathname, "http://127.0.0.1:51004/callback");
assert.equal(back.searchParams.get("state"), "a state");
await transport.finishAuth(back.searchParams.get("code"));

const client = await connect();
const { tools } = await client.listTools();
assert.equal(tools.length, 10);
const lesson = { title: "Nodes drain slowly", content: "Give them ten minutes." };
await client.callTool({ name: "learn", arguments: lesson });
await client.close();
assert.ok(reprise("list", "--user", "ada", "--json").includes("Nodes drain slowly"));

// Its token is replaced: the client renews it by itself, and is out when it is withdrawn.
const old = kept.tokens.access_token;
kept.tokens.access_token = "rpr_ended";
const again = await connect();
assert.equal((await again.listTools()).tools.length, 10);
await again.close();
assert.notEqual(kept.tokens.access_token, old);
const named = reprise("serve", "token", "list").match(/^oauth-\S+/m)[0];
reprise("serve", "token", "revoke", named);
await assert.rejects(connect(), /sign in again/);
console.log("typescript with oauth: ok");
