//! The types of a trace, in the order and names of both written forms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Status;
use crate::{
    consensus::{Admin, BlockId, Deadline},
    primitives::{Address, B256, Bytes},
};

/// What the replicas of a run are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceHeader {
    /// [`TRACE_VERSION`](super::TRACE_VERSION).
    pub version: u32,
    /// What the run shows, for people.
    pub title: String,
    /// The seed that it came from, for people: replay needs none.
    pub seed: u64,
    /// The protocol and its parameters: JSON of the genesis section `consensus`.
    pub consensus: String,
    /// The genesis block, RLP.
    pub genesis: Bytes,
    /// The validators of genesis with their weights.
    pub validators: Vec<(Address, u64)>,
    /// Whether seals are real secp256k1 signatures.
    pub real_seals: bool,
    /// What symbolic seals are derived from.
    pub seal_seed: u64,
    /// The replicas, by number.
    pub replicas: Vec<Participant>,
}

/// One replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// For people.
    pub name: String,
    /// What it seals with; none for an observer. A simulation's key, worth nothing.
    pub key: Option<B256>,
    /// Its address.
    pub address: Option<Address>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEntry {
    /// When, in nanoseconds of virtual time.
    pub at_ns: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum What {
    /// A message is named for the first time.
    Message {
        /// Its number in this trace, from 0.
        message: u32,
        /// Its kind.
        label: String,
        /// BLAKE3 of its canonical encoding.
        digest: B256,
        /// Its content as JSON, where no machine of the run says it by itself.
        body: Option<String>,
    },
    /// A block is named for the first time.
    Block {
        /// Its number in this trace, from 0.
        block: u32,
        /// Its height and hash.
        id: BlockId,
        /// The hash before.
        parent: B256,
        /// Who made it.
        author: Address,
        /// Its time, in seconds.
        timestamp: u64,
        /// RLP of the whole block, with its seal and senders.
        rlp: Bytes,
    },
    /// A replica's protocol took one input.
    Step {
        /// Whose.
        replica: u32,
        /// What it was told.
        input: Input,
        /// What it asked for.
        outputs: Vec<Output>,
    },
    /// Something was put on a link.
    Sent {
        /// By whom.
        from: u32,
        /// To whom.
        to: u32,
        /// Its kind.
        label: String,
        /// Which message; none for transactions and blocks by request.
        message: Option<u32>,
        /// When it arrives; none when the link loses it.
        arrives_ns: Option<u64>,
    },
    /// A replica's part in the protocol is another.
    Status {
        /// Whose.
        replica: u32,
        /// From now on.
        status: Status,
    },
    /// Something was done to the network, or seen to be wrong.
    Incident(Incident),
    /// The state of a replica's protocol.
    State {
        /// Whose.
        replica: u32,
        /// Digest of the canonical encoding.
        digest: B256,
    },
    /// Recording ended before the run did.
    Full {
        /// Entries recorded.
        entries: u64,
    },
}

/// What a protocol was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Input {
    /// To begin.
    Start,
    /// A message.
    Message {
        /// Over whose link.
        from: u32,
        /// Which.
        message: u32,
    },
    /// A timer fired.
    Timer {
        /// Which.
        timer: u64,
    },
    /// Records are durable.
    Persisted {
        /// Of which write.
        ticket: u64,
    },
    /// A block was built.
    Built {
        /// Of which request.
        ticket: u64,
        /// Which block.
        block: u32,
    },
    /// A block was judged.
    Judged {
        /// Which.
        id: BlockId,
        /// What executing it changed in the validator set.
        updates: Vec<(Address, u64)>,
        /// Why it is invalid; none when it is valid.
        invalid: Option<String>,
    },
    /// A draw was answered.
    Random {
        /// Of which request.
        ticket: u64,
        /// The number.
        value: u64,
    },
    /// A block came by request.
    Synced {
        /// From whom.
        from: u32,
        /// Which.
        block: u32,
    },
    /// The operator wishes something.
    Admin(Admin),
}

