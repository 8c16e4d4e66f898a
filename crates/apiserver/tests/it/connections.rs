//! Who gets a connection when they run out.

use std::{net::SocketAddr, time::Duration};

use flotilla_apiserver::{ApiServer, Config, Handle, engine::Limits};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::support::tls;

async fn server_for(connections_max: usize) -> Handle {
    server_with(Limits {
        connections_max,
        ..Limits::default()
    })
    .await
}

async fn server_with(limits: Limits) -> Handle {
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

/// A creation of which only the first byte of the body is sent.
async fn begin_to_create(server: &Handle) -> TlsStream<TcpStream> {
    let mut stream = open(server).await.unwrap();
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: a\r\n\
                content-type: application/json\r\ncontent-length: 80\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

async fn end_create(stream: &mut TlsStream<TcpStream>, name: &str) -> String {
    let rest = format!("\"metadata\":{{\"name\":\"{name}\"}},\"kind\":\"ConfigMap\"}}");
    let rest = format!("{rest:<79}");
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut buffer = vec![0; 12];
    match stream.read_exact(&mut buffer).await {
        Ok(_) => String::from_utf8(buffer).unwrap(),
        Err(_) => String::new(),
    }
}

#[tokio::test]
async fn bodies_that_come_slowly_take_no_place_from_others() {
    const PLACES: usize = 100;
    let server = server_with(Limits {
        writes_max: PLACES,
        slow_bodies_max: PLACES,
        body_is_slow_after: Duration::from_millis(200),
        ..Limits::default()
    })
    .await;
    let mut slow = Vec::new();
    for _ in 0..PLACES {
        slow.push(begin_to_create(&server).await);
    }
    let quick = async || loop {
        let mut stream = begin_to_create(&server).await;
        match end_create(&mut stream, "quick").await.as_str() {
            // The slow ones are not known as such yet.
            "HTTP/1.1 429" => tokio::time::sleep(Duration::from_millis(20)).await,
            other => return other.to_owned(),
        }
    };
    assert_eq!(
        quick().await,
        "HTTP/1.1 201",
        "beside as many slow ones as have a place"
    );

    let mut slower = begin_to_create(&server).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(
        end_create(&mut slower, "slower").await,
        "HTTP/1.1 429",
        "one more than may"
    );
    for (n, stream) in slow.iter_mut().enumerate() {
        assert_eq!(
            end_create(stream, &format!("slow-{n}")).await,
            "HTTP/1.1 201"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn heads_that_come_byte_by_byte_end_and_hinder_nobody() {
    let server = server_with(Limits {
        connections_max: 8,
        head_deadline: Duration::from_millis(500),
        ..Limits::default()
    })
    .await;
    let mut dripping = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let mut stream = open(&server).await.unwrap();
        dripping.spawn(async move {
            for byte in b"GET /version HTTP/1.1\r\nx: "
                .iter()
                .chain(std::iter::repeat(&b'a'))
            {
                if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
    }
    let mut stream = open(&server).await.unwrap();
    assert_eq!(get(&mut stream, "/version").await, "HTTP/1.1 200");
    let all_ended = async { while dripping.join_next().await.is_some() {} };
    let ended = tokio::time::timeout(Duration::from_secs(20), all_ended).await;
    assert!(
        ended.is_ok(),
        "the server closes what sends no whole head in time"
    );
    server.stop().await;
}
