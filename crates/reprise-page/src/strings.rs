//! Every English word of the page.

mod tending;

use std::fmt::Display;

use reprise_types::RecallScope;

pub(crate) use tending::*;

// The shell.
pub(crate) const ROOMS: &str = "Rooms";
pub(crate) const NOW: &str = "Now";
pub(crate) const TIMELINE: &str = "Timeline";
pub(crate) const SEARCH: &str = "Search";
pub(crate) const PROMPTS: &str = "Prompts";
pub(crate) const KNOWLEDGE: &str = "Knowledge";
pub(crate) const LEARNING: &str = "Learning";
pub(crate) const WORKSPACE: &str = "Workspace";
pub(crate) const GLOBAL: &str = "Global";
pub(crate) const CARE: &str = "Care";
pub(crate) const SKIP: &str = "Skip to the content";
pub(crate) const WHOSE: &str = "Whose memory this is";
pub(crate) const READ_ONLY_BADGE: &str = "read only";
pub(crate) const SIGN_OUT: &str = "Sign out";
pub(crate) const FOOTER: &str = "Served by the daemon on this machine. Nothing leaves it but what \
    you publish.";
pub(crate) const TO_NOW: &str = "To the first page";

// The workspace.
pub(crate) const WORKSPACES: &str = "Workspaces";
pub(crate) const NO_WORKSPACE: &str = "No governed workspace is registered for you. The owner of \
    this machine names one in the daemon's configuration (`reprise workspace init` makes it):";
pub(crate) const REGISTER_WORKSPACE: &str = "[workspaces.app]\npath = \"/home/ada/app\"";
pub(crate) const NO_TREE: &str =
    "There is no such workspace for you; the room lists those there are.";
pub(crate) const WAITING: &str = "Waiting for a person";
pub(crate) const NOTHING_WAITS: &str = "Nothing waits for approval.";
pub(crate) const RULES_WAIT: &str = "plain git changed the project's rules; the earlier ones are in \
    force until a person approves";
pub(crate) const SHOW_CHANGES: &str = "Show what it would bring";
pub(crate) const APPROVE: &str = "Approve this commit";
pub(crate) const DECLINE: &str = "Decline";
pub(crate) const WHY_DECLINED: &str = "Why not";
pub(crate) const NOTHING: &str = "nothing yet";
pub(crate) const RECOVER: &str = "Tie them up";
pub(crate) const UNCOMMITTED: &str = "Not committed by people";
pub(crate) const PLAIN_GIT: &str = "plain git";
pub(crate) const TRANSACTIONS: &str = "Transactions";
pub(crate) const AUDIT: &str = "Audit trail";
pub(crate) const ACTIONS: [&str; 10] = [
    "init",
    "write",
    "merge",
    "rollback",
    "approve",
    "decline",
    "violation",
    "git",
    "snapshot",
    "prune",
];
pub(crate) const ACTION: &str = "Action";
pub(crate) const WHEN: &str = "When";
pub(crate) const WHO: &str = "Who";
pub(crate) const WHAT: &str = "What";
pub(crate) const WHERE: &str = "Where";
pub(crate) const COMMIT: &str = "Commit";
pub(crate) const RULES: &str = "Rules";
pub(crate) const CHANGES: &str = "Changes";
pub(crate) const SHOW: &str = "Show";
pub(crate) const NO_LINES: &str = "No line fits.";
pub(crate) const NO_CHANGES: &str = "No file changed, or only the Orchestrator's own logs.";
pub(crate) const MORE_LINES: &str = "More lines";

pub(crate) fn ahead(ahead: usize, behind: usize) -> String {
    format!("{ahead} ahead of the shared branch, {behind} behind it")
}

pub(crate) fn word(human: &str, is_approved: bool) -> String {
    let verb = if is_approved { "Approved" } else { "Declined" };
    format!("{verb} by {human}.")
}

pub(crate) fn stands(branch: Option<&str>, commit: &str, main: &str) -> String {
    let branch = branch.unwrap_or("no branch (detached)");
    format!("On {branch} at {commit}; {main} is shared.")
}

pub(crate) fn loose_ends(count: usize) -> String {
    format!("A crash left {count} transactions open.")
}

