//! The texts of forgotten records that a memory file still has until it is compacted.

use std::collections::HashMap;

use crate::prelude::*;

impl Memory {
    /// Lists the texts of forgotten records that the file still has, the newest first. The whole
    /// file is read for that, so after a compaction an empty list proves that none is in it.
    pub async fn list_forgotten_texts(&self) -> Result<Vec<String>, Problem> {
        Ok(self.run_on_engine(find_forgotten).await??)
    }
}

fn find_forgotten(engine: &mut Engine) -> Result<Vec<String>, EngineError> {
    let memory = engine.snapshot();
    let is_forgotten = |text: &str| memory.text_forgotten_at(text).is_some();
    let mut texts = Vec::new();
    engine.visit_logged_texts(&mut |text| {
        if is_forgotten(text) {
            texts.push(text.to_owned());
        }
    })?;
    // A text that was forgotten may be stored again; that record keeps it.
    let mut stored: HashMap<String, usize> = HashMap::new();
    for record in memory.records() {
        let record = record?;
        if is_forgotten(&record.text) {
            *stored.entry(record.text.clone()).or_default() += 1;
        }
    }
    texts.reverse();
    texts.retain(|text| match stored.get_mut(text) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, NewRecord};
    use serde_json::json;

    use crate::testing::Ada;

    #[tokio::test]
    async fn what_was_forgotten_is_in_the_file_until_it_is_compacted() {
        let ada = Ada::new().await;
        let memory = ada.memory();
        let write = async |text: &str| {
            let record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Episode);
            let service = memory.all_memories().service();
            service.observe(memory.user(), vec![record]).await.unwrap();
        };
        let texts = [
            "Drain a node first.",
            "Ada owns the importer.",
            "Back again.",
        ];
        for text in texts {
            write(text).await;
        }
        assert!(memory.list_forgotten_texts().await.unwrap().is_empty());
        let listed = ada.call("list", json!({})).await;
        for record in listed["records"].as_array().unwrap() {
            if record["text"] != texts[1] {
                ada.call("forget", json!({ "id": record["id"] })).await;
            }
        }
        write(texts[2]).await;
        let found = memory.list_forgotten_texts().await.unwrap();
        assert_eq!(
            found,
            [texts[2], texts[0]],
            "the newest first, and no stored one"
        );
        ada.call("compact", json!({})).await;
        assert!(memory.list_forgotten_texts().await.unwrap().is_empty());
        let found = ada.call("list", json!({})).await;
        assert_eq!(found["records"].as_array().unwrap().len(), 2);
    }
}
