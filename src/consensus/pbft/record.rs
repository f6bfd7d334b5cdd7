//! Durable records: a small one for each vote, and recovery from them after a crash.
//!
//! | key | value | written |
//! |---|---|---|
//! | `head` | head, time, validators, view, checkpoints | with every head |
//! | `c/` height | the same | with every head, in case the write of `head` is incomplete |
//! | `s/` height | hash of the stable checkpoint | when it moves |
//! | `b/` height, first 8 bytes of the hash | block that was pre-prepared, until its height is committed | with the `q/` record |
//! | `q/` height, view | hash that was pre-prepared | before a pre-prepare or prepare is sent |
//! | `p/` height, view | hash that was prepared | before a commit is sent |
//! | `v/` height since which the committee is in force, view, 0 or 1 | requested (0) or started (1), and the blocks that its new-view chose | before a view-change or new-view is sent |
//!
//! Numbers in keys are 8 bytes, big-endian. Every value starts with a checksum. Only the key `head` is written twice, so an
//! incomplete write damages no earlier vote; an incomplete record counts as not written. Records below a stable checkpoint
//! are deleted after the checkpoint's record is written, in the same write or the next. A head proves a checkpoint by itself
//! ([`Head::proven_checkpoint`]), which is stable after a restart also where its own record is not written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    CommitteeTransition, InView, PbftConfig, PbftError, View,
    log::{Log, Proposal, ProposalStatus},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Encoder, Record, Records,
        common::{
            record_class::RecordKeys,
            records::{check_record, decode_content},
        },
        encoding::Decoder,
        mutation::{self, Mutation},
    },
    primitives::{B256, Bytes, Height, Timestamp},
};

/// Key of the record that is written with every head.
pub const HEAD_KEY: &[u8] = b"head";

const COMMITTED: u8 = b'c';
const STABLE: u8 = b's';
const PRE_PREPARED: u8 = b'q';
const PREPARED: u8 = b'p';
const BODY: u8 = b'b';
const VIEW: u8 = b'v';

/// Classes of records by key: besides the head's, each committed height and the stable checkpoint have a record.
pub(super) const RECORD_KEYS: RecordKeys = RecordKeys {
    head: HEAD_KEY,
    head_prefixes: &[HEAD_KEY, &[COMMITTED, b'/'], &[STABLE, b'/']],
    safety_prefixes: &[&[PRE_PREPARED, b'/'], &[PREPARED, b'/'], &[BODY, b'/'], &[VIEW, b'/']],
    attested_prefixes: &[&[PRE_PREPARED, b'/'], &[PREPARED, b'/'], &[BODY, b'/']],
};

/// The head and the state that all replicas of its chain share there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) transition: CommitteeTransition,
    pub(super) block: BlockId,
    pub(super) timestamp: Timestamp,
    pub(super) view: View,
    pub(super) stable: BlockId,
    pub(super) checkpoints: Vec<BlockId>,
}

/// Records to be written, and the keys of those that are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Journal {
    /// Records to be written, in order.
    waiting: Vec<Record>,
    /// Keys of records to be deleted after the waiting ones are written.
    useless: Vec<Bytes>,
    /// Kind and view of the written records, by height.
    kept: BTreeMap<Height, BTreeSet<(u8, View)>>,
    /// Written records of views: the height since which their committee is in force, the view, and whether it began.
    views: BTreeSet<ViewRecord>,
}

/// Height since which the committee is in force, view, and whether the view began.
type ViewRecord = (Height, View, bool);

impl Journal {
    /// Records a block's body, which other replicas may lack after a restart of all.
    pub(super) fn body(&mut self, block: &Block) {
        let (height, place) = (block.height(), body_place(&block.hash()));
        if self.kept.entry(height).or_default().insert((BODY, place)) {
            let room = block.encoded_bytes_max();
            self.waiting.push(Record::written(key_in(BODY, height, place), room, |out| out.stored_block(block)));
        }
    }

    /// Records that a block was pre-prepared.
    pub(super) fn pre_prepared(&mut self, view: View, block: BlockId) {
        self.record_vote(PRE_PREPARED, view, block);
    }

    /// Records that a block was prepared.
    pub(super) fn prepared(&mut self, view: View, block: BlockId) {
        self.record_vote(PREPARED, view, block);
    }

