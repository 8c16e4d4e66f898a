//! Spans as a collector receives them: what follows from one decision is one tree.

use std::{collections::BTreeMap, time::Duration};

use flotilla_telemetry::tracing_export::{self, Settings};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, trace::v1::Span,
};
use prost::Message;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt};

use crate::fleet::{Fleet, application, eventually};

/// Takes one request as OTLP/HTTP collectors do.
async fn receive(mut stream: TcpStream) -> Vec<Span> {
    let mut request = Vec::new();
    let body = loop {
        if let Some(at) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..at]).to_lowercase();
            let length = head
                .lines()
                .find_map(|l| l.strip_prefix("content-length: "));
            let end = at + 4 + length.unwrap().parse::<usize>().unwrap();
            if request.len() >= end {
                break at + 4..end;
            }
        }
        assert!(stream.read_buf(&mut request).await.unwrap() > 0);
    };
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(reply).await.unwrap();
    let message = ExportTraceServiceRequest::decode(&request[body]).unwrap();
    let scopes = message
        .resource_spans
        .into_iter()
        .flat_map(|r| r.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

async fn collect(listener: TcpListener, spans: mpsc::UnboundedSender<Span>) {
    while let Ok((stream, _)) = listener.accept().await {
        for span in receive(stream).await {
            // Whoever is not interested any more is gone.
            let _ = spans.send(span);
        }
    }
}

#[tokio::test]
async fn a_decision_and_its_writes_are_one_trace() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings {
        service: "k8gb",
        endpoint: format!("http://{}", listener.local_addr().unwrap()),
        sampling_ratio: 1.0,
    };
    let (sender, mut received) = mpsc::unbounded_channel();
    tokio::spawn(collect(listener, sender));
    let provider = tracing_export::provider(&settings, "0.0.0").unwrap();
    let layer = tracing_export::layer(&provider).with_filter(EnvFilter::new("off,flotilla=debug"));
    // Of a single subscriber, `tracing` asks the thread that comes to a span first, and those of other tests have none.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    // The runtime has this thread only, so all tasks of the cluster are traced and those of other tests are not.
    let traced = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));

    let fleet = Fleet::start(73, &["eu"], Duration::from_secs(5)).await;
    let eu = &fleet.clusters[0];
    application(eu, "192.0.2.1", json!({"type": "roundRobin"})).await;
    eventually("the DNSEndpoint is written", async || {
        let endpoint = eu.get(
            "externaldns.k8s.io/v1alpha1",
            "dnsendpoints",
            "default",
            "app",
        );
        endpoint.await.is_some()
    })
    .await;
    fleet.stop().await;
    drop(traced);
    let flush = tokio::task::spawn_blocking(move || provider.shutdown());
    flush.await.unwrap().unwrap();

    let mut spans = BTreeMap::new();
    while let Ok(span) = received.try_recv() {
        spans.insert(span.span_id.clone(), span);
    }
    for (child, parent) in [
        ("SaveDNSEndpoint", "Reconcile"),
        ("gslbDNSEndpoint", "Reconcile"),
    ] {
        let mut named = spans.values().filter(|span| span.name == child).peekable();
        assert!(named.peek().is_some(), "no {child} in {spans:#?}");
        for span in named {
            let above = &spans[&span.parent_span_id];
            assert_eq!(
                (above.name.as_str(), &above.trace_id),
                (parent, &span.trace_id)
            );
            assert!(above.parent_span_id.is_empty(), "{parent} is the root");
        }
    }
    let traces = |name: &str| {
        let named = spans.values().filter(|span| span.name == name);
        named.map(|span| span.trace_id.clone()).collect::<Vec<_>>()
    };
    let worked_out = traces("gslbDNSEndpoint");
    let saved = traces("SaveDNSEndpoint");
    assert!(
        saved.iter().any(|id| worked_out.contains(id)),
        "one trace leads from the decision to the written object"
    );
}
