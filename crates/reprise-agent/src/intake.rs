//! What every record passes before a memory takes it, whoever brings it: the daemon, a command
//! without one, an import, the relay of a host.

use reprise_redact::{Redaction, Redactor};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{MemoryRecord, NewRecord, RejectReason};

/// How records are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intake {
    /// Texts stay as they stand, secrets and all.
    pub verbatim: bool,
    /// Receipts may come: they are Reprise's own, or those of an export.
    pub receipts: bool,
}

/// What was done to a record on its way in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The secrets that were taken out.
    pub redacted: Vec<Redaction>,
    /// How many bytes its text had, where it was cut.
    pub truncated_from_bytes: Option<usize>,
}

impl Intake {
    /// Makes a record one that may be stored; `tags` leads from the spellings of tags to those that
    /// are kept.
    pub fn take(
        self,
        record: &mut NewRecord,
        tags: impl Fn(&[String]) -> Vec<String>,
    ) -> Result<Taken, RejectReason> {
        let redacted = if self.verbatim {
            Vec::new()
        } else {
            Redactor::new().redact_record(record)
        };
        record.tags = tags(&record.tags);
        if !self.receipts && record.tags.iter().any(|tag| tag == MemoryRecord::RECEIPT) {
            return Err(RejectReason::Receipt);
        }
        record.check()?;
        Ok(Taken {
            redacted,
            truncated_from_bytes: record.truncate(TEXT_BYTES_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, normal_tags};

    use super::*;

    #[test]
    fn a_callers_receipt_is_refused_and_a_secret_is_taken_out() {
        let key = format!("the key is AKIA{}", "IOSFODNN7EXAMPLE");
        let mut record = NewRecord::new(key, MemorySource::UserInput, MemoryKind::Episode);
        record.tags = vec!["Receipt:Global".to_owned()];
        let refused = Intake::default().take(&mut record.clone(), normal_tags);
        assert_eq!(refused, Err(RejectReason::Receipt));
        let own = Intake {
            receipts: true,
            ..Intake::default()
        };
        let taken = own.take(&mut record, normal_tags).unwrap();
        assert_eq!(taken.redacted.len(), 1, "{}", record.text);
        assert!(!record.text.contains("AKIA"), "{}", record.text);
        record.text = " ".to_owned();
        assert_eq!(
            own.take(&mut record, normal_tags),
            Err(RejectReason::EmptyText)
        );
    }
}
