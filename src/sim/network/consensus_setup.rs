//! The consensus setup that all replicas share, and recovery of a replica from stored records.

use super::error::{NetworkError, StoredRecordsError};
use crate::{
    chain::Chain,
    consensus::{
        AnyProtocol, Authenticator, BlockId, ConsensusConfig, Protocol, Records, ReplicaId, Signer, ValidatorSet,
    },
};

/// The protocol with its validators and their signers, constant during a run.
#[derive(Debug)]
pub(crate) struct ConsensusSetup {
    pub(crate) config: ConsensusConfig,
    pub(crate) validators: ValidatorSet,
    pub(crate) authenticator: Authenticator,
    /// Signer of each replica; `None` for an observer.
    pub(crate) signers: Vec<Option<Signer>>,
}

impl ConsensusSetup {
    /// Recovers a replica's protocol at the head of an opened chain, with all its safety records, and returns the records that
    /// it still needs.
    ///
    /// The stored chain is the primary's; when the process ended, the replica may have been a block behind or ahead. It then
    /// adopts the primary's chain records and keeps its own safety records.
    pub(crate) fn recovered_at(
        &self,
        chain: &Chain,
        head: BlockId,
        replica: ReplicaId,
        (own, of_primary): (&Records, &Records),
    ) -> Result<(AnyProtocol, Records), NetworkError> {
        let signer = self.signers.get(replica.index()).cloned().flatten();
        if own.is_empty() && of_primary.is_empty() {
            return Ok((self.protocol_at(chain, head, signer, None)?, Records::new()));
        }
        let keys = self.config.info().record_keys;
        let (mut recovered_head, mut behind) = (None, None);
        let ways: [&dyn Fn() -> Records; 3] = [
            &|| own.clone(),
            &|| keys.on_chain_of(own, of_primary),
            // Without a head record, the other of two branches of equal weight may be chosen.
            &|| keys.at_head_of(own, of_primary),
        ];
        for way in ways {
            let mut records = way();
            let (genesis, validators) = (chain.genesis().block(), self.validators.clone());
            let signer = signer.clone();
            let protocol = self
                .config
                .recover(genesis, validators, &records, self.authenticator.clone(), signer)
                .map_err(|source| StoredRecordsError::Refused { replica, source })?;
            if protocol.head() != head {
                recovered_head = recovered_head.or(Some(protocol.head()));
                continue;
            }
            records.retain(|key, _| protocol.needs(key));
            // The chain never goes back behind what is final in it, so the protocol must know that, too.
            if protocol.finality().finalized.height >= chain.finalized().height() {
                return Ok((protocol, records));
            }
            behind = behind.or(Some((protocol, records)));
        }
        if let Some(recovered) = behind {
            return Ok(recovered);
        }
        Err(StoredRecordsError::OtherHead { got: recovered_head.unwrap_or_default(), want: head }.into())
    }

    /// Returns a replica's protocol at the chain's head: from the head record, or at genesis without one.
    pub(crate) fn protocol_at(
        &self,
        chain: &Chain,
        head: BlockId,
        signer: Option<Signer>,
        head_record: Option<&[u8]>,
    ) -> Result<AnyProtocol, NetworkError> {
        let authenticator = self.authenticator.clone();
        let protocol = match head_record {
            Some(record) => self.config.restore(record, authenticator, signer)?,
            None => self.config.start(chain.genesis().block(), self.validators.clone(), authenticator, signer)?,
        };
        if protocol.head() == head {
            Ok(protocol)
        } else {
            Err(StoredRecordsError::OtherHead { got: protocol.head(), want: head }.into())
        }
    }
}
