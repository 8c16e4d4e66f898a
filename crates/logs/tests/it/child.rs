//! The agent as a child of the test: this test binary again, running one test that is the agent.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::sink::Sink;

/// The agent's settings, in the folder the child runs in; where there are none, nothing is to be done.
const CONFIG: &str = "agent.yaml";

#[test]
#[ignore = "the body of the child process"]
fn agent() {
    if Path::new(CONFIG).exists() {
        tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
        let args = flotilla_logs::cli::Args::parse_from(["logs", "agent", "--config", CONFIG]);
        assert_eq!(flotilla_logs::cli::run(&args).unwrap(), ExitCode::SUCCESS);
    }
}

/// A folder with the logs of one container, and the agent that reads them.
pub(crate) struct Agent {
    folder: TempDir,
    pub(crate) logs: PathBuf,
    child: Child,
    /// What had been said when this child was started, in bytes.
    said_before: usize,
    pub(crate) resident_kib_max: u64,
}

impl Agent {
    /// Starts an agent that ships to `sink`.
    pub(crate) fn start(sink: &Sink) -> Agent {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let logs = root.join("pods/default_web-0_uid/main");
        fs::create_dir_all(&logs).unwrap();
        let config = format!(
            "directories: [{0}/pods]\ncheckpoint: {0}/at.json\nscan_interval_ms: 20\nbatch_wait_ms: 50\nsink:\n  {1}\n",
            root.display(),
            sink.config()
        );
        fs::write(root.join(CONFIG), config).unwrap();
        let child = spawn(root);
        Agent {
            folder,
            logs,
            child,
            said_before: 0,
            resident_kib_max: 0,
        }
    }

    /// Kills the agent without warning and starts it again.
    pub(crate) fn kill(&mut self) {
        self.look();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said_before = self.said().len();
        self.child = spawn(self.folder.path());
    }

    /// Asks the agent to end and returns what it said.
    pub(crate) fn end(mut self) -> String {
        // A signal before the agent listens would kill it.
        wait_until("the agent runs", || {
            self.said()[self.said_before..].contains("Log agent started")
        });
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.said()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    /// What the sink refused.
    pub(crate) fn refused(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("at.refused")).unwrap_or_default()
    }

    /// Notes how much memory the agent has.
    pub(crate) fn look(&mut self) {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.child.id()))
            .ok()
            .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
        self.resident_kib_max = self.resident_kib_max.max(pages.unwrap_or(0) * 4);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // After a clean end there is nobody to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &Path) -> Child {
    let said = File::options()
        .create(true)
        .append(true)
        .open(folder.join("said"))
        .unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["child::agent", "--exact", "--ignored", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
        .unwrap()
}

/// Waits until `is_so`, for at most a minute.
#[expect(clippy::disallowed_methods, reason = "the patience of a test")]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
