//! How a driver carries out effects: the one dispatch over [`Effect`], used by the simulator's replicas and by every
//! test driver.
//!
//! A driver implements [`EffectHandler`], steps its protocol, passes each effect to [`carry_out`] in order, and steps
//! the protocol with the events of the inbox until there are none. What is particular to a driver (clock, links, disk,
//! execution) is in its handler; what every driver must do alike is here: which event follows which effect, and that
//! a message leaves only once the records that it depends on are durable.

use std::{collections::VecDeque, sync::Arc};

use imbl::Vector;

use super::{
    effect::{BuildRequest, ChainEvent, Deadline, Effect, Evidence, Recipients, Rejection},
    event::{ConsensusMessage, Event, Verdict},
    id::{BlockId, ReplicaId, Ticket, TimerId},
    records::Record,
};
use crate::chain::Block;

/// Whether a write is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is durable already.
    Now,
    /// The driver calls [`persisted`] once it is.
    Later,
}

/// One replica's surroundings, as its driver provides them.
pub(crate) trait EffectHandler {
    /// Failure that ends the run; [`Infallible`](core::convert::Infallible) for drivers that can't fail.
    type Error;

    /// Messages that wait for records of this replica.
    fn outbox(&mut self) -> &mut Outbox;

    /// Sends a message whose records are durable.
    fn send(&mut self, to: Recipients, message: ConsensusMessage);

    /// Starts a timer, or moves it when it runs.
    fn arm_timer(&mut self, timer: TimerId, deadline: Deadline);

    /// Stops a timer, if it runs.
    fn disarm_timer(&mut self, timer: TimerId);

    /// Begins a write. Writes become durable in the order in which they began.
    fn persist(&mut self, ticket: Ticket, records: Vec<Record>) -> Durability;

    /// Builds a block at once, or keeps the request in place of an earlier one (`None`).
    fn build(&mut self, request: BuildRequest) -> Result<Option<Arc<Block>>, Self::Error>;

    /// Drops the kept request.
    fn cancel_build(&mut self);

    /// Executes and stores a block. `None`: it can't be judged yet, and the driver delivers the verdict later.
    fn validate(&mut self, block: Arc<Block>) -> Result<Option<Verdict>, Self::Error>;

    /// Draws a number below `bound`.
    fn draw(&mut self, bound: u64) -> u64;

    /// Asks a peer for a block. `None`: the driver delivers it later, or never.
    fn fetch(&mut self, block: BlockId, from: ReplicaId) -> Option<Arc<Block>>;

    /// Returns a block that this replica has stored.
    fn stored(&mut self, block: BlockId) -> Option<Arc<Block>>;

    /// Applies a change of the chain; may return an event that follows from it.
    fn on_chain_event(&mut self, event: ChainEvent) -> Result<Option<Event>, Self::Error>;

    /// Records proof of misbehaviour.
    fn on_evidence(&mut self, evidence: Evidence);

    /// Records that an input was refused.
    fn on_rejection(&mut self, rejection: Rejection);

    /// Counts a named point of coverage.
    fn on_mark(&mut self, name: &'static str);
}

/// Carries out one effect and appends the events that follow from it here and now.
///
/// # Errors
/// Those of the handler.
pub(crate) fn carry_out<H: EffectHandler>(
    effect: Effect,
    handler: &mut H,
    inbox: &mut VecDeque<Event>,
) -> Result<(), H::Error> {
    match effect {
        Effect::Send { to, message, after } => send(to, message, after, handler),
        Effect::Show { block, to, after } => {
            if let Some(block) = handler.stored(block) {
                send(to, ConsensusMessage::Block(block), after, handler);
            }
        }
        Effect::ArmTimer { timer, deadline } => handler.arm_timer(timer, deadline),
        Effect::DisarmTimer(timer) => handler.disarm_timer(timer),
        Effect::Persist { ticket, records } => match handler.persist(ticket, records) {
            Durability::Now => inbox.push_back(persisted(ticket, handler)),
            Durability::Later => {}
        },
        Effect::Build(request) => {
            let ticket = request.ticket;
            inbox.extend(handler.build(request)?.map(|block| Event::BlockBuilt { ticket, block }));
        }
        Effect::CancelBuild => handler.cancel_build(),
        Effect::Validate { block } => {
            let id = BlockId::of(&block);
            inbox.extend(handler.validate(block)?.map(|verdict| Event::BlockJudged { block: id, verdict }));
        }
        Effect::Draw { ticket, bound } => inbox.push_back(Event::Random { ticket, value: handler.draw(bound) }),
        Effect::Fetch { block, from } => {
            inbox.extend(handler.fetch(block, from).map(|block| Event::BlockSynced { from, block }));
        }
        Effect::Chain(event) => inbox.extend(handler.on_chain_event(event)?),
        Effect::Evidence(evidence) => handler.on_evidence(evidence),
        Effect::Reject(rejection) => handler.on_rejection(rejection),
        Effect::Mark(name) => handler.on_mark(name),
    }
    Ok(())
}

/// Sends a message, or holds it until its records are durable.
fn send<H: EffectHandler>(to: Recipients, message: ConsensusMessage, after: Option<Ticket>, handler: &mut H) {
    if let Some((to, message)) = handler.outbox().hold(to, message, after) {
        handler.send(to, message);
    }
}

/// Sends what waited for this write and returns the event that the protocol is to be stepped with.
pub(crate) fn persisted<H: EffectHandler>(ticket: Ticket, handler: &mut H) -> Event {
    handler.outbox().set_persisted(ticket);
    while let Some((to, message)) = handler.outbox().take_ready() {
        handler.send(to, message);
    }
    Event::Persisted(ticket)
}

/// Messages that wait for records to be durable. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    held: Vector<(Ticket, Recipients, ConsensusMessage)>,
    /// The first ticket whose write is not durable.
    unpersisted: Ticket,
}

impl Outbox {
    /// Holds the message if its records are not durable; otherwise returns it.
    fn hold(
        &mut self,
        to: Recipients,
        message: ConsensusMessage,
        after: Option<Ticket>,
    ) -> Option<(Recipients, ConsensusMessage)> {
        match after {
            Some(ticket) if ticket >= self.unpersisted => {
                self.held.push_back((ticket, to, message));
                None
            }
            _ => Some((to, message)),
        }
    }

    /// Notes that this write, and with it every earlier one, is durable.
    fn set_persisted(&mut self, ticket: Ticket) {
        self.unpersisted = self.unpersisted.max(Ticket::new(ticket.get() + 1));
    }

    /// Takes the oldest message if its records are durable; disks keep the order of writes.
    fn take_ready(&mut self) -> Option<(Recipients, ConsensusMessage)> {
        self.held.front().filter(|(after, ..)| *after < self.unpersisted)?;
        self.held.pop_front().map(|(_, to, message)| (to, message))
    }

    /// Whether no message waits.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}
