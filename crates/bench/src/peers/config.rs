//! How each of the other servers is told to serve one zone on loopback with one thread, and nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

/// Another server.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    /// Writes what it needs into a folder, which has the zone in `zone`, and gives the command that serves on a port.
    pub(super) command: fn(&Path, &Path, u16) -> Result<Command>,
}

/// In the order they are measured.
pub(super) const PEERS: [Peer; 3] = [
    Peer {
        name: "NSD",
        program: "nsd",
        command: nsd,
    },
    Peer {
        name: "Knot",
        program: "knotd",
        command: knot,
    },
    Peer {
        name: "BIND",
        program: "named",
        command: bind,
    },
];

fn nsd(program: &Path, folder: &Path, port: u16) -> Result<Command> {
    let at = folder.display();
    let text = format!(
        "server:\n  ip-address: 127.0.0.1@{port}\n  server-count: 1\n  do-ip6: no\n  username: \"\"\n  \
         zonesdir: \"{at}\"\n  zonelistfile: \"{at}/nsd.list\"\n  xfrdfile: \"\"\n  xfrdir: \"{at}\"\n  \
         pidfile: \"\"\n  logfile: \"{at}/nsd.log\"\n  rrl-ratelimit: 0\n  minimal-responses: yes\n\
         remote-control:\n  control-enable: no\n\
         zone:\n  name: cloud.example.com\n  zonefile: zone\n"
    );
    fs::write(folder.join("nsd.conf"), text)?;
    let mut command = Command::new(program);
    command.arg("-d").arg("-c").arg(folder.join("nsd.conf"));
    Ok(command)
}

fn knot(program: &Path, folder: &Path, port: u16) -> Result<Command> {
    let at = folder.display();
    let text = format!(
        "server:\n  rundir: {at}\n  listen: 127.0.0.1@{port}\n  udp-workers: 1\n  tcp-workers: 1\n  \
         background-workers: 1\n\
         log:\n  - target: stderr\n    any: error\n\
         database:\n  storage: {at}\n\
         template:\n  - id: default\n    storage: {at}\n    semantic-checks: off\n    journal-content: none\n    \
         zonefile-sync: -1\n\
         zone:\n  - domain: cloud.example.com\n    file: zone\n"
    );
    fs::write(folder.join("knot.conf"), text)?;
    let mut command = Command::new(program);
    command.arg("-c").arg(folder.join("knot.conf"));
    Ok(command)
}

fn bind(program: &Path, folder: &Path, port: u16) -> Result<Command> {
    let at = folder.display();
    let text = format!(
        "options {{ directory \"{at}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; \
         recursion no; pid-file none; session-keyfile none; querylog no; minimal-responses yes; notify no; }};\n\
         controls {{ }};\n\
         zone \"cloud.example.com\" {{ type primary; file \"zone\"; }};\n"
    );
    fs::write(folder.join("named.conf"), text)?;
    let mut command = Command::new(program);
    command
        .args(["-f", "-n", "1", "-c"])
        .arg(folder.join("named.conf"));
    Ok(command)
}
