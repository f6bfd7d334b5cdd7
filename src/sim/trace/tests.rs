//! Recording, both written forms, and replay.

use core::time::Duration;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{
    consensus::{
        Admin, BlockId, ConsensusConfig, ConsensusKind, Deadline, ReplicaId, pbft::PbftConfig, poa::PoaConfig,
        raft::RaftConfig,
    },
    primitives::{Address, B256, Bytes, Height, Timestamp},
    sim::{
        campaign::two_phase::CampaignSetup,
        default_config::default_sim_config,
        faults::plan::{FaultKind, FaultPlan},
        network::{Network, builder::NetworkBuilder, links::Latency},
    },
};

fn builder(consensus: ConsensusConfig) -> NetworkBuilder {
    let latency = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(40) };
    Network::builder().with_consensus(consensus).with_validators(4).with_observers(1).with_seed(3).with_latency(latency)
}

fn protocols() -> [(&'static str, ConsensusConfig); 3] {
    [
        ("poa", ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)))),
        ("raft", ConsensusConfig::Raft(RaftConfig::default())),
        ("pbft", ConsensusConfig::Pbft(PbftConfig::default())),
    ]
}

fn recorded(consensus: ConsensusConfig) -> Trace {
    let mut network = builder(consensus).with_trace("test").build().unwrap();
    network.run_to_height(Height::new(5)).unwrap();
    network.trace().unwrap()
}

#[test]
fn every_protocol_replays_without_the_seed() {
    for (name, consensus) in protocols() {
        let mut trace = recorded(consensus);
        trace.header.seed = 0;
        for (form, read) in [
            ("memory", trace.clone()),
            ("ndjson", Trace::read(trace.to_ndjson().as_bytes()).unwrap()),
            ("binary", Trace::read(&trace.to_binary()).unwrap()),
        ] {
            assert_eq!(read, trace, "{name} {form}");
            let mut replay = Replay::new(&read).unwrap();
            replay.finish().unwrap_or_else(|error| panic!("{name} {form}: {error}"));
            let states = read.entries.iter().filter(|entry| matches!(entry.content, TraceContent::State { .. }));
            assert_eq!(states.count(), 5, "{name}");
        }
        assert!(trace.to_binary().len() * 2 < trace.to_ndjson().len(), "{name}");
    }
}

/// The plan's second fault falls upon a key that runs on two machines.
#[test]
fn two_machines_of_one_key_replay_through_a_crash() {
    let first = ReplicaId::new(0);
    let twins = FaultKind::Twins { replica: first, group: vec![ReplicaId::new(1)] };
    let plan = FaultPlan::new([]).with(Duration::from_secs(1), Duration::from_secs(8), twins).with(
        Duration::from_secs(3),
        Duration::from_secs(2),
        FaultKind::Crash { replica: first },
    );
    for kind in ConsensusKind::ALL {
        let mut network =
            builder(default_sim_config(kind)).with_trace("test").with_faults(plan.clone()).build().unwrap();
        network.run_for(Duration::from_secs(15)).unwrap();
        replays(&network.trace().unwrap(), kind.name());
    }
}

#[test]
fn whatever_a_campaign_does_replays() {
    for kind in ConsensusKind::ALL {
        let setup = CampaignSetup::of(default_sim_config(kind));
        for seed in 0..40 {
            let plan = FaultPlan::random(seed, 4, &setup.profile);
            let mut network = builder(default_sim_config(kind)).with_trace("test").with_faults(plan).build().unwrap();
            network.run_for(Duration::from_secs(25)).unwrap();
            replays(&network.trace().unwrap(), &format!("{} {seed}", kind.name()));
        }
    }
}

