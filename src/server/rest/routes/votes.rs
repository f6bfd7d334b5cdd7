//! `/v1/governance/proposals/{proposalId}/vote` and its votes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{proposal_body::too_long, proposals::id_of, validator_body::signed, view::beside_signed};
use crate::{
    platform::{FieldError, ProposalId, Scope, Vote, VoteSpec},
    server::{
        api_error::ApiError,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            request::Request,
            scalar::{Amount, HexAddress},
        },
    },
    system::governance::{REASON_BYTES_MAX, VoteOption},
};

/// A vote to cast; it replaces the voter's earlier one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CastVote {
    /// What it is.
    vote: Option<VoteChoice>,
    /// The part of the voter's weight that it uses, more than 0: stake in gwei, or 1 on a chain without stake. All of it by default.
    weight: Option<Amount>,
    /// Why, at most 1024 bytes.
    #[schema(max_length = 1024, example = "for faster payments")]
    reason: Option<String>,
    /// Wallet of the workspace that votes; the default one by default. It must be the operator of a validator.
    from: Option<HexAddress>,
    /// A call of vote that somebody else has signed, in hex; in place of the other fields.
    #[schema(pattern = "^0x([0-9a-fA-F]{2})+$", max_length = 262144)]
    signed_transaction: Option<String>,
}

/// What a vote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum VoteChoice {
    Yes,
    No,
    Abstain,
    Veto,
}

impl VoteChoice {
    const fn option(self) -> VoteOption {
        match self {
            Self::Yes => VoteOption::Yes,
            Self::No => VoteOption::No,
            Self::Abstain => VoteOption::Abstain,
            Self::Veto => VoteOption::Veto,
        }
    }

    const fn of(option: VoteOption) -> Self {
        match option {
            VoteOption::Yes => Self::Yes,
            VoteOption::No => Self::No,
            VoteOption::Abstain => Self::Abstain,
            VoteOption::Veto => Self::Veto,
        }
    }
}

