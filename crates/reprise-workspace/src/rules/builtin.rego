# The permission table of ADR-008 section 9. One decision for each path of a change.
#
# input: actor {id, role}, act (write, append, delete, merge, rollback), path, class, on_main, owner
# (the actor owns this checkpoint or extension), approved (a person has approved this very merge),
# upstream {named, missing, stale} (of a TSD: its PRD).
package reprise.workspace

default allow := false

default rule := "closed"

rule := names[input.class]

default why := "agents may only write in core, extensions, memory, embeddings, cache and logs"

why := reasons[input.class] if not inconsistent

why := "a TSD names its PRD as `prd_id`, that PRD exists, and `prd_hash`, where given, is its present one" if inconsistent

names := {
	"prd": "core-prd",
	"tsd": "core-tsd",
	"adr": "core-adr",
	"kb": "core-kb",
	"extensions": "extensions-mesh",
	"rules": "project-rules",
	"long_term": "memory-long-term",
	"agent_state": "agent-state-owner",
	"episodic": "memory-episodic",
	"embeddings_index": "embeddings-vectorizer",
	"embeddings_vectors": "embeddings-vectorizer",
	"cache": "cache-open",
	"logs": "logs-append-only",
	"ledger": "ledger-orchestrator",
	"internal": "internal",
	"other": "people-only",
}

reasons := {
	"prd": "the PRM alone writes PRDs; a person changes one on a branch, and its merge needs a person's approval (`reprise workspace approve`)",
	"tsd": "the TSM alone writes TSDs; a person changes one on a branch",
	"adr": "an agent merges only what it may write itself, into a branch of its own; rollbacks are the Governor's and people's",
	"kb": "an agent merges only what it may write itself, into a branch of its own; rollbacks are the Governor's and people's",
	"extensions": "an extension is written by the agent of its name, the Governor and people, or as the project's policy allows",
	"rules": "policies, schemas and what git itself obeys (.gitignore, .gitattributes, .gitmodules) are the people's; merging a change to them needs a person's approval (`reprise workspace approve`)",
	"long_term": "long-term logs are appended to, never shortened or rewritten",
	"agent_state": "a checkpoint is written by the agent whose it is",
	"episodic": "scratch is no subject of merges and rollbacks",
	"embeddings_index": "the Vectorizer alone writes embeddings",
	"embeddings_vectors": "the Vectorizer alone writes embeddings",
	"cache": "the cache is no subject of merges and rollbacks",
	"logs": "logs are appended to, never shortened or rewritten",
	"ledger": "WAL, audit trail, conflicts and events are written by the Orchestrator alone",
	"internal": "`.sdlc_ide` is the Orchestrator's",
	"other": "agents may only write in core, extensions, memory, embeddings, cache and logs",
}

human if input.actor.role == "human"

consistent if {
	input.upstream.named
	count(input.upstream.missing) == 0
	count(input.upstream.stale) == 0
}

inconsistent if {
	input.class == "tsd"
	input.act != "delete"
	tsd_writer
	not consistent
}

tsd_writer if input.actor.role == "tsm"

tsd_writer if {
	human
	not input.on_main
}

tsd_writer if input.act == "merge"

# Who may write, before anything is said of how.
may_write if {
	input.class == "prd"
	input.actor.role == "prm"
}

may_write if {
	input.class == "prd"
	human
	not input.on_main
}

may_write if {
	input.class == "tsd"
	tsd_writer
	input.act != "merge"
	not inconsistent
}

may_write if input.class in {"adr", "kb", "episodic", "cache"}

may_write if {
	input.class == "extensions"
	extension_writer
}

extension_writer if input.owner

extension_writer if input.actor.role == "governor"

extension_writer if human

may_write if {
	input.class in {"rules", "other"}
	human
}

may_write if {
	input.class == "long_term"
	not input.shortens
}

may_write if {
	input.class == "agent_state"
	input.owner
}

may_write if {
	input.class in {"embeddings_index", "embeddings_vectors"}
	input.actor.role == "vectorizer"
}

may_write if {
	input.class == "logs"
	input.act == "append"
}

allow if {
	input.act in {"write", "append", "delete"}
	may_write
}

# Merging: the Governor, the Orchestrator and people bring in what passes validation, an agent on a
# branch of its own what it may write itself (W20 is held before any path is looked at). PRDs and the project's own rules need a person's review.
needs_approval if input.class in {"prd", "rules"}

may_merge if input.actor.role in {"governor", "orchestrator", "human"}

may_merge if {
	input.class != "tsd"
	may_write
}

may_merge if {
	input.class == "tsd"
	input.actor.role == "tsm"
}

mergeable if input.class in {
	"prd", "tsd", "adr", "kb", "extensions", "rules", "long_term", "agent_state",
	"embeddings_index", "other",
}

allow if {
	input.act == "merge"
	mergeable
	not needs_approval
	may_merge
	not inconsistent
}

allow if {
	input.act == "merge"
	needs_approval
	may_merge
	input.approved
}

# Rolling back: core only, by the Governor or a person.
allow if {
	input.act == "rollback"
	input.class in {"prd", "tsd", "adr", "kb"}
	input.actor.role in {"governor", "human"}
}
