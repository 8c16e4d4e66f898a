use std::{future::poll_fn, time::Duration};

use bytes::Bytes;
use futures::FutureExt;

use super::Room;

/// Ends when nothing is under way.
async fn empty(room: &Room) {
    poll_fn(|context| room.poll_empty(context)).await;
}

#[test]
fn bytes_count_until_their_last_copy_is_gone() {
    let room = Room::default();
    let first = room.lend(Bytes::from_static(b"first"));
    let second = room.lend(Bytes::from_static(b"second"));
    assert_eq!((&first[..], &second[..]), (&b"first"[..], &b"second"[..]));
    let rest = first.slice(2..);
    drop((first, second));
    assert_eq!(
        empty(&room).now_or_never(),
        None,
        "a part of the first is left"
    );
    drop(rest);
    assert_eq!(empty(&room).now_or_never(), Some(()));
}

#[test]
fn nothing_lent_is_nothing_to_wait_for() {
    let room = Room::default();
    assert_eq!(empty(&room).now_or_never(), Some(()));
    drop(room.lend(Bytes::new()));
    assert_eq!(empty(&room).now_or_never(), Some(()));
}

#[tokio::test]
async fn who_waits_goes_on_when_the_client_has_taken_everything() {
    let room = Room::default();
    let piece = room.lend(Bytes::from_static(b"piece"));
    let sent_late = async move {
        tokio::task::yield_now().await;
        drop(piece);
    };
    // Without a wake-up this never ends.
    let waits = tokio::spawn(async move { empty(&room).await });
    sent_late.await;
    tokio::time::timeout(Duration::from_secs(10), waits)
        .await
        .expect("the waker is called")
        .unwrap();
}
