//! Signers and open votes after a block (EIP-225, "Voting on signers").

use std::{collections::BTreeSet, sync::Arc};

use super::{Payload, Vote};
use crate::{
    consensus::{
        Encoder, Validator, ValidatorSet,
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{Address, Height},
    system::ValidatorUpdates,
};

/// Difficulty of a block by the signer whose turn it is (`DIFF_INTURN`).
pub const DIFFICULTY_IN_TURN: u64 = 2;
/// Difficulty of any other block (`DIFF_NOTURN`).
pub const DIFFICULTY_OUT_OF_TURN: u64 = 1;

/// Signers, recent signers and open votes after a block. Cloning copies the list of recent signers, which is bounded by the
/// number of signers, and shares the votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    signers: ValidatorSet,
    /// Heights and authors of the latest blocks, oldest first; only those that bar their author from the next block.
    recents: Vec<(Height, Address)>,
    /// Open votes in the order they were cast.
    votes: Arc<Vec<CastVote>>,
}

/// A vote and its signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CastVote {
    /// Signer that cast the vote.
    pub signer: Address,
    /// The vote.
    pub vote: Vote,
}

/// Violation of a rule of signers, votes or checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The author is not a signer.
    #[error("signer {signer} is not authorised")]
    UnauthorizedSigner {
        /// Author of the block, by its seal.
        signer: Address,
    },
    /// The author signed one of the last `limit - 1` blocks.
    #[error("signer {signer} signed block {signed} and may sign again from block {again}")]
    RecentlySigned {
        /// Author of the block, by its seal.
        signer: Address,
        /// Height of its recent block.
        signed: Height,
        /// First height at which it may sign again.
        again: Height,
    },
    /// A checkpoint's list differs from the chain's signers.
    #[error("checkpoint lists {got} signers that differ from the {want} of the chain")]
    CheckpointSigners {
        /// Number of signers listed.
        got: usize,
        /// Number of signers of the chain.
        want: usize,
    },
    /// A checkpoint contains no signer list, or another block contains one.
    #[error("the signer list is missing at a checkpoint or present in another block")]
    MisplacedCheckpoint,
    /// A checkpoint contains a vote.
    #[error("a checkpoint contains a vote; expected none")]
    CheckpointVote,
    /// The changes of the block would leave nobody to sign.
    #[error("the changes by the validators' contract leave no signer")]
    NoSigners,
}

impl Snapshot {
    /// Returns the snapshot after a genesis block (or a trusted checkpoint) that lists `signers`.
    pub const fn new(signers: ValidatorSet, votes: Arc<Vec<CastVote>>) -> Self {
        Self { signers, recents: Vec::new(), votes }
    }

    /// Returns the signers; those that signed recently may not sign the next block.
    pub const fn signers(&self) -> &ValidatorSet {
        &self.signers
    }

    /// Returns the open votes, in the order they were cast.
    pub fn votes(&self) -> &[CastVote] {
        &self.votes
    }

    /// Returns the number of consecutive blocks of which a signer may sign one (`SIGNER_LIMIT`).
    pub fn signer_limit(&self) -> u64 {
        let one = if mutation::active(Mutation::PoaSignerLimitOneShort) { 0 } else { 1 };
        self.signers.len() as u64 / 2 + one
    }

    /// Whether it is `signer`'s turn at `height`.
    pub fn is_in_turn(&self, height: Height, signer: &Address) -> bool {
        self.blocks_since_turn(height, signer) == Some(0)
    }

    /// Returns the difficulty of a block of `signer` at `height`.
    pub fn difficulty(&self, height: Height, signer: &Address) -> u64 {
        let is_in_turn = self.is_in_turn(height, signer) || mutation::active(Mutation::PoaAlwaysInTurn);
        if is_in_turn { DIFFICULTY_IN_TURN } else { DIFFICULTY_OUT_OF_TURN }
    }

    /// Returns the number of blocks since `signer`'s turn: `(height - index) % N`, without wrapping below zero.
    pub fn blocks_since_turn(&self, height: Height, signer: &Address) -> Option<u64> {
        let count = self.signers.len() as u64;
        let index = self.signers.index_of(signer)? as u64;
        let turn =
            if mutation::active(Mutation::PoaTurnOfParent) { height.get().saturating_sub(1) } else { height.get() };
        Some((turn % count + count - index) % count)
    }

