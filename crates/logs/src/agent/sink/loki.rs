//! Loki's push API as JSON: few labels, the level and the pod as structured metadata.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use serde_json::json;

use super::Batch;
use crate::agent::tail::Origin;
use crate::entry::Entry;
use crate::json;

/// Encoded values by stream of labels.
#[derive(Default)]
pub(crate) struct Builder {
    values: BTreeMap<Arc<Origin>, Vec<u8>>,
    n_records: u64,
    n_bytes: usize,
}

impl Builder {
    pub(crate) fn add(&mut self, origin: &Arc<Origin>, entry: &Entry<'_>) {
        let values = match self.values.get_mut(origin) {
            Some(values) => values,
            None => self.values.entry(origin.clone()).or_default(),
        };
        let before = values.len();
        if before > 0 {
            values.push(b',');
        }
        // Loki orders by this time; the runtime's never goes back, the record's own may.
        let moment = entry
            .observed_moment()
            .or_else(|| entry.moment())
            .unwrap_or(0);
        let _ = write!(values, "[\"{moment}\",\"");
        json::escape(entry.bytes, values);
        values.extend_from_slice(b"\",{\"detected_level\":\"");
        values.extend_from_slice(entry.record.level.loki().as_bytes());
        values.extend_from_slice(b"\",\"pod\":\"");
        json::escape(origin.pod.as_bytes(), values);
        values.push(b'"');
        if let Some(part) = entry.part {
            // Structured metadata are strings.
            let _ = write!(
                values,
                ",\"partial_message\":\"true\",\"partial_id\":\"{:016x}\",\"partial_ordinal\":\"{}\",\"partial_last\":\"{}\"",
                part.id, part.number, part.is_last
            );
        }
        values.extend_from_slice(b"}]");
        self.n_bytes += values.len() - before;
        self.n_records += 1;
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub(crate) fn take(&mut self) -> Batch {
        let mut body = b"{\"streams\":[".to_vec();
        for (index, (origin, values)) in std::mem::take(&mut self.values).into_iter().enumerate() {
            if index > 0 {
                body.push(b',');
            }
            let labels = json!({ "namespace": origin.namespace, "container": origin.container });
            let _ = write!(body, "{{\"stream\":{labels},\"values\":[");
            body.extend_from_slice(&values);
            body.extend_from_slice(b"]}");
        }
        body.extend_from_slice(b"]}");
        self.n_bytes = 0;
        Batch {
            body: body.into(),
            n_records: std::mem::take(&mut self.n_records),
        }
    }
}
