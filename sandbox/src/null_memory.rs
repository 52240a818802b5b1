//! The null implementation of the memory port, for a host without memory.

use async_trait::async_trait;
use reprise_types::{
    ContextBlock, MemoryError, MemoryProvider, Recall, RecallId, RecallRequest, TokensBy, Verdict,
    system_entropy,
};

/// Stores nothing and answers with nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullMemory;

#[async_trait]
impl MemoryProvider for NullMemory {
    async fn recall_request(&self, _request: RecallRequest) -> Result<Recall, MemoryError> {
        let recall_id = RecallId::from_u128(system_entropy());
        Ok(Recall::nothing(recall_id))
    }

    async fn context_block(
        &self,
        _query: &str,
        _budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        Ok(ContextBlock {
            text: String::new(),
            tokens: 0,
            counted_by: TokensBy::BytesOverFour,
            records: Vec::new(),
            left_out: 0,
            nothing_relevant: true,
            verdict: Verdict::Nothing,
            recall_id: RecallId::from_u128(system_entropy()),
            degraded: Vec::new(),
        })
    }
}
