//! How much of a chain is kept: states, blocks and receipts below the head.

/// Bounds of the states and blocks kept below the head, in number and in bytes; the tighter bound of a pair holds.
///
/// Bytes are those of memory: on a durable store, where older blocks and states are read from the store, only the numbers
/// decide what stays stored.
///
/// Genesis is always kept, and so are the blocks from the irreversible height up, with their states: a reorg may need them.
/// So a chain keeps what the bounds say or these, whichever is more. The irreversible height is that of before the newest block;
/// it is, in blocks behind the head:
///
/// | protocol | irreversible are | blocks behind the head |
/// |---|---|---|
/// | PBFT, Raft | all blocks | 0 |
/// | proof of authority (a development node's default) | blocks more than 128 below the settled one | 129 with one signer, 132 with four in turn |
/// | delegated proof of stake | the last irreversible block's ancestors | two rounds of the producers: 0 with one, 5 with four, up to 336 with 21 |
/// | proof of stake | the finalized checkpoint's ancestors | two to three epochs, and more while a third of the stake is away |
///
/// Over a database a snapshot holds its block and its state besides; its safe and its finalized block, and those between, are in its
/// memory up to 256 blocks below its head, and are written again when it is restored.
///
/// A development node thus keeps at least 130 blocks below the head, and exceeds the default bounds in bytes only by those: where
/// they take more than 512 MiB, or their states more than 256 MiB. A full block of transfers at the default gas limit takes about 1 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Readable states, in blocks below the head; `None` keeps all.
    pub states: Option<u64>,
    /// Blocks and receipts, in blocks below the head; `None` keeps all. A pruned block's state is pruned too.
    pub blocks: Option<u64>,
    /// Memory that states below the head take beside the newest one, in bytes; `None` is no bound.
    pub state_bytes: Option<u64>,
    /// Memory of blocks, receipts and their indices, in bytes; `None` is no bound.
    pub block_bytes: Option<u64>,
}

impl Retention {
    /// Returns a policy that keeps this many states and blocks below the head; `None` keeps all. Bytes have no bound.
    pub const fn new(states: Option<u64>, blocks: Option<u64>) -> Self {
        Self { states, blocks, state_bytes: None, block_bytes: None }
    }

    /// Sets the bounds of memory in bytes, for states and for blocks; `None` is no bound.
    #[must_use]
    pub const fn with_bytes(self, state_bytes: Option<u64>, block_bytes: Option<u64>) -> Self {
        Self { state_bytes, block_bytes, ..self }
    }

    /// Keeps everything: the default on a durable store.
    pub const ALL: Self = Self::new(None, None);

    /// Keeps at most 10,000 states in 256 MiB and 200,000 blocks in 512 MiB: the default in memory.
    pub const MEMORY: Self = Self::new(Some(10_000), Some(200_000)).with_bytes(Some(256 << 20), Some(512 << 20));

    /// Number of readable states below the head; a state is not kept longer than its block.
    pub(super) fn states_kept(&self) -> Option<u64> {
        self.states.into_iter().chain(self.blocks).min()
    }
}
