use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::config::Config;
use super::run;

fn config(folder: &Path) -> Config {
    let text = format!(
        "directories: [{0}/pods]\ncheckpoint: {0}/at.json\nscan_interval_ms: 10\nbatch_wait_ms: 20\nsink:\n  file:\n    path: {0}/out\n",
        folder.display()
    );
    Config::parse(&text).unwrap()
}

/// The counters that arrived, with how often.
fn arrived(folder: &Path) -> BTreeMap<u64, u32> {
    let mut seen = BTreeMap::new();
    for line in fs::read_to_string(folder.join("out"))
        .unwrap_or_default()
        .lines()
    {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["k8s"]["pod"], "web-0");
        let n = value["msg"]
            .as_str()
            .and_then(|text| text.strip_prefix("n=")?.parse().ok());
        *seen.entry(n.unwrap()).or_default() += 1;
    }
    seen
}

/// Runs the agent beside `work`, then stops it.
async fn beside(folder: &Path, work: impl AsyncFnOnce()) {
    let (stop, stopped) = watch::channel(false);
    let agent = tokio::spawn(run(config(folder), stopped));
    work().await;
    stop.send(true).unwrap();
    agent.await.unwrap().unwrap();
}

fn line(n: u64) -> String {
    format!(
        "2026-09-11T07:22:25.{:09}Z stderr F I0911 07:22:25.408586       1 a.go:1] n={n}\n",
        n
    )
}

#[tokio::test]
async fn rotations_and_restarts_lose_and_repeat_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("pods/default_web-0_uid/main");
    fs::create_dir_all(&logs).unwrap();
    let path = logs.join("0.log");
    let mut n = 0;
    for round in 0..3 {
        beside(folder.path(), async || {
            for turn in 0..10 {
                let mut file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&path)
                    .unwrap();
                for _ in 0..50 {
                    file.write_all(line(n).as_bytes()).unwrap();
                    n += 1;
                }
                tokio::time::sleep(Duration::from_millis(15)).await;
                fs::rename(&path, logs.join(format!("0.log.{round}-{turn}"))).unwrap();
                // Written through the old handle after the renaming.
                file.write_all(line(n).as_bytes()).unwrap();
                n += 1;
            }
            tokio::time::sleep(Duration::from_millis(900)).await;
        })
        .await;
    }
    let seen = arrived(folder.path());
    assert_eq!(seen.len() as u64, n);
    assert!(
        seen.values().all(|times| *times == 1),
        "a clean stop repeats nothing"
    );
}

#[tokio::test]
async fn fragments_and_tracebacks_across_a_restart_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("pods/default_web-0_uid/main");
    fs::create_dir_all(&logs).unwrap();
    let path = logs.join("0.log");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"2026-09-11T07:22:25Z stderr F level=info msg=n=0\n2026-09-11T07:22:25Z stderr P level=info msg=\"n=").unwrap();
    file.write_all(b"1\n").unwrap();
    beside(folder.path(), async || {
        tokio::time::sleep(Duration::from_millis(800)).await
    })
    .await;
    file.write_all(b"2026-09-11T07:22:26Z stderr F 23\"\n")
        .unwrap();
    beside(folder.path(), async || {
        tokio::time::sleep(Duration::from_millis(800)).await
    })
    .await;
    assert_eq!(arrived(folder.path()), BTreeMap::from([(0, 1), (123, 1)]));
}
