//! A running `flotilla up`.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long a start may take before a test gives up on it. Generous, because debug builds on busy
/// machines are slow; speed is asserted in benchmarks.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A `flotilla up` of its own; stopped when dropped.
#[derive(Debug)]
pub struct Flotilla {
    child: Child,
    folder: Folder,
    /// Port of every DNS server it runs.
    pub dns_port: u16,
    /// What it printed until it was ready.
    pub greeting: String,
}

#[derive(Debug)]
enum Folder {
    Own(TempDir),
    Borrowed(PathBuf),
}

impl Flotilla {
    /// Starts `binary up` with `arguments` and waits until it says that it is up. State and
    /// kubeconfig go to a temporary folder, ports are free ones unless `--dns-port` is given.
    ///
    /// # Panics
    /// When it does not come up; its output is part of the message.
    pub fn up(binary: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self::start(binary.as_ref(), Folder::Own(folder), arguments)
    }

    /// Like [`up`](Self::up) with state that outlives the process.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn up_in(binary: impl AsRef<Path>, folder: &Path, arguments: &[&str]) -> Self {
        Self::start(
            binary.as_ref(),
            Folder::Borrowed(folder.to_owned()),
            arguments,
        )
    }

    fn start(binary: &Path, folder: Folder, arguments: &[&str]) -> Self {
        let mut pairs = arguments.windows(2);
        let wanted = pairs.find(|pair| pair[0] == "--dns-port");
        let dns_port = wanted.map_or_else(free_port, |pair| pair[1].parse().expect("a port"));
        let mut command = Command::new(binary);
        command.arg("up").args(["--port", "0"]);
        if wanted.is_none() {
            command.arg("--dns-port").arg(dns_port.to_string());
        }
        if !arguments.contains(&"--data-dir") {
            command.arg("--data-dir").arg(folder.path());
        }
        command
            .arg("--kubeconfig")
            .arg(folder.path().join("kubeconfig"))
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("start {binary:?}: {error}"));
        let stdout = child.stdout.take().expect("stdout is piped");
        let (tx, rx) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if tx.send(line).is_err() {
                    return;
                }
            }
        });
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            match rx.recv_timeout(START_LIMIT) {
                Ok(line) => greeting = greeting + &line + "\n",
                Err(error) => {
                    let _ = child.kill();
                    panic!("flotilla up did not come up ({error}); it printed:\n{greeting}");
                }
            }
        }
        Self {
            child,
            folder,
            dns_port,
            greeting,
        }
    }

    /// The kubeconfig it wrote.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the signal of Ctrl-C and waits for the end.
    ///
    /// # Panics
    /// When it does not end within half a minute.
    pub fn interrupt(mut self) -> ExitStatus {
        self.signal(Signal::INT);
        let (status, _) = crate::wait_until("a clean stop", Duration::from_secs(30), || {
            self.child.try_wait().expect("wait")
        });
        status
    }

    /// Sends SIGTERM, as supervisors do.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        signal_process(self.child.id(), signal);
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }
}

impl Drop for Flotilla {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Borrowed(folder) => folder,
        }
    }
}

/// Runs the binary to its end with `arguments`.
///
/// # Panics
/// When it cannot be started or does not end within a minute.
pub fn run(binary: impl AsRef<Path>, arguments: &[&str]) -> Output {
    let binary = binary.as_ref();
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("start {binary:?}: {error}"));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let what = format!("{binary:?} {arguments:?} ends");
        crate::wait_until(&what, START_LIMIT, || child.try_wait().expect("wait"))
    }));
    if let Err(panic) = ended {
        let _ = child.kill();
        std::panic::resume_unwind(panic);
    }
    child.wait_with_output().expect("read its output")
}

/// Sends the signal of Ctrl-C to a process.
///
/// # Panics
/// When there is no such process.
pub fn interrupt_process(id: u32) {
    signal_process(id, Signal::INT);
}

fn signal_process(id: u32, signal: Signal) {
    let pid = i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .expect("process ids are positive");
    kill_process(pid, signal).unwrap_or_else(|error| panic!("signal process {id}: {error}"));
}

/// Ports to hand out: below those the kernel gives to outgoing connections and to port 0 (32,768
/// and up on Linux), so that neither can take one between this choice and its use.
const PORTS: std::ops::Range<u16> = 10_000..30_000;

/// A port that is free for UDP and TCP on the loopback address, and that no other test of this
/// process is given. Processes begin at different places.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let places = u32::from(PORTS.end - PORTS.start);
    let first = std::process::id().wrapping_mul(7_919);
    for _ in 0..places {
        let place = first.wrapping_add(TAKEN.fetch_add(1, Relaxed)) % places;
        let port = PORTS.start + u16::try_from(place).expect("less than the number of ports");
        let address = ("127.0.0.1", port);
        if UdpSocket::bind(address).is_ok() && TcpListener::bind(address).is_ok() {
            return port;
        }
    }
    panic!("no port of {PORTS:?} is free");
}
