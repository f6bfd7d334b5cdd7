//! Entries of a trace in words.

use std::fmt::Write as _;

use chainbox::{
    consensus::{Admin, BlockId, ConsensusKind, TimerId},
    sim::{
        SimTime,
        trace::{
            Incident, Replay, ReplicaStatus, RoundRole, Trace, TraceContent, TraceEntry, TracedEffect, TracedEvent,
        },
    },
};

use crate::styles::{ERROR, FAINT, GOOD, HEADING};

/// What is known of the contents of messages, by number.
pub(super) trait Contents {
    /// Returns what a message is about.
    fn in_words(&self, message: u32) -> Option<String>;
}

impl Contents for Replay<'_> {
    fn in_words(&self, message: u32) -> Option<String> {
        self.message(message).map(|message| message.in_words()).filter(|words| !words.is_empty())
    }
}

/// Nothing is known.
impl Contents for () {
    fn in_words(&self, _message: u32) -> Option<String> {
        None
    }
}

/// What the numbers of a trace mean to a reader.
pub(super) struct Words<'a> {
    /// Kinds of messages, by number.
    labels: Vec<&'a str>,
    /// By number.
    blocks: Vec<BlockId>,
    /// `None` for a protocol of one's own.
    protocol: Option<ConsensusKind>,
}

impl<'a> Words<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        let (mut labels, mut blocks) = (Vec::new(), Vec::new());
        for entry in &trace.entries {
            match &entry.content {
                TraceContent::Message { label, .. } => labels.push(label.as_str()),
                TraceContent::Block { id, .. } => blocks.push(*id),
                _ => {}
            }
        }
        let section: serde_json::Value = serde_json::from_str(&trace.header.consensus).unwrap_or_default();
        let protocol = section["protocol"].as_str().and_then(ConsensusKind::from_name);
        Self { labels, blocks, protocol }
    }

    /// Returns the kind of a message.
    pub(super) fn label(&self, number: u32) -> &'a str {
        self.labels.get(number as usize).copied().unwrap_or("a message")
    }

    /// Formats an entry as one line, and one more for each relevant effect.
    pub(super) fn entry(&self, entry: &TraceEntry, contents: &dyn Contents) -> String {
        let mut out = format!("{FAINT}{}{FAINT:#}  ", SimTime::from_nanos(entry.at_ns));
        let _ = match &entry.content {
            TraceContent::Sent { from, to, label, message, arrives_ns } => {
                let about = message.map(|message| about(contents, message)).unwrap_or_default();
                let _ = write!(out, "replica {from} -> replica {to}  {label}{about}  ");
                match arrives_ns {
                    Some(at) => write!(out, "{FAINT}arrives at {}{FAINT:#}", SimTime::from_nanos(*at)),
                    None => write!(out, "{ERROR}lost{ERROR:#}"),
                }
            }
            TraceContent::Status { replica, status } => {
                write!(out, "replica {replica}  {HEADING}{}{HEADING:#}", self.status(status))
            }
            TraceContent::Step { replica, event, effects } => {
                let _ = write!(out, "replica {replica}  {}", self.event(event, contents));
                effects
                    .iter()
                    .filter_map(effect_in_words)
                    .try_for_each(|line| write!(out, "\n                    {line}"))
            }
            TraceContent::Incident(incident) => write!(out, "{ERROR}{}{ERROR:#}", incident_in_words(incident)),
            TraceContent::Full { entries } => write!(out, "the recording is full after {entries} entries"),
            _ => Ok(()),
        };
        out
    }

    fn block(&self, number: u32) -> String {
        self.blocks.get(number as usize).map_or_else(|| "a block".to_owned(), |id| block(*id))
    }

    fn event(&self, event: &TracedEvent, contents: &dyn Contents) -> String {
        match event {
            TracedEvent::Message { from, message } => {
                format!("hears {} from replica {from}{}", self.label(*message), about(contents, *message))
            }
            TracedEvent::Timer { timer } => {
                let name = self.protocol.and_then(|protocol| protocol.timer_name(TimerId::new(*timer)));
                name.map_or_else(|| format!("timer {timer} fires"), |name| format!("timer {timer} ({name}) fires"))
            }
            TracedEvent::Judged { id, invalid: None, .. } => format!("{} is valid", block(*id)),
            TracedEvent::Judged { id, invalid: Some(reason), .. } => format!("{} is invalid: {reason}", block(*id)),
            TracedEvent::Start => "starts".to_owned(),
            TracedEvent::Persisted { ticket } => format!("write {ticket} is durable"),
            TracedEvent::Built { block, .. } => format!("makes {}", self.block(*block)),
            TracedEvent::Random { value, .. } => format!("draws {value}"),
            TracedEvent::Synced { from, block } => format!("gets {} from replica {from}", self.block(*block)),
            TracedEvent::Admin(admin) => format!("is told by its operator to {}", admin_in_words(admin)),
            _ => "gets something that this version has no words for".to_owned(),
        }
    }

    fn status(&self, status: &ReplicaStatus) -> String {
        let round = match self.protocol {
            Some(ConsensusKind::Raft) => "term",
            Some(ConsensusKind::Pbft) => "view",
            Some(ConsensusKind::Pos) => "epoch",
            _ => "round",
        };
        let round = format!("{round} {}", status.round);
        match (status.role, status.leader) {
            (RoundRole::Leader, _) => format!("{round}, leads"),
            (RoundRole::Follower, Some(leader)) => format!("{round}, follows replica {leader}"),
            // Here nobody leads a whole epoch.
            (RoundRole::Follower, None) if self.protocol == Some(ConsensusKind::Pos) => round,
            (RoundRole::Follower, None) => format!("{round}, follows nobody yet"),
            (RoundRole::Seeking, _) => format!("{round}, seeks a leader"),
        }
    }
}

