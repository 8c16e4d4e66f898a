//! Runs the exported VRL program and Datadog grok rules over the corpus, and times VRL's parsers beside ours.

mod corpus;
mod rules;
mod speed;

use std::path::Path;
use std::process::ExitCode;

use flotilla_loglevel::{Hint, Level, classify};

/// What became of the lines of one file.
#[derive(Clone, Copy, Default)]
struct Count {
    /// The rules say what we say.
    same: usize,
    /// The rules say nothing where we have a level, or cannot know: no rule of one line can.
    none: usize,
    /// The rules say something else.
    other: usize,
}

impl Count {
    fn add(
        &mut self,
        ours: Level,
        theirs: Option<&str>,
        name: impl Fn(Level) -> Option<&'static str>,
    ) {
        let ours = name(ours);
        match theirs {
            theirs if theirs == ours => self.same += 1,
            None => self.none += 1,
            Some(_) => self.other += 1,
        }
    }

    fn merge(&mut self, more: &Count) {
        self.same += more.same;
        self.none += more.none;
        self.other += more.other;
    }
}

fn main() -> ExitCode {
    let only_speed = std::env::args().any(|arg| arg == "speed");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let files = corpus::read(&folder).expect("the corpus is there");
    let is_right = only_speed || compare(&files);
    speed::print(&files);
    if is_right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints what the rules say, for each file; whether they are right.
fn compare(files: &[corpus::File]) -> bool {
    let vector = rules::Vector::new();
    let datadog = rules::Datadog::new();
    let show = std::env::args().any(|arg| arg == "--other");
    let show_none = std::env::args().any(|arg| arg == "--none");
    println!("{:26} {:>22} {:>22}", "", "VRL", "grok");
    println!(
        "{:26} {:>8} {:>6} {:>6} {:>8} {:>6} {:>6}",
        "format", "same", "none", "other", "same", "none", "other"
    );
    let (mut all_vrl, mut all_grok) = (Count::default(), Count::default());
    for file in files {
        let (mut vrl, mut grok, mut n_shown) = (Count::default(), Count::default(), 0);
        for line in &file.lines {
            let ours = classify(line.as_bytes(), &Hint::default()).level;
            let known = |level: Level| (level != Level::Unknown).then(|| level.name());
            let theirs = vector.level(line);
            let (before, none) = (vrl.other, vrl.none);
            vrl.add(ours, theirs.as_deref(), known);
            if show_none && vrl.none > none && n_shown < 3 {
                println!("   VRL says nothing, we {}: {line}", ours.name());
                n_shown += 1;
            }
            if show && vrl.other > before {
                println!("   VRL {theirs:?}, we {}: {line}", ours.name());
            }
            // Datadog reads JSON before any pipeline.
            if !line.starts_with('{') {
                let theirs = datadog.status(line);
                let before = grok.other;
                grok.add(ours, theirs.as_deref(), |level| {
                    known(level).and(level.datadog())
                });
                if show && grok.other > before {
                    println!("   grok {theirs:?}, we {}: {line}", ours.name());
                }
            }
        }
        print_row(&file.name, &vrl, &grok);
        all_vrl.merge(&vrl);
        all_grok.merge(&grok);
    }
    print_row("all", &all_vrl, &all_grok);
    all_vrl.other + all_grok.other == 0
}

fn print_row(name: &str, vrl: &Count, grok: &Count) {
    println!(
        "{name:26} {:8} {:6} {:6} {:8} {:6} {:6}",
        vrl.same, vrl.none, vrl.other, grok.same, grok.none, grok.other
    );
}
