//! From the start of the process to the first `ok`, and memory after that.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flotilla_testkit::{free_port, interrupt_process};

use crate::report::Report;

const RUNS: usize = 9;

/// One way to start.
struct Case {
    name: &'static str,
    arguments: &'static [&'static str],
    on_disk: bool,
    boot_target: &'static str,
    memory_target: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        name: "one cluster in memory",
        arguments: &[],
        on_disk: false,
        boot_target: "≤ 150 ms",
        memory_target: "≤ 60 MB",
    },
    Case {
        name: "one cluster on disk",
        arguments: &[],
        on_disk: true,
        boot_target: "≤ 150 ms",
        memory_target: "≤ 60 MB",
    },
    Case {
        name: "fleet of three on disk",
        arguments: &["--fleet", "eu,us,za"],
        on_disk: true,
        boot_target: "≤ 600 ms",
        memory_target: "≤ 120 MB",
    },
];

pub(crate) fn measure(binary: &Path, report: &mut Report) -> Result<()> {
    eprintln!("boot");
    for case in &CASES {
        let mut times = Vec::new();
        let mut memory = Vec::new();
        for run in 0..RUNS {
            let (took, kilobytes) = once(binary, case, run == 0)?;
            times.push(took);
            memory.extend(kilobytes);
        }
        let what = format!("start to `kubectl get --raw /readyz` = ok, {}", case.name);
        report.times(&what, times, case.boot_target);
        for kilobytes in memory {
            let value = format!("{:.1} MB", kilobytes as f64 / 1024.0);
            report.add(
                format!("resident memory, idle, {}", case.name),
                value,
                case.memory_target,
            );
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
fn once(binary: &Path, case: &Case, weigh: bool) -> Result<(Duration, Option<u64>)> {
    let folder = tempfile::tempdir()?;
    let data = if case.on_disk {
        folder.path().join("data")
    } else {
        ":memory:".into()
    };
    let kubeconfig = folder.path().join("kubeconfig");
    let mut command = Command::new(binary);
    command
        .args(["--log", "error", "up", "--port", "0", "--dns-port"])
        .arg(free_port().to_string());
    command
        .arg("--data-dir")
        .arg(data)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(case.arguments);
    command.stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("start {}", binary.display()))?;
    let took = first_ok(&kubeconfig, start);
    let memory = match (&took, weigh) {
        (Ok(_), true) => {
            std::thread::sleep(Duration::from_secs(3));
            Some(resident_kilobytes(child.id())?)
        }
        _ => None,
    };
    stop(&mut child);
    Ok((took?, memory))
}

fn first_ok(kubeconfig: &Path, start: Instant) -> Result<Duration> {
    loop {
        if start.elapsed() > Duration::from_secs(30) {
            bail!("not ready after 30 s");
        }
        if !kubeconfig.exists() {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let output = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["get", "--raw", "/readyz"])
            .output()
            .context("run kubectl")?;
        if output.stdout == b"ok" {
            return Ok(start.elapsed());
        }
    }
}

/// Resident memory of a process.
pub(crate) fn resident_kilobytes(id: u32) -> Result<u64> {
    let path = format!("/proc/{id}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .context("VmRSS")?;
    let number = line.split_whitespace().nth(1).context("a number")?;
    Ok(number.parse()?)
}

/// CPU time a process has used.
pub(crate) fn cpu_time(id: u32) -> Result<Duration> {
    let path = format!("/proc/{id}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    // The name in parentheses may hold spaces; utime and stime are fields 14 and 15 of proc(5).
    let after_name = stat.rsplit(')').next().context("fields")?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |index: usize| -> Result<u64> { Ok(fields.get(index).context("field")?.parse()?) };
    // Linux counts in hundredths of a second for user space on every architecture.
    Ok(Duration::from_millis((ticks(11)? + ticks(12)?) * 10))
}

fn stop(child: &mut Child) {
    interrupt_process(child.id());
    let _ = child.wait();
}
