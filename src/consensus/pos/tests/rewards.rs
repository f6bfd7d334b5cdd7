//! What votes earn and cost: against a model, in a chain, in a leak, and refused when a header has another sum.

use core::time::Duration;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy_sol_types::SolCall;
use proptest::{collection::vec, prelude::*};

use super::lab::{Lab, WEIGHT, config};
use crate::{
    chain::Block,
    consensus::{
        UnverifiedHeader, Validator, ValidatorSet,
        mutation::{self, Mutation},
        pos::{
            Electorate, Epoch, EpochAccounting, HeaderError, LightVerifier, Payload, PosConfig, StakeSource,
            calls::system_calls,
            check_header,
            participation::Participation,
            rewards::{Delta, EpochVotes},
        },
    },
    primitives::{Address, B256, Bytes},
    system::{
        SystemCall, SystemContext,
        staking::{WEIGHT_UNIT, interface::endEpochCall},
    },
};

/// `get_base_reward` of 32 ether of four times 32, in gwei: `32e9 * 64 / 357_770`.
const BASE: u64 = 5_724_348;
/// Parts of it for source, target and head.
const PARTS: [u64; 3] = [1_252_201, 2_325_516, 1_252_201];
/// Part of the proposer that includes a vote with all three flags: `BASE * 54 / 448`.
const INCLUSION: u64 = 689_988;

fn of_accounts(lab: &Lab, replica: usize) -> Vec<(u64, EpochAccounting)> {
    let payloads = lab.chain_of(replica).into_iter().map(|block| Payload::decode(block.payload()).unwrap());
    payloads.filter_map(|payload| Some((payload.slot, payload.accounting?))).collect()
}

fn sum_of(amounts: &[(Address, u64)], validator: Address) -> u64 {
    amounts.iter().filter(|(who, _)| *who == validator).map(|(_, gwei)| gwei).sum()
}

fn weight(lab: &Lab, who: usize) -> u64 {
    let set = lab.replica(0).head_state().unwrap().current.set().clone();
    set.index_of(&lab.address(who)).map_or(0, |place| set.members()[place].weight)
}

/// Follows a replica's whole chain by its headers.
fn followed(lab: &Lab, replica: usize) -> LightVerifier {
    let (config, genesis) = (lab.fixture.config, lab.genesis.header());
    let mut light = LightVerifier::new(config, genesis, &lab.genesis_set(), lab.authenticator.clone()).unwrap();
    for block in lab.chain_of(replica) {
        light.follow(&block.as_ref().into()).unwrap();
    }
    light
}

/// Returns the deltas of the votes of epoch 5 in a set with these weights, and the index of who proposed the block with each vote.
/// `vote` has a validator's index and attestation slot.
fn deltas(
    config: &PosConfig,
    weights: &[u64],
    is_leaking: bool,
    vote: impl Fn(usize, u64) -> Participation,
    slashed: &[usize],
) -> (Vec<Delta>, Vec<Option<usize>>) {
    let address = |index: usize| Address::with_last_byte(index as u8 + 1);
    let member = |(index, weight): (usize, &u64)| Validator { address: address(index), weight: *weight };
    let set = ValidatorSet::new(weights.iter().enumerate().map(member)).unwrap();
    let [epoch, after] = [5, 6]
        .map(|number| Epoch::new(config, number, Electorate::settled(set.clone()), B256::repeat_byte(number as u8)));
    let votes: Vec<_> = (0..).zip(epoch.attestation_slots()).map(|(index, slot)| vote(index, *slot)).collect();
    let by_index = EpochVotes { config, epoch: &epoch, after: &after, votes: &votes, is_leaking }
        .deltas(|who| slashed.iter().any(|index| address(*index) == *who));
    let proposer = |vote: &Participation| {
        let slots = vote.slots()?;
        let of = if slots < config.slots_per_epoch { &epoch } else { &after };
        set.index_of(&of.proposer(config, config.start_of(5) + slots)?)
    };
    let of_index = |index| by_index.get(&address(index)).copied().unwrap_or_default();
    ((0..weights.len()).map(of_index).collect(), votes.iter().map(proposer).collect())
}

