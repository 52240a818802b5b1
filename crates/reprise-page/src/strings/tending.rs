//! The words of what tends a memory, of what was learned and of care.

use super::words;

// Tending.
pub(crate) const TO_REVIEW: &str = "Look at what may contradict, repeat itself or be over";
pub(crate) const REVIEW: &str = "Review";
pub(crate) const CONTRADICTIONS: &str = "Contradictions";
pub(crate) const NO_CONTRADICTIONS: &str = "No two records contradict each other.";
pub(crate) const ALIKE: &str = "Perhaps the same";
pub(crate) const NONE_ALIKE: &str = "No two records are in doubt.";
pub(crate) const OLDER_ONE: &str = "Older";
pub(crate) const NEWER_ONE: &str = "Newer";
pub(crate) const ANSWER_NEWER: &str = "The newer holds";
pub(crate) const ANSWER_OLDER: &str = "The older holds";
pub(crate) const ANSWER_SAME: &str = "They say the same";
pub(crate) const ANSWER_DIFFERENT: &str = "Keep both";
pub(crate) const DID_ANSWER: &str = "One answers for both now; the other is in the diary.";
pub(crate) const DID_SET_APART: &str = "Both stay, and are not asked about again.";
pub(crate) const TIDY: &str = "Tidy up";
pub(crate) const TIDY_NOW: &str = "Tidy up now";
pub(crate) const DID_TIDY: &str = "Tidied up; the diary says what was done.";
pub(crate) const DIARY: &str = "What tending did";
pub(crate) const NO_DIARY: &str = "Nothing yet.";
pub(crate) const UNDONE: &str = "undone";
pub(crate) const PURGED: &str = "Put away, their time being over:";
pub(crate) const DISTILLED: &str = "Made of what recurs:";
pub(crate) const NEWER_FIRST: &str = "Placed above the older one that it contradicts:";

pub(crate) fn more_pairs(more: usize) -> String {
    let pairs = words::of(more, "pair", "pairs");
    format!("{pairs} more come when these are answered.")
}

pub(crate) fn would(merged: usize, purged: usize, distilled: usize) -> String {
    let merged = words::of(merged, "record", "records");
    format!(
        "{merged} would be put behind another that says the same, {purged} put away because their \
         time is over, {distilled} made of what recurs. All of it can be undone."
    )
}

pub(crate) fn answers_for(count: usize) -> String {
    let others = words::of(count, "other that says", "others that say");
    format!("answers for {others} the same:")
}

pub(crate) fn again(count: usize) -> String {
    let records = words::of(count, "record answers", "records answer");
    format!("Undone: {records} again.")
}

// The audit.
pub(crate) const TO_AUDIT: &str = "How well this memory stands, over time";
pub(crate) const AUDIT_OF: &str = "Audit";
pub(crate) const SCORE_SAYS: &str = "The score is the share of records without trouble.";
pub(crate) const DUPLICATES: &str = "Duplicates";
pub(crate) const IN_DOUBT: &str = "Pairs in doubt";
pub(crate) const NEVER_USED: &str = "Never used by a run";
pub(crate) const UNEMBEDDED: &str = "Without a vector";
pub(crate) const OVER_TIME: &str = "Over time";
pub(crate) const SCORE_BY_DAY: &str = "Score at the end of each day on which something changed";
pub(crate) const STALE: &str = "Their time is over";
pub(crate) const SECRETS: &str = "May hold a secret";
pub(crate) const ORPHANS: &str = "Made of, or correcting, what is gone";

// Learning.
pub(crate) const LEARNING_ON: &str = "Learning is on: what helped before may move a score, by no \
    more than the cap.";
pub(crate) const LEARNING_OFF: &str = "Learning is off: scores stay as they are found.";
pub(crate) const SWITCH_ON: &str = "Switch on";
pub(crate) const SWITCH_OFF: &str = "Switch off";
pub(crate) const RUNS: &str = "Runs";
pub(crate) const USED: &str = "Records used";
pub(crate) const CAP: &str = "Cap now";
pub(crate) const GATES: &str = "Gates";
pub(crate) const GATES_SAY: &str = "A gate opens from a t value of 1.8 to 2.8: then what was \
    learned predicts better than chance.";
