use prometheus_client::metrics::counter::Counter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{SharedRegistry, listen};

async fn get(address: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connect");
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("read");
    text
}

#[tokio::test]
async fn metrics_are_served_and_unknown_paths_say_what_is_there() {
    let registry = SharedRegistry::default();
    let counter: Counter = Counter::default();
    registry.with(|r| r.register("tea_cups", "Cups of tea", counter.clone()));
    counter.inc_by(3);
    let stop = CancellationToken::new();
    let any_port = "127.0.0.1:0".parse().expect("address");
    let (address, serving) = listen(any_port, registry, stop.clone())
        .await
        .expect("bind");
    let server = tokio::spawn(serving);

    let page = get(
        address,
        "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(page.contains("tea_cups_total 3\n"), "{page}");
    assert!(page.contains("# EOF"), "{page}");
    let lost = get(
        address,
        "GET /tea HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(lost.starts_with("HTTP/1.1 404"), "{lost}");
    let post = get(
        address,
        "POST /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    )
    .await;
    assert!(post.starts_with("HTTP/1.1 405"), "{post}");

    let taken = listen(address, SharedRegistry::default(), stop.clone())
        .await
        .err();
    let text = taken.expect("the port is taken").to_string();
    assert!(
        text.contains(&address.to_string()) && text.contains("--metrics-address"),
        "{text}"
    );
    stop.cancel();
    server.await.expect("server");
}