#[test]
fn the_sums_are_those_of_altair() {
    let config = config();
    let in_time = |_: usize, slot: u64| Participation::included(slot + 1, true);
    let (got, proposers) = deltas(&config, &[WEIGHT; 4], false, in_time, &[]);
    let included = |proposers: &[Option<usize>], who| proposers.iter().filter(|by| **by == Some(who)).count() as u64;
    for (who, delta) in got.iter().enumerate() {
        let reward = PARTS.iter().sum::<u64>() + included(&proposers, who) * INCLUSION;
        assert_eq!(*delta, Delta { reward, penalty: 0 }, "validator {who}");
    }

    // One is absent: it loses source and target, and the others earn three quarters of each part.
    let absent = |index: usize, slot: u64| if index == 2 { Participation::default() } else { in_time(index, slot) };
    let (got, proposers) = deltas(&config, &[WEIGHT; 4], false, absent, &[]);
    let parts: u64 = [14, 26, 14].iter().map(|weight| BASE * weight * 3 / 4 / 64).sum();
    for (who, delta) in got.iter().enumerate() {
        let (earned, lost) = if who == 2 { (0, PARTS[0] + PARTS[1]) } else { (parts, 0) };
        let earned = earned + included(&proposers, who) * INCLUSION;
        let want = Delta { reward: earned.saturating_sub(lost), penalty: lost.saturating_sub(earned) };
        assert_eq!(*delta, want, "validator {who}");
    }
}

/// Two slots after its own a vote is late for its head, three slots after it for its source, too. On demand none is late.
#[test]
fn late_votes_earn_less() {
    let on_demand = config().with_period(Duration::ZERO);
    let base = base(WEIGHT, WEIGHT);
    for (delay, is_head_right, has, on_demand_has) in [
        (1, true, [true; 3], [true; 3]),
        (1, false, [true, true, false], [true, true, false]),
        (2, true, [true, true, false], [true; 3]),
        (3, true, [false, true, false], [true; 3]),
        (4, false, [false, true, false], [true, true, false]),
    ] {
        for (config, has) in [(config(), has), (on_demand, on_demand_has)] {
            let vote = |_: usize, slot: u64| Participation::included(slot + delay, is_head_right);
            let (got, _) = deltas(&config, &[WEIGHT], false, vote, &[]);
            let weights = || [14, 26, 14].iter().zip(has).filter(|(_, has)| *has).map(|(weight, _)| *weight);
            let earned = weights().map(|weight| base * weight / 64).sum::<u64>() + base * weights().sum::<u64>() / 448;
            let lost = if has[0] { 0 } else { base * 14 / 64 };
            assert_eq!(got, [Delta { reward: earned - lost, penalty: 0 }], "{delay} slots, {has:?}");
        }
    }
}

fn base(weight: u64, total: u64) -> u64 {
    (u128::from(weight) * 64 / u128::from(total.max(1_000_000_000)).isqrt()) as u64
}

#[test]
fn the_largest_base_reward_takes_no_more_than_all() {
    let config = config().with_base_reward_factor(u64::MAX);
    let vote =
        |index: usize, _: u64| if index == 0 { Participation::included(1, true) } else { Participation::default() };
    let (got, _) = deltas(&config, &[u64::MAX, u64::MAX, 1], false, vote, &[]);
    assert_eq!((got[0].reward, got[1].penalty, got[2].penalty), (u64::MAX, u64::MAX, 1));
}

#[test]
fn absence_costs_nothing_on_demand() {
    let vote = |index: usize, slot: u64| match index {
        0 => Participation::included(slot + 1, true),
        _ => Participation::default(),
    };
    for (config, costs) in [(config(), true), (config().with_period(Duration::ZERO), false)] {
        let (got, _) = deltas(&config, &[WEIGHT; 2], false, vote, &[]);
        assert!(got[0].reward > 0);
        assert_eq!(got[1].penalty > 0, costs);
    }
}

/// A validator of the model: weight, whether it is slashed, and its vote: the slots from its own to the block's, and its head.
type Member = (u64, bool, Option<(u64, bool)>);

