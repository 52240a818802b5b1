// Typed client of Reprise: `memory` for a user's own memory, `knowledge` for what a team has published. The types are
// generated from the programs' own descriptions.
import createClient from "openapi-fetch";
import type { paths as KnowledgePaths } from "./knowledge.js";
import type { paths as MemoryPaths } from "./memory.js";

const options = (baseUrl: string, token: string) => ({ baseUrl, headers: { authorization: `Bearer ${token}` } });

export const memory = (url: string, token: string) => createClient<MemoryPaths>(options(url, token));
export const knowledge = (url: string, token: string) => createClient<KnowledgePaths>(options(url, token));
