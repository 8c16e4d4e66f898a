//! What every exporter says about its process.

use std::fmt::{self, Write};

/// Numbers of a process; what the system does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// Seconds of both kinds of CPU time.
    pub(crate) cpu_seconds: Option<f64>,
    /// Memory in use, in bytes.
    pub(crate) resident_bytes: Option<u64>,
    /// Address space, in bytes.
    pub(crate) virtual_bytes: Option<u64>,
    /// Start, in seconds since 1970.
    pub(crate) start_seconds: Option<f64>,
    /// Open files.
    pub(crate) open_fds: Option<u64>,
    /// Files it may open.
    pub(crate) max_fds: Option<u64>,
}

/// Ticks of the kernel's clocks in a second; the same on every Linux that exists.
const TICKS: f64 = 100.0;
/// Bytes of a page of memory in `stat`.
const PAGE: u64 = 4096;

impl Process {
    /// Reads `/proc/self/stat`, `/proc/stat` and `/proc/self/limits`.
    pub(crate) fn parse(own: &str, system: &str, limits: &str, open_fds: Option<u64>) -> Self {
        // The name may contain anything, but ends with the last parenthesis.
        let rest = own.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |n: usize| fields.get(n).and_then(|f| f.parse::<u64>().ok());
        let boot = system.lines().find_map(|l| l.strip_prefix("btime "));
        let boot = boot.and_then(|t| t.trim().parse::<f64>().ok());
        let files = limits.lines().find(|l| l.starts_with("Max open files"));
        let soft = files.and_then(|l| l.split_whitespace().nth(3)?.parse().ok());
        let cpu = number(11).zip(number(12)).map(|(user, own)| user + own);
        Self {
            cpu_seconds: cpu.map(|ticks| ticks as f64 / TICKS),
            resident_bytes: number(21).map(|pages| pages * PAGE),
            virtual_bytes: number(20),
            start_seconds: boot.zip(number(19)).map(|(b, t)| b + t as f64 / TICKS),
            open_fds,
            max_fds: soft,
        }
    }

    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        let mut put = |name: &str, help: &str, value: Option<f64>| match value {
            Some(value) => writeln!(
                out,
                "# HELP {name} {help}.\n# TYPE {name} gauge\n{name} {value}"
            ),
            None => Ok(()),
        };
        let whole = |value: Option<u64>| value.map(|v| v as f64);
        put(
            "process_resident_memory_bytes",
            "Memory in use",
            whole(self.resident_bytes),
        )?;
        put(
            "process_virtual_memory_bytes",
            "Address space",
            whole(self.virtual_bytes),
        )?;
        put(
            "process_start_time_seconds",
            "Start in seconds since 1970",
            self.start_seconds,
        )?;
        put("process_open_fds", "Open files", whole(self.open_fds))?;
        put("process_max_fds", "Files it may open", whole(self.max_fds))?;
        if let Some(seconds) = self.cpu_seconds {
            let name = "process_cpu_seconds";
            writeln!(out, "# HELP {name} CPU time.\n# TYPE {name} counter")?;
            writeln!(out, "{name}_total {seconds}")?;
        }
        Ok(())
    }
}