    /// Checks that `signer` may sign at `height`.
    ///
    /// # Errors
    /// [`SnapshotError::UnauthorizedSigner`], [`SnapshotError::RecentlySigned`].
    pub fn may_sign(&self, height: Height, signer: &Address) -> Result<(), SnapshotError> {
        if !self.signers.contains(signer) {
            return Err(SnapshotError::UnauthorizedSigner { signer: *signer });
        }
        // `signed + limit > height` rather than `signed > height - limit`, which would wrap below the limit.
        let limit = self.signer_limit();
        match self.recents.iter().find(|(signed, author)| author == signer && signed.get() + limit > height.get()) {
            None => Ok(()),
            Some((signed, _)) => {
                let again = Height::new(signed.get() + limit);
                Err(SnapshotError::RecentlySigned { signer: *signer, signed: *signed, again })
            }
        }
    }

    /// Returns the snapshot after a block at `height` by `signer`, with `payload` and checkpoints every `epoch` blocks.
    ///
    /// # Errors
    /// [`SnapshotError`] for the first rule that the block violates.
    pub fn apply(&self, height: Height, signer: Address, payload: &Payload, epoch: u64) -> Result<Self, SnapshotError> {
        self.may_sign(height, &signer)?;
        let is_checkpoint = height.get().is_multiple_of(epoch);
        self.check_checkpoint(is_checkpoint, payload)?;

        let mut next = self.clone();
        if is_checkpoint && mutation::active(Mutation::PoaCheckpointForgetsSigners) {
            next.recents.clear();
        }
        if is_checkpoint && !next.votes.is_empty() && !mutation::active(Mutation::PoaCheckpointKeepsVotes) {
            next.votes = Arc::default();
        }
        if let Some(vote) = payload.vote {
            next.cast(CastVote { signer, vote });
        }
        next.change(&payload.changes)?;
        next.recents.push((height, signer));
        next.forget_old_signatures(height);
        Ok(next)
    }

