//! `flotilla logs agent` as a node runs it: pods that write, rotation, kills, and a configuration with mistakes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use flotilla_testkit::wait_until;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary;

const LIMIT: Duration = Duration::from_secs(60);
/// Lines between two kills.
const LINES: u64 = 200;

/// A node: a container's log, the agent's file and what it ships.
struct Node {
    folder: TempDir,
    log: PathBuf,
    n_written: u64,
}

impl Node {
    fn new() -> Node {
        let folder = TempDir::new().expect("folder");
        let container = folder.path().join("pods/shop_web-0_5f1c/app");
        fs::create_dir_all(&container).expect("folder of the container");
        let config = format!(
            "directories: [{0}/pods]\ncheckpoint: {0}/positions.json\nscan_interval_ms: 20\nbatch_wait_ms: 20\n\
             sink:\n  file: {{path: {0}/shipped.json}}\n",
            folder.path().display()
        );
        fs::write(folder.path().join("agent.yaml"), config).expect("configuration");
        let log = container.join("0.log");
        Node {
            folder,
            log,
            n_written: 0,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn agent(&self) -> Child {
        let mut command = Command::new(binary());
        command
            .args(["logs", "agent", "--log", "warn", "--config"])
            .arg(self.path("agent.yaml"));
        command
            .stdin(Stdio::null())
            .spawn()
            .expect("start the agent")
    }

    /// Writes klog lines as a container runtime does, each third one as an error.
    fn write(&mut self) {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .expect("log");
        for n in self.n_written..self.n_written + LINES {
            let letter = if n % 3 == 0 { 'E' } else { 'I' };
            let line = format!("{letter}0911 07:22:25.408586       1 web.go:93] served n={n}");
            writeln!(log, "2026-09-11T07:22:25.408586123Z stderr F {line}").expect("write");
        }
        self.n_written += LINES;
    }

    /// Rotates as kubelet does: the file is renamed and a new one begun.
    fn rotate(&self, suffix: u64) {
        fs::rename(
            &self.log,
            self.log.with_extension(format!("log.2026091{suffix}")),
        )
        .expect("rename");
        File::create(&self.log).expect("a new file");
    }

    /// Levels of what was shipped, by the number in the message, with how often it came.
    fn shipped(&self) -> BTreeMap<u64, (String, usize)> {
        let mut found = BTreeMap::new();
        let text = fs::read_to_string(self.path("shipped.json")).unwrap_or_default();
        // A kill may cut the last record; the next one begins on a line of its own.
        for record in text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        {
            let message = record["msg"].as_str().unwrap_or_default();
            let number = message.rsplit('=').next().and_then(|n| n.parse().ok());
            let number = number.or_else(|| record["fields"]["n"].as_str()?.parse().ok());
            let number = number.unwrap_or_else(|| panic!("no number in {record}"));
            let level = record["level"].as_str().unwrap_or_default().to_owned();
            found.entry(number).or_insert((level, 0)).1 += 1;
        }
        found
    }
}

#[test]
fn the_agent_ships_every_line_through_kills_and_rotation() {
    let mut node = Node::new();
    for round in 0..4 {
        let mut agent = node.agent();
        node.write();
        let seen = round * LINES;
        wait_until("some lines of this round", LIMIT, || {
            (node.shipped().len() as u64 > seen).then_some(())
        });
        node.write();
        node.rotate(round);
        node.write();
        agent.kill().expect("kill");
        agent.wait().expect("wait");
    }
    let mut agent = node.agent();
    let n_written = node.n_written as usize;
    wait_until("every line", LIMIT, || {
        (node.shipped().len() == n_written).then_some(())
    });
    agent.kill().expect("kill");
    agent.wait().expect("wait");
    for (n, (level, times)) in node.shipped() {
        assert_eq!(level, if n % 3 == 0 { "error" } else { "info" }, "line {n}");
        // Each kill may repeat what was on its way.
        assert!(times <= 5, "line {n} came {times} times");
    }
}

#[test]
fn mistakes_in_the_agents_file_are_told_with_their_place() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("agent.yaml");
    let check = |text: &str| {
        fs::write(&file, text).expect("file");
        run(&["logs", "agent", "--check", "--config"], &file)
    };
    let sound = "directories: [/var/log/pods]\ncheckpoint: /tmp/x\nsink:\n  stdout: {}\n";
    let (succeeded, said) = check(sound);
    assert!(succeeded, "{said}");
    for (text, place, words) in [
        (sound.replace("stdout", "stdoud"), "4:3", "stdoud"),
        (
            sound.replace("checkpoint", "checkpiont"),
            "2:1",
            "checkpiont",
        ),
        (format!("{sound}batch_bytes: many\n"), "5:14", "batch_bytes"),
    ] {
        let (succeeded, said) = check(&text);
        assert!(!succeeded, "{text}");
        assert!(
            said.contains(place) && said.contains(words),
            "no {place} or {words} in\n{said}"
        );
    }
}

fn run(arguments: &[&str], file: &Path) -> (bool, String) {
    let output = Command::new(binary())
        .args(arguments)
        .arg(file)
        .output()
        .expect("run");
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}
