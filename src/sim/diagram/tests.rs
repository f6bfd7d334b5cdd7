//! Pictures of whole runs.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{ConsensusConfig, pbft::PbftConfig, poa::PoaConfig, raft::RaftConfig},
    primitives::Height,
    sim::{
        network::{Network, links::Latency},
        trace::{Incident, TraceHeader, TraceOutcome},
    },
};

fn recorded(consensus: ConsensusConfig) -> Trace {
    let latency = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(25) };
    let network = Network::builder().with_consensus(consensus).with_validators(4).with_seed(2).with_latency(latency);
    let mut network = network.with_trace("a <run> & its title").build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    let text = r#"{"isolate":{"replica":2}}"#.to_owned();
    network.note(Incident::Began { fault: 1, kind: "isolate".to_owned(), replicas: vec![2], text });
    let text = r#"{"partition":{"groups":[[0,1],[2,3]]}}"#.to_owned();
    network.note(Incident::Began { fault: 2, kind: "partition".to_owned(), replicas: vec![], text });
    network.note(Incident::Crashed { replica: 1 });
    network.run_to_height(Height::new(5)).unwrap();
    network.note(Incident::Violation { invariant: "agreement".to_owned(), step: 7, detail: "none".to_owned() });
    network.trace().unwrap()
}

#[test]
fn every_protocol_is_drawn_the_same_way_twice() {
    for (name, round, consensus) in [
        ("poa", "", ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)))),
        ("raft", "term 1 · leads", ConsensusConfig::Raft(RaftConfig::default())),
        ("pbft", "view 0 · leads", ConsensusConfig::Pbft(PbftConfig::default())),
    ] {
        let trace = recorded(consensus);
        let picture = draw(&trace, &DiagramOptions::default());
        assert_eq!(picture, draw(&trace, &DiagramOptions::default()), "{name}");
        assert!(picture.len() < 150_000, "{name}: {} bytes", picture.len());
        for wanted in [
            "validator 3",
            "a &lt;run&gt; &amp; its title",
            round,
            "isolate 2",
            "partition 0, 1 | 2, 3",
            "url(#down)",
            "✗ agreement: none",
        ] {
            assert!(picture.contains(wanted), "{name}: no {wanted:?}");
        }
        assert!(!picture.contains("NaN") && !picture.contains("--"), "{name}");
    }
}

#[test]
fn a_window_shows_less_and_an_empty_trace_is_a_picture_too() {
    let trace = recorded(ConsensusConfig::Pbft(PbftConfig::default()));
    let whole = draw(&trace, &DiagramOptions::default());
    let window = DiagramOptions::default().with_window(SimTime::from_nanos(0), SimTime::from_nanos(1_500_000_000));
    let part = draw(&trace, &window.with_title("part").with_caption("one block").with_width(700));
    assert!(part.len() < whole.len() && part.contains(">part<") && part.contains("one block"));
    let nothing = Trace { header: TraceHeader::default(), entries: Vec::new(), outcome: TraceOutcome::Passed };
    assert!(draw(&nothing, &DiagramOptions::default()).ends_with("</svg>"));
}

/// Returns the position and content of the texts of a class, row by row.
#[cfg(feature = "scenarios")]
fn texts<'a>(picture: &'a str, class: &str) -> std::collections::BTreeMap<i64, Vec<(i64, &'a str)>> {
    let mut rows: std::collections::BTreeMap<i64, Vec<_>> = std::collections::BTreeMap::new();
    let tag = format!("class=\"{class}\"");
    for text in picture.split("<text ").skip(1).filter(|text| text.contains(&tag)) {
        let number = |name: &str| {
            let value = text.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            (value.parse::<f64>().unwrap() * 10.0) as i64
        };
        let content = text.split_once('>').unwrap().1.split('<').next().unwrap().trim();
        rows.entry(number(" y")).or_default().push((number("x"), content));
    }
    rows.values_mut().for_each(|row| row.sort_unstable());
    rows
}

#[cfg(feature = "scenarios")]
#[test]
fn no_text_runs_into_the_next_one() {
    for name in ["pbft-primary-crash", "raft-leader-crash", "dpos-fork", "pos-late-block", "raft-figure-7"] {
        let scenario = crate::sim::scenario::find(name).unwrap();
        let picture = scenario.play(&Default::default(), &mut |_| {}).unwrap().picture(scenario);
        // Labels of bands begin at their left end; times and dots stand in the middle.
        let widths = |content: &str| content.chars().count() as i64 * 52;
        let mut seen = 0;
        for (class, before) in [("s h", 0), ("s g m", 2)] {
            for row in texts(&picture, class).values() {
                seen += row.len();
                for pair in row.windows(2) {
                    let [(left, one), (right, other)] = [pair[0], pair[1]];
                    let needs = if before == 0 { widths(one) } else { (widths(one) + widths(other)) / 2 };
                    assert!(right - left >= needs, "{name}: {one:?} and {other:?}");
                }
            }
        }
        assert!(seen > 3, "{name}: {seen} texts");
    }
}
