//! The contract against two sets and a few flags.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Set(u8, bool, bool),
    SetMany(Vec<(u8, bool, bool)>),
    SwitchAccounts(bool),
    SwitchDeployers(bool),
    Offer(u8),
    Accept(u8),
}

/// What the contract should hold.
#[derive(Debug)]
struct Model {
    owner: Address,
    pending: Address,
    accounts_on: bool,
    deployers_on: bool,
    /// Accounts on a list, in the contract's order.
    order: Vec<Address>,
    entries: BTreeMap<Address, (bool, bool)>,
}

impl Model {
    fn put(&mut self, account: Address, is_account: bool, is_deployer: bool) {
        let was_listed = self.order.contains(&account);
        match (was_listed, is_account || is_deployer) {
            (false, true) => self.order.push(account),
            (true, false) => {
                let index = self.order.iter().position(|other| *other == account).unwrap();
                self.order.swap_remove(index);
            }
            _ => {}
        }
        self.entries.insert(account, (is_account, is_deployer));
    }
}

fn account(number: u8) -> Address {
    if number == 0 { ADMIN } else { Address::with_last_byte(number) }
}

fn step() -> impl Strategy<Value = Step> {
    let entry = || (0_u8..6, any::<bool>(), any::<bool>());
    prop_oneof![
        4 => entry().prop_map(|(number, a, d)| Step::Set(number, a, d)),
        2 => vec(entry(), 0..6).prop_map(Step::SetMany),
        1 => any::<bool>().prop_map(Step::SwitchAccounts),
        1 => any::<bool>().prop_map(Step::SwitchDeployers),
        1 => (0_u8..6).prop_map(Step::Offer),
        1 => (0_u8..6).prop_map(Step::Accept),
    ]
}

/// Runs a step by `caller` on both, which have to agree about whether it may.
fn run(lab: &mut Lab, model: &mut Model, caller: Address, step: Step) {
    let by_owner = caller == model.owner;
    let (result, may) = match step {
        Step::Set(number, a, d) => {
            if by_owner {
                model.put(account(number), a, d);
            }
            (lab.call(caller, &set(account(number), a, d)), by_owner)
        }
        Step::SetMany(list) => {
            let entry = |(number, a, d): &(u8, bool, bool)| sol::Entry {
                account: account(*number),
                isAccount: *a,
                isDeployer: *d,
            };
            let entries = list.iter().map(entry).collect();
            if by_owner {
                list.into_iter().for_each(|(number, a, d)| model.put(account(number), a, d));
            }
            (lab.call(caller, &sol::setPermissionsOfManyCall { entries }), by_owner)
        }
        Step::SwitchAccounts(is_on) => {
            model.accounts_on = if by_owner { is_on } else { model.accounts_on };
            (lab.call(caller, &sol::switchAccountListCall { isOn: is_on }), by_owner)
        }
        Step::SwitchDeployers(is_on) => {
            model.deployers_on = if by_owner { is_on } else { model.deployers_on };
            (lab.call(caller, &sol::switchDeployerListCall { isOn: is_on }), by_owner)
        }
        Step::Offer(number) => {
            model.pending = if by_owner { account(number) } else { model.pending };
            (lab.call(caller, &sol::transferOwnershipCall { newOwner: account(number) }), by_owner)
        }
        Step::Accept(_) => {
            let may = caller == model.pending;
            if may {
                (model.owner, model.pending) = (caller, Address::ZERO);
            }
            (lab.call(caller, &sol::acceptOwnershipCall {}), may)
        }
    };
    assert_eq!(result.is_success(), may, "{result:?}");
}

fn check(lab: &mut Lab, model: &Model) {
    let page = lab.ok(BOB, &sol::entriesCall { from: U256::ZERO, count: U256::MAX });
    let listed: Vec<Address> = page.iter().map(|entry| entry.account).collect();
    assert_eq!(listed, model.order);
    for number in 0..6 {
        let account = account(number);
        let (is_account, is_deployer) = model.entries.get(&account).copied().unwrap_or_default();
        let may_send = !model.accounts_on || is_account || account == model.owner;
        let may_deploy = !model.deployers_on || is_deployer;
        let want = sol::PermissionsInfo {
            isAccount: is_account,
            isDeployer: is_deployer,
            maySend: may_send,
            mayDeploy: may_deploy,
        };
        assert_eq!(lab.permissions(account), want);
        let read = |word: PermissionWord| lab.journal.storage(&PERMISSIONS_ADDRESS, &word.slot());
        let lists = PermissionLists { accounts: model.accounts_on, deployers: model.deployers_on };
        let allowed = lists.permissions_of(account, read).unwrap();
        assert_eq!(allowed, AccountPermissions { may_send, may_deploy }, "read without a call");
        let word = lab.journal.storage(&PERMISSIONS_ADDRESS, &PermissionWord::Lists.slot()).unwrap();
        assert_eq!(PermissionLists::from_word(word), lists);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn lists_are_what_a_model_has(steps in vec((0_u8..6, step()), 1..40)) {
        let mut lab = Lab::new(&open());
        let mut model = Model {
            owner: ADMIN,
            pending: Address::ZERO,
            accounts_on: false,
            deployers_on: false,
            order: Vec::new(),
            entries: BTreeMap::new(),
        };
        for (number, step) in steps {
            // Mostly by the administrator: others are refused.
            let caller = match &step {
                Step::Accept(by) => account(*by),
                _ if number > 0 => model.owner,
                _ => account(1),
            };
            run(&mut lab, &mut model, caller, step);
        }
        check(&mut lab, &model);
    }
}
