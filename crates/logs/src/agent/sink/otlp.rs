//! OpenTelemetry log records, as protobuf for HTTP or framed for gRPC.
//!
//! Records are encoded as they come, into one buffer for each container; a tree of messages would cost a dozen
//! allocations a record. Field numbers: opentelemetry-proto 1.9, `logs/v1/logs.proto`, `common/v1/common.proto`.

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::Batch;
use crate::agent::tail::Origin;
use crate::entry::Entry;
use crate::json;

/// Encoded records by container.
#[derive(Default)]
pub(crate) struct Builder {
    /// `ScopeLogs.log_records`, each with its key and length.
    records: BTreeMap<Arc<Origin>, Vec<u8>>,
    scratch: Vec<u8>,
    n_records: u64,
    n_bytes: usize,
}

impl Builder {
    pub(crate) fn add(&mut self, origin: &Arc<Origin>, entry: &Entry<'_>) {
        self.scratch.clear();
        record(entry, &mut self.scratch);
        let records = match self.records.get_mut(origin) {
            Some(records) => records,
            None => self.records.entry(origin.clone()).or_default(),
        };
        let before = records.len();
        bytes(2, &self.scratch, records);
        self.n_bytes += records.len() - before;
        self.n_records += 1;
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub(crate) fn take(&mut self, grpc: bool) -> Batch {
        let mut request = Vec::with_capacity(self.n_bytes + 1024);
        if grpc {
            // Not compressed, then the length, filled in below. Source: gRPC over HTTP/2, "Length-Prefixed-Message".
            request.extend_from_slice(&[0; 5]);
        }
        let scope = message(1, b"flotilla");
        for (origin, records) in std::mem::take(&mut self.records) {
            let mut scope_logs = Vec::with_capacity(records.len() + 16);
            bytes(1, &scope, &mut scope_logs);
            scope_logs.extend_from_slice(&records);
            let mut resource_logs = Vec::with_capacity(scope_logs.len() + 256);
            bytes(1, &resource(&origin).encode_to_vec(), &mut resource_logs);
            bytes(2, &scope_logs, &mut resource_logs);
            bytes(1, &resource_logs, &mut request);
        }
        if grpc {
            let length = (request.len() - 5) as u32;
            request[1..5].copy_from_slice(&length.to_be_bytes());
        }
        self.n_bytes = 0;
        Batch {
            body: request.into(),
            n_records: std::mem::take(&mut self.n_records),
        }
    }
}

/// One `LogRecord`.
fn record(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let record = entry.record;
    moment(1, entry.moment(), out);
    if record.severity != 0 {
        encode_key(2, WireType::Varint, out);
        encode_varint(u64::from(record.severity), out);
    }
    if !record.level_raw.is_empty() {
        bytes(
            3,
            String::from_utf8_lossy(record.level_raw.of(entry.bytes)).as_bytes(),
            out,
        );
    }
    nested(5, 1, &json::utf8(entry.bytes), out);
    attribute("log.format", record.format.name(), out);
    attribute("log.level_source", record.source.name(), out);
    if let Some(stream) = entry.stream {
        attribute("log.iostream", stream.name(), out);
    }
    if let Some(part) = entry.part {
        attribute("partial_message", "true", out);
        attribute("partial_id", &format!("{:016x}", part.id), out);
        attribute("partial_ordinal", &part.number.to_string(), out);
        attribute(
            "partial_last",
            if part.is_last { "true" } else { "false" },
            out,
        );
    }
    moment(11, entry.observed_moment(), out);
}

fn moment(tag: u32, moment: Option<i64>, out: &mut Vec<u8>) {
    if let Some(nanos) = moment.and_then(|moment| u64::try_from(moment).ok()) {
        encode_key(tag, WireType::SixtyFourBit, out);
        out.extend_from_slice(&nanos.to_le_bytes());
    }
}

/// A `KeyValue` with a string.
fn attribute(key: &str, value: &str, out: &mut Vec<u8>) {
    let value_length = length(value.len());
    encode_key(6, WireType::LengthDelimited, out);
    encode_varint((length(key.len()) + length(value_length)) as u64, out);
    bytes(1, key.as_bytes(), out);
    nested(2, 1, value.as_bytes(), out);
}

/// Bytes that a field below tag 16 takes with its key and length.
fn length(n_bytes: usize) -> usize {
    1 + encoded_len_varint(n_bytes as u64) + n_bytes
}

fn bytes(tag: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// A message that holds one field of bytes.
fn nested(tag: u32, inner: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(length(value.len()) as u64, out);
    bytes(inner, value, out);
}

fn message(tag: u32, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(tag, value, &mut out);
    out
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

#[cfg(test)]
mod tests;