// What may go wrong.
pub(crate) const TROUBLE: &str = "That did not work";
pub(crate) const NO_ROOM: &str = "There is no such page; the first page leads to all of them.";
pub(crate) const SIGNED_OUT_TITLE: &str = "You are not signed in";
pub(crate) const SIGNED_OUT: &str = "Run `reprise open` on this machine to sign in. A session ends \
    when it is left, after 12 hours without use, and with the daemon.";
pub(crate) const EXPIRED_TITLE: &str = "This link has expired";
pub(crate) const EXPIRED: &str = "A link lets in once, within two minutes. Run `reprise open` for \
    a new one.";
pub(crate) const ENTERING: &str = "Signed in";
pub(crate) const ENTER: &str = "The page opens in a moment.";
pub(crate) const LEFT_TITLE: &str = "Signed out";
pub(crate) const LEFT: &str = "This browser is let in no more. `reprise open` signs in again.";
pub(crate) const WRONG_HOST: &str = "The address names another machine; open the page as \
    `reprise open` does.";
pub(crate) const WRONG_ORIGIN: &str = "A form of another site may not change anything here; use \
    the forms of this page.";
pub(crate) const WRONG_FORM: &str = "The form is not from this session; load the page again and \
    send it from there.";
pub(crate) const READ_ONLY: &str = "This session may only read; `reprise open` without \
    --read-only begins one that may change things.";
pub(crate) const UNDO_GONE: &str = "This can no longer be taken back: the session keeps the last \
    32 changes, and what was erased is gone for good.";

pub(crate) fn bad_field(name: &str) -> String {
    format!("`{name}` cannot be read; correct it and send the form again.")
}

pub(crate) fn bad_form(why: &dyn Display) -> String {
    format!("The form cannot be read ({why}); send it again.")
}

// Now.
pub(crate) const RECORDS: &str = "Records";
pub(crate) const SESSIONS: &str = "Sessions";
pub(crate) const FILE: &str = "File";
pub(crate) const RECALLS: &str = "Recalls";
pub(crate) const MODEL: &str = "Model";
pub(crate) const NO_MODEL: &str = "none in use";
pub(crate) const LAST_KEPT: &str = "Last kept";
pub(crate) const NEVER: &str = "never";
pub(crate) const TROUBLES: &str = "Needs attention";
pub(crate) const NEWS: &str = "In the last hour";
pub(crate) const NO_NEWS: &str = "Nothing new in the last hour.";
pub(crate) const LATEST: &str = "Kept last";
pub(crate) const GROWTH: &str = "Growth";
pub(crate) const GROWTH_SAYS: &str = "Records kept, by day";
pub(crate) const DAY: &str = "Day";
pub(crate) const AS_TABLE: &str = "The same as a table";
pub(crate) const EMPTY_TITLE: &str = "Nothing is remembered yet";
pub(crate) const EMPTY: &str = "Three commands begin a memory:";
pub(crate) const EMPTY_COMMANDS: [(&str, &str); 3] = [
    (
        "reprise learn \"the build needs libfoo 2\"",
        "keeps a lesson",
    ),
    (
        "reprise recall \"what does the build need\"",
        "finds it again, and says why",
    ),
    (
        "reprise connect claude-code",
        "lets an agent do both by itself",
    ),
];
pub(crate) const DONE_HERE: &str = "What you changed in this session";
pub(crate) const TAKE_BACK: &str = "Undo";

pub(crate) fn recalls(mean: f64, longest: f64) -> String {
    format!("{mean:.1} ms on average, {longest:.0} ms the longest")
}

// Timeline and lists.
pub(crate) const KIND: &str = "Kind";
pub(crate) const SOURCE: &str = "Source";
pub(crate) const TAG: &str = "Tag";
pub(crate) const SESSION: &str = "Session";
pub(crate) const PROJECT: &str = "Project";
pub(crate) const AUTHOR: &str = "Author";
pub(crate) const SINCE: &str = "Since";
pub(crate) const UNTIL: &str = "Until";
pub(crate) const ANY: &str = "any";
pub(crate) const FILTER: &str = "Filter";
pub(crate) const NO_FILTER: &str = "Clear";
pub(crate) const OLDER: &str = "Older records";
pub(crate) const NEWEST: &str = "Newest records";
pub(crate) const NO_SESSION: &str = "without a session";
pub(crate) const NO_RECORDS: &str = "No record fits.";

