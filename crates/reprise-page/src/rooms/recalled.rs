//! Asking memory as a host would.

use reprise_operations::operations::recall::{RecallArguments, with_context};
use reprise_types::{ContextBlock, Recall, RecallRequest, RecallScope};

use crate::door::Visit;
use crate::page::{Answer, Page};

/// An answer.
pub(super) struct Found {
    pub(super) recall: Recall,
    pub(super) context: ContextBlock,
    /// How long it took, in milliseconds.
    pub(super) elapsed_ms: f64,
}

/// What memory answers, and what a prompt of so many tokens would get of it.
pub(super) async fn recalled(
    page: &Page,
    visit: &Visit,
    request: &RecallRequest,
    scope: RecallScope,
    budget: usize,
) -> Answer<Found> {
    let began = std::time::Instant::now();
    let asked = RecallArguments {
        scope: Some(scope),
        ..RecallArguments::of(request)
    };
    let memory = page.memory(visit);
    let (recall, context) = Box::pin(with_context(&memory, &asked, budget)).await?;
    Ok(Found {
        recall,
        context,
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
    })
}
