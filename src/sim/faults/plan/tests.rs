use super::*;
use crate::primitives::Address;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn id(number: u32) -> ReplicaId {
    ReplicaId::new(number)
}

/// One fault of each kind.
fn everything() -> FaultPlan {
    let link = |effect| FaultKind::Link(LinkFault::everywhere(effect));
    let byzantine =
        |behaviour| FaultKind::Byzantine { replica: id(1), behaviour, when: Trigger::Chance { per_mille: 250 } };
    let filtered = LinkFault {
        from: vec![id(0)],
        to: vec![id(1), id(2)],
        labels: vec!["prepare".to_owned(), "raft-*".to_owned()],
        effect: LinkEffect::Loss { per_mille: 300 },
    };
    let kinds = [
        FaultKind::Link(filtered),
        link(LinkEffect::Duplicate { per_mille: 10 }),
        link(LinkEffect::Reorder { per_mille: 10, up_to: ms(500) }),
        link(LinkEffect::Replay { per_mille: 10, up_to: ms(9_000) }),
        link(LinkEffect::Latency(Delay::Exponential { floor: ms(5), mean: ms(40) })),
        link(LinkEffect::Bandwidth { bytes_per_second: 100_000 }),
        link(LinkEffect::Capacity { messages: 8 }),
        link(LinkEffect::Clog),
        FaultKind::Partition { groups: vec![vec![id(0), id(1)], vec![id(2)]] },
        FaultKind::OneWay { from: vec![id(0)], to: vec![id(3)] },
        FaultKind::Isolate { replica: id(3) },
        FaultKind::Split { size: 2 },
        FaultKind::Crash { replica: id(2) },
        FaultKind::Wipe { replica: id(2) },
        FaultKind::Pause { replica: id(2) },
        FaultKind::Clock { replica: id(2), offset_ms: -1_500, drift_ppm: 200 },
        FaultKind::Disk { replica: id(2), delay: Delay::Uniform { min: ms(1), max: ms(30) } },
        byzantine(Behaviour::Silent),
        byzantine(Behaviour::SelectiveSend { to: vec![id(0)] }),
        byzantine(Behaviour::Equivocate),
        byzantine(Behaviour::DoubleVote { to: vec![id(2)] }),
        byzantine(Behaviour::Invalid),
        byzantine(Behaviour::Replay),
        byzantine(Behaviour::FutureSpam),
        byzantine(Behaviour::Withhold { delay: ms(700) }),
        byzantine(Behaviour::Censor { senders: vec![Address::repeat_byte(7)] }),
        byzantine(Behaviour::FalseAbsences),
        byzantine(Behaviour::ForbiddenTransaction),
        FaultKind::Amnesia { replica: id(0) },
        FaultKind::Corrupt { replica: id(0) },
        FaultKind::Twins { replica: id(0), group: vec![id(1), id(2)] },
    ];
    let timed = |(index, kind): (usize, FaultKind)| Fault {
        at: ms(100 * index as u64),
        duration: (!index.is_multiple_of(3)).then_some(ms(1_000)),
        kind,
    };
    FaultPlan::new(kinds.into_iter().enumerate().map(timed))
}

#[test]
fn every_fault_comes_back_from_toml_and_json() {
    let plan = everything();
    plan.check(4).unwrap();
    let toml = plan.to_toml();
    assert_eq!(FaultPlan::from_toml(&toml).unwrap(), plan, "{toml}");
    assert_eq!(FaultPlan::from_json(&plan.to_json()).unwrap(), plan);
    assert_eq!(FaultPlan::from_toml("version = 1").unwrap(), FaultPlan::default());
    assert_eq!(plan.byzantine(), [0, 1, 2].map(id));
}