pub(crate) fn of_all(shown: usize, all: u32) -> String {
    format!("{shown} of {all} records")
}

// Search.
pub(crate) const QUESTION: &str = "What do you look for?";
pub(crate) const ASK: &str = "Search";
pub(crate) const ASK_HINT: &str = "In your own words. Press / anywhere to come here.";
pub(crate) const MORE_FILTERS: &str = "Filters, time, budget";
pub(crate) const RESULTS: &str = "Results";
pub(crate) const BACK: &str = "As memory stood, days ago";
pub(crate) const TOP_K: &str = "Results at most";
pub(crate) const BUDGET: &str = "Prompt budget, tokens";
pub(crate) const SIGNALS: &str = "Signals";
pub(crate) const SIGNAL: &str = "Signal";
pub(crate) const VALUE: &str = "Value";
pub(crate) const WEIGHT: &str = "Weight";
pub(crate) const CONTRIBUTION: &str = "Contribution";
pub(crate) const SIGNALS_SAY: &str = "What each signal adds to the score, or takes from it";
pub(crate) const HELPED: &str = "Helpful";
pub(crate) const NOT_HELPED: &str = "Not helpful";
pub(crate) const JUDGED: &str = "Noted: memory learns from it.";
pub(crate) const CONTEXT: &str = "What a prompt would get";
pub(crate) const CONTEXT_NONE: &str = "Nothing: no record speaks to this.";
pub(crate) const COPY_AS: &str = "Take the question elsewhere";
pub(crate) const AS_COMMAND: &str = "As a command";
pub(crate) const AS_MARKDOWN: &str = "As Markdown";
pub(crate) const AS_JSON: &str = "As JSON";
pub(crate) const WHY_NOT: &str = "Why not this one?";
pub(crate) const WHY_NOT_HINT: &str = "The id of a record that you expected";
pub(crate) const VERDICT_RELEVANT: &str = "The best result is likely to answer.";
pub(crate) const VERDICT_WEAK: &str =
    "About this, but none of it is likely to be what you look for.";
pub(crate) const VERDICT_NOTHING: &str = "Memory holds nothing about this.";

pub(crate) fn context_size(
    tokens: usize,
    budget: usize,
    records: usize,
    left_out: usize,
) -> String {
    format!("{tokens} of {budget} tokens, {records} records, {left_out} left out")
}

pub(crate) fn found(results: usize, considered: u32, elapsed_ms: f64) -> String {
    format!("{results} results from {considered} records in {elapsed_ms:.0} ms")
}

pub(crate) fn why_not_found(place: usize, score: f32, last: f32) -> String {
    format!("It is in place {place} with a score of {score:.3}; the last one shown has {last:.3}.")
}

pub(crate) fn why_not_shown(place: usize) -> String {
    format!("It is shown, in place {place}.")
}

pub(crate) const WHY_NOT_UNKNOWN: &str =
    "This memory has no such record: it was never kept here, or it was forgotten.";
pub(crate) const WHY_NOT_CORRECTED: &str = "It was corrected since; this version answers for it:";

pub(crate) fn why_not_left_out(part: &str) -> String {
    format!("The question leaves it out by \"{part}\".")
}

pub(crate) fn why_not_far(looked: usize, score: f32, last: f32) -> String {
    format!(
        "It comes after the first {looked}. Asked for alone it scores {score:.3}; the last one \
         shown has {last:.3}."
    )
}

pub(crate) fn why_not_missing(looked: usize) -> String {
    format!(
        "It is not among the first {looked}, nor does it come up alone: it shares no words with \
         the question, and its meaning is far from it; or another part of the filter leaves it out."
    )
}

pub(crate) fn moved(adjustment: f32, cap: f32) -> String {
    format!("Moved by learning: {adjustment:+.3} of at most {cap:.3}")
}

pub(crate) fn taught(run: &str, quality: f32, similarity: f32) -> String {
    format!("run {run}: quality {quality:.2}, its question {similarity:.2} alike")
}

