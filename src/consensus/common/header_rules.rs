//! Header rules that verify a block from the context of its parent: cached, or rebuilt from the nearest ancestor whose
//! context is cached.

use core::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::signing::Authenticator;
use crate::{
    chain::{Ancestors, Block, HeaderRules, MixHashSource, RuleError},
    primitives::{B256, Bytes, Header, maps::LookupMap},
    system::{SystemCall, SystemContext, ValidatorUpdates},
};

/// Contexts cached in each of two generations.
const GENERATION_MAX: usize = 1_024;

/// A block's parent, for the block's verification.
#[derive(Debug)]
pub(crate) struct ParentContext<'a, C> {
    /// Header of the parent.
    pub header: &'a Header,
    /// Context after the parent, with the validator updates of its execution.
    pub context: &'a C,
}

/// The header rules of one protocol, without live state.
pub(crate) trait HeaderChainRules {
    /// Parameters of the protocol.
    type Config: Debug + Send + Sync;
    /// Input of the genesis context, such as the initial validators.
    type Genesis: Debug + Send + Sync;
    /// Context of a block for the verification of its children.
    type Context: Clone + Debug + Send;
    /// The rule that a block breaks.
    type Error: Into<RuleError>;

    /// Returns the context of the genesis block.
    fn genesis_context(config: &Self::Config, genesis: &Self::Genesis, hash: B256, header: &Header) -> Self::Context;

    /// Verifies header, payload and seal of a block. The context returned lacks the validator updates of the block, which is
    /// executed later.
    ///
    /// # Errors
    /// The first rule that the block breaks.
    fn verify_header(
        config: &Self::Config,
        authenticator: &Authenticator,
        parent: &ParentContext<'_, Self::Context>,
        block: &Block,
    ) -> Result<Self::Context, Self::Error>;

    /// Returns the context after the execution of its block.
    fn with_updates(context: Self::Context, updates: &ValidatorUpdates) -> Self::Context {
        let _ = updates;
        context
    }

    /// Returns whether a child of this parent, of which height, time and payload are known, is at the boundary at which the protocol takes the chain's
    /// parameters over; by default each block is.
    fn is_parameter_boundary(
        config: &Self::Config,
        parent: &ParentContext<'_, Self::Context>,
        child: (&Header, &Bytes),
    ) -> bool {
        let _ = (config, parent, child);
        true
    }

    /// Returns who decides `mixHash`; by default the chain.
    fn mix_hash_source() -> MixHashSource {
        MixHashSource::Chain
    }

    /// Returns the system calls that a block begins with (see [`HeaderRules::system_calls`]).
    ///
    /// # Errors
    /// The rule that the payload breaks.
    fn system_calls(
        config: &Self::Config,
        genesis: &Self::Genesis,
        authenticator: &Authenticator,
        context: &SystemContext<'_>,
    ) -> Result<Vec<SystemCall>, Self::Error> {
        let _ = (config, genesis, authenticator, context);
        Ok(Vec::new())
    }
}

/// The header rules of protocol `P` for the chain, with a cache of verified headers. Replicas of a process may share one.
#[derive(Debug)]
pub(crate) struct CachedHeaderRules<P: HeaderChainRules> {
    config: P::Config,
    authenticator: Authenticator,
    genesis: P::Genesis,
    verified: VerifiedHeaders<P::Context>,
}

impl<P: HeaderChainRules> CachedHeaderRules<P> {
    /// Returns the rules of a chain whose genesis context is made from `genesis`.
    pub(crate) fn new(config: P::Config, genesis: P::Genesis, authenticator: Authenticator) -> Self {
        Self { config, authenticator, genesis, verified: VerifiedHeaders::default() }
    }

    /// Adds the context after a block that was verified before this process began, such as a stored head.
    pub(crate) fn remember(&self, block: B256, context: P::Context) {
        self.verified.insert(block, Bytes::new(), context);
    }

    /// Returns the context after the block with this header, from the nearest cached ancestor or from genesis.
    fn context_of(&self, hash: B256, header: &Header, ancestors: &dyn Ancestors) -> Result<P::Context, RuleError> {
        let mut unverified: Vec<Arc<Block>> = Vec::new();
        let (mut hash, mut header) = (hash, header.clone());
        let context = loop {
            if let Some(context) = self.verified.find(&hash) {
                break context;
            }
            if header.number == 0 {
                break P::genesis_context(&self.config, &self.genesis, hash, &header);
            }
            let (Some(block), Some(parent)) = (ancestors.block(hash), ancestors.block(header.parent_hash)) else {
                let reason =
                    format!("ancestor {} at height {} is not available", header.parent_hash, header.number - 1);
                return Err(RuleError::Pending { reason });
            };
            unverified.push(block);
            (hash, header) = (parent.hash(), parent.header().clone());
        };
        let mut context = P::with_updates(context, &ancestors.updates(hash));
        for block in unverified.into_iter().rev() {
            let next = self.verify_child(&header, &context, &block)?;
            context = P::with_updates(next, &ancestors.updates(block.hash()));
            header = block.header().clone();
        }
        Ok(context)
    }

    /// Verifies a block against its parent and caches the context after it.
    fn verify_child(&self, parent: &Header, context: &P::Context, block: &Block) -> Result<P::Context, RuleError> {
        let parent = ParentContext { header: parent, context };
        let next = P::verify_header(&self.config, &self.authenticator, &parent, block).map_err(Into::into)?;
        self.verified.insert(block.hash(), block.seal().clone(), next.clone());
        Ok(next)
    }
}

