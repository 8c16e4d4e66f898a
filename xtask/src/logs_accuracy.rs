//! How often the level of a corpus line is read right, by us and by the rules other tools use.
//!
//! The corpus (`crates/loglevel/corpus`) holds lines with the level their logger meant. Each file is read as one stream:
//! classified line by line, joined into records, and every line of a record counts with the record's level. The others
//! get the same lines, one by one, as they came from stderr. Levels are compared after folding to what a tool can say:
//! nobody is blamed for calling a notice info or an alert critical.

mod peers;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use flotilla_loglevel::multiline::{Joiner, Step};
use flotilla_loglevel::{Hint, Level, classify};

/// The share of lines that must be right, in percent.
const ACCURACY_MIN: f64 = 99.5;
/// Formats in which not one line may be wrong, by the beginning of their file's name.
const FLAWLESS: [&str; 6] = [
    "klog",
    "zap",
    "logrus",
    "slog-text",
    "slog-json",
    "k8s-json",
];

/// One labelled line.
struct Labelled {
    level: Level,
    line: Vec<u8>,
}

/// Lines read right, for each of the readers.
#[derive(Clone, Copy, Default)]
struct Score {
    n_lines: usize,
    ours: usize,
    article: usize,
    loki: usize,
    headlamp: usize,
}

/// Prints the table and fails below the bar.
pub(crate) fn run(root: &Path) -> Result<()> {
    let files = files(&root.join("crates/loglevel/corpus"))?;
    let peers = peers::Peers::new()?;
    let mut total = Score::default();
    let mut flawed = Vec::new();
    eprintln!(
        "{:26} {:>6} {:>8} {:>9} {:>7} {:>9}",
        "format", "lines", "flotilla", "article's", "loki's", "headlamp's"
    );
    for path in &files {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let lines = read(path)?;
        let score = score(
            &lines,
            &peers,
            std::env::args().any(|argument| argument == "--wrong"),
        );
        row(&name, &score);
        if score.ours < score.n_lines && FLAWLESS.iter().any(|flawless| name.starts_with(flawless))
        {
            flawed.push(name);
        }
        total.add(&score);
    }
    row(&format!("all {} files", files.len()), &total);
    let accuracy = percent(total.ours, total.n_lines);
    if accuracy < ACCURACY_MIN || !flawed.is_empty() {
        bail!(
            "{accuracy:.2} % of the lines are right (at least {ACCURACY_MIN} %); flawed: {flawed:?}"
        );
    }
    Ok(())
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.n_lines += other.n_lines;
        self.ours += other.ours;
        self.article += other.article;
        self.loki += other.loki;
        self.headlamp += other.headlamp;
    }
}

fn row(name: &str, score: &Score) {
    let share = |n| percent(n, score.n_lines);
    eprintln!(
        "{name:26} {:6} {:8.2} {:9.2} {:7.2} {:9.2}",
        score.n_lines,
        share(score.ours),
        share(score.article),
        share(score.loki),
        share(score.headlamp)
    );
}

fn percent(n: usize, of: usize) -> f64 {
    100.0 * n as f64 / of.max(1) as f64
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for kind in ["real", "written"] {
        let folder = folder.join(kind);
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<Labelled>> {
    let mut text = Vec::new();
    GzDecoder::new(File::open(path)?)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot unpack {}", path.display()))?;
    text.strip_suffix(b"\n")
        .unwrap_or(&text)
        .split(|byte| *byte == b'\n')
        .map(|row| {
            let tab = row.iter().position(|byte| *byte == b'\t');
            let (label, line) = row.split_at(
                tab.with_context(|| format!("{} has a line without label", path.display()))?,
            );
            let label = std::str::from_utf8(label)?;
            let level = Level::from_name(label)
                .with_context(|| format!("{}: no level {label:?}", path.display()))?;
            Ok(Labelled {
                level,
                line: line[1..].to_vec(),
            })
        })
        .collect()
}

fn score(lines: &[Labelled], peers: &peers::Peers, show_wrong: bool) -> Score {
    let mut score = Score {
        n_lines: lines.len(),
        ..Score::default()
    };
    for (labelled, level) in lines.iter().zip(levels(lines)) {
        let right = level == labelled.level;
        score.ours += usize::from(right);
        if !right && show_wrong {
            eprintln!(
                "   {:?} {:?} {}",
                labelled.level,
                level,
                String::from_utf8_lossy(&labelled.line)
            );
        }
        let text = String::from_utf8_lossy(&labelled.line);
        let want = peers::fold(labelled.level);
        score.article += usize::from(peers.article(&text) == want);
        score.loki += usize::from(peers.loki(&text) == want);
        score.headlamp += usize::from(peers.headlamp(&text) == want);
    }
    score
}

/// Our level for each line: that of the record it belongs to.
fn levels(lines: &[Labelled]) -> Vec<Level> {
    let (mut hint, mut joiner) = (Hint::default(), Joiner::default());
    let mut levels: Vec<Level> = Vec::with_capacity(lines.len());
    let mut start = 0;
    for (at, labelled) in lines.iter().enumerate() {
        let record = classify(&labelled.line, &hint);
        hint.learn(&record);
        match joiner.step(&labelled.line, &record, 0) {
            Step::Start => {
                start = at;
                levels.push(record.level);
            }
            Step::Join => {
                // A head without a level of its own takes that of its second line.
                if levels[start] == Level::Unknown {
                    levels[start..at].fill(record.level);
                }
                levels.push(levels[start]);
            }
        }
    }
    levels
}
