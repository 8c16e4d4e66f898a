//! OpenTelemetry log records, as protobuf for HTTP or framed for gRPC.
//!
//! Records are encoded as they come, into one buffer for each container; a tree of messages would cost a dozen
//! allocations a record. Field numbers: opentelemetry-proto 1.9, `logs/v1/logs.proto`, `common/v1/common.proto`.

use std::collections::BTreeMap;
use std::sync::Arc;

use flotilla_loglevel::cri::Stream;
use flotilla_loglevel::{Format, Source};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

use super::Batch;
use crate::agent::tail::Origin;
use crate::entry::{Entry, PartOf};
use crate::json;

/// Encoded records by container.
#[derive(Default)]
pub(crate) struct Builder {
    containers: Vec<Container>,
    /// Where in `containers` each one is.
    places: BTreeMap<Arc<Origin>, usize>,
    /// The container of the last record, which is mostly that of the next one too.
    last: usize,
    alike: Alike,
    /// Memory of the last batch, for containers of the next one.
    spare: Vec<Vec<u8>>,
    n_records: u64,
    n_bytes: usize,
}

/// One container.
struct Container {
    origin: Arc<Origin>,
    /// `ScopeLogs.log_records`, each with its key and length.
    records: Vec<u8>,
}

/// Most buffers that are kept from one batch to the next.
const SPARE_MAX: usize = 4;

impl Builder {
    pub(crate) fn add(&mut self, origin: &Arc<Origin>, entry: &Entry<'_>) {
        let place = match self.containers.get(self.last) {
            Some(last) if Arc::ptr_eq(&last.origin, origin) => self.last,
            _ => self.place(origin),
        };
        self.last = place;
        let alike = self.alike.of(entry);
        let records = &mut self.containers[place].records;
        let before = records.len();
        framed(2, records, |out| record(entry, alike, out));
        self.n_bytes += records.len() - before;
        self.n_records += 1;
    }

    /// Where a container is, which becomes the newest one when it is new.
    fn place(&mut self, origin: &Arc<Origin>) -> usize {
        if let Some(place) = self.places.get(origin) {
            return *place;
        }
        let place = self.containers.len();
        self.places.insert(origin.clone(), place);
        self.containers.push(Container {
            origin: origin.clone(),
            records: self.spare.pop().unwrap_or_default(),
        });
        place
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Hands out the request, written into `room`.
    pub(crate) fn take(&mut self, grpc: bool, room: Vec<u8>) -> Batch {
        let mut request = room;
        request.reserve(self.n_bytes + 1024);
        if grpc {
            // Not compressed, then the length, filled in below. Source: gRPC over HTTP/2, "Length-Prefixed-Message".
            request.extend_from_slice(&[0; 5]);
        }
        let scope = message(1, b"flotilla");
        self.places.clear();
        for Container {
            origin,
            mut records,
        } in self.containers.drain(..)
        {
            let resource = resource(&origin).encode_to_vec();
            let n_scope_logs = length(scope.len()) + records.len();
            head(
                1,
                length(resource.len()) + length(n_scope_logs),
                &mut request,
            );
            bytes(1, &resource, &mut request);
            head(2, n_scope_logs, &mut request);
            bytes(1, &scope, &mut request);
            request.extend_from_slice(&records);
            if self.spare.len() < SPARE_MAX {
                records.clear();
                self.spare.push(records);
            }
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

/// The fields that neighbouring records have in common, encoded when they change.
#[derive(Default)]
struct Alike {
    key: Option<(u8, Format, Source, Option<Stream>)>,
    encoded: Vec<u8>,
}

impl Alike {
    /// Severity number and attributes of a record, but for those of parts of lines.
    fn of(&mut self, entry: &Entry<'_>) -> &[u8] {
        let record = entry.record;
        let key = (record.severity, record.format, record.source, entry.stream);
        if self.key != Some(key) {
            self.key = Some(key);
            let out = &mut self.encoded;
            out.clear();
            if record.severity != 0 {
                encode_key(2, WireType::Varint, out);
                encode_varint(u64::from(record.severity), out);
            }
            attribute("log.format", record.format.name(), out);
            attribute("log.level_source", record.source.name(), out);
            if let Some(stream) = entry.stream {
                attribute("log.iostream", stream.name(), out);
            }
        }
        &self.encoded
    }
}

/// One `LogRecord`; `alike` is what [`Alike`] says of it.
fn record(entry: &Entry<'_>, alike: &[u8], out: &mut Vec<u8>) {
    let (moment, observed) = entry.moments();
    fixed(1, moment, out);
    let level = entry.record.level_raw;
    if !level.is_empty() {
        bytes(3, &json::utf8(level.of(entry.bytes)), out);
    }
    nested(5, 1, &json::utf8(entry.bytes), out);
    out.extend_from_slice(alike);
    if let Some(part) = &entry.part {
        part_of(part, out);
    }
    fixed(11, observed, out);
}

fn part_of(part: &PartOf, out: &mut Vec<u8>) {
    attribute("partial_message", "true", out);
    attribute("partial_id", &format!("{:016x}", part.id), out);
    attribute("partial_ordinal", &part.number.to_string(), out);
    let is_last = if part.is_last { "true" } else { "false" };
    attribute("partial_last", is_last, out);
}

fn fixed(tag: u32, moment: Option<i64>, out: &mut Vec<u8>) {
    if let Some(nanos) = moment.and_then(|moment| u64::try_from(moment).ok()) {
        encode_key(tag, WireType::SixtyFourBit, out);
        out.extend_from_slice(&nanos.to_le_bytes());
    }
}

/// A `KeyValue` with a string.
fn attribute(key: &str, value: &str, out: &mut Vec<u8>) {
    let value_length = length(value.len());
    head(6, length(key.len()) + length(value_length), out);
    bytes(1, key.as_bytes(), out);
    nested(2, 1, value.as_bytes(), out);
}

/// Bytes that a field below tag 16 takes with its key and length.
fn length(n_bytes: usize) -> usize {
    1 + encoded_len_varint(n_bytes as u64) + n_bytes
}

/// Key and length of a field of `n_bytes`.
#[inline]
fn head(tag: u32, n_bytes: usize, out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(n_bytes as u64, out);
}

fn bytes(tag: u32, value: &[u8], out: &mut Vec<u8>) {
    head(tag, value.len(), out);
    out.extend_from_slice(value);
}

/// A message that holds one field of bytes.
fn nested(tag: u32, inner: u32, value: &[u8], out: &mut Vec<u8>) {
    head(tag, length(value.len()), out);
    bytes(inner, value, out);
}

/// A field whose length is known when it has been written: the bytes of the length of most records, two, are left free
/// before it, and it moves where it needs others.
fn framed(tag: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    const FREE: usize = 2;
    encode_key(tag, WireType::LengthDelimited, out);
    let at = out.len();
    out.extend_from_slice(&[0; FREE]);
    write(out);
    let n_bytes = out.len() - at - FREE;
    if let (0x80..0x4000, Some(room)) = (n_bytes, out.get_mut(at..at + FREE)) {
        // Seven bits in each byte, the low ones first. Source: Protocol Buffers, "Encoding".
        room.copy_from_slice(&[n_bytes as u8 | 0x80, (n_bytes >> 7) as u8]);
    } else {
        let mut varint = Vec::with_capacity(10);
        encode_varint(n_bytes as u64, &mut varint);
        out.splice(at..at + FREE, varint);
    }
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
