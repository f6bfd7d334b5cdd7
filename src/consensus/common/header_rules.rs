//! How rules that judge a block from its parent come by what they need of the parent: remembered, or judged again from the
//! nearest ancestor that is.

use core::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    chain::{Ancestors, Block, RuleError},
    primitives::{B256, Bytes, Header, maps::LookupMap},
    system::ValidatorUpdates,
};

/// Blocks that are remembered in each of two generations.
const REMEMBERED_MAX: usize = 1_024;

/// A block's parent, as its rules see it.
pub(in crate::consensus) struct Parent<'a, L> {
    pub(in crate::consensus) header: &'a Header,
    pub(in crate::consensus) link: &'a L,
}

/// Rules that go from parent to child.
pub(in crate::consensus) trait Lineage {
    /// What the judgement of a block's children needs of it.
    type Link: Clone + Debug;

    /// What was judged before. Holds links without the changes of their own block, which is executed later than judged.
    fn remembered(&self) -> &Remembered<Self::Link>;

    /// The link of genesis.
    fn genesis(&self, hash: B256, header: &Header) -> Self::Link;

    /// Judges everything that a block says, and its seal.
    ///
    /// # Errors
    /// [`RuleError`]: what it breaks.
    fn judge(&self, parent: &Parent<'_, Self::Link>, block: &Block) -> Result<Self::Link, RuleError>;

    /// The link after the execution of its block.
    fn executed(link: Self::Link, updates: &ValidatorUpdates) -> Self::Link;

    /// Judges a block, unless another replica of this process had this very block judged, its seal too.
    ///
    /// # Errors
    /// [`RuleError`]: what it breaks, or [`RuleError::Pending`] when too few ancestors are kept to say.
    fn judge_once(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        if self.remembered().has(block) {
            return Ok(());
        }
        let link = self.link(block.parent_hash(), parent, ancestors)?;
        let link = self.judge(&Parent { header: parent, link: &link }, block)?;
        self.remembered().insert(block.hash(), block.seal().clone(), link);
        Ok(())
    }

    /// The link after the block with this header, from the nearest ancestor that is remembered or from genesis on.
    ///
    /// # Errors
    /// Those of [`judge_once`](Self::judge_once).
    fn link(&self, hash: B256, header: &Header, ancestors: &dyn Ancestors) -> Result<Self::Link, RuleError> {
        let mut waiting: Vec<Arc<Block>> = Vec::new();
        let (mut hash, mut header) = (hash, header.clone());
        let link = loop {
            if let Some(link) = self.remembered().find(&hash) {
                break link;
            }
            if header.number == 0 {
                break self.genesis(hash, &header);
            }
            let (Some(block), Some(parent)) = (ancestors.block(hash), ancestors.block(header.parent_hash)) else {
                let reason = format!("ancestor {} at height {} is not kept", header.parent_hash, header.number - 1);
                return Err(RuleError::Pending { reason });
            };
            waiting.push(block);
            (hash, header) = (parent.hash(), parent.header().clone());
        };
        let mut link = Self::executed(link, &ancestors.updates(hash));
        for block in waiting.into_iter().rev() {
            let next = self.judge(&Parent { header: &header, link: &link }, &block)?;
            self.remembered().insert(block.hash(), block.seal().clone(), next.clone());
            link = Self::executed(next, &ancestors.updates(block.hash()));
            header = block.header().clone();
        }
        Ok(link)
    }
}

/// Links of judged blocks. Replicas of a process may share one; the oldest are forgotten.
#[derive(Debug)]
pub(in crate::consensus) struct Remembered<L>(Mutex<Generations<L>>);

#[derive(Debug)]
struct Generations<L> {
    young: LookupMap<B256, Judged<L>>,
    old: LookupMap<B256, Judged<L>>,
}

#[derive(Clone, Debug)]
struct Judged<L> {
    /// The seal that the block was judged with; empty when that was before this process began.
    seal: Bytes,
    link: L,
}

impl<L> Default for Remembered<L> {
    fn default() -> Self {
        Self(Mutex::new(Generations { young: LookupMap::default(), old: LookupMap::default() }))
    }
}

impl<L: Clone> Remembered<L> {
    /// Takes what was judged before this process began, such as a stored head.
    pub(in crate::consensus) fn insert_stored(&self, hash: B256, link: L) {
        self.insert(hash, Bytes::new(), link);
    }