    fn record_vote(&mut self, kind: u8, view: View, block: BlockId) {
        if self.kept.entry(block.height).or_default().insert((kind, view)) {
            self.waiting.push(Record::whole(key_in(kind, block.height, view), block.hash.as_slice()));
        }
    }

    /// Records that a view of the committee in force `since` a height was requested, or started with the chosen blocks. A record that
    /// is there is not written again, since a part of it would take back what a sent message depends on.
    pub(super) fn view(&mut self, since: Height, view: View, chosen: Option<&[BlockId]>) {
        let blocks = chosen.unwrap_or_default();
        let newest = (since, view, chosen.is_some());
        if !self.views.contains(&newest) {
            self.waiting.push(Record::written(view_key(newest), 4 + 40 * blocks.len(), |out| {
                out.list(blocks.iter(), |out, block| block.encode(out));
            }));
        }
        let earlier = core::mem::take(&mut self.views);
        self.useless.extend(earlier.into_iter().filter(|other| *other != newest).map(view_key));
        self.views.insert(newest);
    }

    /// Deletes the records of views with the next write: a new committee counts views from 0.
    pub(super) fn forget_views(&mut self) {
        self.useless.extend(core::mem::take(&mut self.views).into_iter().map(view_key));
    }

    /// Records a new head.
    pub(super) fn head(&mut self, head: &Head) {
        let record = head.record();
        let (height, none) = (head.block.height, View::default());
        if let Some(kinds) = self.kept.get_mut(&height) {
            let bodies: Vec<_> = kinds.iter().filter(|(kind, _)| *kind == BODY).copied().collect();
            for body in bodies {
                kinds.remove(&body);
                self.useless.push(key_in(BODY, height, body.1));
            }
        }
        self.kept.entry(height).or_default().insert((COMMITTED, none));
        self.waiting.push(Record { key: key(COMMITTED, height), ..record.clone() });
        self.waiting.push(record);
    }

    /// Records a new stable checkpoint; records at and below it are deleted, except the newest head's.
    pub(super) fn stable(&mut self, stable: BlockId, head: Height) {
        self.waiting.push(Record::whole(key(STABLE, stable.height), stable.hash.as_slice()));
        let above = self.kept.split_off(&stable.height.next());
        for (height, kinds) in core::mem::replace(&mut self.kept, above) {
            for (kind, view) in kinds {
                if kind == COMMITTED && height == head {
                    self.kept.entry(height).or_default().insert((kind, view));
                } else {
                    self.useless.push(key_of(kind, height, view));
                }
            }
        }
        self.kept.entry(stable.height).or_default().insert((STABLE, View::default()));
    }

    /// Takes the records to write now, in order; one without a value deletes its key.
    pub(super) fn take(&mut self) -> Vec<Record> {
        let mut records = core::mem::take(&mut self.waiting);
        records.extend(core::mem::take(&mut self.useless).into_iter().map(Record::forgotten));
        records
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { waiting, useless, kept, views } = self;
        out.list(waiting.iter(), |out, record| {
            out.bytes(&record.key);
            out.bytes(&record.value().unwrap_or_default());
        });
        out.list(useless.iter(), |out, key| out.bytes(key));
        out.list(kept.iter(), |out, (height, kinds)| {
            out.u64(height.get());
            out.list(kinds.iter(), |out, (kind, view)| {
                out.u8(*kind);
                out.u64(view.get());
            });
        });
        out.list(views.iter(), |out, (since, view, begun)| {
            out.u64(since.get());
            out.u64(view.get());
            out.bool(*begun);
        });
    }
}

/// State recovered from the records.
#[derive(Clone, Debug)]
pub(super) struct Recovered {
    pub(super) head: Option<Head>,
    pub(super) view: View,
    pub(super) is_changing: bool,
    pub(super) log: Log,
    pub(super) journal: Journal,
}