pub(crate) const SCOPE: &str = "Whose knowledge";

pub(crate) fn scope(scope: RecallScope) -> &'static str {
    match scope {
        RecallScope::Local => "yours",
        RecallScope::LocalAndGlobal => "yours and what others published",
        RecallScope::Global => "what others published",
    }
}

pub(crate) fn published_as_by(author: &str, version: &str, quality: f32) -> String {
    format!("Published by {author}, version {version}; it has served {quality:.2}.")
}

// Published knowledge.
pub(crate) const PUBLISHED: &str = "What others can find of yours";
pub(crate) const PUBLISHED_SAYS: &str = "A record's page publishes it, after showing what would \
    leave.";
pub(crate) const NOTHING_PUBLISHED: &str = "Nothing: this memory is yours alone.";
pub(crate) const RECEIPTS: &str = "What left, and what was taken back";
pub(crate) const RECEIPTS_SAY: &str = "From your own log, newest first.";
pub(crate) const NO_RECEIPTS: &str = "Nothing ever left.";
pub(crate) const RECEIPT: &str = "Receipt";
pub(crate) const VERSION: &str = "Version";
pub(crate) const FOR_WHOM: &str = "For whom";
pub(crate) const OTHERS: &str = "What others published";
pub(crate) const ASK_OTHERS: &str = "What do you look for with others?";
pub(crate) const THING: &str = "Published";
pub(crate) const UNPUBLISH: &str = "Take it back";
pub(crate) const PUBLISH: &str = "Publish...";
pub(crate) const PUBLISH_TITLE: &str = "Publish this record?";
pub(crate) const PUBLISH_SAYS: &str = "Others find a copy of what is shown here, and nothing else. \
    It can be taken back at any time; who has read it has read it.";
pub(crate) const LICENCE: &str = "Licence, as SPDX names it";
pub(crate) const SHOW_LEAVING: &str = "Show what would leave";
pub(crate) const LEAVES: &str = "Exactly what would leave";
pub(crate) const PUBLISH_NOW: &str = "Publish these bytes";
pub(crate) const KEEP_PRIVATE: &str = "Keep it to myself";
pub(crate) const DID_PUBLISH: &str = "Published: others can find it.";

pub(crate) fn policy(policy: &str) -> &str {
    match policy {
        "public" => "everybody",
        "org" => "my organisation",
        "paid" => "the paid tier",
        other => other,
    }
}

pub(crate) fn leaves(bytes: &str, redacted: u32) -> String {
    let secrets = crate::words::of(redacted as usize, "secret", "secrets");
    format!("{bytes}; {secrets} taken out.")
}

pub(crate) fn next_of(version: &str) -> String {
    format!("It would follow version {version}, which others can find now.")
}

pub(crate) fn taken_back(versions: u32, is_verified: bool) -> String {
    let versions = crate::words::of(versions as usize, "version", "versions");
    let proof = if is_verified {
        "The store was asked for it afterwards and has nothing."
    } else {
        "The store could not be asked for it afterwards; ask it yourself."
    };
    format!("Taken back, in {versions}. {proof}")
}

pub(crate) fn used_by(uses: u64) -> String {
    let runs = crate::words::of(uses as usize, "run", "runs");
    format!("{runs} of others used it; 0.50 stands for too few to say.")
}

pub(crate) fn unpublish(title: &str) -> String {
    format!("Take it back: {title}")
}

pub(crate) fn version(version: &str) -> String {
    format!("version {version}")
}

pub(crate) fn published_by(author: &str) -> String {
    format!("by {author}")
}

pub(crate) fn published_as(version: &str) -> String {
    format!("Published: others can find version {version} of it.")
}

// Prompts.
pub(crate) const PROMPTS_SAY: &str = "What was asked of connected agents, newest first: what \
    memory gave to each prompt, and how the work went.";
pub(crate) const NO_PROMPTS: &str =
    "No prompt was captured yet; `reprise connect` lets an agent's program hand them over.";
