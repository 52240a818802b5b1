//! A part of a list: how it is asked for, and how a whole list is read in such parts.

use reprise_types::limits::PAGE_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::GlobalResult;
use crate::record::GlobalRecord;

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPage {
    /// How many entries come before it.
    #[serde(default)]
    pub offset: usize,
    /// Most of it, at most [`PAGE_MAX`].
    #[serde(default = "page_max", deserialize_with = "read_limit::<PAGE_MAX, _>")]
    #[schemars(range(max = PAGE_MAX))]
    pub limit: usize,
}

impl ListPage {
    /// The largest page after so many.
    pub fn after(offset: usize) -> Self {
        let limit = PAGE_MAX;
        Self { offset, limit }
    }

    /// Cuts this page out of a whole list.
    pub fn slice_list<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

fn page_max() -> usize {
    PAGE_MAX
}

/// Reads how much is asked for at once.
pub fn read_limit<'de, const MAX: usize, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let limit = usize::deserialize(from)?;
    if limit > MAX {
        let said = format!("limit is {limit}, at most {MAX} are told at once; ask for fewer");
        return Err(serde::de::Error::custom(said));
    }
    Ok(limit)
}

pub(super) async fn collect_all_pages<Page: Future<Output = GlobalResult<Vec<GlobalRecord>>>>(
    page_of: impl Fn(ListPage) -> Page,
) -> GlobalResult<Vec<GlobalRecord>> {
    let mut all = Vec::new();
    loop {
        let page = ListPage::after(all.len());
        let found = page_of(page).await?;
        let is_last = found.len() < page.limit;
        all.extend(found);
        if is_last {
            return Ok(all);
        }
    }
}
