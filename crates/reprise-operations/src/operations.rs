//! Every operation: a folder for each noun, which has the operations and what they do to a memory,
//! and the list of them in the order in which they are shown.

pub mod care;
pub mod forgetting;
pub mod lessons;
pub mod links;
pub mod maintenance;
pub mod outcomes;
pub mod recall;
pub mod records;
pub mod sessions;
pub mod sharing;
pub mod tags;

use crate::catalogue::{Catalogue, CatalogueEntry};

/// The operations of a memory.
impl Default for Catalogue {
    fn default() -> Self {
        Self::new([
            CatalogueEntry::of::<lessons::Learn>(),
            CatalogueEntry::of::<recall::brief::RecallBriefly>(),
            CatalogueEntry::of::<links::Related>(),
            CatalogueEntry::of::<links::Link>(),
            CatalogueEntry::of::<links::LinkMany>(),
            CatalogueEntry::of::<links::Unlink>(),
            CatalogueEntry::of::<records::Get>(),
            CatalogueEntry::of::<lessons::Update>(),
            CatalogueEntry::of::<forgetting::Delete>(),
            CatalogueEntry::of::<tags::Tags>(),
            CatalogueEntry::of::<outcomes::Outcome>(),
            CatalogueEntry::of::<outcomes::how::How>(),
            CatalogueEntry::of::<forgetting::Forget>(),
            CatalogueEntry::of::<tags::MergeTags>(),
            CatalogueEntry::of::<maintenance::Consolidate>(),
            CatalogueEntry::of::<maintenance::Review>(),
            CatalogueEntry::of::<maintenance::Undo>(),
            CatalogueEntry::of::<maintenance::audit::Audit>(),
            CatalogueEntry::of::<maintenance::audit::Diary>(),
            CatalogueEntry::of::<tags::EvidenceKinds>(),
            CatalogueEntry::of::<tags::DefineEvidence>(),
            CatalogueEntry::of::<tags::MergeEvidence>(),
            CatalogueEntry::of::<links::graph::Path>(),
            CatalogueEntry::of::<links::graph::ClusterOf>(),
            CatalogueEntry::of::<links::graph::BridgesOf>(),
            CatalogueEntry::of::<lessons::AddLearning>(),
            CatalogueEntry::of::<lessons::ExtractLearnings>(),
            CatalogueEntry::of::<lessons::knowledge::Knowledge>(),
            CatalogueEntry::of::<records::observations::Record>(),
            CatalogueEntry::of::<records::observations::ObservationsOf>(),
            CatalogueEntry::of::<records::observations::compact::CompactObservations>(),
            CatalogueEntry::of::<care::Rebuild>(),
            CatalogueEntry::of::<care::Stats>(),
            CatalogueEntry::of::<records::list::List>(),
            CatalogueEntry::of::<recall::Recall>(),
            CatalogueEntry::of::<records::Observe>(),
            CatalogueEntry::of::<records::Show>(),
            CatalogueEntry::of::<records::Revise>(),
            CatalogueEntry::of::<records::History>(),
            CatalogueEntry::of::<maintenance::audit::Growth>(),
            CatalogueEntry::of::<forgetting::Unforget>(),
            CatalogueEntry::of::<sessions::Prompts>(),
            CatalogueEntry::of::<sessions::Replay>(),
            CatalogueEntry::of::<sessions::Episodes>(),
            CatalogueEntry::of::<sessions::Episode>(),
            CatalogueEntry::of::<links::landscape::LandscapeOf>(),
            CatalogueEntry::of::<outcomes::WithdrawOutcome>(),
            CatalogueEntry::of::<outcomes::Learning>(),
            CatalogueEntry::of::<outcomes::LearningReport>(),
            CatalogueEntry::of::<outcomes::Runs>(),
            CatalogueEntry::of::<care::Compact>(),
            CatalogueEntry::of::<care::Reembed>(),
            CatalogueEntry::of::<care::Checkpoint>(),
            CatalogueEntry::of::<care::Merge>(),
            CatalogueEntry::of::<forgetting::Release>(),
            CatalogueEntry::of::<sessions::pausing::Pause>(),
            CatalogueEntry::of::<sessions::pausing::Resume>(),
            CatalogueEntry::of::<sessions::pausing::Pauses>(),
            CatalogueEntry::of::<sessions::Hook>(),
            CatalogueEntry::of::<sessions::Moments>(),
            CatalogueEntry::of::<sharing::PublishPreview>(),
            CatalogueEntry::of::<sharing::Publish>(),
            CatalogueEntry::of::<sharing::PublishBranch>(),
            CatalogueEntry::of::<sharing::PublishedList>(),
            CatalogueEntry::of::<sharing::PublishedThing>(),
            CatalogueEntry::of::<sharing::Unpublish>(),
            CatalogueEntry::of::<sharing::Rate>(),
            CatalogueEntry::of::<sharing::ReceiptsOf>(),
            CatalogueEntry::of::<sharing::Visibility>(),
            CatalogueEntry::of::<records::Resource>(),
            CatalogueEntry::of::<recall::Search>(),
            CatalogueEntry::of::<care::HostStats>(),
            CatalogueEntry::of::<care::HostConfig>(),
        ])
    }
}

#[cfg(test)]
mod tests;
