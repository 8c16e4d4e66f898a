//! Processes that end with the test.

use std::process::{Child, Command};

/// A process, killed when dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started; the message names it.
    pub(crate) fn start(command: &mut Command) -> Running {
        let child = command.spawn();
        Running(child.unwrap_or_else(|error| panic!("start {command:?}: {error}")))
    }

    /// SIGKILL: no chance to write anything.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("kill");
        self.0.wait().expect("wait");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