fn members() -> impl Strategy<Value = Vec<Member>> {
    let weight = prop_oneof![1_u64..10, 1_000_000_000..64_000_000_000_u64, 32_000_000_000..=32_000_000_000_u64];
    vec((weight, prop::bool::weighted(0.1), prop::option::weighted(0.8, (1_u64..5, any::<bool>()))), 1..12)
}

/// The specification's functions, one flag at a time, over the whole set (`get_flag_index_deltas`).
fn model(members: &[Member], is_leaking: bool) -> Vec<(u64, u64)> {
    let total: u64 = members.iter().map(|(weight, ..)| weight).sum();
    let mut sums = vec![(0, 0); members.len()];
    for (flag, weight) in [14_u128, 26, 14].into_iter().enumerate() {
        let has_flag = |(_, is_slashed, vote): &Member| {
            !is_slashed && vote.is_some_and(|(delay, right)| [delay <= 2, true, delay == 1 && right][flag])
        };
        let participating: u64 = members.iter().filter(|member| has_flag(member)).map(|(weight, ..)| weight).sum();
        for (member, (earned, lost)) in members.iter().zip(&mut sums) {
            let base = u128::from(base(member.0, total));
            if has_flag(member) {
                if !is_leaking {
                    *earned += (base * weight * u128::from(participating) / (u128::from(total) * 64)) as u64;
                }
            } else if flag != 2 {
                *lost += (base * weight / 64) as u64;
            }
        }
    }
    sums
}

proptest! {
    #[test]
    fn deltas_are_those_of_the_model(members in members(), is_leaking in any::<bool>()) {
        let weights: Vec<_> = members.iter().map(|(weight, ..)| *weight).collect();
        let slashed: Vec<_> = (0..members.len()).filter(|index| members[*index].1).collect();
        let vote = |index: usize, slot: u64| {
            let vote = members[index].2;
            vote.map_or_else(Participation::default, |(delay, right)| Participation::included(slot + delay, right))
        };
        let (got, _) = deltas(&config(), &weights, is_leaking, vote, &slashed);
        let total: u64 = weights.iter().sum();
        let (mut minted, mut inclusions) = (0_i128, 0);
        for ((delta, (earned, lost)), (weight, is_slashed, vote)) in got.iter().zip(model(&members, is_leaking)).zip(&members) {
            prop_assert!(delta.reward == 0 || delta.penalty == 0);
            let net = i128::from(delta.reward) - i128::from(delta.penalty);
            let included = net - (i128::from(earned) - i128::from(lost));
            prop_assert!(included >= 0, "votes alone earn {}", earned);
            inclusions += included;
            minted += net;
            prop_assert!(!is_slashed || (included == 0 && delta.reward == 0), "offenders earn nothing");
            prop_assert!(!is_leaking || delta.reward == 0, "nobody earns in a leak");
            let voted_in_time = !is_slashed && vote.is_some_and(|(delay, _)| delay <= 2);
            prop_assert!(!voted_in_time || delta.penalty == 0, "who votes in time never loses");
            let is_absent = *is_slashed || vote.is_none();
            let costs = base(*weight, total) * 14 / 64;
            prop_assert!(!is_absent || included > 0 || delta.penalty >= costs, "who never votes loses");
        }
        let bases: u64 = weights.iter().map(|weight| base(*weight, total)).sum();
        prop_assert!(minted <= i128::from(bases), "no more than the base rewards is minted");
        prop_assert!(!is_leaking || inclusions == 0);
    }
}

