//! Tasks that end with their owner.

use std::future::Future;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A set of named tasks and the token that stops them.
///
/// [`stop`](Self::stop) is the clean way out; dropping the set aborts what still runs.
#[derive(Debug)]
pub struct Tasks {
    token: CancellationToken,
    running: JoinSet<&'static str>,
}

impl Tasks {
    /// An empty set whose tasks also stop when `parent` is cancelled.
    pub fn new(parent: &CancellationToken) -> Self {
        Self {
            token: parent.child_token(),
            running: JoinSet::new(),
        }
    }

    /// The token that tasks of this set watch.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Runs `task` until it ends or the set is stopped.
    pub fn spawn<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let token = self.token.clone();
        self.running.spawn(async move {
            tokio::select! {
                () = task => if !token.is_cancelled() {
                    tracing::debug!(task = name, "Task ended by itself");
                },
                () = token.cancelled() => {}
            }
            name
        });
    }

    /// Runs `task`, which watches the token itself because it has something to finish.
    pub fn spawn_graceful<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.running.spawn(async move {
            task.await;
            name
        });
    }

    /// Aborts every task where it stands; nothing is finished.
    pub fn abort(mut self) {
        self.running.abort_all();
    }

    /// Cancels every task and waits for all of them.
    pub async fn stop(mut self) {
        self.token.cancel();
        while let Some(ended) = self.running.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                tracing::error!(%error, "Task panicked");
            }
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.token.cancel();
    }
}
