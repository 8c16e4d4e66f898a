//! What must hold whatever happens: nothing lost, and repeated only what a kill repeats.

use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use crate::child::{Agent, wait_until};
use crate::sink::{KINDS, Kind, Mood, Sink, counters};

/// Moods in turn; the numbers are coprime with the rounds between kills and rotations.
const MOODS: [Mood; 7] = [
    Mood::Well,
    Mood::Status(429),
    Mood::Well,
    Mood::HangsUp,
    Mood::Slow,
    Mood::Status(503),
    Mood::Nonsense,
];

/// Resident memory of the unoptimised agent with one file.
const RESIDENT_KIB_MAX: u64 = 64 << 10;

/// Writes counter lines into a file that is rotated now and then.
struct Writer<'a> {
    agent: &'a Agent,
    file: File,
    n: u64,
}

fn open(agent: &Agent) -> File {
    File::options()
        .create(true)
        .append(true)
        .open(agent.logs.join("0.log"))
        .unwrap()
}

impl Writer<'_> {
    fn write(&mut self, n_lines: u64) {
        for _ in 0..n_lines {
            let text = line(self.n);
            self.file.write_all(text.as_bytes()).unwrap();
            self.n += 1;
        }
    }

    /// Renames the file and writes once more through the old handle, as a program does that has not noticed.
    fn rotate(&mut self, round: u64) {
        let logs = &self.agent.logs;
        fs::rename(logs.join("0.log"), logs.join(format!("0.log.{round}"))).unwrap();
        self.write(1);
        self.file = open(self.agent);
    }
}

/// A line as a container runtime writes it; every fiftieth in two fragments.
fn line(n: u64) -> String {
    let stamp = format!("2026-09-11T07:22:25.{n:09}Z stderr");
    let text = format!("I0911 07:22:25.408586       1 a.go:1] counter={n}; text");
    if n % 50 == 49 {
        let (head, tail) = text.split_at(20);
        format!("{stamp} P {head}\n{stamp} F {tail}\n")
    } else {
        format!("{stamp} F {text}\n")
    }
}

#[expect(clippy::print_stdout, reason = "the count of repetitions is a result")]
/// Rounds of writing, misbehaving sink, rotation and, when `kills`, a kill.
fn rounds(kind: Kind, n_rounds: u64, kills: bool) {
    let sink = Sink::start(kind);
    let mut agent = Agent::start(&sink);
    let mut n = 0;
    let file = open(&agent);
    let mut writer = Writer {
        agent: &agent,
        file,
        n,
    };
    for round in 0..n_rounds {
        writer.write(50 + round * 37 % 300);
        sink.set(MOODS[(round % 7) as usize]);
        std::thread::sleep(Duration::from_millis(20 + round * 53 % 150));
        writer.rotate(round);
        if kills && round % 3 == 0 {
            // The kill comes when everything has arrived, perhaps before that is written down.
            sink.set(Mood::Well);
            wait_until("everything has arrived", || sink.n_seen() == writer.n);
        }
        if kills && round % 3 == 2 {
            // The kill comes between the taking and the acknowledgement, so that these records must come twice.
            let n_taken = sink.n_taken();
            sink.set(Mood::Silent);
            writer.write(1);
            wait_until("a batch is taken", || sink.n_taken() > n_taken);
        }
        if kills {
            let Writer {
                file, n: written, ..
            } = writer;
            n = written;
            agent.kill();
            writer = Writer {
                agent: &agent,
                file,
                n,
            };
        }
    }
    n = n.max(writer.n);
    drop(writer);
    sink.set(Mood::Well);
    wait_until("every line has arrived", || sink.n_seen() == n);
    agent.look();
    let resident = agent.resident_kib_max;
    agent.end();
    let repeated = sink.n_repeated();
    println!(
        "{kind:?}: {n} lines, {n_rounds} rotations, {} kills, 0 lost, {repeated} repeated, {resident} KiB",
        if kills { n_rounds } else { 0 },
    );
    assert_eq!(sink.n_seen(), n);
    assert_eq!(repeated > 0, kills, "repeated {repeated}");
    assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB");
}

#[test]
fn rotation_before_bad_sinks_loses_and_repeats_nothing() {
    rounds(Kind::Otlp, 7, false);
}

#[test]
fn kills_and_rotations_lose_nothing() {
    for kind in KINDS {
        rounds(kind, 7, true);
    }
}

#[test]
#[ignore = "a minute for each sink"]
fn a_hundred_kills_and_rotations_lose_nothing() {
    for kind in KINDS {
        rounds(kind, 100, true);
    }
}

fn complaints(said: &str) -> Vec<&str> {
    said.lines()
        .filter(|line| line.contains("WARN") || line.contains("ERROR"))
        .collect()
}

