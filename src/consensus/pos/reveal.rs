//! Randomness reveals: elements of hash chains, of which a proposer has one only.
//!
//! A validator announces the end of a hash chain in a block. In each block after that it reveals the element before the one
//! that it revealed last, which one hash verifies. A signature as reveal could be ground: ECDSA has many valid signatures of
//! one message, and a proposer would choose the one that draws the duties that it wants. Here it can only reveal or stay
//! silent.
//!
//! - An announced chain is in force two epochs later and after the chain before it is used up. An announcement is not part of
//!   the randomness, and until the first element counts, others reveal what the announcer can't know.
//! - A validator that has no chain in force, at first or because it announced the next one too late, reveals nothing; the
//!   randomness then advances without it.
//! - Which element is next follows from the branch, so that a validator that restarts, or follows another branch, needs no
//!   record. On two branches it reveals the same elements.
//! - The secret of a chain is the validator's signature over the slot in which the chain is announced, which it never sends.

use std::{collections::BTreeMap, sync::Arc};

use super::PosConfig;
use crate::{
    consensus::{
        Authenticator, Encoder, Purpose, Signer,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{B256, keccak256},
};

/// Epochs after its announcement from which a chain is in force.
const IN_FORCE_AFTER_EPOCHS: u64 = 2;
/// Chains whose elements a replica keeps: the one in force and the announced one.
const CACHED_MAX: usize = 2;

/// A validator's reveals on a branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RevealChain {
    /// Slot in which the chain in force was announced; 0 before the first.
    announced: u64,
    /// Element revealed last, or the end of the chain.
    last: B256,
    /// Number of elements not revealed yet.
    left: u64,
    /// Slot in which the next chain was announced, and its end.
    next: Option<(u64, B256)>,
}

/// Violation of a rule of reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevealError {
    /// The reveal is not the element before the last one.
    #[error("{got} is not before {last} in the proposer's hash chain")]
    NotNext {
        /// The reveal.
        got: B256,
        /// Element revealed last, or the end of the chain.
        last: B256,
    },
    /// The proposer has a chain in force and reveals nothing.
    #[error("nothing is revealed, although {left} elements of the proposer's hash chain are left")]
    Missing {
        /// Number of elements not revealed yet.
        left: u64,
    },
    /// The proposer reveals an element and has no chain in force.
    #[error("{got} is revealed, although no hash chain of the proposer is in force")]
    NoChain {
        /// The reveal.
        got: B256,
    },
    /// The next chain is announced already, or the present one is not nearly used up.
    #[error(
        "the next hash chain is announced too early: {left} elements are left, of at most {max}, or it is announced already"
    )]
    TooEarly {
        /// Number of elements not revealed yet.
        left: u64,
        /// Number of elements left from which the next chain may be announced.
        max: u64,
    },
}

/// The part of a payload that concerns the proposer's reveals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reveal {
    /// The next element of the proposer's chain; `None` when it has none in force.
    pub element: Option<B256>,
    /// End of the proposer's next chain.
    pub next_chain: Option<B256>,
}

impl RevealChain {
    /// Returns the chain that counts in `epoch`: the next one when this one is used up and that one is due.
    fn in_epoch(&self, config: &PosConfig, epoch: u64) -> Self {
        match self.next {
            Some((announced, end)) if self.left == 0 && config.epoch_of(announced) + IN_FORCE_AFTER_EPOCHS <= epoch => {
                Self { announced, last: end, left: config.reveal_chain_length, next: None }
            }
            _ => *self,
        }
    }

    /// Whether the next chain may be announced.
    const fn may_announce(&self, config: &PosConfig) -> bool {
        self.next.is_none() && self.left <= announce_at(config)
    }