/// One of four is silent for 20 epochs. Each costs it the source's and the target's parts of the base reward of its weight.
#[test]
fn a_silent_validator_loses_the_computed_sum_and_the_others_earn() {
    let mut lab = Lab::new(4);
    lab.run(3);
    lab.pause(2);
    lab.run(4 * 20 + 1);
    let silent = lab.address(2);
    let accounts = of_accounts(&lab, 0);
    assert!(accounts.len() >= 20);
    let (mut own, mut lost, mut epochs) = (WEIGHT, 0, 0);
    let mut in_force = vec![WEIGHT; 3];
    for (slot, account) in &accounts {
        let penalty = sum_of(&account.penalties, silent);
        if slot / 4 >= 3 {
            let weight = in_force[in_force.len() - 3];
            let base = base(weight, 3 * WEIGHT + weight);
            assert_eq!(penalty, base * 14 / 64 + base * 26 / 64, "at slot {slot}");
            assert_eq!(sum_of(&account.rewards, silent), 0);
            assert!([0, 1, 3].iter().all(|who| sum_of(&account.rewards, lab.address(*who)) > 0), "at slot {slot}");
            epochs += 1;
        }
        assert!([0, 1, 3].iter().all(|who| sum_of(&account.penalties, lab.address(*who)) == 0), "at slot {slot}");
        (own, lost) = (own - penalty, lost + penalty);
        in_force.push(own);
    }
    assert!(epochs >= 17 && lost > 17 * 3_500_000, "{lost} in {epochs}");
    // The weight in force is one epoch behind.
    assert_eq!(weight(&lab, 2), in_force[in_force.len() - 2]);
    assert!([0, 1, 3].iter().all(|who| weight(&lab, *who) == WEIGHT), "rewards are paid out, and are no stake");
    let light = followed(&lab, 0);
    assert_eq!(light.validators(), lab.replica(0).head_state().unwrap().current.set());
    mutation::with(Mutation::PosSkipsPenalties, || {
        let mut lab = Lab::new(4);
        lab.pause(2);
        lab.run(4 * 20);
        assert_eq!(weight(&lab, 2), WEIGHT, "absence costs nothing");
    });
}

#[test]
fn whoever_votes_always_never_loses() {
    let mut lab = Lab::new(4);
    lab.run(41);
    // In epoch 0 there is no slot 0 to vote in.
    for (slot, account) in of_accounts(&lab, 0).iter().filter(|(slot, _)| *slot >= 12) {
        assert_eq!(account.penalties, [], "at slot {slot}");
        let rewards: Vec<_> = account.rewards.iter().map(|(_, gwei)| *gwei).collect();
        // All flags of all, and what their inclusion earns.
        let votes: u64 = PARTS.iter().sum();
        assert!(rewards.len() == 4 && rewards.iter().all(|reward| *reward >= votes), "{rewards:?} at slot {slot}");
        assert_eq!(rewards.iter().sum::<u64>(), 4 * (votes + INCLUSION), "at slot {slot}");
    }
}

/// Half of the stake is away, so that finality stalls: no more rewards after four epochs, for those who vote neither.
#[test]
fn nobody_earns_while_stake_leaks() {
    let rewards_in_leak = || {
        let mut lab = Lab::new(4);
        [1, 2].into_iter().for_each(|who| lab.pause(who));
        lab.run(4 * 14);
        assert_eq!(lab.replica(0).finalized().epoch, 0);
        // The block of epoch 6 accounts for epoch 4; a leak begins with the fifth epoch without finality.
        let (before, leaking): (Vec<_>, Vec<_>) = of_accounts(&lab, 0).into_iter().partition(|(slot, _)| slot / 4 <= 6);
        let earns = |account: &EpochAccounting| account.rewards.iter().any(|(_, gwei)| *gwei > 0);
        assert!(before.iter().any(|(_, account)| earns(account)));
        assert!(leaking.len() >= 6);
        // Who voted had duties, for nothing.
        let named = leaking.iter().flat_map(|(_, account)| account.rewards.iter().chain(&account.penalties));
        let named: BTreeSet<_> = named.map(|(validator, _)| *validator).collect();
        assert_eq!(named, (0..4).map(|who| lab.address(who)).collect());
        followed(&lab, 0);
        leaking.iter().filter(|(_, account)| earns(account)).count()
    };
    assert_eq!(rewards_in_leak(), 0);
    mutation::with(Mutation::PosRewardsInLeak, || assert!(rewards_in_leak() > 0));
}

