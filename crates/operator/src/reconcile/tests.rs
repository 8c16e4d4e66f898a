use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Outcome, QueueMetrics, chain, run};
use crate::{Backoff, Queue};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[tokio::test(start_paused = true)]
async fn failures_and_panics_are_retried_until_they_succeed() {
    let queue: Queue<String> = Queue::new(Backoff::default());
    let metrics = QueueMetrics::default();
    let attempts = Arc::new(AtomicUsize::new(0));
    let (counted, stop) = (Arc::clone(&attempts), queue.clone());
    queue.add("a".to_owned());
    let reconcile = move |_key: String| {
        let (attempt, stop) = (counted.fetch_add(1, Ordering::SeqCst), stop.clone());
        async move {
            match attempt {
                0 => Err(Broken),
                1 => panic!("as bad as it gets"),
                2 => Ok(Outcome::Again(Duration::from_secs(5))),
                _ => {
                    stop.close();
                    Ok(Outcome::Wait)
                }
            }
        }
    };
    run("test", queue, 2, metrics.clone(), reconcile).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 4);
    assert_eq!(metrics.errors.get(), 2);
    assert_eq!(metrics.reconciles.get(), 4);
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write {name}")]
struct Refused {
    name: &'static str,
    #[source]
    source: kube::Error,
}

#[test]
fn a_refusal_is_told_in_the_servers_words_and_once() {
    let status = kube::core::Status::failure("teapots \"a\" is forbidden: too hot", "Forbidden");
    let error = Refused {
        name: "a",
        source: kube::Error::Api(status.boxed()),
    };
    assert_eq!(
        chain(&error),
        "cannot write a: teapots \"a\" is forbidden: too hot"
    );
    assert_eq!(chain(&Broken), "broken");
}
