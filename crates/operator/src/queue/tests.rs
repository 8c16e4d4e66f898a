use std::time::Duration;

use super::{Backoff, Queue};

fn queue() -> Queue<&'static str> {
    Queue::new(Backoff {
        first: Duration::from_millis(10),
        max: Duration::from_millis(80),
    })
}

#[tokio::test]
async fn a_key_added_twice_is_handed_out_once() {
    let queue = queue();
    queue.add("a");
    queue.add("a");
    queue.add("b");
    assert_eq!(queue.next().await, Some("a"));
    assert_eq!(queue.next().await, Some("b"));
    assert_eq!(queue.depth(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_worked_on_comes_back_when_done() {
    let queue = queue();
    queue.add("a");
    assert_eq!(queue.next().await, Some("a"));
    queue.add("a");
    let early = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
    assert!(early.is_err(), "two workers held the same key");
    queue.done(&"a");
    assert_eq!(queue.next().await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_several_delays_wins() {
    let queue = queue();
    let start = tokio::time::Instant::now();
    queue.add_after("a", Duration::from_secs(60));
    queue.add_after("a", Duration::from_secs(5));
    queue.add_after("a", Duration::from_secs(30));
    assert_eq!(queue.next().await, Some("a"));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    queue.done(&"a");
    assert!(
        tokio::time::timeout(Duration::from_secs(120), queue.next())
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn failures_back_off_exponentially_up_to_the_limit_and_are_forgotten() {
    let queue = queue();
    let waits: Vec<u128> = (0..5).map(|_| queue.retry("a").as_millis()).collect();
    assert_eq!(waits, [10, 20, 40, 80, 80]);
    queue.forget(&"a");
    assert_eq!(queue.retry("a").as_millis(), 10);
}

#[tokio::test]
async fn closing_releases_every_worker() {
    let queue = queue();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for worker in workers {
        assert_eq!(worker.await.expect("worker"), None);
    }
}

#[test]
fn backoff_never_overflows() {
    let backoff = Backoff::default();
    assert_eq!(backoff.after(0), backoff.first);
    assert_eq!(backoff.after(u32::MAX), backoff.max);
}
