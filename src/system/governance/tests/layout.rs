//! Where the contract's variables are.

use super::*;

#[test]
fn variables_stay_in_their_slots() {
    let layout = GovernanceTemplate.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "_settings 0 0 struct Settings",
        "_agenda 1 0 struct Agenda",
        "_open 2 0 struct Queue",
        "_proposals 3 0 mapping(uint64 => struct Proposal)",
        "_voters 4 0 mapping(address => bool)",
        "_voterCount 5 0 uint64",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
    let members = |ty: &str| {
        let members = layout.types[ty].members.as_ref().unwrap();
        members.iter().map(|member| format!("{} {} {}", member.label, member.slot, member.offset)).collect::<Vec<_>>()
    };
    let places = ["head 0 0", "tally 3 0", "title 5 0", "description 6 0", "payload 7 0", "failure 8 0", "votes 9 0"];
    assert_eq!(members("t_struct(Proposal)_storage"), places);
    assert_eq!(members("t_struct(Agenda)_storage").last().unwrap(), "count 0 24", "one slot");
}
