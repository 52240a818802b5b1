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
pub mod maintenance;
pub mod observations;
pub mod pausing;
pub mod recall;
pub mod records;
pub mod sessions;
pub mod shared;
pub mod tags;
pub mod workspace;

use crate::catalogue::{Catalogue, CatalogueEntry};

/// Every operation of this program.
const ALL: &[CatalogueEntry] = &[
    CatalogueEntry::of::<lessons::Learn>(),
    CatalogueEntry::of::<brief::RecallBriefly>(),
    CatalogueEntry::of::<links::Related>(),
    CatalogueEntry::of::<links::Link>(),
    CatalogueEntry::of::<links::LinkMany>(),
    CatalogueEntry::of::<links::Unlink>(),
    CatalogueEntry::of::<records::Get>(),
    CatalogueEntry::of::<lessons::Update>(),
    CatalogueEntry::of::<forgetting::Delete>(),
    CatalogueEntry::of::<tags::Tags>(),
    CatalogueEntry::of::<learning::Outcome>(),
    CatalogueEntry::of::<how::How>(),
    CatalogueEntry::of::<forgetting::Forget>(),
    CatalogueEntry::of::<tags::MergeTags>(),
    CatalogueEntry::of::<maintenance::Consolidate>(),
    CatalogueEntry::of::<maintenance::Review>(),
    CatalogueEntry::of::<maintenance::Undo>(),
    CatalogueEntry::of::<audit::Audit>(),
    CatalogueEntry::of::<audit::Diary>(),
    CatalogueEntry::of::<tags::EvidenceKinds>(),
    CatalogueEntry::of::<tags::DefineEvidence>(),
    CatalogueEntry::of::<tags::MergeEvidence>(),
    CatalogueEntry::of::<graph::Path>(),
    CatalogueEntry::of::<graph::ClusterOf>(),
    CatalogueEntry::of::<graph::BridgesOf>(),
    CatalogueEntry::of::<lessons::AddLearning>(),
    CatalogueEntry::of::<lessons::ExtractLearnings>(),
    CatalogueEntry::of::<knowledge::Knowledge>(),
    CatalogueEntry::of::<observations::Record>(),
    CatalogueEntry::of::<observations::ObservationsOf>(),
    CatalogueEntry::of::<compact_observations::CompactObservations>(),
    CatalogueEntry::of::<care::Rebuild>(),
    CatalogueEntry::of::<care::Stats>(),
    CatalogueEntry::of::<list::List>(),
    CatalogueEntry::of::<recall::Recall>(),
    CatalogueEntry::of::<records::Observe>(),
    CatalogueEntry::of::<records::Show>(),
    CatalogueEntry::of::<records::Revise>(),
    CatalogueEntry::of::<records::History>(),
    CatalogueEntry::of::<audit::Growth>(),
    CatalogueEntry::of::<forgetting::Unforget>(),
    CatalogueEntry::of::<sessions::Prompts>(),
    CatalogueEntry::of::<sessions::Replay>(),
    CatalogueEntry::of::<sessions::Episodes>(),
    CatalogueEntry::of::<sessions::Episode>(),
    CatalogueEntry::of::<landscape::LandscapeOf>(),
    CatalogueEntry::of::<learning::WithdrawOutcome>(),
    CatalogueEntry::of::<learning::Learning>(),
    CatalogueEntry::of::<learning::LearningReport>(),
    CatalogueEntry::of::<learning::Runs>(),
    CatalogueEntry::of::<care::Compact>(),
    CatalogueEntry::of::<care::Reembed>(),
    CatalogueEntry::of::<care::Checkpoint>(),
    CatalogueEntry::of::<care::Merge>(),
    CatalogueEntry::of::<forgetting::Release>(),
    CatalogueEntry::of::<pausing::Pause>(),
    CatalogueEntry::of::<pausing::Resume>(),
    CatalogueEntry::of::<pausing::Pauses>(),
    CatalogueEntry::of::<sessions::Hook>(),
    CatalogueEntry::of::<sessions::Moments>(),
    CatalogueEntry::of::<shared::PublishPreview>(),
    CatalogueEntry::of::<shared::Publish>(),
    CatalogueEntry::of::<shared::PublishBranch>(),
    CatalogueEntry::of::<shared::PublishedList>(),
    CatalogueEntry::of::<shared::PublishedThing>(),
    CatalogueEntry::of::<shared::Unpublish>(),
    CatalogueEntry::of::<shared::Rate>(),
    CatalogueEntry::of::<shared::ReceiptsOf>(),
    CatalogueEntry::of::<shared::Visibility>(),
    CatalogueEntry::of::<records::Resource>(),
    CatalogueEntry::of::<recall::Search>(),
    CatalogueEntry::of::<care::HostStats>(),
    CatalogueEntry::of::<care::HostConfig>(),
    CatalogueEntry::of::<workspace::Status>(),
    CatalogueEntry::of::<workspace::Read>(),
    CatalogueEntry::of::<workspace::Write>(),
    CatalogueEntry::of::<workspace::Audit>(),
    CatalogueEntry::of::<workspace::Diff>(),
    CatalogueEntry::of::<workspace::Log>(),
    CatalogueEntry::of::<workspace::Graph>(),
    CatalogueEntry::of::<workspace::Propose>(),
    CatalogueEntry::of::<workspace::Review>(),
    CatalogueEntry::of::<workspace::Approve>(),
    CatalogueEntry::of::<workspace::Decline>(),
    CatalogueEntry::of::<workspace::Merge>(),
    CatalogueEntry::of::<workspace::Abandon>(),
    CatalogueEntry::of::<workspace::Rollback>(),
    CatalogueEntry::of::<workspace::Checkpoint>(),
    CatalogueEntry::of::<workspace::StateOf>(),
    CatalogueEntry::of::<workspace::Snapshot>(),
    CatalogueEntry::of::<workspace::Snapshots>(),
    CatalogueEntry::of::<workspace::Restore>(),
    CatalogueEntry::of::<workspace::Events>(),
    CatalogueEntry::of::<workspace::Recover>(),
];

impl Default for Catalogue {
    fn default() -> Self {
        Self::new(ALL.iter().copied())
    }
}

#[cfg(test)]
mod tests;
