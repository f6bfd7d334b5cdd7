//! Agreement without faults, certificates, checkpoints, restarts.

use super::lab::{Lab, config};
use crate::{
    consensus::{
        BlockId, ConsensusMessage, Effect, Event, HeaderFieldError, Protocol, SealedHeader,
        pbft::{CertificateError, HeaderError, LightVerifier, RESEND_TIMER, Seal, View},
    },
    primitives::Bytes,
};

#[test]
fn all_replicas_commit_the_same_blocks_and_the_log_is_bounded() {
    for count in [1, 4, 5, 7] {
        let mut lab = Lab::new(count);
        for height in 1..=40 {
            lab.produce();
            assert_eq!(lab.heights(), vec![height; count]);
        }
        assert_eq!(lab.violations, []);
        assert!(lab.views().iter().all(|view| *view == 0));
        for replica in lab.replicas() {
            assert_eq!(replica.stable_checkpoint().height.get(), 40);
            assert!(replica.log.slots.len() <= 1, "{:?}", replica.log.slots.keys());
            assert_eq!(replica.finality().finalized, replica.head());
        }
    }
}

#[test]
fn a_log_full_without_checkpoint_votes_continues_with_them() {
    let mut lab = Lab::new(4);
    lab.lose(&["checkpoint"]);
    (0..20).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [8; 4], "h + L");
    assert!(lab.mark("pbft/log-full") > 0);
    lab.lose_nothing();
    (0..4).for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    lab.produce();
    assert_eq!(lab.heights(), [9; 4]);
}

#[test]
fn a_light_verifier_follows_certificates_and_nothing_else() {
    let mut lab = Lab::new(4);
    (0..6).for_each(|_| lab.produce());
    let new = || LightVerifier::new(config(), lab.genesis.header(), lab.set(), lab.authenticator.clone()).unwrap();
    let mut light = new();
    for height in 1..=6 {
        light.follow(&SealedHeader::from(lab.canonical(2, height).as_ref())).unwrap();
    }
    assert_eq!(light.head(), lab.replica(0).head());

    let good = SealedHeader::from(lab.canonical(1, 1).as_ref());
    let certificate = Seal::certificate(&good.seal).unwrap();
    assert_eq!(certificate.signatures.len(), 3);
    let refuse = |seal: Seal| {
        let mut light = new();
        let error = light.follow(&SealedHeader { seal: seal.encoded(), ..good.clone() }).unwrap_err();
        assert_eq!(light.head().height.get(), 0);
        let HeaderError::Seal(error) = error else { panic!("{error}") };
        error
    };
    let signatures = certificate.signatures.clone();
    let with = |signatures: Vec<Bytes>| {
        refuse(Seal::Certificate(super::super::Certificate { view: View::new(0), signatures }))
    };
    assert_eq!(with(signatures[..2].to_vec()), CertificateError::Count { got: 2, want: 3 });
    let twice = vec![signatures[0].clone(), signatures[0].clone(), signatures[1].clone()];
    assert!(matches!(with(twice), CertificateError::Order { .. }));
    let swapped = vec![signatures[1].clone(), signatures[0].clone(), signatures[2].clone()];
    assert!(matches!(with(swapped), CertificateError::Order { .. }));
    // Commits of another view, or of another block, are no commits of this one.
    let other_view = super::super::Certificate { view: View::new(1), signatures };
    assert!(matches!(refuse(Seal::Certificate(other_view)), CertificateError::Signature(_)));
    let other_block = Seal::certificate(lab.canonical(1, 2).seal()).unwrap();
    assert!(matches!(refuse(Seal::Certificate(other_block)), CertificateError::Signature(_)));
    let proposal = Seal::Proposal { view: View::new(0), signature: Bytes::new() };
    assert_eq!(refuse(proposal), CertificateError::NotCommitted);
    // A gap.
    assert!(matches!(
        new().follow(&SealedHeader::from(lab.canonical(1, 2).as_ref())),
        Err(HeaderError::Field(HeaderFieldError::Parent { .. }))
    ));
}

#[test]
fn an_observer_follows_and_sends_nothing() {
    let mut lab = Lab::new(4);
    let mut observer = lab.fresh(None);
    let mut effects = Vec::new();
    observer.step(Event::Start, &mut effects);
    // It has no timer but that for repeating unanswered requests.
    assert!(matches!(effects.as_slice(), [Effect::ArmTimer { timer: RESEND_TIMER, .. }]), "{effects:?}");
    for _ in 0..6 {
        (0..4).for_each(|index| lab.fire(index, super::super::BUILD_TIMER));
        while let Some(envelope) = lab.queue.front().cloned() {
            if envelope.to.index() == (envelope.from.index() + 1) % 4 {
                feed(&mut observer, envelope.into_event());
            }
            lab.deliver_at(0);
        }
    }
    assert_eq!(observer.head(), lab.replica(0).head());
    assert_eq!(observer.stable_checkpoint().height.get(), 4);
}

/// Steps an observer and asserts that it sends nothing; every block is valid.
fn feed(observer: &mut super::super::Pbft, event: Event) {
    use crate::consensus::Verdict;
    let mut inbox = vec![event];
    while let Some(event) = inbox.pop() {
        let mut effects = Vec::new();
        observer.step(event, &mut effects);
        for effect in effects {
            match effect {
                Effect::Validate { block } => {
                    inbox.push(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::VALID });
                }
                Effect::Send { message: ConsensusMessage::Pbft(message), .. } => {
                    panic!("sent {}", message.body.label())
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_restarted_replica_keeps_its_votes() {
    let mut lab = Lab::new(4);
    (0..5).for_each(|_| lab.produce());
    // Replica 2 prepares block 6 and crashes before it commits.
    lab.lose(&["commit", "prepare"]);
    lab.produce();
    let before = lab.replica(2).clone();
    assert_eq!(before.log.pre_prepared().last().unwrap().block.height.get(), 6);
    lab.restart(2);
    let after = lab.replica(2);
    assert_eq!(
        (after.head(), after.view(), after.stable_checkpoint()),
        (before.head(), before.view(), before.stable_checkpoint())
    );
    assert_eq!(after.log.pre_prepared(), before.log.pre_prepared());
    assert_eq!(after.log.prepared(), before.log.prepared());
    // The primary proposes another block of the same height and view to it: the record of the first one prevents a second vote.
    let head = lab.canonical(2, 5);
    let (_, other) = lab.proposal(&head, 0, 0);
    lab.inject(0, 2, other);
    lab.settle();
    // It reports that to all, with both signatures.
    assert_eq!(lab.evidence.len(), 4);
    assert!(lab.replica(2).is_changing());
    // And all continue after a view change.
    lab.lose_nothing();
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    assert!(lab.heights().iter().all(|height| *height >= 8), "{:?}", lab.heights());
}

#[test]
fn states_are_equal_exactly_when_their_encodings_are() {
    let mut lab = Lab::new(4);
    lab.produce();
    let copy = lab.replica(1).clone();
    assert_eq!((copy.clone(), copy.digest()), (lab.replica(1).clone(), lab.replica(1).digest()));
    lab.produce();
    assert_ne!(copy, *lab.replica(1));
}