impl Body for CastVote {
    fn examples() -> Vec<(&'static str, Value)> {
        let all = json!({ "vote": "yes", "weight": "1", "reason": "for faster payments" });
        vec![("all fields", all), ("required fields", json!({ "vote": "yes" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        if self.signed_transaction.is_some() {
            return beside_signed(&[
                ("vote", self.vote.is_some()),
                ("weight", self.weight.is_some()),
                ("reason", self.reason.is_some()),
                ("from", self.from.is_some()),
            ]);
        }
        let mut wrong = Vec::new();
        let mut refuse = |path: &str, expected: &str, got: &str| {
            wrong.push(FieldError { path: path.to_owned(), expected: expected.to_owned(), got: got.to_owned() });
        };
        if self.vote.is_none() {
            refuse("vote", "a vote, or a signedTransaction in its place", "neither");
        }
        // The contract reads 0 as all of the voter's weight.
        if self.weight.is_some_and(|weight| weight.0.is_zero()) {
            refuse("weight", "more than 0, or no weight for all of it", "0");
        }
        if let Some((expected, got)) = self.reason.as_deref().and_then(|reason| too_long(reason, REASON_BYTES_MAX)) {
            refuse("reason", &expected, &got);
        }
        wrong
    }
}

/// A vote that was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SentVoteView {
    /// Id of the proposal.
    proposal_id: String,
    /// Who votes.
    voter: String,
    /// What it is; null for a transaction that somebody else signed.
    vote: Option<VoteChoice>,
    /// Hash of its transaction, which counts once a block has it.
    transaction_hash: String,
}

/// A vote that counts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct VoteView {
    /// Id of the proposal.
    proposal_id: String,
    /// Who voted.
    voter: String,
    /// What it is.
    vote: VoteChoice,
    /// The part of the voter's weight that it uses, a decimal integer.
    weight: String,
    /// Why; empty without a reason.
    reason: String,
    /// Height of its block.
    block_number: u64,
    /// Hash of its transaction.
    transaction_hash: String,
}

impl VoteView {
    fn new(id: &ProposalId, vote: Vote) -> Self {
        Self {
            proposal_id: id.text(),
            voter: vote.voter.to_string(),
            vote: VoteChoice::of(vote.option),
            weight: vote.weight.to_string(),
            reason: vote.reason,
            block_number: vote.height,
            transaction_hash: vote.transaction.to_string(),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let tag = Tag::Governance;
    vec![
        Endpoint::post(
            "/v1/governance/proposals/{proposalId}/vote",
            "voteOnProposal",
            tag,
            Access::Scope(Scope::GovernanceWrite),
            "Votes on an active proposal, or changes a vote. More weight than the voter has is a conflict.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance])
        .runs(Runs::InTurnOf(|request, _| Some(ProposalId::read(request.path("proposalId")).ok()?.blockchain_id)))
        .takes::<CastVote>()
        .acts(vote),
        Endpoint::get(
            "/v1/governance/proposals/{proposalId}/votes",
            "listVotes",
            tag,
            Access::Scope(Scope::GovernanceRead),
            "Lists the votes on a proposal that count, by voter.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .runs(Runs::Long)
        .lists(&["voter"], list),
    ]
}

fn vote(app: &App, request: &Request, body: CastVote) -> Result<Change<SentVoteView>, ApiError> {
    let (proposals, principal, id) = (app.platform().proposals(), request.principal()?, id_of(request)?);
    let spec = match (signed(body.signed_transaction.as_deref())?, body.vote) {
        (Some(raw), _) => VoteSpec::Signed(raw),
        (None, choice) => VoteSpec::Cast {
            option: choice.unwrap_or(VoteChoice::Abstain).option(),
            weight: body.weight.map(|weight| weight.0),
            reason: body.reason.unwrap_or_default(),
            from: body.from.map(|from| from.0),
        },
    };
    let (voter, hash) = proposals.vote(principal, &id, &request.new_id(app.platform(), "tx")?, &spec)?;
    let (voter, transaction_hash) = (voter.to_string(), hash.to_string());
    Ok(Change::done(SentVoteView { proposal_id: id.text(), voter, vote: body.vote, transaction_hash }))
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<VoteView>, u64), ApiError> {
    let id = id_of(request)?;
    let all = app.platform().proposals().votes(request.principal()?, &id)?;
    let total = all.len() as u64;
    Ok((page.select(all).into_iter().map(|vote| VoteView::new(&id, vote)).collect(), total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_vote_can_not_have_is_named() {
        let from = "0x1111111111111111111111111111111111111111";
        let mut cases: Vec<(Value, Vec<&str>)> =
            CastVote::examples().into_iter().map(|(_, body)| (body, Vec::new())).collect();
        cases.extend([
            (json!({}), vec!["vote"]),
            (json!({ "vote": "yes", "weight": "0" }), vec!["weight"]),
            (json!({ "vote": "yes", "weight": "00" }), vec!["weight"]),
            (json!({ "weight": "0" }), vec!["vote", "weight"]),
            (json!({ "vote": "yes", "reason": "ü".repeat(512) }), vec![]),
            (json!({ "vote": "yes", "reason": "ü".repeat(513) }), vec!["reason"]),
            (json!({ "vote": "yes", "reason": "x", "from": from }), vec![]),
            (json!({ "signedTransaction": "0x02" }), vec![]),
            (
                json!({ "signedTransaction": "0x02", "vote": null, "weight": null, "reason": null, "from": null }),
                vec![],
            ),
            (json!({ "signedTransaction": "0x02", "vote": "yes" }), vec!["vote"]),
            (json!({ "signedTransaction": "0x02", "weight": "0" }), vec!["weight"]),
            (json!({ "signedTransaction": "0x02", "reason": "" }), vec!["reason"]),
            (json!({ "signedTransaction": "0x02", "from": from }), vec!["from"]),
        ]);
        for (body, paths) in cases {
            let fields = serde_json::from_value::<CastVote>(body.clone()).unwrap().check();
            let named: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
            assert_eq!(named, paths, "{body}");
        }
    }
}
