import { memory } from "reprise-client";

const client = memory(process.env.REPRISE_URL!, process.env.REPRISE_TOKEN!);
const path = { user: "ann" };
const lesson = { title: "Pin the linker", text: "The build is slow without mold." };
await client.POST("/v1/users/{user}/learn", { params: { path }, body: lesson });
const body = { query: "why is the build slow" };
const { data, error } = await client.POST("/v1/users/{user}/recall", { params: { path }, body });
if (!data || !("results" in data)) throw new Error(JSON.stringify(error));
console.log(data.results[0].text);
