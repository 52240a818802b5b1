//! Memory page by page: a way to look that is no question.

use reprise_types::limits::PAGE_MAX;
use reprise_types::{Cursor, ListRequest, MemoryFilter, MemoryRecord, Order, Page, RecordId};

use crate::names::BARE_RUN;
use crate::snapshot::Snapshot;

impl Snapshot {
    /// [`Self::list_in`], the latest first.
    #[must_use]
    pub fn list(&self, request: &ListRequest) -> Page {
        self.list_in(Order::NewestFirst, request)
    }

    /// A page of the live records that the filter admits, in this order of when they happened,
    /// without their vectors. What runs left that says nothing beside their question is there for
    /// who asks for what it is. Reads the page's own records from the disk and no others.
    #[must_use]
    pub fn list_in(&self, order: Order, request: &ListRequest) -> Page {
        let filter = &request.filter;
        let mut view = self.view(filter, None);
        let admitted = view.considered();
        if filter.types.is_none() && filter.kinds.is_none() && filter.sources.is_none() {
            view = view.without(self.index.holding(BARE_RUN));
        }
        let limit = request.limit.min(PAGE_MAX);
        let after = request.after.map(|c| (c.timestamp_micros, c.id));
        // One more than the page, to know whether there is another.
        let mut places = self.index.in_order(&view, order, after, limit + 1);
        let more = places.len() > limit;
        places.truncate(limit);
        let next = places.last().filter(|_| more).map(|last| Cursor {
            timestamp_micros: last.0,
            id: last.1,
        });
        let mut page = Page {
            next,
            considered: view.considered(),
            ..Page::default()
        };
        let bare = admitted - view.considered();
        if bare > 0 && request.after.is_none() {
            page.notes.push(format!(
                "left out: {bare} of runs that tell no step; the type `run` lists them"
            ));
        } else if admitted == 0 {
            page.notes.extend(self.why_none(filter, None));
        }
        for (_, _, ordinal) in places {
            match self.record(ordinal, None) {
                Ok(record) => page.records.push(record.without_vector()),
                Err(error) => {
                    tracing::warn!(ordinal, %error, "a record could not be read back");
                    page.damaged += 1;
                }
            }
        }
        page
    }

    /// Every live record that a filter admits, oldest first, without their vectors.
    #[must_use]
    pub fn matching(&self, filter: &MemoryFilter) -> Vec<MemoryRecord> {
        let view = self.view(filter, None);
        let read = view.ordinals().filter_map(|at| self.record(at, None).ok());
        read.map(|record| MemoryRecord {
            embedding: Vec::new(),
            ..record
        })
        .collect()
    }

    /// The place of the record with this id, forgotten or not, for a caller that has no cursor.
    #[must_use]
    pub fn cursor(&self, id: RecordId) -> Option<Cursor> {
        let ordinal = self.index.find(id)?;
        let doc = self.index.doc(ordinal).filter(|doc| !doc.hole)?;
        let (timestamp_micros, id) = self.index.place_in_time(ordinal)?;
        (doc.id == id).then_some(Cursor {
            timestamp_micros,
            id,
        })
    }
}
