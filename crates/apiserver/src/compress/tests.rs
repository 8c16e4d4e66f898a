use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use futures::stream;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;

use super::{SMALL_BYTES_MAX, is_accepted, large};
use crate::body::{self, Body};

async fn sent(body: Body) -> (bool, Vec<u8>) {
    let response = large(Response::new(body)).await;
    let headers = response.headers();
    let is_packed = headers.contains_key(header::CONTENT_ENCODING);
    assert_eq!(is_packed, headers.contains_key(header::VARY));
    let body = response.into_body().collect().await;
    let bytes = body.expect("infallible").to_bytes().to_vec();
    (is_packed, bytes)
}

fn unpack(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut decoder = GzDecoder::new(bytes);
    decoder.read_to_end(&mut out).expect("a gzip stream");
    out
}

/// Text that does not compress to nothing.
fn text(len: usize) -> Vec<u8> {
    let words = (0_u64..).flat_map(|n| {
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .to_string()
            .into_bytes()
    });
    words.take(len).collect()
}

#[tokio::test]
async fn only_what_is_larger_than_the_threshold_is_compressed() {
    for (len, expected) in [
        (0, false),
        (SMALL_BYTES_MAX, false),
        (SMALL_BYTES_MAX + 1, true),
        (3_000_000, true),
    ] {
        let (is_packed, bytes) = sent(body::full(text(len))).await;
        assert_eq!(is_packed, expected, "{len}");
        let bytes = if is_packed { unpack(&bytes) } else { bytes };
        assert!(bytes == text(len), "{len}");
    }
}

#[tokio::test]
async fn streams_keep_their_order() {
    for (n, expected) in [(3, false), (40, true)] {
        let pieces = (0..n).map(|at: usize| Bytes::from(vec![at as u8; 10_000]));
        let whole: Vec<u8> = pieces.clone().flatten().collect();
        let (is_packed, bytes) = sent(body::stream(stream::iter(pieces))).await;
        assert_eq!(is_packed, expected);
        let bytes = if is_packed { unpack(&bytes) } else { bytes };
        assert!(bytes == whole);
    }
}

#[tokio::test]
async fn what_is_encoded_already_stays_so() {
    let mut response = Response::new(body::full(text(500_000)));
    let encoding = HeaderValue::from_static("gzip");
    response
        .headers_mut()
        .insert(header::CONTENT_ENCODING, encoding);
    let bytes = large(response).await.into_body().collect().await;
    assert_eq!(bytes.expect("infallible").to_bytes().len(), 500_000);
}

#[test]
fn the_word_has_to_stand_alone() {
    let accepted = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert("accept-encoding", HeaderValue::from_static(value));
        is_accepted(&headers)
    };
    assert!(accepted("gzip"));
    assert!(accepted("deflate, gzip, br"));
    assert!(!accepted("gzip;q=0"));
    assert!(!accepted("br"));
}
