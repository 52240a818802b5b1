//! Every operation: a file for each noun, and the list of them in the order in which they are
//! shown.

pub mod audit;
pub mod brief;
pub mod care;
pub mod compact_observations;
pub mod forgetting;
pub mod graph;
pub mod how;
pub mod knowledge;
pub mod landscape;
pub mod learning;
pub mod lessons;
pub mod links;
pub mod list;
pub mod observations;
pub mod recall;
pub mod records;
pub mod sessions;
pub mod shared;
pub mod tags;
pub mod tending;
pub mod workspace;

use crate::catalogue::{Catalogue, Entry};

/// Every operation of this program.
const ALL: &[Entry] = &[
    Entry::of::<lessons::Learn>(),
    Entry::of::<brief::RecallBriefly>(),
    Entry::of::<links::Related>(),
    Entry::of::<links::Link>(),
    Entry::of::<links::LinkMany>(),
    Entry::of::<links::Unlink>(),
    Entry::of::<records::Get>(),
    Entry::of::<lessons::Update>(),
    Entry::of::<forgetting::Delete>(),
    Entry::of::<tags::Tags>(),
    Entry::of::<learning::Outcome>(),
    Entry::of::<how::How>(),
    Entry::of::<forgetting::Forget>(),
    Entry::of::<tags::MergeTags>(),
    Entry::of::<tending::Consolidate>(),
    Entry::of::<tending::Review>(),
    Entry::of::<tending::Undo>(),
    Entry::of::<audit::Audit>(),
    Entry::of::<audit::Diary>(),
    Entry::of::<tags::EvidenceKinds>(),
    Entry::of::<tags::DefineEvidence>(),
    Entry::of::<tags::MergeEvidence>(),
    Entry::of::<graph::Path>(),
    Entry::of::<graph::ClusterOf>(),
    Entry::of::<graph::BridgesOf>(),
    Entry::of::<lessons::AddLearning>(),
    Entry::of::<lessons::ExtractLearnings>(),
    Entry::of::<knowledge::Knowledge>(),
    Entry::of::<observations::Record>(),
    Entry::of::<observations::ObservationsOf>(),
    Entry::of::<compact_observations::CompactObservations>(),
    Entry::of::<care::Rebuild>(),
    Entry::of::<care::Stats>(),
    Entry::of::<list::List>(),
    Entry::of::<recall::Recall>(),
    Entry::of::<records::Observe>(),
    Entry::of::<records::Show>(),
    Entry::of::<records::Revise>(),
    Entry::of::<records::History>(),
    Entry::of::<audit::Growth>(),
    Entry::of::<forgetting::Unforget>(),
    Entry::of::<sessions::Prompts>(),
    Entry::of::<sessions::Replay>(),
    Entry::of::<sessions::Episodes>(),
    Entry::of::<sessions::Episode>(),
    Entry::of::<landscape::LandscapeOf>(),
    Entry::of::<learning::WithdrawOutcome>(),
    Entry::of::<learning::Learning>(),
    Entry::of::<learning::LearningReport>(),
    Entry::of::<learning::Runs>(),
    Entry::of::<care::Compact>(),
    Entry::of::<care::Reembed>(),
    Entry::of::<care::Checkpoint>(),
    Entry::of::<care::Merge>(),
    Entry::of::<forgetting::Release>(),
    Entry::of::<sessions::Hook>(),
    Entry::of::<sessions::Moments>(),
    Entry::of::<shared::PublishPreview>(),
    Entry::of::<shared::Publish>(),
    Entry::of::<shared::PublishBranch>(),
    Entry::of::<shared::PublishedList>(),
    Entry::of::<shared::PublishedThing>(),
    Entry::of::<shared::Unpublish>(),
    Entry::of::<shared::Rate>(),
    Entry::of::<shared::ReceiptsOf>(),
    Entry::of::<shared::Visibility>(),
    Entry::of::<records::Resource>(),
    Entry::of::<recall::Search>(),
    Entry::of::<care::HostStats>(),
    Entry::of::<care::HostConfig>(),
    Entry::of::<workspace::Status>(),
    Entry::of::<workspace::Read>(),
    Entry::of::<workspace::Write>(),
    Entry::of::<workspace::Audit>(),
    Entry::of::<workspace::Diff>(),
    Entry::of::<workspace::Log>(),
    Entry::of::<workspace::Graph>(),
    Entry::of::<workspace::Propose>(),
    Entry::of::<workspace::Review>(),
    Entry::of::<workspace::Approve>(),
    Entry::of::<workspace::Decline>(),
    Entry::of::<workspace::Merge>(),
    Entry::of::<workspace::Abandon>(),
    Entry::of::<workspace::Rollback>(),
    Entry::of::<workspace::Checkpoint>(),
    Entry::of::<workspace::StateOf>(),
    Entry::of::<workspace::Snapshot>(),
    Entry::of::<workspace::Snapshots>(),
    Entry::of::<workspace::Restore>(),
    Entry::of::<workspace::Events>(),
    Entry::of::<workspace::Recover>(),
];

impl Default for Catalogue {
    fn default() -> Self {
        Self::new(ALL.iter().copied())
    }
}

#[cfg(test)]
mod tests;
