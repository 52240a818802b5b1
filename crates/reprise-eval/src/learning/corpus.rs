//! The texts of the learning evaluation: forty-eight topics, each with twenty memories of how it
//! was handled, half of them carefully and half hastily, and twenty questions.
//!
//! Careful and hasty memories differ only in one of twenty phrases, never in the topic, so that a
//! question is about equally near to both.

use super::dice::Dice;

pub(super) const TOPICS: usize = 48;
/// Memories of one topic: the first half careful, the second hasty.
pub(super) const PER_TOPIC: usize = 20;
pub(super) const QUESTIONS: usize = 20;

const NAMES: [&str; TOPICS] = [
    "flaky login tests",
    "slow database migrations",
    "memory leak in the image cache",
    "payment webhook retries",
    "broken CSV export",
    "rate limiting of the public API",
    "stale search index",
    "timezone bugs in reports",
    "the nightly backup job",
    "docker image size",
    "race condition in the queue worker",
    "email delivery failures",
    "session cookies on mobile",
    "feature flag cleanup",
    "websocket reconnects",
    "PDF invoice layout",
    "permissions of shared folders",
    "upgrading the HTTP client",
    "deadlocks in the order service",
    "log volume in production",
    "translation of error messages",
    "the onboarding wizard",
    "GPU drivers on build machines",
    "dark mode contrast",
    "duplicate customer records",
    "certificate renewal",
    "map tiles loading slowly",
    "audio playback stutter",
    "the recommendation model",
    "autocomplete latency",
    "file uploads over 2 GB",
    "kubernetes pod evictions",
    "calendar sync conflicts",
    "the release changelog",
    "unused dependencies",
    "fuzzing the parser",
    "accessibility of the checkout form",
    "password reset links",
    "sensor data ingestion",
    "currency rounding errors",
    "push notifications on Android",
    "thumbnail generation",
    "the GraphQL schema",
    "the terraform state file",
    "video transcoding costs",
    "spam in the contact form",
    "keyboard shortcuts",
    "the metrics dashboard",
];

const CAREFUL: [&str; 20] = [
    "wrote a failing test first",
    "measured before and after",
    "had a second person review the plan",
    "rolled out to one percent of users behind a flag",
    "read the specification and all callers",
    "bisected the history to the exact commit",
    "took a backup and rehearsed the rollback",
    "covered the edge cases with property tests",
    "drew a diagram of the data flow",
    "split the work into small reviewed commits",
    "reproduced it in isolation",
    "documented the cause in the handbook",
    "verified every assumption with a query",
    "added an alert before the change",
    "checked the staging environment for a week",
    "pinned the version and noted why",
    "compared two designs on paper",
    "asked the author of the module",
    "left a regression test behind",
    "kept the old path as a fallback",
];

const HASTY: [&str; 20] = [
    "pushed a quick hack straight to production",
    "guessed at the cause and hoped for the best",
    "skipped the review because of the deadline",
    "shipped to everyone on a Friday evening",
    "pasted a snippet from a forum unread",
    "silenced it by swallowing the exception",
    "deleted and recreated everything without a backup",
    "commented out the failing checks",
    "restarted the servers until it went away",
    "put it all into one giant commit at midnight",
    "edited the database by hand",
    "raised the timeout and closed the ticket",
    "disabled the linter for the whole folder",
    "blamed the network and moved on",
    "copied the fix from another branch blindly",
    "turned off the alert that kept firing",
    "hard-coded the value for the demo",
    "retried in an endless loop",
    "merged without waiting for the build",
    "left the debug output in the release",
];

const PLACES: [&str; PER_TOPIC] = [
    "in the spring release",
    "for the Berlin customer",
    "on the old cluster",
    "after the incident in March",
    "together with the mobile team",
    "during the migration week",
    "for the second tenant",
    "before the audit",
    "on the support rotation",
    "in the new repository",
    "for version 3.2",
    "while the lead was away",
    "on the test account",
    "after the vendor call",
    "for the weekly report",
    "in the shared library",
    "on the customer's own machines",
    "for the pilot group",
    "after the rename",
    "in the last sprint",
];

/// Topic, what was done, where.
const FORMS: [[&str; 3]; 5] = [
    ["", ": we ", " "],
    ["Work on ", ": ", " "],
    ["About ", ": the team ", " "],
    ["", " again: ", " "],
    ["Notes on ", ": ", " "],
];

const ASKED: [[&str; 2]; QUESTIONS] = [
    ["how should I deal with ", "?"],
    ["we have trouble with ", " again"],
    ["plan the work on ", ""],
    ["fix ", ""],
    ["what did we do last time about ", ""],
    ["a customer complains about ", ""],
    ["improve ", " this week"],
    ["take over the ticket about ", ""],
    ["investigate ", " and report"],
    ["next step for ", ""],
    ["is there anything known about ", ""],
    ["the team asks about ", ""],
    ["prepare a change for ", ""],
    ["help me with ", ""],
    ["", " came up in the meeting"],
    ["estimate the effort for ", ""],
    ["clean up ", ""],
    ["why is ", " still open?"],
    ["please look at ", " today"],
    ["start on ", ""],
];

/// Memories, topic by topic, then questions, topic by topic: always the same.
pub(super) fn texts() -> (Vec<String>, Vec<String>) {
    let mut dice = Dice::new(7);
    let (mut memories, mut questions) = (Vec::new(), Vec::new());
    for name in NAMES {
        let mut places = dice.pick(PLACES.len(), PER_TOPIC).into_iter();
        for pool in [&CAREFUL, &HASTY] {
            for phrase in dice.pick(pool.len(), PER_TOPIC / 2) {
                let [before, between, behind] = FORMS[dice.below(FORMS.len())];
                let place = places.next().map_or("", |place| PLACES[place]);
                let phrase = pool[phrase];
                memories.push(format!("{before}{name}{between}{phrase}{behind}{place}"));
            }
        }
        for [before, after] in ASKED {
            questions.push(format!("{before}{name}{after}"));
        }
    }
    (memories, questions)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_text_is_there_once_and_always_the_same() {
        let (memories, questions) = texts();
        assert_eq!(memories.len(), TOPICS * PER_TOPIC);
        assert_eq!(questions.len(), TOPICS * QUESTIONS);
        let distinct: HashSet<&String> = memories.iter().chain(&questions).collect();
        assert_eq!(distinct.len(), memories.len() + questions.len());
        assert_eq!(texts().0, memories);
    }
}
