//! Who gets a connection when they run out.

use std::net::SocketAddr;

use flotilla_apiserver::{ApiServer, Config, Handle, engine::Limits};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::support::tls;

async fn server_for(connections_max: usize) -> Handle {
    let limits = Limits {
        connections_max,
        ..Limits::default()
    };
    let listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let config = Config {
        listen,
        limits,
        ..Config::default()
    };
    ApiServer::start(config).await.unwrap()
}

async fn open(server: &Handle) -> std::io::Result<TlsStream<TcpStream>> {
    let pki = server.pki();
    tls(server.address().unwrap(), &pki.ca.certificate, &pki.admin).await
}

/// Sends a request and returns the first bytes of the answer; none when the connection is closed.
async fn get(stream: &mut TlsStream<TcpStream>, target: &str) -> String {
    let request = format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut buffer = vec![0; 12];
    if stream.write_all(request.as_bytes()).await.is_err() {
        return String::new();
    }
    match stream.read_exact(&mut buffer).await {
        Ok(_) => String::from_utf8(buffer).unwrap(),
        Err(_) => String::new(),
    }
}

#[tokio::test]
async fn idle_connections_make_room_and_busy_ones_stay() {
    let server = server_for(3).await;
    let watch = "/api/v1/configmaps?watch=true&resourceVersion=1";
    let mut watching = open(&server).await.unwrap();
    assert_eq!(get(&mut watching, watch).await, "HTTP/1.1 200");
    let mut idle = Vec::new();
    for _ in 0..20 {
        let mut stream = open(&server).await.unwrap();
        assert_eq!(get(&mut stream, "/version").await, "HTTP/1.1 200");
        idle.push(stream);
    }
    let n_open = async {
        let mut n_open = 0;
        for stream in &mut idle[..18] {
            let mut rest = Vec::new();
            n_open += usize::from(stream.read_to_end(&mut rest).await.is_err());
        }
        n_open
    };
    assert_eq!(n_open.await, 0, "the first eighteen were closed in order");
    for stream in &mut idle[18..] {
        assert_eq!(
            get(stream, watch).await.len(),
            12,
            "the last two are served"
        );
    }
    let refused = open(&server).await;
    assert!(refused.is_err(), "all three have a watch");
    drop(watching);
    let again = async {
        loop {
            if let Ok(mut stream) = open(&server).await {
                return get(&mut stream, "/version").await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    assert_eq!(again.await, "HTTP/1.1 200", "one of the watches is over");
    server.stop().await;
}