    /// Whether a vote could change the set: to add an account that is no signer, or to remove a signer.
    pub fn is_meaningful(&self, vote: Vote) -> bool {
        self.signers.contains(&vote.target) != vote.authorize
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        let Self { signers, recents, votes } = self;
        out.list(signers.addresses(), |out, signer| out.address(&signer));
        out.list(recents.iter(), |out, (height, signer)| {
            out.u64(height.get());
            out.address(signer);
        });
        out.list(votes.iter(), |out, CastVote { signer, vote: Vote { target, authorize } }| {
            out.address(signer);
            out.address(target);
            out.bool(*authorize);
        });
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let signers = bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: 1 }))?;
        let recents = bytes.list(|bytes| Some((Height::new(bytes.u64()?), bytes.address()?)))?;
        let votes = bytes.list(|bytes| {
            let signer = bytes.address()?;
            Some(CastVote { signer, vote: Vote { target: bytes.address()?, authorize: bytes.bool()? } })
        })?;
        let is_sorted = signers.windows(2).all(|pair| pair[0] < pair[1]);
        is_sorted.then(|| Self { signers: ValidatorSet::from_sorted(signers), recents, votes: Arc::new(votes) })
    }

    fn check_checkpoint(&self, is_checkpoint: bool, payload: &Payload) -> Result<(), SnapshotError> {
        if is_checkpoint != payload.checkpoint.is_some() {
            return Err(SnapshotError::MisplacedCheckpoint);
        }
        let Some(listed) = &payload.checkpoint else { return Ok(()) };
        if payload.vote.is_some() {
            return Err(SnapshotError::CheckpointVote);
        }
        if !listed.iter().copied().eq(self.signers.addresses()) {
            return Err(SnapshotError::CheckpointSigners { got: listed.len(), want: self.signers.len() });
        }
        Ok(())
    }

    /// Counts a vote in place of the signer's earlier vote about the same target. A majority changes the signers at once, for
    /// this target only: a majority about another target that arises from the smaller set applies with the next vote about it.
    fn cast(&mut self, cast: CastVote) {
        let target = cast.vote.target;
        let votes = Arc::make_mut(&mut self.votes);
        votes.retain(|open| (open.signer, open.vote.target) != (cast.signer, target));
        // Open votes about one target all agree: votes that would change nothing are not kept.
        if self.signers.contains(&target) != cast.vote.authorize {
            votes.push(cast);
        }
        let count = votes.iter().filter(|open| open.vote.target == target).count();
        let needed = if mutation::active(Mutation::PoaVotePassesAtHalf) { 0 } else { 1 };
        if count < self.signers.len() / 2 + needed {
            return;
        }
        let authorize = !self.signers.contains(&target);
        let keeps_applied = mutation::active(Mutation::PoaPassedVotesStay);
        let keeps_removed = authorize || mutation::active(Mutation::PoaRemovedVotesStay);
        votes.retain(|open| (keeps_applied || open.vote.target != target) && (keeps_removed || open.signer != target));
        let mut members: Vec<Validator> = self.signers.members().to_vec();
        members.retain(|member| member.address != target);
        if authorize {
            members.push(Validator { address: target, weight: 1 });
            members.sort_unstable();
        }
        self.signers = ValidatorSet::from_sorted(members);
    }

    /// Takes changes by the validators' contract over. Votes are not cast on such a chain.
    fn change(&mut self, changes: &ValidatorUpdates) -> Result<(), SnapshotError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut members: BTreeSet<Address> = self.signers.addresses().collect();
        for change in changes {
            if change.weight > 0 {
                members.insert(change.address);
            } else if !mutation::active(Mutation::PoaKeepsRemovedMembers) {
                members.remove(&change.address);
            }
        }
        if members.is_empty() {
            return Err(SnapshotError::NoSigners);
        }
        let members = members.into_iter().map(|address| Validator { address, weight: 1 });
        self.signers = ValidatorSet::from_sorted(members.collect());
        Ok(())
    }

    /// Drops signatures that bar no signer from blocks above `height`; the window shrinks with the set.
    fn forget_old_signatures(&mut self, height: Height) {
        let limit = self.signer_limit();
        self.recents.retain(|(signed, _)| signed.get() + limit > height.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn snapshot(signers: u8) -> Snapshot {
        Snapshot::new(ValidatorSet::equal((0..signers).map(address)).unwrap(), Arc::default())
    }

    #[test]
    fn a_recent_signer_below_the_limit_is_refused() {
        // Height 1 with a limit of 4: `height - limit` would wrap and let every signer sign.
        let after = snapshot(7).apply(Height::new(1), address(1), &Payload::default(), 30_000).unwrap();
        for height in 2..5 {
            let refused = after.may_sign(Height::new(height), &address(1));
            assert!(matches!(refused, Err(SnapshotError::RecentlySigned { again, .. }) if again == Height::new(5)));
        }
        assert_eq!(after.may_sign(Height::new(5), &address(1)), Ok(()));
    }

    #[test]
    fn turns_rotate_and_never_wrap() {
        let snapshot = snapshot(8);
        assert!(snapshot.is_in_turn(Height::new(9), &address(1)));
        assert_eq!(snapshot.blocks_since_turn(Height::new(0), &address(7)), Some(1));
        assert_eq!(snapshot.blocks_since_turn(Height::new(3), &address(5)), Some(6));
        assert_eq!(snapshot.blocks_since_turn(Height::new(3), &address(9)), None);
    }

    #[test]
    fn votes_are_bounded_by_signers_and_targets_and_cleared_at_a_checkpoint() {
        let mut current = snapshot(3);
        for height in 1..=6_u64 {
            let vote = Some(Vote { target: address(200), authorize: height % 6 != 0 });
            let payload = Payload { vote, ..Payload::default() };
            // Only one signer votes, repeatedly: two votes would be a majority.
            let signer = address([1, 0, 2][height as usize % 3]);
            let payload = if signer == address(1) { payload } else { Payload::default() };
            current = current.apply(Height::new(height), signer, &payload, 7).unwrap();
            assert!(current.votes().len() <= 1);
        }
        let listed = current.signers().addresses().collect();
        let checkpoint = Payload { checkpoint: Some(listed), ..Payload::default() };
        let after = current.apply(Height::new(7), address(0), &checkpoint, 7).unwrap();
        assert!(after.votes().is_empty());
        assert!(after.may_sign(Height::new(8), &address(0)).is_err());
        let silent = current.apply(Height::new(7), address(0), &Payload::default(), 7);
        assert_eq!(silent, Err(SnapshotError::MisplacedCheckpoint));
    }
}
