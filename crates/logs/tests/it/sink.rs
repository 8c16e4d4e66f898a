//! A sink in this process that takes records, or does what sinks do on bad days.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use regex::bytes::Regex;

/// What the sink speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Otlp,
    Loki,
    Datadog,
}

/// How the sink answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// With this status, taking nothing.
    Status(u16),
    /// After a while.
    Slow,
    /// Not at all: it hangs up.
    HangsUp,
}

#[derive(Default)]
struct State {
    /// How often each counter was taken.
    seen: BTreeMap<u64, u32>,
    /// Everything that was taken.
    bodies: Vec<u8>,
    n_answers: u64,
}

/// A sink that listens on a port of its own until the test ends.
pub(crate) struct Sink {
    kind: Kind,
    port: u16,
    state: Arc<Mutex<State>>,
    mood: Arc<Mutex<Mood>>,
}

impl Sink {
    pub(crate) fn start(kind: Kind) -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sink = Sink {
            kind,
            port: listener.local_addr().unwrap().port(),
            state: Arc::default(),
            mood: Arc::new(Mutex::new(Mood::Well)),
        };
        let (state, mood) = (sink.state.clone(), sink.mood.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (state, mood) = (state.clone(), mood.clone());
                // A client that was killed breaks its connection; that is the test.
                std::thread::spawn(move || serve(stream?, kind, &state, &mood));
            }
        });
        sink
    }

    /// The sink in the agent's configuration.
    pub(crate) fn config(&self) -> String {
        let endpoint = format!("endpoint: 'http://127.0.0.1:{}'", self.port);
        match self.kind {
            Kind::Otlp => format!("otlp: {{{endpoint}}}"),
            Kind::Loki => format!("loki: {{{endpoint}}}"),
            Kind::Datadog => format!("datadog: {{{endpoint}, api_key: k}}"),
        }
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// How many different counters were taken.
    pub(crate) fn n_seen(&self) -> u64 {
        self.state.lock().unwrap().seen.len() as u64
    }

    /// How many were taken more than once, every repetition counted.
    pub(crate) fn n_repeated(&self) -> u64 {
        let state = self.state.lock().unwrap();
        state.seen.values().map(|times| u64::from(times - 1)).sum()
    }

    /// How many requests were answered.
    pub(crate) fn n_answers(&self) -> u64 {
        self.state.lock().unwrap().n_answers
    }

    /// Whether `part` is in anything that was taken.
    pub(crate) fn took(&self, part: &[u8]) -> bool {
        let state = self.state.lock().unwrap();
        memchr::memmem::find(&state.bodies, part).is_some()
    }
}

/// The counters in a body: `counter=12;`.
pub(crate) fn counters(body: &[u8]) -> Vec<u64> {
    let counter = Regex::new(r"counter=(\d+);").unwrap();
    counter
        .captures_iter(body)
        .map(|found| std::str::from_utf8(&found[1]).unwrap().parse().unwrap())
        .collect()
}

fn serve(
    stream: TcpStream,
    kind: Kind,
    state: &Mutex<State>,
    mood: &Mutex<Mood>,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let (mut line, mut n_bytes) = (String::new(), 0);
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let header = line.trim_end().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                n_bytes = value.trim().parse().map_err(io::Error::other)?;
            }
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; n_bytes];
        reader.read_exact(&mut body)?;
        let mood = *mood.lock().unwrap();
        let status = match mood {
            Mood::Status(status) => status,
            Mood::HangsUp => return Ok(()),
            Mood::Well | Mood::Slow => {
                if mood == Mood::Slow {
                    std::thread::sleep(Duration::from_millis(700));
                }
                take(&mut state.lock().unwrap(), &body);
                if kind == Kind::Loki { 204 } else { 200 }
            }
        };
        state.lock().unwrap().n_answers += 1;
        let answer = format!("HTTP/1.1 {status} x\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n");
        writer.write_all(answer.as_bytes())?;
    }
}

fn take(state: &mut State, body: &[u8]) {
    for n in counters(body) {
        *state.seen.entry(n).or_default() += 1;
    }
    state.bodies.extend_from_slice(body);
}