pub(crate) const OLDER_PROMPTS: &str = "Older prompts";
pub(crate) const NEWEST_PROMPTS: &str = "Newest prompts";
pub(crate) const REPLAY: &str = "Prompt";
pub(crate) const NOT_ASKED: &str = "What memory gave to it was not noted.";
pub(crate) const ASK_AGAIN: &str = "Ask the same now";
pub(crate) const ITS_RECORD: &str = "Its record";
pub(crate) const FOUND_FOR_IT: &str = "Found for it";
pub(crate) const SCORE: &str = "Score";
pub(crate) const PUT_IN: &str = "Put into the prompt";
pub(crate) const WAS_USED: &str = "Used";
pub(crate) const YOUR_WORD: &str = "Your word";
pub(crate) const YES: &str = "yes";
pub(crate) const FORGOTTEN_SINCE: &str = "forgotten since";
pub(crate) const QUOTED: &str = "named or quoted in what followed";
pub(crate) const CREDITED: &str = "credited with how it went";
pub(crate) const NOT_SEEN_USED: &str = "not seen";
pub(crate) const CAME_OF_IT: &str = "What came of it";
pub(crate) const OUTCOME_UNKNOWN: &str = "How the work went is not known: it goes on, was broken \
    off, or nothing was put in that could be credited.";
pub(crate) const FOLLOWED: &str = "Kept before the next prompt";
pub(crate) const NOTHING_FOLLOWED: &str = "Nothing was kept before the next prompt.";
pub(crate) const GIVEN_THEN: &str = "What this prompt was given";

pub(crate) fn given(found: usize, put_in: usize) -> String {
    let found = crate::words::of(found, "record", "records");
    format!("{found} came up, {put_in} put into the prompt.")
}

pub(crate) fn went(quality: f32) -> String {
    format!("The work went {quality:.2}.")
}

pub(crate) fn went_as(quality: f32, expected: f32) -> String {
    format!("The work went {quality:.2} of 1; {expected:.2} was expected.")
}

pub(crate) fn left_out(why: &str) -> &str {
    match why {
        "weak" => "no: it does not speak to the prompt by itself",
        "other_project" => "no: of another project",
        "same_session" => "no: the session's own words",
        "seen" => "no: an earlier prompt of the session has it",
        "no_room" => "no: better ones took the room",
        other => other,
    }
}

// A record.
pub(crate) const RECORD: &str = "Record";
pub(crate) const CORRECT: &str = "Correct";
pub(crate) const CORRECT_SAYS: &str =
    "The new version takes the place of this one, which stays in the history.";
pub(crate) const NEW_TITLE: &str = "Title";
pub(crate) const NEW_TEXT: &str = "Text";
pub(crate) const SAVE: &str = "Save as a new version";
pub(crate) const TAGS: &str = "Tags";
pub(crate) const TAGS_HINT: &str = "Words, with commas between them";
pub(crate) const SAVE_TAGS: &str = "Save the tags";
pub(crate) const LINK_TO: &str = "Id of the other record";
pub(crate) const RELATION: &str = "Relation";
pub(crate) const LINK: &str = "Link";
pub(crate) const UNLINK: &str = "Unlink";
pub(crate) const RELATED: &str = "Linked with";
pub(crate) const NOT_RELATED: &str = "Linked with nothing yet.";
pub(crate) const NEIGHBOURS: &str = "Neighbourhood";
pub(crate) const VERSIONS: &str = "Versions";
pub(crate) const ONE_VERSION: &str = "It has never been corrected.";
pub(crate) const PRESENT: &str = "Present version";
pub(crate) const PROVENANCE: &str = "Where it comes from";
pub(crate) const FORGET: &str = "Forget...";
pub(crate) const FORGET_TITLE: &str = "Forget this record?";
pub(crate) const FORGET_SAYS: &str = "No recall, list or export shows it any more, and whatever \
    brought it cannot bring it again. You can undo this until it is erased from the file.";
pub(crate) const FORGET_GOES: &str = "What goes";
pub(crate) const REASON: &str = "Reason, for the audit";
pub(crate) const REASON_DEFAULT: &str = "asked for on the page";
pub(crate) const FORGET_NOW: &str = "Forget";
pub(crate) const KEEP: &str = "Keep it";
pub(crate) const FORGOTTEN_TITLE: &str = "Forgotten";
pub(crate) const PROOF: &str = "Proof";
pub(crate) const PROOF_ASKED: &str = "Memory was asked for each of these and has none:";
pub(crate) const PROOF_STILL: &str = "Memory still answers for one of these; run `reprise check`.";
pub(crate) const ERASE_SAYS: &str = "The text stands in the file, unread, until a compaction. \
    Erasing rewrites the file without it; then nobody can undo it.";
