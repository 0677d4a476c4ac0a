//! What a campaign prints.

use std::collections::BTreeMap;

use steadfast_engine::TaskState;

use super::Outcome;

/// The most findings that are printed of a section.
const MOST_FINDINGS: usize = 20;

/// Runs of one sort.
#[derive(Debug)]
pub struct Section {
    /// What was done to the driver.
    pub name: &'static str,
    /// Each run.
    pub outcomes: Vec<Outcome>,
}

impl Section {
    /// All findings, each with its run.
    pub fn findings(&self) -> impl Iterator<Item = String> {
        let each = |outcome: &Outcome| {
            let name = outcome.name.clone();
            outcome.findings.clone().into_iter().map(move |words| format!("{name}: {words}"))
        };
        self.outcomes.iter().flat_map(each)
    }

    /// Runs in which it happened.
    #[must_use]
    pub fn fired(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.fired).count()
    }

    fn line(&self) -> String {
        let sum = |of: fn(&Outcome) -> usize| self.outcomes.iter().map(of).sum::<usize>();
        let mut ended = BTreeMap::new();
        for (state, count) in self.outcomes.iter().flat_map(|outcome| &outcome.ended) {
            *ended.entry(*state).or_insert(0) += count;
        }
        let of = |state| ended.get(&state).copied().unwrap_or(0);
        format!(
            "{:<10} {:>5} {:>6} {:>13} {:>10} {:>7} {:>7} {:>8} {:>8} {:>9}",
            self.name,
            self.outcomes.len(),
            self.fired(),
            sum(|outcome| outcome.acknowledged),
            of(TaskState::Completed),
            of(TaskState::Undone),
            of(TaskState::Failed),
            sum(|outcome| outcome.calls),
            sum(|outcome| outcome.effects),
            self.findings().count(),
        )
    }
}

/// Prints a line for each section, and the findings; how many those are.
#[must_use]
pub fn print(sections: &[Section]) -> usize {
    println!("what        runs  fired  acknowledged  completed  undone  failed    calls  effects  findings");
    sections.iter().for_each(|section| println!("{}", section.line()));
    for section in sections {
        let (findings, name) = (section.findings().collect::<Vec<_>>(), section.name);
        findings.iter().take(MOST_FINDINGS).for_each(|words| println!("{name}: {words}"));
        if findings.len() > MOST_FINDINGS {
            println!("{name}: and {} more", findings.len() - MOST_FINDINGS);
        }
    }
    sections.iter().map(|section| section.findings().count()).sum()
}