fn replays(trace: &Trace, name: &str) {
    let read = Trace::read(&trace.to_binary()).unwrap_or_else(|error| panic!("{name}: {error}"));
    Replay::new(&read).unwrap().finish().unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn recording_changes_nothing() {
    for (name, consensus) in protocols() {
        let [plain, traced] = [builder(consensus.clone()), builder(consensus).with_trace("test")].map(|builder| {
            let mut network = builder.build().unwrap();
            network.run_to_height(Height::new(5)).unwrap();
            network.digest()
        });
        assert_eq!(plain, traced, "{name}");
    }
}

#[test]
fn a_changed_trace_is_noticed() {
    let (_, consensus) = protocols()[2].clone();
    let trace = recorded(consensus);
    let place =
        |wanted: fn(&TraceContent) -> bool| trace.entries.iter().position(|entry| wanted(&entry.content)).unwrap();

    let mut other_state = trace.clone();
    let last = other_state.entries.len() - 1;
    other_state.entries[last].content = TraceContent::State { replica: 0, digest: B256::ZERO };
    let error = Replay::new(&other_state).unwrap().finish().unwrap_err();
    assert!(matches!(error, ReplayError::State { replica: 0, .. }), "{error}");

    let mut left_out = trace.clone();
    left_out
        .entries
        .remove(place(|content| matches!(content, TraceContent::Step { event: TracedEvent::Judged { .. }, .. })));
    let error = Replay::new(&left_out).unwrap().finish().unwrap_err();
    assert!(matches!(error, ReplayError::Effect { .. } | ReplayError::Missing { .. }), "{error}");

    let mut longer = trace.clone();
    let step = place(|content| matches!(content, TraceContent::Step { .. }));
    let TraceContent::Step { effects, .. } = &mut longer.entries[step].content else { unreachable!() };
    effects.push(TracedEffect::CancelBuild);
    let error = Replay::new(&longer).unwrap().finish().unwrap_err();
    assert!(matches!(error, ReplayError::Effect { record, .. } if record == step + 2), "{error}");
}

#[test]
fn malformed_traces_are_told_with_the_line() {
    let trace = Trace {
        header: TraceHeader {
            version: TRACE_VERSION,
            replicas: vec![Participant::default(); 2],
            ..TraceHeader::default()
        },
        entries: vec![
            TraceEntry { at_ns: 5, content: TraceContent::Status { replica: 1, status: ReplicaStatus::default() } },
            TraceEntry { at_ns: 5, content: TraceContent::State { replica: 0, digest: B256::ZERO } },
        ],
        outcome: TraceOutcome::Passed,
    };
    let text = trace.to_ndjson();
    assert_eq!(Trace::read(text.as_bytes()).unwrap(), trace);
    for (name, bad, wanted) in [
        ("nothing", String::new(), "no header"),
        ("no JSON", "so what\n".to_owned(), "no header"),
        ("another version", text.replace("\"version\":2", "\"version\":1"), "format 1; this build reads format 2"),
        ("no version", text.replace("\"version\":2,", ""), "`version`"),
        ("an unknown field", text.replace("\"title\"", "\"name\""), "name"),
        ("a line cut short", text.trim_end()[..text.len() - 9].to_owned(), "line 4"),
        ("an unknown kind", text.replace("\"state\"", "\"estate\""), "line 3"),
        ("a replica too many", text.replace("\"replica\":1", "\"replica\":2"), "line 2"),
        ("time going back", text.replacen("\"at_ns\":5", "\"at_ns\":6", 1), "line 3"),
        (
            "a message from nowhere",
            before_end(
                &text,
                &line(TraceContent::Sent { from: 0, to: 1, label: "x".to_owned(), message: Some(0), arrives_ns: None }),
            ),
            "line 4",
        ),
        ("an empty line", text.replacen('\n', "\n\n", 1), "line 2"),
        ("a line after the end", text.clone() + &line(TraceContent::Full { entries: 2 }), "expected nothing"),
        ("a line more", before_end(&text, &line(TraceContent::Full { entries: 2 })), "1 of 0 entries `full`"),
        ("another title", text.replacen("\"title\":\"\"", "\"title\":\"x\"", 1), "was changed"),
    ] {
        let error = Trace::read(bad.as_bytes()).expect_err(name).to_string();
        assert!(error.contains(wanted), "{name}: {error}");
    }
    let binary = trace.to_binary();
    assert_eq!(Trace::read(&binary).unwrap(), trace);
    for length in 8..binary.len() {
        let _ = Trace::read(&binary[..length]);
    }
    assert!(matches!(Trace::read(&binary[..binary.len() - 1]), Err(TraceError::Truncated { record: 4 })));
    assert!(matches!(Trace::read(b"CBXTRACE"), Err(TraceError::Header { .. })));
    assert!(matches!(Trace::read(b"CBXTRACE\xff\xff\xff\xff\x01"), Err(TraceError::Malformed { record: 1, .. })));
}

/// Returns the text with a line more before the end.
fn before_end(text: &str, line: &str) -> String {
    let (head, end) = text.split_at(text.find("{\"end\"").unwrap());
    format!("{head}{line}\n{end}")
}

/// A trace that lost one line of whatever kind, or all from some line on, is refused with what is missing, in both forms.
#[test]
fn a_trace_that_lost_lines_is_refused() {
    let (_, consensus) = protocols()[2].clone();
    let trace = recorded(consensus);
    let text = trace.to_ndjson();
    let lines: Vec<_> = text.lines().collect();
    let mut kinds = std::collections::BTreeSet::new();
    for (place, entry) in trace.entries.iter().enumerate() {
        let kind = line(entry.content.clone());
        let kind = kind.split('"').nth(5).unwrap().to_owned();
        if !kinds.insert(kind.clone()) {
            continue;
        }
        let mut without = lines.clone();
        without.remove(place + 1);
        let error = Trace::read(without.join("\n").as_bytes()).unwrap_err();
        // Messages and blocks have numbers, which fail first.
        assert!(
            matches!(&error, TraceError::Incomplete { found } if found.contains(&kind))
                || matches!(error, TraceError::Malformed { .. }) && ["message", "block"].contains(&kind.as_str()),
            "{kind}: {error}"
        );
        let mut shorter = trace.clone();
        shorter.entries.remove(place);
        assert_ne!(shorter.to_binary().len(), trace.to_binary().len());
    }
    assert!(kinds.len() >= 5, "{kinds:?}");
    for length in [1, 2, lines.len() / 2, lines.len() - 1] {
        let cut = lines[..length].join("\n");
        let error = Trace::read(cut.as_bytes()).unwrap_err();
        assert!(matches!(error, TraceError::NoEnd { entries } if entries == length - 1), "{length}: {error}");
        assert_eq!(Trace::read_incomplete(cut.as_bytes()).unwrap().entries.len(), length - 1);
    }
    // The first record of a binary trace that is of an entry, left out: its length is the byte after the header's record.
    let mut binary = trace.to_binary();
    let length = |at: usize| {
        let bytes = &binary[at..];
        let wide = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
        let length = bytes[..wide].iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        wide + length
    };
    let first = 8 + length(8);
    let second = first + length(first);
    binary.drain(first..second);
    assert!(matches!(Trace::read(&binary), Err(TraceError::Incomplete { .. } | TraceError::Malformed { .. })));
}

fn line(content: TraceContent) -> String {
    serde_json::to_string(&TraceEntry { at_ns: 9, content }).unwrap()
}

#[test]
fn every_kind_is_documented() {
    fn variants<T: serde::de::DeserializeOwned + core::fmt::Debug>() -> Vec<String> {
        let error = serde_json::from_str::<T>("\"no such name\"").unwrap_err().to_string();
        error.split("expected one of").nth(1).unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
    let page = include_str!("../../../docs/trace.md");
    assert!(page.contains(&format!("This is format {TRACE_VERSION};")));
    let names =
        [variants::<TraceContent>(), variants::<TracedEvent>(), variants::<TracedEffect>(), variants::<Incident>()];
    for name in names.concat() {
        assert!(page.contains(&format!("`{name}`")), "no {name}");
    }
    let header = serde_json::to_value(TraceHeader::default()).unwrap();
    for name in header.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{name}`")), "no {name}");
    }
}

fn entries() -> impl Strategy<Value = TraceContent> {
    let hash = any::<[u8; 32]>().prop_map(B256::new);
    let id = (any::<u64>(), hash.clone()).prop_map(|(height, hash)| BlockId { height: Height::new(height), hash });
    let bytes = proptest::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    let event = prop_oneof![
        Just(TracedEvent::Start),
        any::<u64>().prop_map(|timer| TracedEvent::Timer { timer }),
        any::<(u64, u64)>().prop_map(|(ticket, value)| TracedEvent::Random { ticket, value }),
        (id.clone(), proptest::option::of(".{0,12}"), any::<u64>()).prop_map(|(id, invalid, weight)| {
            TracedEvent::Judged { id, updates: vec![(Address::repeat_byte(7), weight)], invalid }
        }),
        any::<u32>().prop_map(|to| TracedEvent::Admin(Admin::TransferLeader { to: ReplicaId::new(to) })),
    ];
    let effect = prop_oneof![
        Just(TracedEffect::CancelBuild),
        (any::<u64>(), any::<u64>())
            .prop_map(|(timer, nanos)| TracedEffect::Arm { timer, deadline: Deadline::After { nanos } }),
        (any::<u64>(), any::<u64>()).prop_map(|(timer, time)| TracedEffect::Arm {
            timer,
            deadline: Deadline::AtTimestamp { timestamp: Timestamp::from_secs(time), then_nanos: 1 },
        }),
        (id.clone(), id.clone(), any::<u64>()).prop_map(|(old, new, reorg_depth)| TracedEffect::Head {
            old,
            new,
            reorg_depth
        }),
        (bytes.clone(), hash, any::<u64>()).prop_map(|(key, digest, len)| TracedEffect::Persist {
            ticket: len,
            records: vec![Written { key, len, digest }],
        }),
        "\\PC{0,20}".prop_map(|reason| TracedEffect::Reject { reason }),
    ];
    prop_oneof![
        (0..4_u32, event, proptest::collection::vec(effect, 0..4))
            .prop_map(|(replica, event, effects)| TraceContent::Step { replica, event, effects }),
        (0..4_u32, 0..4_u32, proptest::option::of(any::<u64>())).prop_map(|(from, to, arrives_ns)| {
            TraceContent::Sent { from, to, label: "vote".to_owned(), message: None, arrives_ns }
        }),
        (0..4_u32, any::<u64>()).prop_map(|(replica, round)| TraceContent::Status {
            replica,
            status: ReplicaStatus { round, role: RoundRole::Seeking, leader: Some(1) },
        }),
        (0..4_u32, proptest::collection::vec((bytes.clone(), bytes), 0..3)).prop_map(|(replica, records)| {
            TraceContent::Incident(Incident::Restarted {
                replica,
                records: records.into_iter().collect::<BTreeMap<_, _>>(),
            })
        }),
        ".{0,20}".prop_map(|detail| TraceContent::Incident(Incident::Violation {
            invariant: "agreement".to_owned(),
            step: 3,
            detail
        })),
    ]
}

proptest! {
    #[test]
    fn both_forms_come_back_as_they_were(contents in proptest::collection::vec(entries(), 0..20), title in "\\PC{0,20}") {
        let header = TraceHeader {
            version: TRACE_VERSION,
            title: title.clone(),
            replicas: vec![Participant::default(); 4],
            ..TraceHeader::default()
        };
        let entries = contents.into_iter().zip(0..).map(|(content, at_ns)| TraceEntry { at_ns, content }).collect();
        let outcome = TraceOutcome::Failed { reason: title };
        let trace = Trace { header, entries, outcome };
        prop_assert_eq!(&Trace::read(trace.to_ndjson().as_bytes()).unwrap(), &trace);
        prop_assert_eq!(&Trace::read(&trace.to_binary()).unwrap(), &trace);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Trace::read(&bytes);
        let _ = Trace::from_binary(&[b"CBXTRACE", bytes.as_slice()].concat());
    }
}
