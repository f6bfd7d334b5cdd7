//! Types of a trace, in the order and with the names of both written forms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ReplicaStatus;
use crate::{
    consensus::{Admin, BlockId, Deadline},
    primitives::{Address, B256, Bytes},
};

/// Header of a trace: the replicas of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceHeader {
    /// [`TRACE_VERSION`](super::TRACE_VERSION).
    pub version: u32,
    /// Title for readers.
    pub title: String,
    /// Seed of the run, for readers; replay does not use it.
    pub seed: u64,
    /// The protocol and its parameters: JSON of the genesis section `consensus`.
    pub consensus: String,
    /// The genesis block, RLP.
    pub genesis: Bytes,
    /// The validators of genesis with their weights.
    pub validators: Vec<(Address, u64)>,
    /// Whether seals are real secp256k1 signatures.
    pub real_seals: bool,
    /// Seed of symbolic seals.
    pub seal_seed: u64,
    /// The replicas, by number.
    pub replicas: Vec<Participant>,
}

/// A replica of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    /// Name for readers.
    pub name: String,
    /// Secret key; none for an observer. Simulated keys are worthless.
    pub key: Option<B256>,
    /// Address of the key.
    pub address: Option<Address>,
}

/// An entry of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceEntry {
    /// Virtual time, in nanoseconds.
    pub at_ns: u64,
    /// Content; `what` in the JSON form.
    #[serde(rename = "what")]
    pub content: TraceContent,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TraceContent {
    /// A message is introduced.
    Message {
        /// Its number in this trace, from 0.
        message: u32,
        /// Its kind.
        label: String,
        /// BLAKE3 of its canonical encoding.
        digest: B256,
        /// Its content as JSON, if no replayed protocol sends it.
        body: Option<String>,
    },
    /// A block is introduced.
    Block {
        /// Its number in this trace, from 0.
        block: u32,
        /// Its height and hash.
        id: BlockId,
        /// Hash of its parent.
        parent: B256,
        /// Its author.
        author: Address,
        /// Its timestamp, in seconds.
        timestamp: u64,
        /// RLP of the whole block, with its seal and senders.
        rlp: Bytes,
    },
    /// A protocol processed one event.
    Step {
        /// Replica.
        replica: u32,
        /// The event; `input` in the written forms.
        #[serde(rename = "input")]
        event: TracedEvent,
        /// The effects that it returned; `outputs` in the written forms.
        #[serde(rename = "outputs")]
        effects: Vec<TracedEffect>,
    },
    /// An envelope was put on a link.
    Sent {
        /// Sender.
        from: u32,
        /// Receiver.
        to: u32,
        /// Label of the envelope.
        label: String,
        /// Number of the message; none for transactions and requested blocks.
        message: Option<u32>,
        /// Arrival time; none when it is lost or held.
        arrives_ns: Option<u64>,
    },
    /// A replica's status in its protocol changed.
    Status {
        /// Replica.
        replica: u32,
        /// New status.
        status: ReplicaStatus,
    },
    /// An action on the network, or a violation.
    Incident(Incident),
    /// State of a replica's protocol.
    State {
        /// Replica.
        replica: u32,
        /// Digest of the canonical encoding.
        digest: B256,
    },
    /// Recording ended before the run.
    Full {
        /// Entries recorded.
        entries: u64,
    },
}

/// An event given to a protocol, as a trace has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TracedEvent {
    /// Start.
    Start,
    /// A message.
    Message {
        /// Sender.
        from: u32,
        /// Number of the message.
        message: u32,
    },
    /// A timer fired.
    Timer {
        /// Timer.
        timer: u64,
    },
    /// Records are durable.
    Persisted {
        /// Ticket of the write.
        ticket: u64,
    },
    /// A block was built.
    Built {
        /// Ticket of the request.
        ticket: u64,
        /// Number of the block.
        block: u32,
    },
    /// A block was validated.
    Judged {
        /// Block.
        id: BlockId,
        /// Changes of the validator set by its execution.
        updates: Vec<(Address, u64)>,
        /// Reason of invalidity; none when it is valid.
        invalid: Option<String>,
    },
    /// A random number was drawn.
    Random {
        /// Ticket of the request.
        ticket: u64,
        /// The number.
        value: u64,
    },
    /// A requested block arrived.
    Synced {
        /// Sender.
        from: u32,
        /// Number of the block.
        block: u32,
    },
    /// An admin command.
    Admin(Admin),
}

