//! Other people's clients.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::Flotilla;

/// What a client answered.
#[derive(Debug)]
pub struct Answer {
    /// Whether it ended with 0.
    pub ok: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    command: String,
}

/// kubectl against one context.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    context: Option<String>,
}

impl Kubectl {
    /// kubectl for the current context.
    pub fn new(flotilla: &Flotilla) -> Self {
        Self {
            kubeconfig: flotilla.kubeconfig(),
            context: None,
        }
    }

    /// kubectl with this kubeconfig.
    pub fn with_kubeconfig(file: impl Into<PathBuf>) -> Self {
        Self {
            kubeconfig: file.into(),
            context: None,
        }
    }

    /// kubectl for a cluster of a fleet.
    pub fn context(flotilla: &Flotilla, context: &str) -> Self {
        Self {
            kubeconfig: flotilla.kubeconfig(),
            context: Some(context.to_owned()),
        }
    }

    /// Runs `kubectl <line>`, split at spaces.
    pub fn run(&self, line: &str) -> Answer {
        self.args(&line.split_whitespace().collect::<Vec<_>>(), "")
    }

    /// Runs `kubectl <line>` with `input` on standard input.
    pub fn with_input(&self, line: &str, input: &str) -> Answer {
        self.args(&line.split_whitespace().collect::<Vec<_>>(), input)
    }

    /// Runs kubectl with these arguments and `input` on standard input.
    pub fn args(&self, arguments: &[&str], input: &str) -> Answer {
        let mut command = self.command();
        command.args(arguments);
        capture(command, input)
    }

    /// A kubectl command to be changed further, for environment variables or background runs.
    pub fn command(&self) -> Command {
        let mut command = kubectl();
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        if let Some(context) = &self.context {
            command.arg("--context").arg(context);
        }
        command
    }
}

/// kubectl without a cluster. `FLOTILLA_KUBECTL` names another program than the one on the path.
#[expect(
    clippy::disallowed_methods,
    reason = "which client to test with is said outside"
)]
pub fn kubectl() -> Command {
    Command::new(std::env::var("FLOTILLA_KUBECTL").unwrap_or_else(|_| "kubectl".into()))
}

impl Answer {
    /// Standard output of a call that must have worked.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn out(&self) -> &str {
        assert!(self.ok, "{}\n{}{}", self.command, self.stdout, self.stderr);
        &self.stdout
    }

    /// Standard error of a call that must have failed.
    ///
    /// # Panics
    /// When it worked.
    #[track_caller]
    pub fn err(&self) -> &str {
        assert!(
            !self.ok,
            "{} should have failed, it printed\n{}",
            self.command, self.stdout
        );
        &self.stderr
    }

    /// Checks that a call worked and printed `text`.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        let out = self.out();
        assert!(
            out.contains(text),
            "{}: no {text:?} in\n{out}{}",
            self.command,
            self.stderr
        );
        self
    }
}

/// Runs a command with `input` on standard input.
///
/// # Panics
/// When it cannot be started.
pub fn capture(mut command: Command, input: &str) -> Answer {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{shown}: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A client that does not read its input closes it early; that is no failure of the test.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("wait");
    Answer::new(shown, &output)
}

impl Answer {
    fn new(command: String, output: &Output) -> Self {
        Self {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            command,
        }
    }
}

/// The sorted addresses `dig +short` prints for `name` at `server`.
///
/// # Panics
/// When dig cannot be run.
pub fn dig_short(server: SocketAddr, name: &str, kind: &str) -> Vec<String> {
    let mut lines: Vec<String> = dig(server, &[name, kind, "+short"])
        .stdout
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines
}

/// Runs dig at `server` with one try of two seconds.
///
/// # Panics
/// When dig cannot be run.
pub fn dig(server: SocketAddr, arguments: &[&str]) -> Answer {
    let mut command = Command::new("dig");
    command
        .arg(format!("@{}", server.ip()))
        .arg("-p")
        .arg(server.port().to_string());
    command.args(["+tries=1", "+time=2"]).args(arguments);
    capture(command, "")
}
