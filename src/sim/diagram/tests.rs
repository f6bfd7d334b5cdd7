//! Pictures of whole runs.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{ConsensusConfig, ReplicaId, pbft::PbftConfig, poa::PoaConfig, raft::RaftConfig},
    primitives::Height,
    sim::{
        faults::plan::{Behaviour, Delay, FaultKind, FaultPlan, Trigger},
        network::{Network, links::Latency},
        trace::{Incident, TraceContent, TraceHeader, TraceOutcome},
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
            "agreement is broken at",
        ] {
            assert!(picture.contains(wanted), "{name}: no {wanted:?}");
        }
        assert!(!picture.contains("NaN") && !picture.contains("--"), "{name}");
    }
}

/// Replicas that answer with lies, alter what they pass on, and execute slowly, as a plan begins these faults.
#[test]
fn faults_of_answers_relays_and_execution_are_drawn_in_words() {
    let replica = ReplicaId::new;
    let byzantine =
        |number, behaviour| FaultKind::Byzantine { replica: replica(number), behaviour, when: Trigger::Always };
    let delay = Delay::Uniform { min: Duration::from_millis(20), max: Duration::from_millis(900) };
    let seconds = Duration::from_secs;
    let plan = FaultPlan::default()
        .with(seconds(1), seconds(2), byzantine(0, Behaviour::LyingAnswers))
        .with(seconds(4), seconds(2), byzantine(0, Behaviour::AlteredRelays))
        .with(seconds(7), seconds(2), FaultKind::SlowExecution { replica: replica(1), delay });
    let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
    let mut network = network.with_seed(2).with_faults(plan).with_trace("three faults").build().unwrap();
    network.run_for(seconds(12)).unwrap();
    let picture = draw(&network.trace().unwrap(), &DiagramOptions::default().with_width(2_400));
    for words in [
        "answers requests for blocks with lies",
        "passes messages of others on altered",
        "executing a block takes 20 to 900 ms",
    ] {
        assert!(picture.contains(words), "no {words:?}");
    }
    assert!(!picture.contains("lying_answers") && !picture.contains("altered_relays"));
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

/// A text of a picture with its bounds, in tenths of a pixel.
#[cfg(feature = "scenarios")]
#[derive(Debug)]
struct Written<'a> {
    words: &'a str,
    left: i64,
    right: i64,
    top: i64,
    bottom: i64,
}

#[cfg(feature = "scenarios")]
fn tenths(tag: &str, name: &str) -> Option<i64> {
    let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
    Some((value.parse::<f64>().unwrap() * 10.0).round() as i64)
}

/// Returns all texts, by the font sizes of the style sheet and the mean width of DejaVu Sans.
#[cfg(feature = "scenarios")]
fn texts(picture: &str) -> Vec<Written<'_>> {
    let text_of = |element| {
        let (tag, rest) = str::split_once(element, '>').unwrap();
        let words = rest.split('<').next().unwrap().trim();
        let class = tag.split("class=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let has = |wanted: &str| class.split(' ').any(|one| one == wanted);
        let size = match () {
            () if has("t") => 180,
            () if has("f") || has("n") => 125,
            () if has("s") => 105,
            () if has("w") => 100,
            () => 120,
        };
        let (x, y) = (tenths(tag, "x").unwrap(), tenths(tag, "y").unwrap());
        let width = words.chars().count() as i64 * size * 6 / 10;
        let left = if has("m") { x - width / 2 } else { x - if has("e") { width } else { 0 } };
        Written { words, left, right: left + width, top: y - size * 3 / 4, bottom: y + size / 5 }
    };
    let elements = picture.split("<text").skip(1);
    elements.map(text_of).collect()
}

