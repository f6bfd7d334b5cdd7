//! Catch-up: chains that are far ahead are requested block by block from the peers that announced them.
//!
//! Each peer's chain is followed on its own, from the own head on. Where it forks off below, so that an answer has no known parent,
//! lower blocks are requested, at distances that double, until one has. `f + 1` chains are followed at once, the one without
//! progress for longest giving its place to a new one: so that `f` peers that never answer, or whose chains lose, delay nobody.

use imbl::Vector;

use super::Dpos;
use crate::{
    consensus::{
        BlockId, Effect, Encoder, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

/// A peer's chain that is being requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeerChain {
    from: ReplicaId,
    /// Height requested.
    next: Height,
    /// Highest block that the peer announced.
    target: Height,
    /// Distance in blocks to the request after this one, if the answer to this one has no known parent.
    step: u64,
}

impl PeerChain {
    const fn request(&self) -> Effect {
        Effect::Fetch { block: BlockId { height: self.next, hash: B256::ZERO }, from: self.from }
    }
}

/// The chains that are being requested, the one without progress for longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CatchUp(Vector<PeerChain>);

impl CatchUp {
    /// Returns whether the block at this height of this peer's chain is requested.
    pub(super) fn is_requested(&self, from: ReplicaId, height: Height) -> bool {
        self.0.iter().any(|chain| (chain.from, chain.next) == (from, height))
    }

    fn is_followed(&self, from: ReplicaId) -> bool {
        self.0.iter().any(|chain| chain.from == from)
    }

    /// Requests a peer's chain from `start` up to `target`; one that is being requested already, where it stands. Returns the request.
    fn request(&mut self, from: ReplicaId, start: Height, target: Height, chains_max: usize) -> Effect {
        if let Some(chain) = self.0.iter_mut().find(|chain| chain.from == from) {
            chain.target = chain.target.max(target);
            return chain.request();
        }
        if self.0.len() >= chains_max {
            self.0.pop_front();
        }
        let chain = PeerChain { from, next: start.min(target), target, step: 1 };
        self.0.push_back(chain);
        chain.request()
    }

    /// Continues above a block that is in the tree now: the chains of which the block at its height is requested.
    fn advance(&mut self, height: Height) -> Vec<Effect> {
        let (reached, others): (Vec<_>, Vec<_>) = self.0.iter().copied().partition(|chain| chain.next == height);
        if reached.is_empty() {
            return Vec::new();
        }
        let reached = reached.into_iter().filter(|chain| chain.target > height);
        let reached: Vec<_> = reached.map(|chain| PeerChain { next: height.next(), step: 1, ..chain }).collect();
        self.0 = others.into_iter().chain(reached.iter().copied()).collect();
        reached.iter().map(PeerChain::request).collect()
    }

    /// Goes back in a peer's chain, whose block at `height` has no known parent, but not below `lowest`; gives the chain up where
    /// that one was requested. Returns the request.
    fn go_back(&mut self, from: ReplicaId, height: Height, lowest: Height) -> Option<Effect> {
        let place = self.0.iter().position(|chain| (chain.from, chain.next) == (from, height))?;
        let mut chain = self.0.remove(place);
        if height <= lowest {
            return None;
        }
        chain.next = Height::new(height.get().saturating_sub(chain.step)).max(lowest);
        chain.step = chain.step.saturating_mul(2);
        self.0.insert(place, chain);
        Some(chain.request())
    }

    /// Requests nothing at or below the last irreversible block any more.
    pub(super) fn keep_above(&mut self, irreversible: Height) {
        let lowest = irreversible.next();
        if self.0.iter().any(|chain| chain.next < lowest) {
            let chains = self.0.iter().map(|chain| PeerChain { next: chain.next.max(lowest), ..*chain });
            self.0 = chains.filter(|chain| chain.next <= chain.target).collect();
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.option((!self.0.is_empty()).then_some(&self.0), |out, chains| {
            out.list(chains.iter(), |out, PeerChain { from, next, target, step }| {
                out.u32(from.get());
                out.u64(next.get());
                out.u64(target.get());
                out.u64(*step);
            });
        });
    }
}

impl Dpos {
    /// Requests a peer's canonical chain up to `target`.
    pub(super) fn request_chain(&mut self, from: ReplicaId, target: Height, effects: &mut Vec<Effect>) {
        let mut start = self.tree.head().context.block.height.next();
        if mutation::active(Mutation::DposCatchUpStartsAnew) && !self.catch_up.is_followed(from) {
            (self.catch_up, start) = (CatchUp::default(), self.tree.root().height.next());
        }
        let producers = self.head_context().state.active().producers().len();
        let chains_max = producers.saturating_sub(1) / 3 + 1;
        effects.push(self.catch_up.request(from, start, target, chains_max));
        effects.push(Effect::Mark("dpos/fetch-from-below"));
    }

    /// Takes a block that a peer's chain was asked for, unless it is to be admitted as any other. Returns whether it was taken.
    pub(super) fn take_requested(
        &mut self,
        from: ReplicaId,
        id: BlockId,
        parent: BlockId,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if !self.catch_up.is_requested(from, id.height) {
            return false;
        }
        if self.tree.get(&id).is_some() {
            self.continue_catch_up(id.height, effects);
            return true;
        }
        let is_attached = self.is_attached(&parent);
        if !is_attached {
            let lowest = self.tree.root().height.next();
            effects.extend(self.catch_up.go_back(from, id.height, lowest));
        }
        !is_attached
    }

    /// Requests what follows a block that is in the tree now.
    pub(super) fn continue_catch_up(&mut self, height: Height, effects: &mut Vec<Effect>) {
        effects.extend(self.catch_up.advance(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAINS_MAX: usize = 2;

    fn asked(effect: &Effect) -> (u32, u64) {
        let Effect::Fetch { block, from } = effect else { panic!("{effect:?}") };
        assert!(block.hash.is_zero(), "a block of the peer's chain");
        (from.get(), block.height.get())
    }

    fn request(catch_up: &mut CatchUp, from: u32, start: u64, target: u64) -> (u32, u64) {
        asked(&catch_up.request(ReplicaId::new(from), Height::new(start), Height::new(target), CHAINS_MAX))
    }

    fn advance(catch_up: &mut CatchUp, height: u64) -> Vec<(u32, u64)> {
        catch_up.advance(Height::new(height)).iter().map(asked).collect()
    }

    #[test]
    fn each_chain_goes_on_where_it_stands_and_ends_at_its_target() {
        let mut catch_up = CatchUp::default();
        assert_eq!(request(&mut catch_up, 1, 5, 7), (1, 5));
        assert_eq!(advance(&mut catch_up, 5), [(1, 6)]);
        assert_eq!(request(&mut catch_up, 2, 6, 6), (2, 6));
        assert_eq!(request(&mut catch_up, 1, 5, 8), (1, 6), "not from the start again");
        assert_eq!(advance(&mut catch_up, 5), [], "nobody waits for it");
        assert_eq!(advance(&mut catch_up, 6), [(1, 7)], "the other one ends");
        assert_eq!((advance(&mut catch_up, 7), advance(&mut catch_up, 8)), (vec![(1, 8)], vec![]));
        assert_eq!(catch_up, CatchUp::default());
        assert_eq!(request(&mut catch_up, 1, 9, 4), (1, 4), "a chain that is shorter than the own one");
    }

    #[test]
    fn the_chain_without_progress_for_longest_gives_its_place() {
        let mut catch_up = CatchUp::default();
        request(&mut catch_up, 1, 5, 90);
        request(&mut catch_up, 2, 6, 90);
        advance(&mut catch_up, 5);
        request(&mut catch_up, 3, 7, 90);
        let followed = |catch_up: &CatchUp| [1, 2, 3, 4].map(|peer| catch_up.is_followed(ReplicaId::new(peer)));
        assert_eq!(followed(&catch_up), [true, false, true, false]);
        request(&mut catch_up, 4, 7, 90);
        assert_eq!(followed(&catch_up), [false, false, true, true]);
    }

    #[test]
    fn a_fork_is_looked_for_at_distances_that_double() {
        let mut catch_up = CatchUp::default();
        request(&mut catch_up, 1, 100, 200);
        let (peer, lowest) = (ReplicaId::new(1), Height::new(60));
        let mut at = 100;
        let mut way = Vec::new();
        while let Some(request) = catch_up.go_back(peer, Height::new(at), lowest) {
            at = asked(&request).1;
            way.push(at);
        }
        assert_eq!(way, [99, 97, 93, 85, 69, 60]);
        assert_eq!(catch_up, CatchUp::default(), "it has not even the lowest");
        assert!(catch_up.go_back(peer, Height::new(60), lowest).is_none());
        // What is irreversible meanwhile is not requested.
        request(&mut catch_up, 1, 100, 200);
        request(&mut catch_up, 2, 90, 120);
        catch_up.keep_above(Height::new(120));
        assert_eq!(advance(&mut catch_up, 121), [(1, 122)]);
        assert!(!catch_up.is_followed(ReplicaId::new(2)));
        // The next search begins with one block again.
        let back = catch_up.go_back(peer, Height::new(122), lowest);
        assert_eq!(back.iter().map(asked).collect::<Vec<_>>(), [(1, 121)]);
    }
}
