//! Nobody sends what the chain's lists don't allow.

use std::collections::BTreeMap;

use alloy_sol_types::SolEvent;

use super::{Invariant, Violation, adopted::Adopted, honest};
use crate::{
    chain::{Chain, ExecutedBlock, SystemViewError},
    primitives::{Address, Log},
    sim::network::{Network, step::SimStep},
    system::permissions::{
        PERMISSIONS_ADDRESS,
        interface::{AccountListSwitched, DeployerListSwitched, PermissionsChanged},
    },
};

/// Every transaction of a block that an honest replica adopts has a sender who may send it at the moment at which it begins: by the lists
/// after the parent, and the changes by the transactions before it, as their logs have them.
#[derive(Clone, Debug, Default)]
pub struct PermissionsRespected {
    adopted: Adopted,
    transactions: u64,
}

/// Changes of lists in a block so far.
#[derive(Debug, Default)]
struct Changes {
    /// Lists that an account is on: of accounts, of deployers.
    listed: BTreeMap<Address, (bool, bool)>,
    accounts_on: Option<bool>,
    deployers_on: Option<bool>,
}

impl PermissionsRespected {
    /// Returns the number of transactions that were checked.
    pub const fn transactions(&self) -> u64 {
        self.transactions
    }

    fn check(
        &mut self,
        chain: &Chain,
        parent: &ExecutedBlock,
        block: &ExecutedBlock,
    ) -> Result<Option<String>, SystemViewError> {
        let mut changes = Changes::default();
        for (transaction, receipt) in block.transactions().iter().zip(block.receipts()) {
            self.transactions += 1;
            let (sender, is_creation) = (transaction.sender(), transaction.to().is_none());
            if let Some(wrong) = changes.refuse(chain, (parent, block), sender, is_creation)? {
                return Ok(Some(format!("transaction {} of {sender}: {wrong}", transaction.hash())));
            }
            receipt.logs().iter().for_each(|log| changes.apply(log));
        }
        Ok(None)
    }
}

impl Invariant for PermissionsRespected {
    fn name(&self) -> &'static str {
        "permissions-respected"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let chain = replica.chain();
        if chain.spec().permissions.is_none() {
            return Ok(());
        }
        let violation =
            |detail| Violation::new("permissions-respected", network, format!("{}: {detail}", replica.id()));
        let blocks = self.adopted.new_of(replica).map_err(|error| violation(error.to_string()))?;
        for (parent, block) in blocks {
            let violation = |detail| {
                let detail = format!("{} at height {}: {detail}", replica.id(), block.height());
                Violation::new("permissions-respected", network, detail)
            };
            match self.check(chain, &parent, &block) {
                Ok(None) => {}
                Ok(Some(wrong)) => return Err(violation(wrong)),
                Err(error) => return Err(violation(format!("the lists can't be read: {error}"))),
            }
        }
        Ok(())
    }
}

impl Changes {
    fn apply(&mut self, log: &Log) {
        if log.address != PERMISSIONS_ADDRESS {
            return;
        }
        if let Ok(event) = PermissionsChanged::decode_log(log) {
            self.listed.insert(event.account, (event.isAccount, event.isDeployer));
        } else if let Ok(event) = AccountListSwitched::decode_log(log) {
            self.accounts_on = Some(event.isOn);
        } else if let Ok(event) = DeployerListSwitched::decode_log(log) {
            self.deployers_on = Some(event.isOn);
        }
    }

    /// Returns why an account may not send a call or a creation now.
    fn refuse(
        &self,
        chain: &Chain,
        (parent, block): (&ExecutedBlock, &ExecutedBlock),
        account: Address,
        is_creation: bool,
    ) -> Result<Option<&'static str>, SystemViewError> {
        let before = chain.permissions_of(parent, account)?;
        // What somebody may do who is on no list shows which lists were on.
        let stranger = chain.permissions_of(parent, Address::repeat_byte(0xee))?;
        let (is_account, is_deployer) =
            self.listed.get(&account).copied().unwrap_or((before.isAccount, before.isDeployer));
        let accounts_on = self.accounts_on.unwrap_or(!stranger.maySend);
        let deployers_on = self.deployers_on.unwrap_or(!stranger.mayDeploy);
        // The administrator may send without being listed: before the block or after it.
        let leads = |may_send: bool, is_listed: bool| may_send && !is_listed;
        let after = chain.permissions_of(block, account)?;
        let section = chain.spec().permissions.as_ref();
        let leads_at_genesis = section.is_some_and(|section| section.administrator == account);
        let is_administrator = (stranger.maySend && leads_at_genesis)
            || (!stranger.maySend && leads(before.maySend, before.isAccount))
            || (accounts_on && leads(after.maySend, after.isAccount));
        if accounts_on && !is_account && !is_administrator {
            return Ok(Some("its sender may not send"));
        }
        Ok((is_creation && deployers_on && !is_deployer).then_some("its sender may not deploy"))
    }
}