impl<P: HeaderChainRules + Debug + 'static> HeaderRules for CachedHeaderRules<P> {
    /// Verifies a block, unless it was verified before with the same seal.
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        if !self.verified.contains(block) {
            let context = self.context_of(block.parent_hash(), parent, ancestors)?;
            self.verify_child(parent, &context, block)?;
        }
        Ok(())
    }

    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        P::system_calls(&self.config, &self.genesis, &self.authenticator, context).map_err(Into::into)
    }

    fn is_parameter_boundary(
        &self,
        header: &Header,
        payload: &Bytes,
        parent: &Header,
        ancestors: &dyn Ancestors,
    ) -> Result<bool, RuleError> {
        let context = self.context_of(header.parent_hash, parent, ancestors)?;
        let parent = ParentContext { header: parent, context: &context };
        Ok(P::is_parameter_boundary(&self.config, &parent, (header, payload)))
    }

    fn mix_hash_source(&self) -> MixHashSource {
        P::mix_hash_source()
    }
}

/// Contexts after verified headers, without the validator updates of their own block; the oldest are dropped.
#[derive(Debug)]
struct VerifiedHeaders<C>(Mutex<Generations<C>>);

#[derive(Debug)]
struct Generations<C> {
    young: LookupMap<B256, Verified<C>>,
    old: LookupMap<B256, Verified<C>>,
}

#[derive(Clone, Debug)]
struct Verified<C> {
    /// Seal that the block was verified with; empty when that was before this process began.
    seal: Bytes,
    context: C,
}

impl<C> Default for VerifiedHeaders<C> {
    fn default() -> Self {
        Self(Mutex::new(Generations { young: LookupMap::default(), old: LookupMap::default() }))
    }
}

impl<C: Clone> VerifiedHeaders<C> {
    fn insert(&self, hash: B256, seal: Bytes, context: C) {
        let mut cached = self.lock();
        if cached.young.len() >= GENERATION_MAX {
            cached.old = core::mem::take(&mut cached.young);
        }
        cached.young.insert(hash, Verified { seal, context });
    }

    fn find(&self, hash: &B256) -> Option<C> {
        self.lock().get(hash).map(|verified| verified.context.clone())
    }

    /// Returns whether this block was verified with this seal.
    fn contains(&self, block: &Block) -> bool {
        let cached = self.lock();
        cached.get(&block.hash()).is_some_and(|verified| !verified.seal.is_empty() && verified.seal == *block.seal())
    }

    fn lock(&self) -> MutexGuard<'_, Generations<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Generations<C> {
    fn get(&self, hash: &B256) -> Option<&Verified<C>> {
        self.young.get(hash).or_else(|| self.old.get(hash))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        sync::atomic::{AtomicU64, Ordering},
    };

    use super::*;

    /// Rules whose context is the number of blocks verified up to there. The configuration counts verifications.
    #[derive(Debug)]
    struct Counting;

    impl HeaderChainRules for Counting {
        type Config = AtomicU64;
        type Genesis = ();
        type Context = u64;
        type Error = RuleError;

        fn genesis_context(_config: &AtomicU64, _genesis: &(), _hash: B256, _header: &Header) -> u64 {
            0
        }

        fn verify_header(
            config: &AtomicU64,
            _authenticator: &Authenticator,
            parent: &ParentContext<'_, u64>,
            block: &Block,
        ) -> Result<u64, RuleError> {
            config.fetch_add(1, Ordering::Relaxed);
            assert_eq!((parent.header.hash_slow(), parent.header.number), (block.parent_hash(), *parent.context));
            Ok(parent.context + 1)
        }
    }

    impl CachedHeaderRules<Counting> {
        fn counting() -> Self {
            Self::new(AtomicU64::new(0), (), Authenticator::symbolic(0))
        }

        fn verifications(&self) -> u64 {
            self.config.load(Ordering::Relaxed)
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
    fn a_block_is_verified_once_and_again_with_another_seal() {
        let (rules, blocks) = (CachedHeaderRules::counting(), chain(3));
        let verify = |block: &Block| rules.verify(block, blocks[2].header(), &kept(&blocks[..3])).unwrap();
        // The first verification includes the ancestors.
        for (seal, verifications) in [(1, 3), (1, 3), (2, 4)] {
            verify(&blocks[3].as_ref().clone().with_seal(Bytes::copy_from_slice(&[seal])));
            assert_eq!(rules.verifications(), verifications);
        }
    }

    #[test]
    fn missing_ancestors_leave_a_block_pending_unless_a_context_is_stored() {
        let (rules, blocks) = (CachedHeaderRules::counting(), chain(5));
        let verify = || rules.verify(&blocks[5], blocks[4].header(), &kept(&blocks[3..]));
        assert!(matches!(verify(), Err(RuleError::Pending { .. })));
        assert_eq!(rules.verifications(), 0);
        rules.remember(blocks[3].hash(), 3);
        verify().unwrap();
        assert_eq!(rules.verifications(), 2);
        // Its seal is not known: the stored block itself is verified when it arrives.
        assert!(!rules.verified.contains(&blocks[3]));
    }

    #[test]
    fn the_cache_is_bounded() {
        let verified = VerifiedHeaders::default();
        let hash = |number: usize| B256::left_padding_from(&number.to_be_bytes());
        (0..5 * GENERATION_MAX).for_each(|number| verified.insert(hash(number), Bytes::new(), number));
        let kept = (0..5 * GENERATION_MAX).filter(|number| verified.find(&hash(*number)).is_some()).count();
        assert!((GENERATION_MAX..=2 * GENERATION_MAX).contains(&kept), "{kept}");
    }
}
