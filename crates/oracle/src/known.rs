//! Differences that are on purpose, each with its reason.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{compare::Difference, recording::Report};

/// One kind of difference.
#[derive(Clone, Debug)]
pub struct Row {
    /// Story, or nothing for all.
    pub story: Option<String>,
    /// What the title of the request contains.
    pub ask: String,
    /// How the place begins.
    pub place: String,
    /// What our value contains, as JSON; a guard against hiding another mistake at the same place.
    pub ours: String,
    /// Why it is so.
    pub reason: String,
    n_used: usize,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Known(Vec<Row>);

impl Known {
    /// Reads `oracle/known.yaml`.
    ///
    /// # Errors
    /// A file that cannot be read, or a row without a reason.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let rows: Vec<Value> = serde_saphyr::from_str(&text)?;
        rows.iter().map(Row::read).collect::<Result<_>>().map(Self)
    }

    /// Takes away what is known.
    pub fn explain(&mut self, report: &mut Report) {
        for unequal in &mut report.unequal {
            let (story, title) = (&report.story, &unequal.title);
            unequal.differences.retain(|difference| {
                let row = self
                    .0
                    .iter_mut()
                    .find(|row| row.fits(story, title, difference));
                row.map(|row| row.n_used += 1).is_none()
            });
        }
        report
            .unequal
            .retain(|unequal| !unequal.differences.is_empty());
    }

    /// Rows that explained nothing.
    pub fn unused(&self) -> Vec<&Row> {
        self.0.iter().filter(|row| row.n_used == 0).collect()
    }
}

impl Row {
    fn read(row: &Value) -> Result<Self> {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        Ok(Self {
            story: text("story"),
            ask: text("ask").unwrap_or_default(),
            place: text("place").unwrap_or_default(),
            ours: text("ours").unwrap_or_default(),
            reason: text("reason").with_context(|| format!("no reason: {row}"))?,
            n_used: 0,
        })
    }

    fn fits(&self, story: &str, title: &str, difference: &Difference) -> bool {
        self.story.as_deref().is_none_or(|name| name == story)
            && title.contains(&self.ask)
            && difference.place.starts_with(&self.place)
            && difference.ours.to_string().contains(&self.ours)
    }
}