#[test]
fn refused_records_are_kept_and_said_once() {
    let sink = Sink::start(Kind::Datadog);
    sink.set(Mood::Status(400));
    let agent = Agent::start(&sink);
    let mut file = open(&agent);
    for n in 0..3 {
        file.write_all(line(n).as_bytes()).unwrap();
    }
    wait_until("the batch was put aside", || {
        counters(&agent.refused()).len() == 3
    });
    assert_eq!(sink.n_answers() % 3, 0, "every batch is tried three times");
    sink.set(Mood::Well);
    file.write_all(line(3).as_bytes()).unwrap();
    wait_until("the next batch is taken", || sink.n_seen() == 1);
    let said = agent.end();
    let complaints = complaints(&said);
    assert_eq!(complaints.len(), 1, "{said}");
    assert!(complaints[0].contains("Sink refuses records"), "{said}");
    assert!(
        complaints[0].contains("at.refused") && complaints[0].contains("400"),
        "{said}"
    );
}

#[test]
fn a_sink_that_is_down_is_said_once_and_loses_nothing() {
    let sink = Sink::start(Kind::Otlp);
    sink.set(Mood::Status(503));
    let agent = Agent::start(&sink);
    let mut file = open(&agent);
    file.write_all(line(0).as_bytes()).unwrap();
    wait_until("some attempts", || sink.n_answers() >= 3);
    sink.set(Mood::Well);
    wait_until("the line has arrived", || sink.n_seen() == 1);
    let said = agent.end();
    let count = |text: &str| said.matches(text).count();
    assert_eq!(count("Sink does not take records"), 1, "{said}");
    assert_eq!(count("Sink takes records again"), 1, "{said}");
    assert_eq!(sink.n_repeated(), 0);
}

/// Lines in every state of disorder: after the runtime's time, what the program wrote.
fn odd_lines() -> Vec<(&'static str, Vec<u8>)> {
    let now = "2026-09-11T07:22:25.5Z";
    let giant = "ä€ and so on, ".repeat((5 << 20) / 16);
    let lines: [(&str, &[u8]); 9] = [
        (
            now,
            &[
                b"level=warn msg=\"counter=0; ",
                giant.as_bytes(),
                b" the end\"",
            ]
            .concat(),
        ),
        (now, b"\x00\x00level=info msg=nul counter=1;"),
        (now, b"level=info msg=\xff\xfe\xc3 counter=2;"),
        (now, b"level=error msg=carriage counter=3;\r"),
        (now, b"\x1b[31mERROR\x1b[0m: counter=4;\x1b[0m"),
        // The node's clock: back to its birth, far ahead, a leap second, no time at all.
        ("1970-01-01T00:00:00Z", b"level=info msg=counter=5;"),
        ("2099-12-31T23:59:60Z", b"level=info msg=counter=6;"),
        ("2026-09-11T07:22:25+99:99", b"level=info msg=counter=7;"),
        (now, b"I0911 07:22:25.408586       1 a.go:1] counter=8;"),
    ];
    lines.map(|(time, text)| (time, text.to_vec())).to_vec()
}

/// What must arrive of a line: its text, where bytes that are not UTF-8 are written out.
fn arriving(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
    out
}

#[test]
fn odd_bytes_giant_lines_and_jumping_clocks_go_through_whole() {
    for kind in KINDS {
        let sink = Sink::start(kind);
        let mut agent = Agent::start(&sink);
        let mut file = open(&agent);
        let lines = odd_lines();
        for (time, text) in &lines {
            // The runtime cuts at 16 KiB, in the middle of characters too.
            let mut chunks = text.chunks(16 << 10).peekable();
            while let Some(chunk) = chunks.next() {
                let tag = if chunks.peek().is_some() { "P" } else { "F" };
                let head = format!("{time} stderr {tag} ");
                file.write_all(&[head.as_bytes(), chunk, b"\n"].concat())
                    .unwrap();
            }
        }
        wait_until("every line has arrived", || {
            agent.look();
            sink.n_seen() == lines.len() as u64
        });
        let resident = agent.resident_kib_max;
        let said = agent.end();
        let mut expected: Vec<_> = lines.iter().map(|(_, text)| arriving(text)).collect();
        expected.sort();
        assert!(sink.lines() == expected, "{kind:?}: not all bytes arrived");
        assert_eq!(sink.n_repeated(), 0);
        assert!(resident < RESIDENT_KIB_MAX, "{kind:?}: {resident} KiB");
        let complaints = complaints(&said);
        assert_eq!(complaints.len(), 1, "{said}");
        assert!(complaints[0].contains("shipped in parts"), "{said}");
    }
}
