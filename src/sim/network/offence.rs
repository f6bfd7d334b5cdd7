//! Evidence of an offence that somebody outside the network has seen.

use std::sync::Arc;

use super::{
    Network,
    envelope::Envelope,
    replica::{Replica, process::ProcessState},
};
use crate::{
    consensus::{
        AnyProtocol, ConsensusMessage, Rejection, ReplicaId,
        pos::{PosMessage, SlashingEvidence},
    },
    primitives::Address,
};

/// Why evidence was not passed on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffenceError {
    /// The protocol takes none but what its replicas see themselves.
    #[error("the protocol takes no evidence from outside: its replicas report what they see in messages and blocks")]
    OtherProtocol,
    /// It is against another.
    #[error("the evidence is against {got}; expected {expected}")]
    OtherOffender {
        /// Sealing key of who is accused.
        expected: Address,
        /// Sealing key of who has signed.
        got: Address,
    },
    /// The protocol refuses it.
    #[error(transparent)]
    Refused(#[from] Rejection),
}

impl Network {
    /// Sends evidence of an offence to each replica that runs, as if another had seen it: the next proposer reports it in its block.
    /// `offender` is its sealing key.
    ///
    /// # Errors
    /// [`OffenceError`]: nothing is sent.
    pub fn report_offence(&mut self, offender: Address, offence: &SlashingEvidence) -> Result<(), OffenceError> {
        let AnyProtocol::Pos(pos) = self.primary().protocol() else { return Err(OffenceError::OtherProtocol) };
        let got = pos.check_offence(offence)?;
        if got != offender {
            return Err(OffenceError::OtherOffender { expected: offender, got });
        }
        let message = ConsensusMessage::Pos(Arc::new(PosMessage::Offence(offence.clone())));
        let reporter = self.primary().id();
        let running = |replica: &&Replica| replica.process() == ProcessState::Running;
        let others: Vec<ReplicaId> = self.replicas().iter().filter(running).map(Replica::id).collect();
        for to in others {
            self.env.send(reporter, to, Envelope::Message(message.clone()));
        }
        Ok(())
    }
}
