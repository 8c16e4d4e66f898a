//! Recordings, and what a replay looks like beside one.

use std::{fmt, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{
    compare::{Difference, compare},
    corpus::{Body, Story},
    replay::Answer,
};

/// Differences shown of one answer; the rest is counted.
const SHOWN_MAX: usize = 12;
/// Characters shown of a value.
const VALUE_MAX: usize = 400;

/// What kube-apiserver answered to a story.
///
/// # Errors
/// No recording, or one of another story than this.
pub fn recorded(folder: &Path, story: &Story) -> Result<Vec<Answer>> {
    let path = folder.join(format!("{}.jsonl", story.name));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text
        .lines()
        .map(Answer::from_line)
        .collect::<Result<Vec<_>>>()?;
    let asked = story.requests.iter().map(|request| request.title());
    ensure!(
        asked.eq(lines.iter().map(|(ask, _)| ask.clone())),
        "{} records other requests than the story has; record it again",
        path.display()
    );
    Ok(lines.into_iter().map(|(_, answer)| answer).collect())
}

/// How a story went, compared with its recording.
#[derive(Debug, Default)]
pub struct Report {
    /// Requests sent.
    pub n_requests: u32,
    /// Those that were answered otherwise.
    pub unequal: Vec<Unequal>,
    /// Name of the story.
    pub story: String,
}

/// A request that was answered otherwise.
#[derive(Debug)]
pub struct Unequal {
    /// Position in the story, from 1.
    pub at: usize,
    /// The request in one line.
    pub title: String,
    /// What was sent.
    pub body: String,
    /// Where the answers part.
    pub differences: Vec<Difference>,
}

/// Compares all answers of a story.
pub fn report(story: &Story, theirs: &[Answer], ours: &[Answer]) -> Report {
    let mut report = Report {
        n_requests: u32::try_from(story.requests.len()).unwrap_or(u32::MAX),
        story: story.name.clone(),
        ..Report::default()
    };
    for (at, (request, (theirs, ours))) in story
        .requests
        .iter()
        .zip(theirs.iter().zip(ours))
        .enumerate()
    {
        let differences = compare(theirs, ours);
        if !differences.is_empty() {
            let body = match &request.body {
                None => String::new(),
                Some(Body::Text(text)) => text.clone(),
                Some(Body::Json(value)) => value.to_string(),
            };
            report.unequal.push(Unequal {
                at: at + 1,
                title: request.title(),
                body,
                differences,
            });
        }
    }
    report
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_unequal = self.unequal.len();
        writeln!(
            f,
            "{}: {n_unequal} of {} differ",
            self.story, self.n_requests
        )?;
        for unequal in &self.unequal {
            let differences = &unequal.differences;
            writeln!(
                f,
                "  #{} {} {}",
                unequal.at,
                unequal.title,
                clip(&unequal.body)
            )?;
            for difference in differences.iter().take(SHOWN_MAX) {
                writeln!(f, "     {}", difference.place)?;
                writeln!(f, "       theirs {}", show(&difference.theirs))?;
                writeln!(f, "       ours   {}", show(&difference.ours))?;
            }
            let n_more = differences.len().saturating_sub(SHOWN_MAX);
            if n_more > 0 {
                writeln!(f, "     and {n_more} more")?;
            }
        }
        Ok(())
    }
}

fn show(value: &Value) -> String {
    clip(&value.to_string())
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(VALUE_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
