//! What no record has: validators and proposals, which are on the workspace's chains, and chains of other workspaces.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, sync::Arc};

use super::{ResourceKind, ResourceSummary};
use crate::platform::{
    PlatformError, ProposalId, Proposals, Validators,
    blockchain::{Blockchain, BlockchainRecord},
    blockchains::Blockchains,
    principal::Principal,
    proposals::Proposal,
    records::{Index, SortKey, Stored},
    validator::HostedValidator,
};

/// Reads resources that are on chains, as a principal may see them.
#[derive(Clone, Copy)]
pub(super) struct OnChain<'a> {
    pub(super) blockchains: Blockchains<'a>,
    pub(super) principal: &'a Principal,
}

impl OnChain<'_> {
    /// Returns those of a type.
    pub(super) fn of(self, kind: ResourceKind) -> Result<Vec<ResourceSummary>, PlatformError> {
        match kind {
            ResourceKind::Blockchain => self.chains_of_others(),
            ResourceKind::Validator => self.of_own_chains(|chain, record| self.validators(chain, record)),
            ResourceKind::Proposal => self.of_own_chains(|chain, record| self.proposals(chain, record)),
            _ => Ok(Vec::new()),
        }
    }

    /// Public chains of other workspaces, and those on whose list of participants the principal is.
    fn chains_of_others(self) -> Result<Vec<ResourceSummary>, PlatformError> {
        let (own, mut found) = (self.principal.owner(), Vec::new());
        self.blockchains.each_readable(self.principal, &mut |chain, record| {
            if *chain.owner() != own {
                found.push(ResourceSummary {
                    id: chain.id().to_owned(),
                    kind: ResourceKind::Blockchain,
                    name: record.value.spec.name.clone(),
                    workspace_id: chain.owner().as_str().to_owned(),
                    blockchain_id: Some(chain.id().to_owned()),
                    status: self.blockchains.state(record).name().to_owned(),
                    created_at_ms: record.created_at_ms(),
                    updated_at_ms: record.updated_at_ms(),
                });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Reads the workspace's chains that are in memory, and that the principal may read.
    fn of_own_chains(
        self,
        read: impl Fn(&Arc<Blockchain>, &Stored<BlockchainRecord>) -> Result<Vec<ResourceSummary>, PlatformError>,
    ) -> Result<Vec<ResourceSummary>, PlatformError> {
        let (records, mut found) = (&self.blockchains.context.records, Vec::new());
        let own = records.of::<BlockchainRecord>();
        own.for_each(&Index::CREATED, &self.principal.owner(), &SortKey::new(), |record| {
            if let Some(chain) = self.blockchains.sight(self.principal, record.id())?.chain() {
                found.extend(read(chain, &record)?);
            }
            Ok::<_, PlatformError>(())
        })?;
        Ok(found)
    }

    /// One that the service has added is as old as its record, others are as old as their chain is to it.
    fn validators(
        self,
        chain: &Blockchain,
        record: &Stored<BlockchainRecord>,
    ) -> Result<Vec<ResourceSummary>, PlatformError> {
        let kept = self.blockchains.context.records.of();
        let kept = kept.of_chain(&HostedValidator::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
        let times = kept.iter().map(|kept| (kept.value.operator, (kept.created_at_ms(), kept.updated_at_ms())));
        let times: BTreeMap<_, _> = times.collect();
        let of_chain = (record.created_at_ms(), record.created_at_ms());
        let found = Validators { chains: self.blockchains }.of_chain(chain)?;
        let summary = |validator: crate::platform::Validator| {
            let (created_at_ms, updated_at_ms) = times.get(&validator.operator).copied().unwrap_or(of_chain);
            ResourceSummary {
                id: validator.id.text(),
                kind: ResourceKind::Validator,
                name: validator.name,
                workspace_id: chain.owner().as_str().to_owned(),
                blockchain_id: Some(chain.id().to_owned()),
                status: validator.state.name().to_owned(),
                created_at_ms,
                updated_at_ms,
            }
        };
        Ok(found.into_iter().map(summary).collect())
    }

    fn proposals(
        self,
        chain: &Blockchain,
        record: &Stored<BlockchainRecord>,
    ) -> Result<Vec<ResourceSummary>, PlatformError> {
        if !chain.node().view().chain().has_governance() {
            return Ok(Vec::new());
        }
        let newest = (0, ResourceKind::PROPOSALS_OF_CHAIN_MAX, true);
        let (found, _) = Proposals { chains: self.blockchains }.of_chain(chain, newest)?;
        let summary = |proposal: Proposal| {
            let created_at = proposal.voting.as_ref().map(|voting| voting.submitted_at);
            let changed_at = proposal.voting.as_ref().and_then(|voting| Some(voting.finalized?.1)).or(created_at);
            let ms = |time: Option<crate::primitives::Timestamp>| {
                time.map_or(record.created_at_ms(), |time| time.as_secs().saturating_mul(1000))
            };
            ResourceSummary {
                id: ProposalId::text(&proposal.id),
                kind: ResourceKind::Proposal,
                name: proposal.title,
                workspace_id: chain.owner().as_str().to_owned(),
                blockchain_id: Some(chain.id().to_owned()),
                status: proposal.status.name().to_owned(),
                created_at_ms: ms(created_at),
                updated_at_ms: ms(changed_at),
            }
        };
        Ok(found.into_iter().map(summary).collect())
    }
}