    fn insert(&self, hash: B256, seal: Bytes, link: L) {
        let mut known = self.lock();
        if known.young.len() >= REMEMBERED_MAX {
            known.old = core::mem::take(&mut known.young);
        }
        known.young.insert(hash, Judged { seal, link });
    }

    fn find(&self, hash: &B256) -> Option<L> {
        self.lock().get(hash).map(|judged| judged.link.clone())
    }

    /// Whether this very block was judged, its seal too.
    fn has(&self, block: &Block) -> bool {
        let known = self.lock();
        known.get(&block.hash()).is_some_and(|judged| !judged.seal.is_empty() && judged.seal == *block.seal())
    }

    fn lock(&self) -> MutexGuard<'_, Generations<L>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L> Generations<L> {
    fn get(&self, hash: &B256) -> Option<&Judged<L>> {
        self.young.get(hash).or_else(|| self.old.get(hash))
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use std::collections::BTreeMap;

    use super::*;

    /// A link is the number of blocks judged up to there.
    #[derive(Default)]
    struct Counting {
        judged: Remembered<u64>,
        judgements: Cell<u64>,
    }

    impl Lineage for Counting {
        type Link = u64;

        fn remembered(&self) -> &Remembered<u64> {
            &self.judged
        }

        fn genesis(&self, _hash: B256, _header: &Header) -> u64 {
            0
        }

        fn judge(&self, parent: &Parent<'_, u64>, block: &Block) -> Result<u64, RuleError> {
            self.judgements.set(self.judgements.get() + 1);
            assert_eq!((parent.header.hash_slow(), parent.header.number), (block.parent_hash(), *parent.link));
            Ok(parent.link + 1)
        }

        fn executed(link: u64, _updates: &ValidatorUpdates) -> u64 {
            link
        }
    }

    #[derive(Debug)]
    struct Kept(BTreeMap<B256, Arc<Block>>);

    impl Ancestors for Kept {
        fn block(&self, hash: B256) -> Option<Arc<Block>> {
            self.0.get(&hash).cloned()
        }
    }

    fn chain(length: u64) -> Vec<Arc<Block>> {
        let mut blocks: Vec<Arc<Block>> = Vec::new();
        for number in 0..=length {
            let parent_hash = blocks.last().map_or(B256::ZERO, |parent| parent.hash());
            let header = Header { number, parent_hash, ..Header::default() };
            let block = Block::new(header, Vec::new(), Bytes::new(), Vec::new());
            blocks.push(Arc::new(block.with_seal(Bytes::from_static(&[1]))));
        }
        blocks
    }

    fn kept(blocks: &[Arc<Block>]) -> Kept {
        Kept(blocks.iter().map(|block| (block.hash(), block.clone())).collect())
    }

    #[test]
    fn a_block_is_judged_once_and_again_with_another_seal() {
        let (rules, blocks) = (Counting::default(), chain(3));
        let verify = |block: &Block| rules.judge_once(block, blocks[2].header(), &kept(&blocks[..3])).unwrap();
        // The first one judges those below it too.
        for (seal, judgements) in [(1, 3), (1, 3), (2, 4)] {
            verify(&blocks[3].as_ref().clone().with_seal(Bytes::copy_from_slice(&[seal])));
            assert_eq!(rules.judgements.get(), judgements);
        }
    }

    #[test]
    fn what_can_not_be_reached_is_pending_and_a_stored_link_is_enough() {
        let (rules, blocks) = (Counting::default(), chain(5));
        let verify = || rules.judge_once(&blocks[5], blocks[4].header(), &kept(&blocks[3..]));
        assert!(matches!(verify(), Err(RuleError::Pending { .. })));
        assert_eq!(rules.judgements.get(), 0);
        rules.judged.insert_stored(blocks[3].hash(), 3);
        verify().unwrap();
        assert_eq!(rules.judgements.get(), 2);
        // Its seal is not known: the stored block itself is judged when it comes.
        assert!(!rules.judged.has(&blocks[3]));
    }

    #[test]
    fn memory_is_bounded() {
        let remembered = Remembered::default();
        let hash = |number: usize| B256::left_padding_from(&number.to_be_bytes());
        (0..5 * REMEMBERED_MAX).for_each(|number| remembered.insert(hash(number), Bytes::new(), number));
        let kept = (0..5 * REMEMBERED_MAX).filter(|number| remembered.find(&hash(*number)).is_some()).count();
        assert!((REMEMBERED_MAX..=2 * REMEMBERED_MAX).contains(&kept), "{kept}");
    }
}