/// Returns what a message is about, after a colon; nothing where it is not known.
fn about(contents: &dyn Contents, message: u32) -> String {
    contents.in_words(message).map_or_else(String::new, |words| format!(": {words}"))
}

fn block(id: BlockId) -> String {
    let hash = id.hash.to_string();
    format!("block {} ({}…)", id.height, hash.get(..10).unwrap_or(&hash))
}

fn effect_in_words(effect: &TracedEffect) -> Option<String> {
    Some(match effect {
        TracedEffect::Head { new, reorg_depth: 0, .. } => format!("head moves to {}", block(*new)),
        TracedEffect::Head { new, reorg_depth, .. } => {
            format!("{ERROR}reorg of {reorg_depth}:{ERROR:#} head moves to {}", block(*new))
        }
        TracedEffect::Justified { id } => format!("justified: {}", block(*id)),
        TracedEffect::Final { finalized, .. } => format!("{GOOD}final:{GOOD:#} {}", block(*finalized)),
        TracedEffect::Evidence { text } => format!("{ERROR}evidence:{ERROR:#} {text}"),
        TracedEffect::Reject { reason } => format!("refuses it: {reason}"),
        TracedEffect::Mark { name } => format!("{FAINT}{name}{FAINT:#}"),
        _ => return None,
    })
}

fn admin_in_words(admin: &Admin) -> String {
    match admin {
        Admin::Vote { target, authorize: true } => format!("vote for {target} as a signer"),
        Admin::Vote { target, authorize: false } => format!("vote against {target} as a signer"),
        Admin::WithdrawVote { target } => format!("withdraw its vote about {target}"),
        Admin::TransferLeader { to } => format!("transfer its leadership to {to}"),
        Admin::ChangeMembers(_) => "change the members".to_owned(),
        Admin::Overdue => "see that a transaction is overdue".to_owned(),
        Admin::Resumed { now, .. } => format!("go on at {}", now.as_secs()),
        Admin::Offence(_) => "judge an offence that was reported to it".to_owned(),
        Admin::Read { request } => format!("confirm that it leads, for read {request}"),
        _ => "do something that this version has no words for".to_owned(),
    }
}

fn incident_in_words(incident: &Incident) -> String {
    match incident {
        Incident::Began { fault, kind, replicas, text } => {
            let who: Vec<_> = replicas.iter().map(|replica| format!(" of replica {replica}")).collect();
            format!("fault {fault} begins: {kind}{}{}", who.join(" and"), parameters(text))
        }
        Incident::Ended { fault } => format!("fault {fault} ends"),
        Incident::Crashed { replica } => format!("replica {replica} crashes"),
        Incident::Restarted { replica, records } => {
            format!("replica {replica} restarts with {} records", records.len())
        }
        Incident::Altered { replica, how } => format!("replica {replica} is changed by hand: {how}"),
        Incident::Note { text, .. } => text.clone(),
        Incident::Violation { invariant, step, detail } => {
            format!("invariant `{invariant}` is broken: at step {step}: {detail}")
        }
        _ => "something that this version has no words for".to_owned(),
    }
}

/// Returns a fault's parameters beside its replica, as plans write them, in brackets; nothing when there are none.
fn parameters(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let inner = value.as_object().and_then(|kinds| kinds.values().next()).and_then(|inner| inner.as_object());
    let fields = inner.into_iter().flatten().filter(|(name, _)| *name != "replica");
    let fields: Vec<_> = fields.map(|(name, value)| format!("{name} = {value}")).collect();
    if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ").replace('"', "")) }
}