    /// Returns the chain after a block of `slot` with this reveal.
    ///
    /// # Errors
    /// [`RevealError`] for a reveal that is not the only one possible, or a chain announced too early.
    pub(super) fn after(
        &self,
        config: &PosConfig,
        authenticator: &Authenticator,
        slot: u64,
        reveal: &Reveal,
    ) -> Result<Self, RevealError> {
        let mut chain = self.in_epoch(config, config.epoch_of(slot));
        match reveal.element {
            Some(element) if chain.left > 0 => {
                let is_next = authenticator.keccak(element.as_slice()) == chain.last;
                if !is_next && !mutation::active(Mutation::PosAnyReveal) {
                    return Err(RevealError::NotNext { got: element, last: chain.last });
                }
                (chain.last, chain.left) = (element, chain.left - 1);
            }
            Some(got) => return Err(RevealError::NoChain { got }),
            None if chain.left > 0 => return Err(RevealError::Missing { left: chain.left }),
            None => {}
        }
        if let Some(end) = reveal.next_chain {
            if !chain.may_announce(config) {
                return Err(RevealError::TooEarly { left: chain.left, max: announce_at(config) });
            }
            chain.next = Some((slot, end));
        }
        Ok(chain)
    }

    /// Returns the coverage point of a block with this reveal: that the chain is followed by another, or is used up before that counts.
    pub(super) fn mark_of(&self, reveal: &Reveal) -> Option<&'static str> {
        let is_first = self.announced == 0;
        match reveal {
            _ if is_first => None,
            Reveal { element: None, .. } => Some("pos/reveals-used-up"),
            Reveal { next_chain, .. } => next_chain.map(|_| "pos/reveals-renewed"),
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { announced, last, left, next } = self;
        out.u64(*announced);
        out.hash(last);
        out.u64(*left);
        out.option(next.as_ref(), |out, (slot, end)| {
            out.u64(*slot);
            out.hash(end);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let (announced, last, left) = (bytes.u64()?, bytes.hash()?, bytes.u64()?);
        Some(Self { announced, last, left, next: bytes.option(|bytes| Some((bytes.u64()?, bytes.hash()?)))? })
    }
}

/// Number of elements left from which the next chain may be announced: a quarter of the chain.
const fn announce_at(config: &PosConfig) -> u64 {
    config.reveal_chain_length / 4
}

impl Reveal {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { element, next_chain } = self;
        for hash in [element, next_chain] {
            out.option(hash.as_ref(), |out, hash| out.hash(hash));
        }
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { element: bytes.option(Decoder::hash)?, next_chain: bytes.option(Decoder::hash)? })
    }
}

/// Elements of a replica's own chains, by the slot in which the chain is announced. They follow from the signer.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnReveals(BTreeMap<u64, Arc<Vec<B256>>>);

impl OwnReveals {
    /// Returns the reveal of a block of `slot` by `signer`, whose chain on the branch is `chain`.
    pub(super) fn reveal(&mut self, config: &PosConfig, signer: &Signer, chain: &RevealChain, slot: u64) -> Reveal {
        let chain = chain.in_epoch(config, config.epoch_of(slot));
        let element = chain.left.checked_sub(1).and_then(|place| {
            let elements = self.elements(config, signer, chain.announced);
            elements.get(usize::try_from(place).ok()?).copied()
        });
        let next = RevealChain { left: chain.left.saturating_sub(1), ..chain };
        let next_chain =
            next.may_announce(config).then(|| self.elements(config, signer, slot).last().copied()).flatten();
        Reveal { element, next_chain }
    }

    /// Returns a chain from its secret to its end.
    fn elements(&mut self, config: &PosConfig, signer: &Signer, announced: u64) -> Arc<Vec<B256>> {
        if let Some(known) = self.0.get(&announced) {
            return known.clone();
        }
        let secret = keccak256(signer.sign(Purpose::Secret, chain_hash(announced)));
        let length = usize::try_from(config.reveal_chain_length).unwrap_or(usize::MAX);
        let chain = core::iter::successors(Some(secret), |element| Some(keccak256(element)));
        let elements: Arc<Vec<B256>> = Arc::new(chain.take(length + 1).collect());
        if self.0.len() >= CACHED_MAX {
            self.0.pop_first();
        }
        self.0.insert(announced, elements.clone());
        elements
    }
}

