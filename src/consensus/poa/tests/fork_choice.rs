//! The choice among branches: EIP-3436 and the settled block.

use super::*;

/// Checks that both orders of two forks lead to the same head, which a signer that is online may extend.
fn check_deadlock(setup: &Setup, common: &[Arc<Block>], winner: &[Arc<Block>], loser: &[Arc<Block>], online: &[usize]) {
    let head = BlockId::of(winner.last().unwrap());
    for (first, second) in [(winner, loser), (loser, winner)] {
        let mut poa = setup.replica(None);
        receive_all(&mut poa, common.iter().chain(first).chain(second));
        assert_eq!(poa.head(), head);
        let next = head.height.next();
        let free =
            online.iter().filter(|index| poa.snapshot().may_sign(next, &setup.signers[**index].address()).is_ok());
        assert!(free.count() > 0, "no online signer may extend the head");
    }
}

/// EIP-3436, "Rationale", first scenario: equal weight, different lengths. Indices are the validators' numbers less one.
#[test]
fn forks_of_equal_weight_and_other_length_do_not_deadlock() {
    let setup = Setup::new(8);
    let common = setup.branch(&setup.genesis, &[1, 2, 3, 4, 5, 6, 7]);
    let tip = common.last().unwrap();
    let (short, long) = (setup.branch(tip, &[0, 2]), setup.branch(tip, &[1, 3, 5]));
    check_deadlock(&setup, &common, &short, &long, &[0, 1, 2, 3, 5]);
}

/// EIP-3436, second scenario: equal weight and length. The EIP's strictly ordered history would forbid validator 6's
/// block (it signed four blocks before), so validator 8 took its earlier place here.
#[test]
fn forks_of_equal_weight_and_length_do_not_deadlock() {
    let setup = Setup::new(8);
    let common = setup.branch(&setup.genesis, &[1, 2, 3, 4, 7, 6]);
    let tip = common.last().unwrap();
    let (odd, even) = (setup.branch(tip, &[0, 2, 4]), setup.branch(tip, &[1, 3, 5]));
    check_deadlock(&setup, &common, &odd, &even, &[0, 1, 2, 3, 4, 5]);
}

#[test]
fn four_signers_with_equal_difficulty_agree() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1]);
    // At height 2 it is the turn of signer 2, which is offline: 3 and 0 sign at once. (2 - 3) % 4 = 3 beats (2 - 0) % 4 = 2.
    let (by_three, by_zero) = (setup.branch(&common[0], &[3]), setup.branch(&common[0], &[0]));
    check_deadlock(&setup, &common, &by_three, &by_zero, &[0, 3]);
}

#[test]
fn a_heavier_branch_wins_even_over_the_settled_block() {
    let setup = Setup::new(3);
    let mut poa = setup.replica(None);
    let ours = setup.branch(&setup.genesis, &[0, 1, 0]);
    let heavier = setup.branch(&setup.genesis, &[1, 2, 0, 1]);
    receive_all(&mut poa, &ours);
    assert_eq!(poa.finality().finalized, BlockId::of(&ours[0]));
    receive(&mut poa, &heavier[0]);
    // With its second block it is as heavy as the own branch, and shorter.
    let effects = receive(&mut poa, &heavier[1]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Mark("poa/left-settled"))));
    assert_eq!(poa.finality().finalized, BlockId::of(&setup.genesis));
    receive(&mut poa, &heavier[2]);
    assert_eq!(poa.finality().finalized, BlockId::of(&heavier[0]));
    receive(&mut poa, &heavier[3]);
    let mut other_order = setup.replica(None);
    receive_all(&mut other_order, heavier.iter().chain(&ours));
    assert_eq!((poa.head(), poa.finality()), (other_order.head(), other_order.finality()));
}

#[test]
fn a_restart_leaves_a_losing_branch_below_the_settled_block_too() {
    let setup = Setup::new(3);
    let mut poa = setup.replica(None);
    receive_all(&mut poa, &setup.branch(&setup.genesis, &[0, 1, 0, 1]));
    assert_eq!(poa.finality().finalized.height, Height::new(2));
    let branch = poa.tree.newest(9).map(super::record::block);
    let mut records = Records::new();
    records.apply(branch.chain([super::record::head(&poa.tree)]));
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    let authenticator = setup.authenticator.clone();
    let mut restarted = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, None).unwrap();
    assert_eq!(restarted.finality(), poa.finality());
    let heavier = setup.branch(&setup.genesis, &[1, 2, 0, 1, 2, 0]);
    receive_all(&mut poa, &heavier);
    receive_all(&mut restarted, &heavier);
    assert_eq!(restarted.head(), BlockId::of(&heavier[5]));
    assert_eq!((restarted.head(), restarted.finality()), (poa.head(), poa.finality()));
}