/// Reads the records of a replica whose chain starts at `genesis`.
pub(super) fn recover(config: &PbftConfig, genesis: BlockId, records: &Records) -> Result<Recovered, PbftError> {
    let mut head: Option<Head> = None;
    let mut stable = genesis;
    let (mut journal, mut views) = (Journal::default(), BTreeMap::new());
    let (mut committed, mut votes, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    for (key, record) in records {
        let Some(content) = check_record(record) else { continue };
        if let Some(place) = parse_view(key) {
            let chosen = decode_content(content, |bytes| bytes.list(BlockId::decode));
            views.insert(place, chosen.ok_or(PbftError::Record { key: "view" })?);
            continue;
        }
        let (kind, numbers) = match parse(key) {
            Some(parsed) => parsed,
            None if key == HEAD_KEY => (COMMITTED, None),
            None => continue,
        };
        match (kind, numbers) {
            (COMMITTED, numbers) => {
                let found = Head::decode(config, content).ok_or(PbftError::Record { key: "head" })??;
                committed.push(found.block);
                if numbers.is_some() {
                    journal.kept.entry(found.block.height).or_default().insert((kind, View::default()));
                }
                if head.as_ref().is_none_or(|head| head.block.height < found.block.height) {
                    head = Some(found);
                }
            }
            (BODY, Some((height, place))) => {
                let body = Block::decode_stored(content).map_err(|_| PbftError::Record { key: "block" })?;
                journal.kept.entry(Height::new(height)).or_default().insert((kind, View::new(place)));
                bodies.push(Arc::new(body));
            }
            (_, Some((height, number))) => {
                let (height, in_view) = (Height::new(height), View::new(number));
                let hash = decode_content(content, Decoder::hash).ok_or(PbftError::Record { key: "promise" })?;
                let found = BlockId { height, hash };
                journal.kept.entry(height).or_default().insert((kind, in_view));
                if kind != STABLE {
                    votes.push((kind, InView { block: found, view: in_view }));
                } else if height > stable.height {
                    stable = found;
                }
            }
            (_, None) => {}
        }
    }
    journal.views.extend(views.keys().copied());
    let since = head.as_ref().map_or(Height::GENESIS, |head| head.transition.since());
    let newest_view = views.into_iter().rfind(|((of, ..), _)| *of == since);
    let (view, begun, mut chosen) = match (newest_view, &head) {
        (Some(((_, view, begun), chosen)), _) => (view, begun, chosen),
        (None, Some(head)) => (head.view, true, Vec::new()),
        (None, None) => (View::default(), true, Vec::new()),
    };
    if let Some(head) = &head {
        let proven = stable.max(head.proven_checkpoint());
        if proven.height > stable.height {
            journal.stable(proven, head.block.height);
        }
        stable = proven;
    }
    let top = head.as_ref().map_or(genesis, |head| head.block);
    let mut log = Log::new(stable, config.log_window);
    let own = head.iter().flat_map(|head| &head.checkpoints).chain(&committed);
    log.checkpoints
        .extend(own.filter(|b| config.is_checkpoint(b) && b.height > stable.height).map(|b| (b.height, b.hash)));
    for block in committed {
        if let Some(slot) = log.slot_mut(block.height) {
            slot.committed = Some((View::default(), block.hash));
        }
    }
    if mutation::active(Mutation::PbftForgetsPromises) {
        votes.clear();
    }
    // Earlier views first, so that the latest overwrites them.
    votes.sort_by_key(|(_, entry)| entry.view);
    for (kind, InView { block, view: at }) in votes {
        let Some(slot) = log.slot_mut(block.height) else { continue };
        match kind {
            PREPARED => slot.prepared = Some((at, block.hash)),
            _ => slot.pre_prepare(at, block.hash),
        }
        if kind == PRE_PREPARED && at == view && begun {
            chosen.push(block);
        }
    }
    for body in bodies.into_iter().filter(|body| body.height() > top.height) {
        if let Some(slot) = log.slot_mut(body.height()) {
            slot.bodies.insert(body.hash(), body);
        }
    }
    for block in chosen.into_iter().filter(|block| begun && block.height > top.height) {
        if let Some(slot) = log.slot_mut(block.height) {
            // A missing body is fetched again.
            slot.proposal = Some(Proposal { hash: block.hash, status: ProposalStatus::Waiting, is_chosen: true });
        }
    }
    Ok(Recovered { head, view, is_changing: !begun, log, journal })
}

impl Head {
    /// Returns the newest checkpoint that a quorum has, as the certificate of this head proves: those who signed it committed the
    /// block below it and have the checkpoint at or below that one. A head that changes the committee is one itself.
    pub(super) fn proven_checkpoint(&self) -> BlockId {
        let newest = if self.transition.since() == self.block.height {
            Some(self.block)
        } else {
            self.checkpoints.iter().filter(|block| block.height < self.block.height).max().copied()
        };
        let newest = newest.filter(|_| !mutation::active(Mutation::PbftForgetsProvenCheckpoint));
        newest.map_or(self.stable, |newest| newest.max(self.stable))
    }

    fn record(&self) -> Record {
        let Self { transition, block, timestamp, view, stable, checkpoints } = self;
        let members = transition.committee().validators().len();
        Record::written(HEAD_KEY, 160 + 28 * members + 40 * checkpoints.len(), |out| {
            transition.encode(out);
            block.encode(out);
            out.timestamp(*timestamp);
            out.u64(view.get());
            stable.encode(out);
            out.list(checkpoints.iter(), |out, checkpoint| checkpoint.encode(out));
            transition.encode_rest(out);
        })
    }

    /// Reads a record under [`HEAD_KEY`]; `None` for anything else.
    pub(super) fn of_record(config: &PbftConfig, record: &[u8]) -> Option<Result<Self, PbftError>> {
        Self::decode(config, check_record(record)?)
    }

    fn decode(config: &PbftConfig, content: &[u8]) -> Option<Result<Self, PbftError>> {
        let mut bytes = Decoder::new(content);
        let transition = match CommitteeTransition::decode(config, &mut bytes)? {
            Ok(transition) => transition,
            Err(error) => return Some(Err(error)),
        };
        let mut head = Self {
            transition,
            block: BlockId::decode(&mut bytes)?,
            timestamp: Timestamp::from_secs(bytes.u64()?),
            view: View::new(bytes.u64()?),
            stable: BlockId::decode(&mut bytes)?,
            checkpoints: bytes.list(BlockId::decode)?,
        };
        head.transition = head.transition.with_rest(&mut bytes)?;
        bytes.is_empty().then_some(Ok(head))
    }
}

fn key(kind: u8, height: Height) -> Bytes {
    [[kind, b'/'].as_slice(), &height.get().to_be_bytes()].concat().into()
}

fn key_in(kind: u8, height: Height, view: View) -> Bytes {
    [[kind, b'/'].as_slice(), &height.get().to_be_bytes(), &view.get().to_be_bytes()].concat().into()
}

fn key_of(kind: u8, height: Height, view: View) -> Bytes {
    if matches!(kind, COMMITTED | STABLE) { key(kind, height) } else { key_in(kind, height, view) }
}

fn body_place(hash: &B256) -> View {
    View::new(hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)))
}

