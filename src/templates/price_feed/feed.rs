//! The feed's variables and rounds.

use alloy_primitives::{I256, aliases::U80};

use super::interface::{PriceFeed::constructorCall, *};
use crate::{templates::common::Ownable, vm::contract::*};

/// As MockV3Aggregator's.
pub(super) const VERSION: U256 = U256::ZERO;

storage! {
    /// State variables, in solc's order.
    pub(super) contract FeedStorage {
        pub(super) decimals: Slot<u8> as "decimals",
        pub(super) latest_answer: Slot<I256> as "latestAnswer",
        pub(super) latest_timestamp: Slot<U256> as "latestTimestamp",
        pub(super) latest_round: Slot<U256> as "latestRound",
        pub(super) answers: Mapping<U256, I256> as "getAnswer",
        pub(super) timestamps: Mapping<U256, U256> as "getTimestamp",
        pub(super) starts: Mapping<U256, U256> as "getStartedAt",
        pub(super) ownable: Ownable,
        pub(super) description: Slot<String> as "description",
    }
}

pub(super) const FEED: FeedStorage = FeedStorage::STATE;

/// A round as both functions return it.
pub(super) struct RoundData {
    round: U80,
    answer: I256,
    started_at: U256,
    updated_at: U256,
}

impl From<RoundData> for getRoundDataReturn {
    fn from(data: RoundData) -> Self {
        let RoundData { round, answer, started_at, updated_at } = data;
        Self { roundId: round, answer, startedAt: started_at, updatedAt: updated_at, answeredInRound: round }
    }
}

impl From<RoundData> for latestRoundDataReturn {
    fn from(data: RoundData) -> Self {
        let RoundData { round, answer, started_at, updated_at } = data;
        Self { roundId: round, answer, startedAt: started_at, updatedAt: updated_at, answeredInRound: round }
    }
}

pub(super) fn construct(host: &mut Host<'_>, params: constructorCall) -> Result<(), Stop> {
    FEED.decimals.overwrite(host, params.decimals)?;
    start_round(host, U256::ONE, params.answer)?;
    FEED.ownable.construct(host, params.owner)?;
    FEED.description.set(host, params.description)
}

/// Returns a round; zeros without one.
pub(super) fn round_data(host: &mut Host<'_>, round: U80) -> Result<RoundData, Stop> {
    read(host, U256::from(round), round)
}

/// Returns the latest round, of whose number only 80 bits are told.
pub(super) fn latest_round_data(host: &mut Host<'_>) -> Result<RoundData, Stop> {
    let round = FEED.latest_round.get(host)?;
    read(host, round, round.wrapping_to())
}

fn read(host: &mut Host<'_>, key: U256, round: U80) -> Result<RoundData, Stop> {
    Ok(RoundData {
        round,
        answer: FEED.answers.get(host, key)?,
        started_at: FEED.starts.get(host, key)?,
        updated_at: FEED.timestamps.get(host, key)?,
    })
}

/// Answers the next round, now.
pub(super) fn update_answer(host: &mut Host<'_>, answer: I256) -> Result<(), Stop> {
    FEED.ownable.only_owner(host)?;
    let round = FEED.latest_round.get(host)?.add(U256::ONE)?;
    start_round(host, round, answer)
}

/// Writes a round and makes it the latest.
pub(super) fn update_round_data(host: &mut Host<'_>, call: &updateRoundDataCall) -> Result<(), Stop> {
    FEED.ownable.only_owner(host)?;
    write(host, U256::from(call._roundId), call._answer, call._timestamp, call._startedAt)
}

fn start_round(host: &mut Host<'_>, round: U256, answer: I256) -> Result<(), Stop> {
    let now = U256::from(host.block().timestamp.as_secs());
    write(host, round, answer, now, now)
}

fn write(host: &mut Host<'_>, round: U256, answer: I256, updated_at: U256, started_at: U256) -> Result<(), Stop> {
    FEED.latest_round.set(host, round)?;
    FEED.latest_answer.set(host, answer)?;
    FEED.latest_timestamp.set(host, updated_at)?;
    FEED.answers.set(host, round, answer)?;
    FEED.timestamps.set(host, round, updated_at)?;
    FEED.starts.set(host, round, started_at)?;
    let started_by = host.caller();
    host.emit(&NewRound { roundId: round, startedBy: started_by, startedAt: started_at })?;
    host.emit(&AnswerUpdated { current: answer, roundId: round, updatedAt: updated_at })
}
