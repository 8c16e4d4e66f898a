//! A sink in this process that takes records, or does what sinks do on bad days.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, any_value};
use prost::Message;
use regex::bytes::Regex;
use serde_json::Value;

use crate::grpc;

/// What the sink speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Otlp,
    Grpc,
    Loki,
    Datadog,
}

/// Every kind.
pub(crate) const KINDS: [Kind; 4] = [Kind::Otlp, Kind::Grpc, Kind::Loki, Kind::Datadog];

/// How the sink answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// With this status, taking nothing.
    Status(u16),
    /// After a while.
    Slow,
    /// Never, although it takes what it gets: a kill now makes the agent send it again.
    Silent,
    /// Not at all: it hangs up.
    HangsUp,
    /// With what is no answer.
    Nonsense,
}

#[derive(Default)]
pub(crate) struct State {
    /// How often each counter was taken.
    seen: BTreeMap<u64, u32>,
    /// Everything that was taken.
    bodies: Vec<Vec<u8>>,
    pub(crate) n_answers: u64,
}

/// A sink that listens on a port of its own until the test ends.
pub(crate) struct Sink {
    kind: Kind,
    port: u16,
    state: Arc<Mutex<State>>,
    mood: Arc<Mutex<Mood>>,
}

/// One record as it was taken.
struct Taken {
    text: Vec<u8>,
    /// Id and ordinal of a part.
    part: Option<(String, u64)>,
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
            if kind == Kind::Grpc {
                return grpc::serve(listener, &state, &mood);
            }
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
            Kind::Grpc => format!("otlp: {{{endpoint}, protocol: grpc}}"),
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

    /// How many batches were taken.
    pub(crate) fn n_taken(&self) -> usize {
        self.state.lock().unwrap().bodies.len()
    }

    /// The lines that were taken, in the order of their bytes; parts are put together in the order of their numbers.
    pub(crate) fn lines(&self) -> Vec<Vec<u8>> {
        let (mut lines, mut parts) = (Vec::new(), BTreeMap::<_, BTreeMap<_, _>>::new());
        for body in &self.state.lock().unwrap().bodies {
            for taken in records(self.kind, body) {
                match taken.part {
                    None => lines.push(taken.text),
                    Some((id, ordinal)) => {
                        parts.entry(id).or_default().insert(ordinal, taken.text);
                    }
                }
            }
        }
        lines.extend(parts.into_values().map(|parts| {
            let parts: Vec<_> = parts.into_values().collect();
            parts.concat()
        }));
        lines.sort();
        lines
    }
}

/// The records of a batch.
fn records(kind: Kind, body: &[u8]) -> Vec<Taken> {
    match kind {
        Kind::Otlp | Kind::Grpc => otlp_records(body),
        Kind::Loki => {
            let batch: Value = serde_json::from_slice(body).unwrap();
            let streams = batch["streams"].as_array().unwrap();
            let values = streams
                .iter()
                .flat_map(|stream| stream["values"].as_array().unwrap());
            values
                .map(|value| json_record(&value[1], &value[2]))
                .collect()
        }
        Kind::Datadog => {
            let batch: Vec<Value> = serde_json::from_slice(body).unwrap();
            batch
                .iter()
                .map(|record| json_record(&record["message"], record))
                .collect()
        }
    }
}

fn json_record(text: &Value, about: &Value) -> Taken {
    // Loki's metadata are strings, Datadog's attributes are not.
    let ordinal = match &about["partial_ordinal"] {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let id = about["partial_id"].as_str().map(str::to_owned);
    Taken {
        text: text.as_str().unwrap().as_bytes().to_vec(),
        part: id.zip(ordinal),
    }
}

fn otlp_records(body: &[u8]) -> Vec<Taken> {
    let text = |value: &Option<AnyValue>| match value {
        Some(AnyValue {
            value: Some(any_value::Value::StringValue(text)),
        }) => text.clone(),
        other => panic!("{other:?}"),
    };
    let request = ExportLogsServiceRequest::decode(body).unwrap();
    let scopes = request
        .resource_logs
        .iter()
        .flat_map(|logs| &logs.scope_logs);
    let records = scopes.flat_map(|scope| &scope.log_records);
    records
        .map(|record| {
            let attribute = |key: &str| {
                let mut found = record.attributes.iter();
                found
                    .find(|pair| pair.key == key)
                    .map(|pair| text(&pair.value))
            };
            Taken {
                text: text(&record.body).into_bytes(),
                part: attribute("partial_id")
                    .zip(attribute("partial_ordinal").map(|ordinal| ordinal.parse().unwrap())),
            }
        })
        .collect()
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
            Mood::Nonsense => return writer.write_all(b"I have no idea\r\n\r\n"),
            Mood::Silent => {
                take(&mut state.lock().unwrap(), &body);
                // Until the client goes away.
                return reader.read_exact(&mut [0]);
            }
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

/// Counts what a batch holds.
pub(crate) fn take(state: &mut State, body: &[u8]) {
    for n in counters(body) {
        *state.seen.entry(n).or_default() += 1;
    }
    state.bodies.push(body.to_vec());
}
