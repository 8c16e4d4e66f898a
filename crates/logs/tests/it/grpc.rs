//! The sink's gRPC side: OTLP's log service, as far as an exporter sees it.

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::sink::{Mood, State, take};

/// Takes connections until the test ends.
pub(crate) fn serve(listener: TcpListener, state: &Arc<Mutex<State>>, mood: &Arc<Mutex<Mood>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    listener.set_nonblocking(true).unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (state, mood) = (state.clone(), mood.clone());
            let service = service_fn(move |request| answer(request, state.clone(), mood.clone()));
            let connection = http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(socket), service);
            // A client that was killed breaks its connection; that is the test.
            tokio::spawn(connection);
        }
    });
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
    mood: Arc<Mutex<Mood>>,
) -> io::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await;
    let body = body.map_err(io::Error::other)?.to_bytes();
    // Not compressed, then the length.
    assert_eq!(
        (body[0], body[1..5].to_vec()),
        (0, (body.len() as u32 - 5).to_be_bytes().to_vec())
    );
    let mood = *mood.lock().unwrap();
    let code = match mood {
        Mood::HangsUp => return Err(io::Error::other("hangs up")),
        Mood::Nonsense => None,
        // Invalid argument, resource exhausted, unavailable.
        Mood::Status(400) => Some("3"),
        Mood::Status(429) => Some("8"),
        Mood::Status(_) => Some("14"),
        Mood::Well | Mood::Slow | Mood::Silent => {
            if mood == Mood::Slow {
                tokio::time::sleep(Duration::from_millis(700)).await;
            }
            take(&mut state.lock().unwrap(), &body[5..]);
            if mood == Mood::Silent {
                std::future::pending::<()>().await;
            }
            Some("0")
        }
    };
    state.lock().unwrap().n_answers += 1;
    let mut answer = Response::builder().header("content-type", "application/grpc");
    if let Some(code) = code {
        answer = answer.header("grpc-status", code);
    }
    answer.body(Full::default()).map_err(io::Error::other)
}
