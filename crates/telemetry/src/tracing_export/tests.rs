use std::time::Duration;

use opentelemetry::trace::{Tracer, TracerProvider};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Error, Settings, provider};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_span_reaches_the_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let endpoint = format!("http://{}", collector.local_addr().expect("address"));
    let received = tokio::spawn(async move {
        let (mut stream, _) = collector.accept().await.expect("accept");
        let mut request = Vec::new();
        let mut chunk = [0; 4096];
        while !request.windows(9).any(|window| window == b"tea-break") {
            let n = stream.read(&mut chunk).await.expect("read");
            assert!(n > 0, "the request ended early");
            request.extend_from_slice(&chunk[..n]);
        }
        let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(reply).await.expect("write");
        String::from_utf8_lossy(&request).into_owned()
    });
    let settings = Settings {
        service: "teapot",
        endpoint,
        sampling_ratio: 1.0,
    };
    let provider = provider(&settings, "0.0.0").expect("provider");
    drop(provider.tracer("test").start("tea-break"));
    tokio::task::spawn_blocking(move || provider.shutdown())
        .await
        .expect("join")
        .expect("flush");
    let request = tokio::time::timeout(Duration::from_secs(10), received).await;
    let request = request.expect("a request in time").expect("collector");
    assert!(
        request.starts_with("POST /v1/traces HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("teapot"), "the service has a name");
}

#[tokio::test]
async fn only_plain_http_endpoints_are_accepted() {
    for endpoint in ["localhost:4318", "https://collector", ""] {
        let settings = Settings {
            service: "teapot",
            endpoint: endpoint.to_owned(),
            sampling_ratio: 1.0,
        };
        let error = provider(&settings, "0.0.0").expect_err(endpoint);
        assert!(matches!(error, Error::Endpoint { .. }), "{error}");
    }
}
