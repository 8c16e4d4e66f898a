use std::sync::Arc;

use flotilla_loglevel::time::Context;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;

use super::Builder;
use crate::agent::tail::Origin;
use crate::stream::{Stream, Wrapper};

fn request(text: &[u8], grpc: bool) -> ExportLogsServiceRequest {
    let origin = Arc::new(Origin::parse("default_web-0_uid-1", "main").unwrap());
    let mut builder = Builder::default();
    let mut stream = Stream::new(Wrapper::Detect, Context::default());
    stream.push(text, 0, |entry| builder.add(&origin, entry));
    stream.finish(0, |entry| builder.add(&origin, entry));
    let body = builder.take(grpc, Vec::new()).body;
    let message = if grpc {
        assert_eq!(
            (body[0], u32::from_be_bytes(body[1..5].try_into().unwrap())),
            (0, body.len() as u32 - 5)
        );
        body.slice(5..)
    } else {
        body
    };
    ExportLogsServiceRequest::decode(message).unwrap()
}

#[test]
fn what_we_encode_is_what_the_published_messages_decode() {
    let long = "x".repeat(300);
    let text = format!(
        "2026-09-11T07:22:25.5Z stderr F W0911 07:22:25.408586       1 a.go:1] {long}\n2026-09-11T07:22:26Z stdout F plain\n"
    );
    for grpc in [false, true] {
        let request = request(text.as_bytes(), grpc);
        let [resource] = &request.resource_logs[..] else {
            panic!("one container")
        };
        let names: Vec<_> = resource
            .resource
            .as_ref()
            .unwrap()
            .attributes
            .iter()
            .map(|pair| pair.key.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "k8s.namespace.name",
                "k8s.pod.name",
                "k8s.pod.uid",
                "k8s.container.name"
            ]
        );
        let scope = &resource.scope_logs[0];
        assert_eq!(scope.scope.as_ref().unwrap().name, "flotilla");
        let [warning, plain] = [0, 1].map(|at| {
            let level = |wanted: i32| {
                scope
                    .log_records
                    .iter()
                    .find(|record| record.severity_number == wanted)
                    .unwrap()
            };
            if at == 0 { level(13) } else { level(0) }
        });
        assert_eq!(
            (warning.severity_text.as_str(), warning.time_unix_nano),
            ("W", 1_789_111_345_408_586_000)
        );
        assert_eq!(warning.observed_time_unix_nano, 1_789_111_345_500_000_000);
        let pairs: Vec<_> = warning
            .attributes
            .iter()
            .map(|pair| pair.key.as_str())
            .collect();
        assert_eq!(pairs, ["log.format", "log.level_source", "log.iostream"]);
        let body = |value: &Option<_>| match value {
            Some(opentelemetry_proto::tonic::common::v1::AnyValue {
                value: Some(Value::StringValue(text)),
                ..
            }) => text.clone(),
            _ => panic!("a string"),
        };
        assert!(body(&warning.body).ends_with(&long));
        assert_eq!(body(&plain.body), "plain");
    }
}

/// The body of the only record of a request.
fn body(request: &ExportLogsServiceRequest) -> String {
    let record = &request.resource_logs[0].scope_logs[0].log_records[0];
    match record.body.as_ref().and_then(|body| body.value.clone()) {
        Some(Value::StringValue(text)) => text,
        other => panic!("a string, not {other:?}"),
    }
}

/// The length of a record takes one byte, two, or three.
#[test]
fn records_of_every_length_are_framed() {
    for n_bytes in (1..300).chain(16_200..16_500) {
        let text = "x".repeat(n_bytes);
        let request = request(format!("{text}\n").as_bytes(), false);
        assert_eq!(body(&request), text, "{n_bytes} bytes");
    }
}

#[test]
fn containers_keep_apart_and_memory_is_used_again() {
    let origins = ["a", "b"].map(|name| Arc::new(Origin::parse("n_p_u", name).unwrap()));
    let mut builder = Builder::default();
    let mut room = Vec::new();
    for round in 0..3 {
        let mut stream = Stream::new(Wrapper::None, Context::default());
        for (turn, origin) in origins.iter().cycle().take(4).enumerate() {
            let line = format!("{round}{turn}\n");
            stream.push(line.as_bytes(), 0, |_| {});
            stream.finish(0, |entry| builder.add(origin, entry));
        }
        let batch = builder.take(false, std::mem::take(&mut room));
        assert_eq!(batch.n_records, 4);
        let request = ExportLogsServiceRequest::decode(&batch.body[..]).unwrap();
        let found: Vec<(String, usize)> = request
            .resource_logs
            .iter()
            .map(|logs| {
                let attributes = &logs.resource.as_ref().unwrap().attributes;
                let name = attributes.last().unwrap().value.clone().unwrap();
                let Some(Value::StringValue(name)) = name.value else {
                    panic!("a name")
                };
                (name, logs.scope_logs[0].log_records.len())
            })
            .collect();
        assert_eq!(found, [("a".to_owned(), 2), ("b".to_owned(), 2)]);
        room = batch.into_room();
        assert!(room.is_empty() && room.capacity() > 0);
    }
}