#[test]
fn without_a_base_reward_votes_earn_and_cost_nothing() {
    let mut lab = Lab::with_config(4, config().with_base_reward_factor(0));
    lab.pause(2);
    lab.run(40);
    for (_, account) in of_accounts(&lab, 0) {
        assert_eq!(account.penalties, []);
        assert!(account.rewards.iter().all(|(_, gwei)| *gwei == 0));
    }
}

/// Header rules and light verifiers compute the sums themselves.
#[test]
fn a_header_with_another_sum_is_refused() {
    let mut lab = Lab::new(4);
    lab.pause(2);
    lab.run(19);
    let parent = lab.heads()[0];
    let (link, silent, another) = (lab.link(0, parent), lab.address(2), lab.address(1));
    let check = |lab: &Lab, block: &Block| {
        [StakeSource::Executed, StakeSource::FromHeader].map(|source| {
            let candidate = UnverifiedHeader::from(block);
            check_header(&lab.fixture.config, &lab.authenticator, &link, &candidate, source).map(drop)
        })
    };
    let right = lab.forge_with(0, parent, 20, |_| {});
    assert_eq!(check(&lab, &right), [Ok(()), Ok(())]);
    type Change = fn(&mut EpochAccounting, [Address; 2]);
    let changes: [(&str, Change); 7] = [
        ("a higher reward", |account, _| account.rewards[0].1 += 1),
        ("a lower reward", |account, _| account.rewards[0].1 -= 1),
        ("no reward", |account, _| account.rewards.truncate(2)),
        ("a reward of who is absent", |account, [silent, _]| account.rewards.push((silent, 1))),
        ("a lower penalty", |account, _| account.penalties[0].1 -= 1),
        ("no penalty", |account, _| account.penalties.clear()),
        ("a penalty of another", |account, [_, another]| account.penalties[0].0 = another),
    ];
    for (name, change) in changes {
        let forged = lab.forge_with(0, parent, 20, |payload| {
            let account = payload.accounting.as_mut().unwrap();
            assert!(account.rewards.len() == 3 && account.penalties.len() == 1);
            change(account, [silent, another]);
        });
        let want = Err(HeaderError::EpochAccounting { slot: 20 });
        assert_eq!(check(&lab, &forged), [want.clone(), want], "{name}");
    }
}

fn calls_of(lab: &Lab, block: &Arc<Block>, parent: &Block) -> Vec<SystemCall> {
    let payload: &Bytes = block.payload();
    let context = SystemContext {
        header: block.header(),
        parent: parent.header(),
        payload,
        has_stake: true,
        has_validators: false,
    };
    system_calls::<HeaderError>(&lab.fixture.config, &lab.authenticator, &context).unwrap()
}

/// A block within an epoch has the call of every block alone; the first one of an epoch has one more, with all sums.
#[test]
fn an_epoch_is_accounted_for_by_one_call_and_other_blocks_pay_nothing() {
    let mut lab = Lab::new(4);
    lab.pause(2);
    lab.run(40);
    let chain = lab.chain_of(0);
    let mut accounted = BTreeMap::new();
    for pair in chain.windows(2) {
        let (parent, block) = (&pair[0], &pair[1]);
        let payload = Payload::decode(block.payload()).unwrap();
        let calls = calls_of(&lab, block, parent);
        let Some(account) = payload.accounting else {
            assert_eq!(calls.len(), 1);
            continue;
        };
        assert_eq!(calls.len(), 2);
        let call = endEpochCall::abi_decode(&calls[1].input).unwrap();
        let in_gwei = |changes: &[crate::system::staking::interface::StakeChange]| -> Vec<_> {
            changes.iter().map(|change| (change.validator, (change.amount / WEIGHT_UNIT).to::<u64>())).collect()
        };
        assert_eq!((call.epoch, call.ejectionPercent), (payload.slot / 4 - 1, 50));
        assert_eq!((in_gwei(&call.rewards), in_gwei(&call.penalties)), (account.rewards.clone(), account.penalties));
        accounted.insert(call.epoch, account.rewards.len());
    }
    assert!(accounted.len() >= 8 && accounted.values().skip(2).all(|rewards| *rewards == 3), "{accounted:?}");
}
