//! The report of a campaign: verdict, findings, coverage, numbers.

use std::fmt::Write as _;

use chainbox::{
    consensus::ConsensusKind,
    sim::{Summary, campaign::Origin},
};

use super::demo;
use crate::{
    styles::{ERROR, FAINT, GOOD, HEADING},
    table::Table,
};

/// Findings whose detail is printed; all are in the results.
const FINDINGS_SHOWN: usize = 10;

/// Told where no run made a transaction final.
const NOTHING_ACKNOWLEDGED: &str = "\
no transaction was acknowledged, so that `durability` had nothing to ask: a transaction is acknowledged when its block can't be \
reverted any more, which in proof of authority is some 130 blocks later, by design. `inclusion` and `convergence` still ask that a \
transaction sent after the faults is in everybody's chain, and that all chains are the same; --fault-time 200s makes runs long enough.
";

/// Returns the marks that a run of the protocol with this name can pass.
pub(super) fn marks_of(protocol: &str) -> &'static [&'static str] {
    let planted = || demo::find(protocol).map(|bug| bug.protocol);
    ConsensusKind::from_name(protocol).or_else(planted).map_or(&[], ConsensusKind::marks)
}

/// Formats the report of results of `origin`; `what` names them.
pub(super) fn report(what: &str, summary: &Summary, origin: Option<&Origin>) -> String {
    let mut out = verdict(what, summary);
    coverage(&mut out, summary, origin.map_or(&[], |origin| marks_of(&origin.protocol)));
    let mut table = Table::new(&["", "number"]);
    let rows = [
        ("seeds", summary.seeds),
        ("passed", summary.passed),
        ("steps", summary.steps),
        ("virtual seconds", summary.virtual_time.as_secs()),
        ("transactions acknowledged", summary.acknowledged),
        ("restarts", summary.restarts),
    ];
    for (name, number) in rows {
        table.row([name.to_owned(), number.to_string()]);
    }
    let _ = write!(out, "\n{table}");
    if !summary.faults.is_empty() {
        let faults: Vec<_> = summary.faults.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        let _ = writeln!(out, "seeds with each fault: {}", faults.join(", "));
    }
    if summary.acknowledged == 0 && summary.passed > 0 {
        out.push_str(NOTHING_ACKNOWLEDGED);
    }
    out
}

fn verdict(what: &str, summary: &Summary) -> String {
    let mut out = String::new();
    let _ = match summary.seeds - summary.passed {
        0 => writeln!(out, "{GOOD}nothing found{GOOD:#} in {} seeds: {HEADING}{what}{HEADING:#}", summary.seeds),
        1 => writeln!(out, "{ERROR}1 finding{ERROR:#} in {} seeds: {HEADING}{what}{HEADING:#}", summary.seeds),
        many => writeln!(out, "{ERROR}{many} findings{ERROR:#} in {} seeds: {HEADING}{what}{HEADING:#}", summary.seeds),
    };
    for (invariant, count) in &summary.broken {
        let _ = writeln!(out, "{ERROR}{invariant} is broken in {count} seeds{ERROR:#}");
    }
    for (seed, failure) in summary.failures.iter().take(FINDINGS_SHOWN) {
        let _ = writeln!(out, "  seed {seed}: {}: {}", failure.invariant, failure.detail);
    }
    let more = summary.failures.len().saturating_sub(FINDINGS_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "  {FAINT}and {more} more, in the results{FAINT:#}");
    }
    out
}

/// Tells which of the protocol's marks were passed, and which were not.
fn coverage(out: &mut String, summary: &Summary, marks: &[&str]) {
    if marks.is_empty() || summary.seeds == 0 {
        return;
    }
    let (reached, never): (Vec<&str>, Vec<&str>) =
        marks.iter().copied().partition(|mark| summary.marks.contains_key(*mark));
    let counted: Vec<_> = summary.marks.iter().map(|(mark, count)| format!("{mark} {count}")).collect();
    let _ = writeln!(out, "\ncoverage: {} of {} marks of the protocol are passed", reached.len(), marks.len());
    if !counted.is_empty() {
        let _ = writeln!(out, "  {FAINT}{}{FAINT:#}", counted.join(", "));
    }
    let unlisted = summary.marks.keys().map(String::as_str).filter(|mark| !marks.contains(mark));
    let guards: Vec<_> = unlisted.collect();
    if !guards.is_empty() {
        let _ = writeln!(out, "guards that are reached, which default setups never do: {}", guards.join(", "));
    }
    if !never.is_empty() {
        let _ = writeln!(out, "never reached in this campaign: {}", never.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_first_and_what_was_never_reached_is_told() {
        let mut summary = Summary { seeds: 3, passed: 3, ..Summary::default() };
        summary.marks.insert("poa/stale-build".to_owned(), 2);
        let origin = Origin { protocol: "poa".to_owned(), setup: Default::default(), version: String::new() };
        let text = anstream::adapter::strip_str(&report("poa", &summary, Some(&origin))).to_string();
        assert!(text.starts_with("nothing found in 3 seeds: poa\n"), "{text}");
        let missed = text.lines().find_map(|line| line.strip_prefix("never reached in this campaign: ")).unwrap();
        assert!(missed.contains("poa/left-settled") && !missed.contains("poa/stale-build"), "{missed}");
        assert!(text.contains("poa/stale-build 2") && text.contains("1 of "), "{text}");
        assert!(!text.contains("guards that are reached"), "{text}");
        summary.marks.insert("poa/unlisted".to_owned(), 1);
        let text = anstream::adapter::strip_str(&report("poa", &summary, Some(&origin))).to_string();
        assert!(text.contains("guards that are reached, which default setups never do: poa/unlisted"), "{text}");
        summary.passed = 1;
        summary.broken.insert("agreement".to_owned(), 2);
        let text = anstream::adapter::strip_str(&report("poa", &summary, Some(&origin))).to_string();
        assert!(text.starts_with("2 findings in 3 seeds: poa\nagreement is broken in 2 seeds\n"), "{text}");
    }
}
