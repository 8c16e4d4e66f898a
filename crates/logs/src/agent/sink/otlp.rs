//! OpenTelemetry log records, as protobuf for HTTP or framed for gRPC.

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;

use super::Batch;
use crate::agent::tail::Origin;
use crate::entry::Entry;

/// Records by container.
#[derive(Default)]
pub(crate) struct Builder {
    records: BTreeMap<Arc<Origin>, Vec<LogRecord>>,
    n_records: u64,
    n_bytes: usize,
}

/// Bytes a record takes beside its body, about.
const RECORD_BYTES: usize = 120;

impl Builder {
    pub(crate) fn add(&mut self, origin: &Arc<Origin>, entry: &Entry<'_>) {
        let record = entry.record;
        let observed = entry.observed_moment();
        let nanos = |moment: Option<i64>| {
            moment
                .and_then(|moment| u64::try_from(moment).ok())
                .unwrap_or(0)
        };
        let mut attributes = vec![
            text("log.format", record.format.name()),
            text("log.level_source", record.source.name()),
        ];
        if let Some(stream) = entry.stream {
            attributes.push(text("log.iostream", stream.name()));
        }
        if entry.truncated {
            attributes.push(text("log.truncated", "true"));
        }
        let body = String::from_utf8_lossy(entry.bytes);
        self.n_bytes += body.len() + RECORD_BYTES;
        self.n_records += 1;
        let record = LogRecord {
            time_unix_nano: nanos(entry.moment()),
            observed_time_unix_nano: nanos(observed),
            severity_number: i32::from(record.severity),
            severity_text: String::from_utf8_lossy(record.level_raw.of(entry.bytes)).into_owned(),
            body: Some(AnyValue {
                value: Some(Value::StringValue(body.into_owned())),
            }),
            attributes,
            ..LogRecord::default()
        };
        match self.records.get_mut(origin) {
            Some(records) => records.push(record),
            None => {
                self.records.insert(origin.clone(), vec![record]);
            }
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub(crate) fn take(&mut self, grpc: bool) -> Batch {
        let resource_logs = std::mem::take(&mut self.records)
            .into_iter()
            .map(|(origin, log_records)| {
                let scope = InstrumentationScope {
                    name: "flotilla".to_owned(),
                    ..InstrumentationScope::default()
                };
                let scope_logs = ScopeLogs {
                    scope: Some(scope),
                    log_records,
                    ..ScopeLogs::default()
                };
                ResourceLogs {
                    resource: Some(resource(&origin)),
                    scope_logs: vec![scope_logs],
                    ..ResourceLogs::default()
                }
            })
            .collect();
        let request = ExportLogsServiceRequest { resource_logs };
        let mut body = Vec::with_capacity(request.encoded_len() + 5);
        if grpc {
            // Not compressed, then the length. Source: gRPC over HTTP/2, "Length-Prefixed-Message".
            body.push(0);
            body.extend_from_slice(&(request.encoded_len() as u32).to_be_bytes());
        }
        request.encode(&mut body).expect("a vector grows");
        self.n_bytes = 0;
        Batch {
            body: body.into(),
            n_records: std::mem::take(&mut self.n_records),
        }
    }
}

fn resource(origin: &Origin) -> Resource {
    let attributes = vec![
        text("k8s.namespace.name", &origin.namespace),
        text("k8s.pod.name", &origin.pod),
        text("k8s.pod.uid", &origin.uid),
        text("k8s.container.name", &origin.container),
    ];
    Resource {
        attributes,
        ..Resource::default()
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    let value = Some(AnyValue {
        value: Some(Value::StringValue(value.to_owned())),
    });
    KeyValue {
        key: key.to_owned(),
        value,
        ..KeyValue::default()
    }
}
