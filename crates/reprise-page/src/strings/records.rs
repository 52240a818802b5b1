//! The words of a record, of what was done to it, and of what was learned.

use super::words;

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
pub(crate) const LEADS_TO: &str = "to";
pub(crate) const COMES_TO_IT: &str = "from";
pub(crate) const ID: &str = "id";
pub(crate) const HAPPENED: &str = "happened";
pub(crate) const KEPT: &str = "kept";
pub(crate) const IN_SESSION: &str = "session";
pub(crate) const OF_RUN: &str = "run";
pub(crate) const BY_ACTOR: &str = "actor";
pub(crate) const EVIDENCE: &str = "evidence";
pub(crate) const CONFIDENCE: &str = "confidence";
pub(crate) const HAS_QUALITY: &str = "quality";
pub(crate) const KNOWN_AS: &str = "also known as";
pub(crate) const RESTS_ON: &str = "rests on";
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
    let stubs = words::of(forgotten, "forgotten record", "forgotten records");
    format!(
        "The file had {before} and has {after} now; of {stubs} it has the id, the time and the \
         reason."
    )
}

pub(crate) fn goes(versions: usize, links: usize) -> String {
    let versions = words::of(versions, "version", "versions");
    let links = words::of(links, "link", "links");
    format!("{versions} of its text, {links} to other records, and what runs taught about it.")
}

pub(crate) const WHO_SEES: &str = "Who can see it, and how long it stays";
pub(crate) const SEEN_OWNER: &str = "You, and the programs that you let in; others once you \
    publish it.";
pub(crate) const SEEN_PUBLISHED: &str = "You, and the programs that you let in; and its published \
    copy, whoever that is for.";
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

pub(crate) fn too_long(bytes: usize, limit: usize) -> String {
    format!("The text has {bytes} bytes; a record keeps {limit}. Go back and shorten it.")
}

pub(crate) fn runs_of(shown: usize, all: usize) -> String {
    let all = words::of(all, "run", "runs");
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
pub(crate) const DID_UNDO_PARTLY: &str = "Undone, but not all of its links could be made again.";
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
    let records = words::of(count, "record", "records");
    format!("{records} changed.")
}

pub(crate) fn from_goal(goal: &str) -> String {
    format!("from: {goal}")
}
