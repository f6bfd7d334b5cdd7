//! Counts of calls by method, and the table that a run ends with.

use std::collections::BTreeMap;

/// What became of the calls of one method.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    /// Calls with a result.
    pub(crate) results: u64,
    /// Valid calls with one of the errors that their method may have.
    pub(crate) refused: u64,
    /// Invalid calls with an error.
    pub(crate) wrong: u64,
    /// Calls that an injected fault failed.
    pub(crate) injected: u64,
}

/// Counts by method, and by the code or status of every error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) methods: BTreeMap<String, Count>,
    pub(crate) codes: BTreeMap<String, u64>,
    /// What clients did beside calls: left, lost their connection in a kill, were told.
    pub(crate) events: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(crate) fn method(&mut self, name: &str) -> &mut Count {
        self.methods.entry(name.to_owned()).or_default()
    }

    pub(crate) fn code(&mut self, code: impl ToString) {
        *self.codes.entry(code.to_string()).or_default() += 1;
    }

    pub(crate) fn event(&mut self, what: &'static str) {
        *self.events.entry(what).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (name, count) in other.methods {
            let own = self.methods.entry(name).or_default();
            own.calls += count.calls;
            own.results += count.results;
            own.refused += count.refused;
            own.wrong += count.wrong;
            own.injected += count.injected;
        }
        other.codes.into_iter().for_each(|(code, count)| *self.codes.entry(code).or_default() += count);
        other.events.into_iter().for_each(|(event, count)| *self.events.entry(event).or_default() += count);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.methods.values().map(|count| count.calls).sum()
    }

    /// Prints a Markdown table with a line for each namespace.
    pub(crate) fn print(&self) {
        let mut namespaces: BTreeMap<&str, (u64, Count)> = BTreeMap::new();
        for (name, count) in &self.methods {
            let namespace = name.split(['_', '.', ' ']).next().unwrap_or(name);
            let (methods, sum) = namespaces.entry(namespace).or_default();
            *methods += 1;
            sum.calls += count.calls;
            sum.results += count.results;
            sum.refused += count.refused;
            sum.wrong += count.wrong;
            sum.injected += count.injected;
        }
        println!("| methods | number | calls | results | refused | invalid | failed by a fault |");
        println!("|---|---|---|---|---|---|---|");
        for (name, (methods, sum)) in namespaces {
            let Count { calls, results, refused, wrong, injected } = sum;
            println!("| {name} | {methods} | {calls} | {results} | {refused} | {wrong} | {injected} |");
        }
        println!("errors by code or status: {:?}", self.codes);
        println!("besides: {:?}", self.events);
    }
}