pub(crate) const GATE: &str = "Gate";
pub(crate) const BELIEVED: &str = "Believed";
pub(crate) const T_VALUE: &str = "t value";
pub(crate) const GATES_SO_FAR: &str = "Gates so far";
pub(crate) const GATES_SO_FAR_SAY: &str = "t value of each gate after each run";
pub(crate) const CURVE: &str = "How runs went";
pub(crate) const CURVE_SAYS: &str =
    "Mean quality of the last 25 runs, and what was expected of them";
pub(crate) const QUALITY: &str = "Quality";
pub(crate) const EXPECTED: &str = "Expected";
pub(crate) const RUN: &str = "Run";
pub(crate) const NO_RUNS: &str = "No run has ended yet; `reprise outcome` and connected agents say \
    how runs went.";
pub(crate) const NEWEST_RUNS: &str = "Newest runs";
pub(crate) const MOVED: &str = "What runs say most about";
pub(crate) const MOVED_SAYS: &str = "How much better or worse than expected runs went that used a \
    record; the part of it that is believed moves its scores.";
pub(crate) const BETTER: &str = "Better by";
pub(crate) const PATTERNS: &str = "What runs have in common";
pub(crate) const EXAMPLE: &str = "Such as";

pub(crate) fn under_way(open: usize) -> String {
    format!("{open} under way")
}

// Care.
pub(crate) const SETTINGS: &str = "Settings in effect";
pub(crate) const SPACE: &str = "The file";
pub(crate) const RECLAIMABLE: &str = "A compaction would give back";
pub(crate) const COMPACT: &str = "Compact now";
pub(crate) const BACKUPS: &str = "Backups";
pub(crate) const BACKUPS_SAY: &str = "A memory is one file, copied while it is in use; `reprise \
    restore` takes a copy back once every hash in it is verified.";
pub(crate) const TAKE_BACKUP: &str = "Take a copy now";
pub(crate) const NO_BACKUPS: &str = "`reprise backup` has made none from here yet.";
pub(crate) const GONE: &str = "there no more";
pub(crate) const SIZE: &str = "Size";
pub(crate) const TOKENS: &str = "Tokens";
pub(crate) const TOKENS_SAY: &str = "Who may come to this memory over HTTP. A token is shown once; \
    only its hash is kept.";
pub(crate) const NO_TOKENS: &str = "There is none: only programs of this machine come in.";
pub(crate) const FOR_ALL: &str = "opens every memory; `reprise token revoke` withdraws it";
pub(crate) const REVOKE: &str = "Revoke";
pub(crate) const TOKEN_NAME: &str = "What to call it";
pub(crate) const ADD_TOKEN: &str = "Make a token for this memory";
pub(crate) const NEW_TOKEN: &str = "A new token";
pub(crate) const TOKEN_ONCE: &str = "This is the only time that it is shown:";
pub(crate) const BACK_TO_CARE: &str = "Back to Care";
pub(crate) const DID_REVOKE: &str = "Revoked: the token opens nothing any more.";
pub(crate) const USERS: &str = "Memories on this machine";
pub(crate) const USERS_SAY: &str = "`reprise open --user NAME` opens the page of another.";
pub(crate) const SETTING: &str = "Setting";
pub(crate) const COMES_FROM: &str = "Comes from";

pub(crate) fn revoke(name: &str) -> String {
    format!("Revoke {name}")
}

pub(crate) const CARE_COMMANDS: &str = "From the command line";
pub(crate) const CARE_LIST: [(&str, &str); 5] = [
    ("reprise check", "compares every derived part with the log"),
    (
        "reprise doctor",
        "looks at the machine, the model and the settings",
    ),
    ("reprise backup", "copies a memory while it is in use"),
    ("reprise export", "writes every record as a line of JSON"),
    ("reprise token list", "names who may come in over HTTP"),
];