/// An effect of a protocol, as a trace has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TracedEffect {
    /// Sends a message.
    Send {
        /// One replica; none for all others.
        to: Option<u32>,
        /// Number of the message.
        message: u32,
        /// Ticket of the write that must be durable first.
        after: Option<u64>,
    },
    /// Starts a timer.
    Arm {
        /// Timer.
        timer: u64,
        /// Deadline.
        deadline: Deadline,
    },
    /// Stops a timer.
    Disarm {
        /// Timer.
        timer: u64,
    },
    /// Writes records.
    Persist {
        /// Ticket of the write.
        ticket: u64,
        /// Records.
        records: Vec<Written>,
    },
    /// Requests a block.
    Build {
        /// Ticket of the request.
        ticket: u64,
        /// Parent.
        parent: BlockId,
        /// Beneficiary.
        beneficiary: Address,
        /// The header's difficulty.
        difficulty: u64,
        /// Earliest timestamp, in seconds.
        timestamp_min: u64,
        /// The header's `mixHash`.
        mix_hash: B256,
        /// The block's payload.
        payload: Bytes,
    },
    /// Cancels the request.
    CancelBuild,
    /// Requests validation of a block.
    Validate {
        /// Number of the block.
        id: BlockId,
    },
    /// Requests a random number.
    Draw {
        /// Ticket of the request.
        ticket: u64,
        /// Exclusive bound.
        bound: u64,
    },
    /// Requests a block from a peer.
    Fetch {
        /// Block.
        id: BlockId,
        /// Peer.
        from: u32,
    },
    /// Sends a stored block.
    Show {
        /// Block.
        id: BlockId,
        /// Recipient; `None` for all others.
        to: Option<u32>,
        /// Ticket of the records that must be durable first.
        after: Option<u64>,
    },
    /// A block was added to the block tree.
    Inserted {
        /// Block.
        id: BlockId,
    },
    /// A block has a new seal.
    Sealed {
        /// Block.
        id: BlockId,
        /// The seal.
        seal: Bytes,
    },
    /// The head moved.
    Head {
        /// Previous head.
        old: BlockId,
        /// New head.
        new: BlockId,
        /// Number of removed blocks.
        reorg_depth: u64,
    },
    /// A checkpoint was justified.
    Justified {
        /// Checkpoint.
        id: BlockId,
    },
    /// Finality changed.
    Final {
        /// Safe block.
        safe: BlockId,
        /// Finalised block.
        finalized: BlockId,
        /// Irreversible height.
        irreversible: u64,
        /// Kind of finality.
        kind: String,
        /// Proof for a light verifier.
        proof: Option<Bytes>,
    },
    /// A read may be made.
    ReadReady {
        /// Ticket of the read.
        request: u64,
        /// Head at which it is valid.
        id: BlockId,
    },
    /// A read can't be made: the replica no longer leads.
    ReadAborted {
        /// Ticket of the read.
        request: u64,
    },
    /// Evidence of misbehaviour.
    Evidence {
        /// Offender and offence.
        text: String,
    },
    /// The input was refused.
    Reject {
        /// Reason.
        reason: String,
    },
    /// A named coverage point was passed.
    Mark {
        /// Its name.
        name: String,
    },
}

/// A written record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Its key.
    pub key: Bytes,
    /// Length of its value in bytes; none when the record is deleted.
    pub len: u64,
    /// BLAKE3 of its value.
    pub digest: B256,
}

/// An action on the network, or a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Incident {
    /// A fault begins.
    Began {
        /// Its number in the run.
        fault: u64,
        /// Its kind, as in plans.
        kind: String,
        /// Affected replicas; empty for the network.
        replicas: Vec<u32>,
        /// Its parameters, for readers.
        text: String,
    },
    /// A fault ends.
    Ended {
        /// Its number in the run.
        fault: u64,
    },
    /// A replica crashed; unfinished writes are lost.
    Crashed {
        /// Replica.
        replica: u32,
    },
    /// A replica restarted.
    Restarted {
        /// Replica.
        replica: u32,
        /// All records on its disk.
        records: BTreeMap<Bytes, Bytes>,
    },
    /// A replica's protocol state was replaced: its later effects are not checked by replay.
    Altered {
        /// Replica.
        replica: u32,
        /// Description.
        how: String,
    },
    /// Any other action.
    Note {
        /// Affected replica; none for the network.
        replica: Option<u32>,
        /// Description.
        text: String,
    },
    /// An invariant was violated.
    Violation {
        /// Invariant.
        invariant: String,
        /// Steps of the run before it.
        step: u64,
        /// Detail.
        detail: String,
    },
}

impl TraceContent {
    /// Iterates over the replicas that it names.
    pub(super) fn replicas(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, two) = match self {
            Self::Step {
                replica, event: TracedEvent::Message { from, .. } | TracedEvent::Synced { from, .. }, ..
            } => (Some(*replica), Some(*from)),
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

    /// Iterates over the messages that it names, except the one that it introduces.
    pub(super) fn messages(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, effects) = match self {
            Self::Step { event: TracedEvent::Message { message, .. }, effects, .. } => {
                (Some(*message), effects.as_slice())
            }
            Self::Step { effects, .. } => (None, effects.as_slice()),
            Self::Sent { message, .. } => (*message, &[][..]),
            _ => (None, &[][..]),
        };
        let sent = effects.iter().filter_map(|effect| match effect {
            TracedEffect::Send { message, .. } => Some(*message),
            _ => None,
        });
        one.into_iter().chain(sent)
    }

    /// Returns the number of the block that it names.
    pub(super) const fn block_number(&self) -> Option<u32> {
        match self {
            Self::Step { event: TracedEvent::Built { block, .. } | TracedEvent::Synced { block, .. }, .. } => {
                Some(*block)
            }
            _ => None,
        }
    }
}