/// What a protocol asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Output {
    /// To say something.
    Send {
        /// To one replica, or to all others.
        to: Option<u32>,
        /// What.
        message: u32,
        /// Only after this write.
        after: Option<u64>,
    },
    /// To start a timer.
    Arm {
        /// Which.
        timer: u64,
        /// When it fires.
        deadline: Deadline,
    },
    /// To stop a timer.
    Disarm {
        /// Which.
        timer: u64,
    },
    /// To make records durable.
    Persist {
        /// Which write.
        ticket: u64,
        /// What.
        records: Vec<Written>,
    },
    /// To build a block.
    Build {
        /// Which request.
        ticket: u64,
        /// On what.
        parent: BlockId,
        /// For whom.
        beneficiary: Address,
        /// The header's difficulty.
        difficulty: u64,
        /// Not before, in seconds.
        timestamp_min: u64,
        /// The header's `mixHash`.
        mix_hash: B256,
        /// Beside the block.
        payload: Bytes,
    },
    /// Not to build after all.
    CancelBuild,
    /// To execute and check a block.
    Validate {
        /// Which.
        id: BlockId,
    },
    /// A random number.
    Draw {
        /// Which request.
        ticket: u64,
        /// Below this.
        bound: u64,
    },
    /// A block from a peer.
    Fetch {
        /// Which.
        id: BlockId,
        /// From whom.
        from: u32,
    },
    /// A block joined its tree.
    Inserted {
        /// Which.
        id: BlockId,
    },
    /// A block has another seal.
    Sealed {
        /// Which.
        id: BlockId,
        /// The seal.
        seal: Bytes,
    },
    /// Its head moved.
    Head {
        /// From here.
        old: BlockId,
        /// To here.
        new: BlockId,
        /// Blocks taken back.
        reorg_depth: u64,
    },
    /// A checkpoint was justified.
    Justified {
        /// Which.
        id: BlockId,
    },
    /// What is final changed.
    Final {
        /// Not expected to be reverted.
        safe: BlockId,
        /// Never reverted, in the protocol's sense.
        finalized: BlockId,
        /// Up to here it takes nothing back.
        irreversible: u64,
        /// The sense.
        kind: String,
        /// Proof for a light verifier.
        proof: Option<Bytes>,
    },
    /// A read may be made.
    ReadReady {
        /// Which.
        request: u64,
        /// At this head.
        id: BlockId,
    },
    /// Somebody broke the protocol.
    Evidence {
        /// Who and how.
        text: String,
    },
    /// The input was refused.
    Reject {
        /// Why.
        reason: String,
    },
    /// A named point was passed.
    Mark {
        /// Its name.
        name: String,
    },
    /// Anything else.
    Other {
        /// What.
        text: String,
    },
}

/// A record that was to be made durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Its key.
    pub key: Bytes,
    /// Bytes of its value; none: the key is forgotten.
    pub len: u64,
    /// BLAKE3 of its value.
    pub digest: B256,
}

/// What was done to the network, or seen to be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Incident {
    /// A fault begins.
    Began {
        /// Its number in the run.
        fault: u64,
        /// Its kind, as plans name it.
        kind: String,
        /// To whom it happens; nobody: to the network.
        replicas: Vec<u32>,
        /// Its parameters, for people.
        text: String,
    },
    /// A fault is over.
    Ended {
        /// Its number in the run.
        fault: u64,
    },
    /// A replica stopped; what was not durable is lost.
    Crashed {
        /// Which.
        replica: u32,
    },
    /// It runs again.
    Restarted {
        /// Which.
        replica: u32,
        /// Everything that it finds on its disk.
        records: BTreeMap<Bytes, Bytes>,
    },
    /// A replica's protocol state was changed by hand: what it does from now on is not checked by replay.
    Altered {
        /// Which.
        replica: u32,
        /// How.
        how: String,
    },
    /// Anything else that was done.
    Note {
        /// To whom; none: to the network.
        replica: Option<u32>,
        /// What.
        text: String,
    },
    /// Something that must always hold did not.
    Violation {
        /// Which invariant.
        invariant: String,
        /// What was seen.
        detail: String,
    },
}

impl What {
    /// The replicas that it names.
    pub(super) fn replicas(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, two) = match self {
            Self::Step { replica, input: Input::Message { from, .. } | Input::Synced { from, .. }, .. } => {
                (Some(*replica), Some(*from))
            }
            Self::Step { replica, .. } | Self::Status { replica, .. } | Self::State { replica, .. } => {
                (Some(*replica), None)
            }
            Self::Sent { from, to, .. } => (Some(*from), Some(*to)),
            Self::Incident(
                Incident::Crashed { replica } | Incident::Restarted { replica, .. } | Incident::Altered { replica, .. },
            ) => (Some(*replica), None),
            Self::Incident(Incident::Note { replica, .. }) => (*replica, None),
            _ => (None, None),
        };
        let listed = match self {
            Self::Incident(Incident::Began { replicas, .. }) => replicas.as_slice(),
            _ => &[],
        };
        one.into_iter().chain(two).chain(listed.iter().copied())
    }

    /// The messages that it names, other than the one that it tells.
    pub(super) fn messages(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, outputs) = match self {
            Self::Step { input: Input::Message { message, .. }, outputs, .. } => (Some(*message), outputs.as_slice()),
            Self::Step { outputs, .. } => (None, outputs.as_slice()),
            Self::Sent { message, .. } => (*message, &[][..]),
            _ => (None, &[][..]),
        };
        let sent = outputs.iter().filter_map(|output| match output {
            Output::Send { message, .. } => Some(*message),
            _ => None,
        });
        one.into_iter().chain(sent)
    }

    /// The block that it names by number.
    pub(super) const fn block_number(&self) -> Option<u32> {
        match self {
            Self::Step { input: Input::Built { block, .. } | Input::Synced { block, .. }, .. } => Some(*block),
            _ => None,
        }
    }
}