pub(crate) const ERASE: &str = "Erase from the file";
pub(crate) const ERASED_TITLE: &str = "Erased";
pub(crate) const VERIFY: &str = "`reprise forget --verify` searches the file, its branches and its \
    backups for forgotten texts.";

pub(crate) fn erased(before: &str, after: &str, forgotten: usize) -> String {
    let stubs = crate::words::of(forgotten, "forgotten record", "forgotten records");
    format!(
        "The file had {before} and has {after} now; of {stubs} it has the id, the time and the \
         reason."
    )
}

pub(crate) fn goes(versions: usize, links: usize) -> String {
    let versions = crate::words::of(versions, "version", "versions");
    let links = crate::words::of(links, "link", "links");
    format!("{versions} of its text, {links} to other records, and what runs taught about it.")
}

pub(crate) const WHO_SEES: &str = "Who can see it, and how long it stays";
pub(crate) const SEEN_OWNER: &str = "You, and the programs that you let in; others once you \
    publish it.";
pub(crate) const SEEN_PRIVATE: &str = "You, and the programs that you let in; it cannot be \
    published, nor put before a model elsewhere.";
pub(crate) const SEEN_WORKSPACE: &str = "Whoever reads the project's workspace, too: it is written \
    there with the next projection.";
pub(crate) const SEEN_SENSITIVE: &str = "It is marked sensitive: you see it, and it leaves by no \
    way.";
pub(crate) const IS_PINNED: &str = "Pinned: no clean-up takes it.";
pub(crate) const IS_NOT_PINNED: &str = "It stays until it is forgotten, or a clean-up finds that \
    nobody needs it.";
pub(crate) const CHANGE_STANDING: &str = "Change";
pub(crate) const PIN: &str = "Pin it: no clean-up takes it";
pub(crate) const SAVE_STANDING: &str = "Save";
pub(crate) const SAME_TEXT: &str = "The text is the same.";
pub(crate) const OUTCOMES: &str = "How runs went with it";
pub(crate) const NO_OUTCOMES: &str = "No finished run has used it.";
pub(crate) const USED_BY_IT: &str = "Used";

pub(crate) fn runs_of(shown: usize, all: usize) -> String {
    let all = crate::words::of(all, "run", "runs");
    format!("The newest {shown} of {all}.")
}

pub(crate) fn and_more(more: usize) -> String {
    format!("and {more} more")
}

// What was done.
pub(crate) const DID_CORRECT: &str = "Corrected.";
pub(crate) const DID_SETTLE: &str = "Saved: who can see it, and how long it stays.";
pub(crate) const DID_TAG: &str = "The tags are saved.";
pub(crate) const DID_LINK: &str = "Linked.";
pub(crate) const DID_UNLINK: &str = "The link is taken back.";
pub(crate) const DID_FORGET: &str = "Forgotten.";
pub(crate) const DID_UNDO: &str = "Undone.";
pub(crate) const UNLINKED_SINCE: &str = "They were linked so already.";
pub(crate) const NOTHING_CHANGED: &str = "Nothing was changed: the text is the same.";

// Knowledge.
pub(crate) const TYPED: &str = "What was learned";
pub(crate) const NO_KNOWLEDGE: &str = "No lessons, decisions, failures or observations yet; \
    `reprise learn` keeps the first.";
pub(crate) const TAGS_IN_USE: &str = "Tags in use";
pub(crate) const TAGS_ALIKE: &str = "Tags that may be one";
pub(crate) const NO_ALIKE: &str = "No two tags look alike.";
pub(crate) const MERGE: &str = "Merge";

pub(crate) fn alike(tag: &str, into: &str) -> String {
    format!("Merge {tag} into {into}")
}

pub(crate) fn merged(count: usize) -> String {
    let records = crate::words::of(count, "record", "records");
    format!("{records} changed.")
}

pub(crate) fn from_goal(goal: &str) -> String {
    format!("from: {goal}")
}
