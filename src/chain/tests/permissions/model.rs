//! Random blocks against a model that has two sets and two flags: it says which transactions a block leaves out, and which creations by
//! calls fail.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;

/// Accounts with keys; the first is the administrator.
const ACCOUNTS: u64 = 3;

#[derive(Clone, Debug)]
enum Step {
    Transfer {
        from: u64,
        is_unsigned: bool,
    },
    Create {
        from: u64,
    },
    CreateByCall {
        from: u64,
    },
    Set {
        account: u64,
        is_account: bool,
        is_deployer: bool,
    },
    SwitchAccounts(bool),
    SwitchDeployers(bool),
    /// What follows is in another block.
    NextBlock,
    /// Goes back to the parent of the head by a block beside it, in which nothing is.
    Reorg,
}

fn step() -> impl Strategy<Value = Step> {
    let from = || 0..ACCOUNTS;
    prop_oneof![
        4 => (from(), any::<bool>()).prop_map(|(from, is_unsigned)| Step::Transfer { from, is_unsigned }),
        2 => from().prop_map(|from| Step::Create { from }),
        3 => from().prop_map(|from| Step::CreateByCall { from }),
        4 => (from(), any::<bool>(), any::<bool>())
            .prop_map(|(account, is_account, is_deployer)| Step::Set { account, is_account, is_deployer }),
        2 => any::<bool>().prop_map(Step::SwitchAccounts),
        2 => any::<bool>().prop_map(Step::SwitchDeployers),
        4 => Just(Step::NextBlock),
        1 => Just(Step::Reorg),
    ]
}

#[derive(Clone, Debug, Default)]
struct Model {
    accounts: Option<()>,
    deployers: Option<()>,
    listed_accounts: BTreeSet<u64>,
    listed_deployers: BTreeSet<u64>,
    nonces: [u64; ACCOUNTS as usize],
}

impl Model {
    fn may_send(&self, account: u64) -> bool {
        self.accounts.is_none() || account == ADMIN || self.listed_accounts.contains(&account)
    }

    fn may_deploy(&self, account: u64) -> bool {
        self.deployers.is_none() || self.listed_deployers.contains(&account)
    }
}

fn put(set: &mut BTreeSet<u64>, member: u64, is_in: bool) {
    if is_in {
        set.insert(member);
    } else {
        set.remove(&member);
    }
}

/// A block under construction: candidates, with what the model says of each.
#[derive(Debug, Default)]
struct Plan {
    candidates: Vec<Arc<Transaction>>,
    left_out: Vec<InvalidTransaction>,
    successes: Vec<bool>,
}

impl Plan {
    /// Adds a transaction and says what becomes of it: refused, or mined and successful or not.
    fn add(
        &mut self,
        model: &mut Model,
        from: u64,
        is_creation: bool,
        success: bool,
        transaction: Arc<Transaction>,
    ) -> bool {
        self.candidates.push(transaction);
        let address = address(from);
        if !model.may_send(from) {
            self.left_out.push(InvalidTransaction::SenderNotAllowed { address });
            return false;
        }
        if is_creation && !model.may_deploy(from) {
            self.left_out.push(InvalidTransaction::DeployerNotAllowed { address });
            return false;
        }
        model.nonces[from as usize] += 1;
        self.successes.push(success);
        true
    }

    fn step(&mut self, model: &mut Model, step: &Step) {
        let contract = PERMISSIONS_ADDRESS;
        match *step {
            Step::Transfer { from, is_unsigned } => {
                let request = request(model.nonces[from as usize], TO, 1);
                let transaction = match is_unsigned {
                    true => request.impersonate(address(from)).unwrap(),
                    false => request.sign(&key(from)).unwrap(),
                };
                self.add(model, from, false, true, Arc::new(transaction));
            }
            Step::Create { from } => {
                let transaction = creation(from, model.nonces[from as usize]);
                self.add(model, from, true, true, transaction);
            }
            Step::CreateByCall { from } => {
                let success = model.may_deploy(from);
                let transaction = call_creator(from, model.nonces[from as usize]);
                self.add(model, from, false, success, transaction);
            }
            Step::Set { account, is_account, is_deployer } => {
                let call = sol::setPermissionsCall {
                    account: address(account),
                    isAccount: is_account,
                    isDeployer: is_deployer,
                };
                let transaction = world_call(ADMIN, model.nonces[0], contract, &call);
                self.add(model, ADMIN, false, true, transaction);
                put(&mut model.listed_accounts, account, is_account);
                put(&mut model.listed_deployers, account, is_deployer);
            }
            Step::SwitchAccounts(is_on) => {
                let call = sol::switchAccountListCall { isOn: is_on };
                self.add(model, ADMIN, false, true, world_call(ADMIN, model.nonces[0], contract, &call));
                model.accounts = is_on.then_some(());
            }
            Step::SwitchDeployers(is_on) => {
                let call = sol::switchDeployerListCall { isOn: is_on };
                self.add(model, ADMIN, false, true, world_call(ADMIN, model.nonces[0], contract, &call));
                model.deployers = is_on.then_some(());
            }
            Step::NextBlock | Step::Reorg => {}
        }
    }

    /// Builds the block, compares it with the plan, and makes it the head of both replicas.
    fn mine(self, world: &mut World) {
        let head = world.chain.head();
        let built = build_on(&world.chain, head.hash(), head.timestamp().as_secs() + 1, self.candidates);
        let left_out: Vec<_> = built.left_out.into_iter().map(|(_, reason)| reason).collect();
        assert_eq!(left_out, self.left_out);
        world.adopt(built.block);
        let successes: Vec<bool> = world.chain.head().receipts().iter().map(|receipt| receipt.is_success()).collect();
        assert_eq!(successes, self.successes);
    }
}

fn check(world: &World, model: &Model) {
    for account in 0..ACCOUNTS {
        let info = world.permissions(address(account));
        assert_eq!((info.maySend, info.mayDeploy), (model.may_send(account), model.may_deploy(account)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn blocks_have_what_a_model_allows(steps in vec(step(), 1..50)) {
        let mut world = World::new(config());
        let (mut model, mut plan) = (Model::default(), Plan::default());
        // The models at the head and at its parent, and how many blocks beside another there are, for their timestamps.
        let (mut at_head, mut at_parent, mut reorgs) = (Model::default(), Model::default(), 0);
        for step in &steps {
            match step {
                Step::NextBlock => {
                    core::mem::take(&mut plan).mine(&mut world);
                    check(&world, &model);
                    at_parent = core::mem::replace(&mut at_head, model.clone());
                }
                Step::Reorg if world.chain.head().height().get() > 0 && plan.candidates.is_empty() => {
                    reorgs += 1;
                    let parent = world.chain.head().parent_hash();
                    let timestamp = world.chain.head().timestamp().as_secs() + reorgs;
                    world.adopt(build_on(&world.chain, parent, timestamp, Vec::new()).block);
                    (model, at_head) = (at_parent.clone(), at_parent.clone());
                    check(&world, &model);
                }
                step => plan.step(&mut model, step),
            }
        }
        plan.mine(&mut world);
        check(&world, &model);
    }
}
