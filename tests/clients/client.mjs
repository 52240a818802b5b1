// The official TypeScript client of MCP against `reprise mcp`: node client.mjs COMMAND ARGUMENT...
import assert from "node:assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "reprise-check", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
assert.equal(tools.length, 10);
const learned = await client.callTool({
  name: "learn",
  arguments: { title: "Nodes drain slowly", content: "Give them ten minutes.", tags: ["Ops"] },
});
assert.equal(learned.structuredContent.outcome, "inserted");
const found = await client.callTool({ name: "recall", arguments: { query: "drain a node", tags: ["ops"] } });
assert.equal(found.structuredContent.results[0].id, learned.structuredContent.id);
const refused = await client.callTool({ name: "learn", arguments: {} });
assert.ok(refused.isError);
const recent = await client.readResource({ uri: "memory://recent" });
assert.ok(recent.contents[0].text.includes("Nodes drain slowly"));
await client.close();
console.log("typescript: ok");
