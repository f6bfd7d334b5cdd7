//! Evidence of an offence that somebody outside the network has seen.

use std::sync::Arc;

use super::{
    Network,
    envelope::Envelope,
    error::NetworkError,
    replica::{Replica, process::ProcessState},
};
use crate::{
    consensus::{
        Admin, AnyProtocol, ConsensusMessage, Event, OffenceProof, Rejection, ReplicaId,
        pos::{PosMessage, SlashingEvidence},
    },
    primitives::Address,
};

/// Why evidence was not passed on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffenceError {
    /// The protocol knows of no such offence.
    #[error("the protocol knows of no such offence")]
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
    /// The replicas could not go on with it.
    #[error("the network failed: {reason}")]
    Failed {
        /// Cause of the failure, in words.
        reason: String,
    },
}

impl Network {
    /// Reports an offence to each replica that runs, as if another had seen it: the next proposer has the evidence in its block. `offender`
    /// is its sealing key. The first replica judges it for all.
    ///
    /// # Errors
    /// [`OffenceError`]; but for [`OffenceError::Failed`] nothing is reported.
    pub fn report_offence(&mut self, offender: Address, proof: &OffenceProof) -> Result<(), OffenceError> {
        let refused = |reason: String| Rejection::Admin { reason };
        let got = match (self.primary().protocol(), proof) {
            (AnyProtocol::Pos(pos), OffenceProof::Pos(proof)) => pos.check_offence(proof)?,
            (AnyProtocol::Dpos(dpos), OffenceProof::Dpos(proof)) => {
                dpos.check_offence(proof).map_err(|cause| refused(cause.to_string()))?.offender
            }
            (AnyProtocol::Pbft(pbft), OffenceProof::Pbft(proof)) => {
                pbft.check_offence(proof).map_err(Rejection::from)?
            }
            _ => return Err(OffenceError::OtherProtocol),
        };
        if got != offender {
            return Err(OffenceError::OtherOffender { expected: offender, got });
        }
        match proof {
            OffenceProof::Pos(proof) => {
                self.send_offence(proof);
                Ok(())
            }
            OffenceProof::Dpos(_) | OffenceProof::Pbft(_) => self.tell_offence(proof),
        }
    }

    /// Sends evidence as the message that proof of stake has for it.
    fn send_offence(&mut self, proof: &SlashingEvidence) {
        let message = ConsensusMessage::Pos(Arc::new(PosMessage::Offence(proof.clone())));
        let reporter = self.primary().id();
        let running = |replica: &&Replica| replica.process() == ProcessState::Running;
        let others: Vec<ReplicaId> = self.replicas().iter().filter(running).map(Replica::id).collect();
        for to in others {
            self.env.send(reporter, to, Envelope::Message(message.clone()));
        }
    }

    /// Tells evidence to each replica by a command. One that knows it, or has another head, refuses it.
    fn tell_offence(&mut self, proof: &OffenceProof) -> Result<(), OffenceError> {
        let failed = |cause: NetworkError| OffenceError::Failed { reason: cause.to_string() };
        let event = || Event::Admin(Admin::Offence(Box::new(proof.clone())));
        for replica in self.replicas.iter_mut().filter(|replica| replica.process() == ProcessState::Running) {
            replica.handle(event(), &mut self.env).map_err(failed)?;
        }
        self.flush().map_err(failed)
    }
}