#[cfg(feature = "scenarios")]
#[test]
fn no_text_covers_another_and_nothing_leaves_the_frame() {
    let mut failures = Vec::new();
    let mut drawn = 0;
    for scenario in crate::sim::scenario::all().filter(|scenario| scenario.sizes().is_some()) {
        let name = scenario.name;
        let played = scenario.play(&Default::default(), &mut |_| {}).unwrap();
        let whole = draw(&played.trace().unwrap(), &DiagramOptions::default());
        for picture in [played.picture(scenario), whole] {
            drawn += 1;
            let frame = picture.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            let (width, height) = frame.split_once(' ').unwrap();
            let frame = [width, height].map(|side| (side.parse::<f64>().unwrap() * 10.0) as i64);
            let written = texts(&picture);
            assert!(written.len() > 10, "{name}");
            for (place, one) in written.iter().enumerate() {
                if one.left < 0 || one.right > frame[0] || one.top < 0 || one.bottom > frame[1] {
                    failures.push(format!("{name}: {one:?} leaves the frame"));
                }
                let covers = |other: &&Written<'_>| {
                    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
                };
                if let Some(other) = written[place + 1..].iter().find(covers) {
                    failures.push(format!("{name}: {one:?} and {other:?}"));
                }
                if one.words.chars().filter(char::is_ascii_hexdigit).count() > 100
                    || one.words.contains(&"0".repeat(40))
                {
                    failures.push(format!("{name}: {one:?} is a hash"));
                }
            }
            for shape in picture.split('<').filter(|shape| shape.starts_with("circle") || shape.starts_with("rect")) {
                let side = |names: [&str; 2]| names.map(|name| tenths(shape, name).unwrap_or_default());
                let ([x, y], [cx, cy], [r, w]) = (side(["x", "y"]), side(["cx", "cy"]), side(["r", "width"]));
                let (left, right) = (x + cx - r, x + cx + r + w);
                let (top, bottom) = (y + cy - r, y + cy + r + tenths(shape, "height").unwrap_or_default());
                if left < 0 || right > frame[0] || top < 0 || bottom > frame[1] {
                    failures.push(format!("{name}: <{shape} leaves the frame"));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} in {drawn} pictures:\n{}",
        failures.len(),
        failures[..failures.len().min(30)].join("\n")
    );
}

/// Two honest replicas commit different blocks at height 3: the fork that the run is about.
#[cfg(feature = "scenarios")]
#[test]
fn a_violation_is_numbered_told_below_and_its_blocks_are_two() {
    let scenario = crate::sim::scenario::find("pbft-f-plus-1-byzantine").unwrap();
    let played = scenario.play(&Default::default(), &mut |_| {}).unwrap();
    let picture = played.picture(scenario);
    let written = texts(&picture);
    let is_there = |words: &str| written.iter().any(|text| text.words.contains(words));
    for words in ["violations", "invariant violated", "agreement is broken at", "final in conflict"] {
        assert!(is_there(words), "{words}");
    }
    let blocks = |colour: &str| {
        let shapes = picture.split("<rect").filter(|shape| shape.contains(&format!("fill=\"{colour}\"")));
        shapes.filter(|shape| shape.contains("block 3 by")).count()
    };
    assert_eq!((blocks("#1a7f37"), blocks(blocks::RIVAL)), (1, 1));
}

/// A run of many blocks whose violation comes at its end, with a crash of a millisecond, and two blocks of one height before it.
#[test]
fn a_violation_has_a_quarter_of_the_width_and_a_fork_has_two_rows() {
    let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
    let mut network =
        network.with_seed(2).with_trace("agreement: two are final (1 of 2 faults needed)").build().unwrap();
    network.run_to_height(Height::new(30)).unwrap();
    network.note(Incident::Crashed { replica: 1 });
    network.note(Incident::Restarted { replica: 1, records: Default::default() });
    let detail = "two are final".to_owned();
    network.note(Incident::Violation { invariant: "agreement".to_owned(), step: 7, detail });
    let mut trace = network.trace().unwrap();
    let (id, latest) = trace
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.content {
            TraceContent::Block { id, .. } => Some((*id, entry.clone())),
            _ => None,
        })
        .unwrap();
    let mut sibling = latest;
    if let TraceContent::Block { id: twin, .. } = &mut sibling.content {
        twin.hash = crate::primitives::B256::repeat_byte(7);
    }
    sibling.at_ns = trace.ends_at().as_nanos();
    trace.entries.push(sibling);
    let (from, _) = default_window(&trace).unwrap();
    assert!(from > SimTime::ZERO);
    let picture = draw(&trace, &DiagramOptions::default());
    assert_eq!(picture.matches("two are final").count(), 2, "in the box and in the tooltip of its number");
    assert!(picture.contains("agreement is broken (1 of 2"), "the title");
    let y_of = |hash: String| {
        let shape = picture.split("<rect").find(|shape| shape.contains(&hash)).unwrap();
        shape.split(" y=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned()
    };
    assert_ne!(y_of(id.hash.to_string()), y_of(crate::primitives::B256::repeat_byte(7).to_string()));
    let legend: Vec<_> = ["crashes", "restarts", "down", "idle time cut out", "leads (dark)", "invariant violated"]
        .into_iter()
        .filter(|words| !picture.contains(words))
        .collect();
    assert!(legend.is_empty(), "{legend:?}");
}