fn view_key((since, view, begun): ViewRecord) -> Bytes {
    let numbers = [since.get().to_be_bytes(), view.get().to_be_bytes()];
    [[VIEW, b'/'].as_slice(), numbers.as_flattened(), &[u8::from(begun)]].concat().into()
}

/// The place of a view's record by its key.
fn parse_view(key: &[u8]) -> Option<ViewRecord> {
    let (&[VIEW, b'/'], numbers) = key.split_first_chunk::<2>()? else { return None };
    let (since, rest) = numbers.split_first_chunk::<8>()?;
    let (view, begun) = rest.split_first_chunk::<8>()?;
    let [begun @ 0..=1] = begun else { return None };
    Some((Height::new(u64::from_be_bytes(*since)), View::new(u64::from_be_bytes(*view)), *begun == 1))
}

/// Kind and numbers of a key that is not a view's; a height alone goes with number 0.
fn parse(key: &[u8]) -> Option<(u8, Option<(u64, u64)>)> {
    let (&[kind, b'/'], numbers) = key.split_first_chunk::<2>()? else { return None };
    let (first, rest) = numbers.split_first_chunk::<8>()?;
    let first = u64::from_be_bytes(*first);
    let second = match (kind, rest) {
        (COMMITTED | STABLE, []) => 0,
        (PREPARED | PRE_PREPARED | BODY, view) => u64::from_be_bytes(view.try_into().ok()?),
        _ => return None,
    };
    Some((kind, Some((first, second))))
}
