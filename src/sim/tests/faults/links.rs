//! The effects of partitions and faulty links.

use super::*;

fn everywhere(effect: LinkEffect) -> LinkFault {
    LinkFault::everywhere(effect)
}

#[test]
fn a_partition_stops_the_minority_and_heals() {
    let mut network = network(raft(), 5);
    run_ms(&mut network, 3_000);
    let cut = network.partition(&[&[id(0), id(1)]]).unwrap();
    run_ms(&mut network, 10_000);
    let heights = heights(&network);
    assert!(heights[2] > heights[0] + 4 && heights[2] > heights[1] + 4, "{heights:?}");
    assert_eq!(network.faults().map(|(id, _)| id).collect::<Vec<_>>(), [cut]);
    network.heal().unwrap();
    assert_eq!(network.faults().count(), 0);
    assert_progress(&mut network, 3);
}

#[test]
fn an_even_split_stops_all_replicas() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 2_500);
    let before = heights(&network)[0];
    let cut = network.begin_fault(FaultKind::Split { size: 2 }).unwrap();
    run_ms(&mut network, 15_000);
    assert!(heights(&network).iter().all(|height| *height <= before + 1), "{:?}", heights(&network));
    network.end_fault(cut).unwrap();
    assert_progress(&mut network, 3);
}

#[test]
fn an_isolated_replica_receives_nothing_and_catches_up() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 2_500);
    network.isolate(id(2)).unwrap();
    run_ms(&mut network, 500);
    let stuck = height(&network, 2);
    run_ms(&mut network, 20_000);
    assert!(height(&network, 2) == stuck && height(&network, 0) > stuck + 5, "{:?}", heights(&network));
    network.heal().unwrap();
    assert_progress(&mut network, 3);
}

#[test]
fn a_one_way_cut_silences_one_direction_only() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 1_500);
    let others = vec![id(0), id(1), id(2)];
    network.begin_fault(FaultKind::OneWay { from: vec![id(3)], to: others }).unwrap();
    run_ms(&mut network, 20_000);
    // It still receives messages of the others, and follows.
    assert!(height(&network, 3) > 5, "{:?}", heights(&network));
    let silent = network.replica(id(3)).unwrap().counters().blocks_built;
    let led = network.replicas().iter().map(|replica| replica.counters().blocks_built).max().unwrap();
    assert!(silent < led);
}

#[test]
fn total_loss_of_one_label_is_total_and_of_that_label_only() {
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 1_500);
    let before = heights(&network)[0];
    let lost = LinkFault { labels: vec!["commit".to_owned()], ..everywhere(LinkEffect::Loss { per_mille: 1_000 }) };
    network.set_link(lost).unwrap();
    run_ms(&mut network, 10_000);
    assert!(heights(&network).iter().all(|height| *height <= before + 1));
    assert!(marks(&network, "pbft/timeout") > 0);
    network.heal().unwrap();
    assert_progress(&mut network, 3);
}

#[test]
fn latency_reordering_and_bandwidth_slow_down() {
    let arrivals = |fault: Option<LinkFault>| {
        let mut network = network(pbft(), 4);
        if let Some(fault) = fault {
            network.set_link(fault).unwrap();
        }
        run_ms(&mut network, 20_000);
        heights(&network)[0]
    };
    let quick = arrivals(None);
    let slow = LinkEffect::Latency(Delay::Uniform { min: Duration::from_millis(600), max: Duration::from_millis(900) });
    let late = LinkEffect::Reorder { per_mille: 900, up_to: Duration::from_secs(3) };
    let narrow = LinkEffect::Bandwidth { bytes_per_second: 500 };
    for effect in [slow, late, narrow] {
        let height = arrivals(Some(everywhere(effect)));
        assert!(height > 0 && height < quick, "{effect:?}: {height} of {quick}");
    }
}

#[test]
fn copies_arrive_and_are_refused() {
    let rejected = |effect: Option<LinkEffect>| {
        let mut network = network(pbft(), 4);
        if let Some(effect) = effect {
            network.set_link(everywhere(effect)).unwrap();
        }
        run_ms(&mut network, 10_000);
        (network.replicas().iter().map(|replica| replica.counters().rejected).sum::<u64>(), heights(&network)[0])
    };
    let (quiet, height) = rejected(None);
    for effect in
        [LinkEffect::Duplicate { per_mille: 500 }, LinkEffect::Replay { per_mille: 500, up_to: Duration::from_secs(4) }]
    {
        let (noisy, same) = rejected(Some(effect));
        assert!(noisy > 2 * quiet, "{effect:?}: {noisy} against {quiet}");
        assert_eq!(same, height, "and have no effect");
    }
}

#[test]
fn a_link_of_small_capacity_drops_excess_messages() {
    let after = |messages| {
        let mut network = network(pbft(), 4);
        network
            .set_link(everywhere(LinkEffect::Latency(Delay::Constant { delay: Duration::from_millis(400) })))
            .unwrap();
        network.set_link(everywhere(LinkEffect::Capacity { messages })).unwrap();
        run_ms(&mut network, 30_000);
        heights(&network)[0]
    };
    let (narrow, wide) = (after(1), after(100));
    assert!(narrow < wide, "{narrow} against {wide}");
}

#[test]
fn a_clogged_link_delivers_everything_afterwards() {
    let mut network = network(raft(), 3);
    run_ms(&mut network, 3_000);
    let clog = LinkFault { to: vec![id(1)], ..everywhere(LinkEffect::Clog) };
    let fault = network.set_link(clog).unwrap();
    run_ms(&mut network, 100);
    let (stuck, steps) = (height(&network, 1), network.steps());
    run_ms(&mut network, 900);
    assert!(network.steps() > steps);
    assert!(height(&network, 1) <= stuck + 1);
    network.end_fault(fault).unwrap();
    assert_progress(&mut network, 2);
}
