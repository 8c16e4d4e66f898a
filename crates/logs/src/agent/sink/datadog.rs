//! Datadog's intake: an array of records whose `status` we set, so that no pipeline has to guess.

use std::io::Write;

use serde_json::json;

use super::Batch;
use crate::agent::tail::Origin;
use crate::entry::Entry;
use crate::json;
use crate::output::part_of;

/// An open JSON array.
#[derive(Default)]
pub(crate) struct Builder {
    body: Vec<u8>,
    n_records: u64,
}

/// Most records Datadog takes at once. Source: intake API v2, "Send logs".
const RECORDS_MAX: u64 = 1000;

impl Builder {
    pub(crate) fn add(&mut self, origin: &Origin, entry: &Entry<'_>) {
        self.body
            .push(if self.n_records == 0 { b'[' } else { b',' });
        self.body.extend_from_slice(b"{\"message\":\"");
        json::escape(entry.bytes, &mut self.body);
        self.body.push(b'"');
        if let Some(status) = entry.record.level.datadog() {
            let _ = write!(self.body, ",\"status\":\"{status}\"");
        }
        if let Some(moment) = entry.moment() {
            let _ = write!(self.body, ",\"timestamp\":{}", moment / 1_000_000);
        }
        if let Some(part) = entry.part {
            part_of(&part, &mut self.body);
        }
        let tags = format!(
            "kube_namespace:{},pod_name:{},kube_container_name:{},log_format:{}",
            origin.namespace,
            origin.pod,
            origin.container,
            entry.record.format.name()
        );
        let (source, service) = (json!(origin.container), json!(origin.container));
        let _ = write!(
            self.body,
            ",\"ddsource\":{source},\"service\":{service},\"ddtags\":{}}}",
            json!(tags)
        );
        self.n_records += 1;
    }

    /// Full at the number of records Datadog takes, whatever their size.
    pub(crate) fn n_bytes(&self) -> usize {
        if self.n_records >= RECORDS_MAX {
            usize::MAX
        } else {
            self.body.len()
        }
    }

    pub(crate) fn take(&mut self) -> Batch {
        self.body.push(b']');
        Batch {
            body: std::mem::take(&mut self.body).into(),
            n_records: std::mem::take(&mut self.n_records),
        }
    }
}
