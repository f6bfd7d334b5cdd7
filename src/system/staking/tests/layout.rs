//! Where the contract's variables are.

use super::*;

/// Slots, offsets and types: those of every chain with stake.
#[test]
fn variables_stay_in_their_slots() {
    let layout = StakingTemplate.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "_params 0 0 struct PackedParams",
        "_bonded 5 0 uint256",
        "_unbonding 6 0 uint256",
        "_rewards 7 0 uint256",
        "_minted 8 0 uint256",
        "_burned 9 0 uint256",
        "_lastProposer 10 0 address",
        "_list 11 0 address[]",
        "_active 12 0 uint256",
        "_exits 13 0 struct Queue",
        "_validators 15 0 mapping(address => struct Validator)",
        "_delegations 16 0 mapping(address => mapping(address => struct Delegation))",
        "_unbondings 17 0 mapping(address => struct UnbondingEntry[])",
        "_activations 18 0 struct Queue",
        "_totalWeights 20 0 struct Trace208",
        "_sealingKeys 21 0 mapping(address => struct PresentKey)",
        "_operators 22 0 mapping(address => address)",
        "_rotations 23 0 struct Queue",
        "_waitingKeys 25 0 mapping(address => address)",
        "_nonces 26 0 mapping(address => uint256)",
        "_set 27 0 uint256",
        "_setTimes 28 0 mapping(uint64 => uint256)",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
    let members = |ty: &str| {
        let members = layout.types[ty].members.as_ref().unwrap();
        members.iter().map(|member| format!("{} {} {}", member.label, member.slot, member.offset)).collect::<Vec<_>>()
    };
    let places = [
        "entry 0 0",
        "tokens 2 0",
        "shares 3 0",
        "ratio 4 0",
        "commission 5 0",
        "absences 6 0",
        "absentAt 7 0",
        "slashes 8 0",
        "weights 9 0",
        "lastSet 10 0",
    ];
    assert_eq!(members("t_struct(Validator)_storage"), places);
    let places = ["validator 0 0", "firstSlash 0 20", "amount 1 0", "begunHeight 2 0", "completesAt 2 8"];
    assert_eq!(members("t_struct(UnbondingEntry)_storage"), places);
}
