//! The execution of a protocol's effects in the simulated network.

use std::sync::Arc;

use super::{Replica, building::attributes, disk::WriteResult};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ChainEvent, ConsensusMessage, Deadline, Event, Evidence, Recipients, Record, Rejection,
        ReplicaId, Ticket, TimerId, Verdict,
        effect_handler::{Durability, EffectHandler, Outbox},
    },
    sim::network::{
        environment::{Environment, SimEvent},
        error::NetworkError,
        production::{BlockOrder, Production},
    },
};

/// A replica in its environment, for the time of one effect.
pub(super) struct InEnvironment<'a> {
    pub(super) replica: &'a mut Replica,
    pub(super) env: &'a mut Environment,
}

impl EffectHandler for InEnvironment<'_> {
    type Error = NetworkError;

    fn outbox(&mut self) -> &mut Outbox {
        &mut self.replica.outbox
    }

    /// Sends a message, as it is or as misbehaviour changes it.
    fn send(&mut self, to: Recipients, message: ConsensusMessage) {
        if self.replica.misbehaviour.is_empty() {
            self.env.send_message(self.replica.slot, to, message);
        } else {
            self.replica.misbehave(to, &message, self.env);
        }
    }

    fn arm_timer(&mut self, timer: TimerId, deadline: Deadline) {
        let Self { replica, env } = self;
        let (at, delay) = env.timer_deadline(replica.slot, deadline);
        if let Some(generation) = replica.timers.arm(timer, at, delay) {
            env.scheduler.at(at, SimEvent::Timer { replica: replica.slot, timer, generation });
        }
    }

    fn disarm_timer(&mut self, timer: TimerId) {
        self.replica.timers.disarm(timer);
    }

    fn persist(&mut self, ticket: Ticket, records: Vec<Record>) -> Durability {
        let Self { replica, env } = self;
        let now = env.scheduler.now();
        if let Some(durable) = &replica.durable {
            durable.put(replica.id, &records);
        }
        match replica.disk.write(ticket, records, now, |latency| env.disk_nanos(latency)) {
            WriteResult::Done => Durability::Now,
            WriteResult::Until { at, life } => {
                env.scheduler.at(at, SimEvent::Written { replica: replica.slot, ticket, life });
                Durability::Later
            }
        }
    }

    fn build(&mut self, mut request: BuildRequest) -> Result<Option<Arc<Block>>, NetworkError> {
        let Self { replica, env } = self;
        replica.accuse(&mut request, env);
        match env.production {
            Production::OnDemand => {
                replica.wanted = Some(request);
                Ok(None)
            }
            Production::Automatic => {
                let timestamp = request.timestamp_min.max(env.timestamp_of(replica.slot));
                let now = env.scheduler.now();
                if let Some(at) = replica.processor.occupy(now, |latency| env.execution_nanos(latency)) {
                    replica.processor.begin_building(request.ticket);
                    let (replica, life) = (replica.slot, replica.disk.life());
                    env.scheduler.at(at, SimEvent::Building { replica, request: Box::new(request), timestamp, life });
                    return Ok(None);
                }
                let order = BlockOrder::default();
                let built = replica.build(&request, &attributes(&request, timestamp, &order), &order, env)?;
                Ok(Some(Arc::new(built.block)))
            }
        }
    }

    fn cancel_build(&mut self) {
        self.replica.wanted = None;
        self.replica.processor.cancel_building();
    }

    fn validate(&mut self, block: Arc<Block>) -> Result<Option<Verdict>, NetworkError> {
        let Self { replica, env } = self;
        let (slot, life) = (replica.slot, replica.disk.life());
        match env.defer_future_block((slot, life), &block, replica.protocol.future_blocks()) {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            Err(ahead) => {
                let reason = format!("its time is {ahead} s ahead of this replica's clock");
                return Ok(Some(Verdict::Invalid { reason }));
            }
        }
        let now = env.scheduler.now();
        if let Some(at) = replica.processor.occupy(now, |latency| env.execution_nanos(latency)) {
            env.scheduler.at(at, SimEvent::Judgement { replica: slot, block, life });
            return Ok(None);
        }
        replica.validate(block)
    }

    fn draw(&mut self, bound: u64) -> u64 {
        self.env.draw(bound)
    }

    fn fetch(&mut self, block: BlockId, from: ReplicaId) -> Option<Arc<Block>> {
        self.env.request(self.replica.slot, from, block);
        None
    }

    fn stored(&mut self, block: BlockId) -> Option<Arc<Block>> {
        Some(self.replica.chain().block(block.hash).ok()?.block().clone())
    }

    fn on_chain_event(&mut self, event: ChainEvent) -> Result<Option<Event>, NetworkError> {
        let moves = matches!(event, ChainEvent::HeadMoved { .. });
        self.replica.on_chain_event(event)?;
        Ok(if moves { self.replica.check_inclusion_timeout(self.env) } else { None })
    }

    fn on_evidence(&mut self, evidence: Evidence) {
        self.replica.observations.add_evidence(evidence);
    }

    fn on_rejection(&mut self, rejection: Rejection) {
        self.replica.observations.add_rejection(rejection);
    }

    fn on_mark(&mut self, name: &'static str) {
        self.replica.observations.add_mark(name);
    }
}