/// Returns the hash whose signature is the secret of the chain announced in `slot`.
fn chain_hash(slot: u64) -> B256 {
    let mut out = Encoder::with_capacity(4 + 25 + 8);
    out.bytes(b"chainbox pos reveal chain");
    out.u64(slot);
    keccak256(out.as_bytes())
}

/// Returns the randomness with a reveal mixed in (RANDAO): keccak of both. Without a reveal the hash of zero is mixed in.
pub(super) fn mixed(authenticator: &Authenticator, mix: B256, element: Option<B256>) -> B256 {
    authenticator.keccak(&[mix, element.unwrap_or_default()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::KeyPair;

    fn config() -> PosConfig {
        PosConfig::default().with_slots_per_epoch(4).with_reveal_chain_length(8)
    }

    /// Returns the chain and the reveals after blocks in these slots.
    fn run(slots: impl IntoIterator<Item = u64>) -> (RevealChain, Vec<Reveal>) {
        let authenticator = Authenticator::symbolic(1);
        let signer = authenticator.signer(&KeyPair::from_seed(1, "pos"));
        let (mut chain, mut own, mut reveals) = (RevealChain::default(), OwnReveals::default(), Vec::new());
        for slot in slots {
            let reveal = own.reveal(&config(), &signer, &chain, slot);
            // A replica that restarted computes the same.
            assert_eq!(OwnReveals::default().reveal(&config(), &signer, &chain, slot), reveal);
            chain = chain.after(&config(), &authenticator, slot, &reveal).unwrap();
            let mut out = Encoder::new();
            chain.encode(&mut out);
            assert_eq!(RevealChain::decode(&mut Decoder::new(out.as_bytes())), Some(chain));
            reveals.push(reveal);
        }
        (chain, reveals)
    }

    #[test]
    fn chains_follow_each_other_without_a_gap_and_no_element_comes_twice() {
        let (chain, reveals) = run(1..100);
        assert_eq!(reveals[0].element, None);
        assert!(reveals[0].next_chain.is_some(), "the first block announces the first chain");
        let first = reveals.iter().position(|reveal| reveal.element.is_some()).unwrap();
        assert_eq!(first, 7, "in force two epochs later, from slot 8 on");
        // A block a slot: eight elements are used up in two epochs, as long as a chain waits.
        let shown: Vec<_> = reveals[first..].iter().filter_map(|reveal| reveal.element).collect();
        assert_eq!(shown.iter().collect::<std::collections::BTreeSet<_>>().len(), shown.len());
        assert!(shown.len() > 60, "{}", shown.len());
        assert!(chain.announced > 70, "{chain:?}");
    }

    #[test]
    fn rare_proposers_never_run_out() {
        let (_, reveals) = run((1..60).map(|turn| turn * 4));
        assert!(reveals[2..].iter().all(|reveal| reveal.element.is_some()));
    }

    #[test]
    fn every_other_reveal_is_refused() {
        let authenticator = Authenticator::symbolic(1);
        let (chain, _) = run(1..12);
        let next = run(1..13).1[11];
        let check = |reveal: Reveal| chain.after(&config(), &authenticator, 12, &reveal);
        assert!(check(next).is_ok());
        let other = B256::repeat_byte(7);
        assert!(matches!(check(Reveal { element: Some(other), ..next }), Err(RevealError::NotNext { .. })));
        assert!(matches!(check(Reveal { element: None, ..next }), Err(RevealError::Missing { .. })));
        assert!(matches!(check(Reveal { next_chain: Some(other), ..next }), Err(RevealError::TooEarly { .. })));
        let none = RevealChain::default().after(&config(), &authenticator, 12, &next);
        assert!(matches!(none, Err(RevealError::NoChain { .. })));
    }
}
