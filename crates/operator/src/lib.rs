//! Controller scaffolding over kube-runtime: backoff, work queues, leader election, graceful stop