#[test]
fn what_is_misspelt_is_named() {
    for (text, named) in [
        ("version = 1\nfault = []", "fault"),
        ("version = 1\n[[faults]]\nat_ms = 1\nwhat = { crush = { replica = 1 } }", "crush"),
        ("version = 1\n[[faults]]\nat_ms = 1\nwhat = { crash = { replica = 1, node = 2 } }", "node"),
        ("version = 1\n[[faults]]\nat = 1\nwhat = { crash = { replica = 1 } }", "at"),
        ("version = 1\n[[faults]]\nat_ms = -5\nwhat = { crash = { replica = 1 } }", "line 3"),
    ] {
        let error = FaultPlan::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn what_can_not_be_is_told_with_what_to_change() {
    let link = |effect| FaultKind::Link(LinkFault::everywhere(effect));
    for (kind, named) in [
        (FaultKind::Crash { replica: id(4) }, "numbered from 0"),
        (FaultKind::Partition { groups: vec![vec![id(0)], vec![id(1), id(0)]] }, "list it once"),
        (FaultKind::Split { size: 5 }, "more than the network's 4"),
        (FaultKind::Clock { replica: id(0), offset_ms: 0, drift_ppm: 500_001 }, "at most 500000"),
        (FaultKind::Twins { replica: id(0), group: vec![id(9)] }, "does not exist"),
        (link(LinkEffect::Loss { per_mille: 1_001 }), "0 to 1000"),
        (link(LinkEffect::Capacity { messages: 0 }), "at least 1"),
        (link(LinkEffect::Bandwidth { bytes_per_second: 0 }), "use `clog`"),
        (
            link(LinkEffect::Latency(Delay::Uniform { min: ms(9), max: ms(3) })),
            "min_ms is 9 and max_ms is 3; swap them",
        ),
        (link(LinkEffect::Latency(Delay::Constant { delay: Duration::from_micros(1_500) })), "ms is 1.5ms; give whole"),
    ] {
        let plan = FaultPlan::default().with(ms(0), ms(1), FaultKind::Split { size: 1 }).with(ms(0), ms(1), kind);
        let error = plan.check(4).unwrap_err();
        assert!(matches!(error, PlanError::Fault { index: 1, .. }));
        assert!(error.to_string().contains(named), "{error}");
    }
    let old = FaultPlan { version: 7, faults: Vec::new() };
    assert!(matches!(old.check(4), Err(PlanError::Version { got: 7, want: 1 })));
    for faults in ["", r#", "faults": []"#, r#", "faults": [{"when": 3, "what": {"earthquake": {}}}], "more": true"#] {
        let json = format!(r#"{{"version": 2{faults}}}"#);
        assert!(matches!(FaultPlan::from_json(&json), Err(PlanError::Version { got: 2, want: 1 })), "{json}");
        let nested = serde_json::from_str::<FaultPlan>(&json).unwrap_err().to_string();
        assert!(nested.contains("version 2; this build reads version 1"), "{nested}");
    }
    for toml in ["version = 9", "version = 9\n[[faults]]\nat = 1\nwhat = { earthquake = { size = 7 } }"] {
        assert!(matches!(FaultPlan::from_toml(toml), Err(PlanError::Version { got: 9, want: 1 })), "{toml}");
    }
    let late = FaultPlan::default().with(Duration::MAX, ms(1), FaultKind::Split { size: 1 });
    assert!(matches!(late.check(4), Err(PlanError::TooLong { field: "at_ms", .. })));
    let odd = FaultPlan::default().with(ms(1), Duration::from_nanos(1), FaultKind::Split { size: 1 });
    assert!(matches!(odd.check(4), Err(PlanError::Fraction { field: "for_ms", .. })));
}

#[test]
fn filters_take_labels_and_beginnings_of_labels() {
    let plan = everything();
    let FaultKind::Link(fault) = &plan.faults[0].kind else { panic!("the first is a link fault") };
    assert!(fault.concerns(id(0), id(1), "prepare") && fault.concerns(id(0), id(2), "raft-vote"));
    assert!(!fault.concerns(id(0), id(1), "commit") && !fault.concerns(id(0), id(1), "pre-prepare"));
    assert!(!fault.concerns(id(1), id(0), "prepare") && !fault.concerns(id(0), id(3), "prepare"));
}

/// Returns the names of an enum's variants in the written form, as its reader lists them.
fn variants<T: serde::de::DeserializeOwned + core::fmt::Debug>() -> Vec<String> {
    let error = serde_json::from_str::<T>("\"no such name\"").unwrap_err().to_string();
    let names = error.split("expected one of").nth(1).unwrap_or_else(|| panic!("{error}"));
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_example_has_every_name_and_is_that_of_the_documentation() {
    let plan = FaultPlan::from_toml(FaultPlan::EXAMPLE).unwrap();
    plan.check(7).unwrap();
    assert_eq!(FaultPlan::from_toml(&plan.to_toml()).unwrap(), plan);
    let names = [
        variants::<FaultKind>(),
        variants::<LinkEffect>(),
        variants::<Delay>(),
        variants::<Behaviour>(),
        variants::<Trigger>(),
    ];
    assert!(names.concat().len() > 30, "{names:?}");
    for name in names.concat() {
        let is_there =
            [format!("{name} ="), format!("\"{name}\"")].iter().any(|form| FaultPlan::EXAMPLE.contains(form));
        assert!(is_there, "no {name}");
    }
    let page = include_str!("../../../../docs/fault-plans.md");
    assert!(page.contains(&format!("```toml\n{}```\n", FaultPlan::EXAMPLE)), "docs/fault-plans.md has another example");
}
