//! One copy of each text that many objects have in common.

use std::{collections::HashSet, sync::Arc};

/// Texts in use: namespaces, kinds, labels, owners. Those that nobody uses any more are forgotten in time.
#[derive(Debug, Default)]
pub struct Texts {
    known: HashSet<Arc<str>>,
    sweep_at: usize,
}

impl Texts {
    /// Fewer texts than this are not worth a look for unused ones.
    const SWEEP_MIN: usize = 1024;

    /// `text`, in the allocation that everybody else has.
    pub fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|text| Arc::strong_count(text) > 1);
            self.sweep_at = Self::SWEEP_MIN.max(2 * self.known.len());
        }
        let new: Arc<str> = text.into();
        self.known.insert(new.clone());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_unused_ones_are_forgotten() {
        let mut texts = Texts::default();
        let kept = texts.share("kept");
        for n in 0..10 * Texts::SWEEP_MIN {
            texts.share(&n.to_string());
        }
        assert!(Arc::ptr_eq(&kept, &texts.share("kept")));
        assert!(texts.known.len() <= 2 * Texts::SWEEP_MIN);
    }
}
