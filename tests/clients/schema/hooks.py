"""Ids that exist, for schemathesis, and the count of answers of each operation.

Ids in the document are plain strings: drawn ones reach nothing but 404. What an operation reads or changes is made once; what it deletes
is made for each request, so that no request takes away what others work on.
"""

import atexit
import collections
import itertools
import json
import os
import random
import re

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from world import DEFAULT_BLOCKCHAIN, DEFAULT_WORKSPACE, World

with open(os.environ["CHAINBOX_CONFIG"], encoding="utf-8") as file:
    host, port = os.environ["CHAINBOX_NAME_SERVER"].rsplit(":", 1)
    world = World(json.load(file), (host, int(port)))

# Which of the ids an operation gets is drawn by a seed, apart from what schemathesis draws.
choices = random.Random(1)
statuses = collections.defaultdict(collections.Counter)
sent_keys = set()
fresh_keys = itertools.count(1)

KEPT = {
    "workspaceId": DEFAULT_WORKSPACE,
    "userId": world.member,
    "invitationId": world.invitation,
    "apiKeyId": world.key,
    "blockchainId": world.chain,
    "deploymentId": world.deployment,
    "validatorId": world.validator,
    "tokenId": world.token,
    "webhookId": world.webhook,
    "clientId": world.client,
    "projectId": world.project,
    "dappId": world.dapp,
    "proposalId": world.proposal,
    "block": "latest",
    "hash": world.transaction,
    "address": world.account,
}


def new_membership():
    workspace, user = world.new_membership()
    return {"workspaceId": workspace, "userId": user}


DELETED = {
    "deleteWorkspace": lambda: {"workspaceId": world.new_workspace()},
    "removeMember": new_membership,
    "withdrawInvitation": lambda: {"workspaceId": DEFAULT_WORKSPACE, "invitationId": world.new_invitation()},
    "rotateApiKey": lambda: {"apiKeyId": world.new_key()},
    "revokeApiKey": lambda: {"apiKeyId": world.new_key()},
    "deleteBlockchain": lambda: {"blockchainId": world.new_chain()},
    "deleteWebhook": lambda: {"webhookId": world.new_webhook()},
    "deleteOAuthClient": lambda: {"clientId": world.new_client()},
    "deleteProject": lambda: {"workspaceId": DEFAULT_WORKSPACE, "projectId": world.new_project()},
    "disableModule": lambda: {"blockchainId": world.module_chain, "module": world.new_module("dao")},
    "deleteDapp": lambda: {"dappId": world.new_dapp()},
    "slashValidator": lambda: {"validatorId": next(world.slashed_validators)},
    "removeValidator": lambda: {"validatorId": next(world.removed_validators)},
    "removeParticipant": lambda: {"blockchainId": world.chain, "participantId": world.new_participant()},
    "cancelProposal": lambda: {"proposalId": world.new_proposal()},
}

# What must come before, so that the chain or the validator is in a state that the command is for.
BEFORE = {
    "pauseBlockchain": ("start", "resume"),
    "resumeBlockchain": ("start", "pause"),
    "stopBlockchain": ("start", "resume"),
    "startBlockchain": ("resume", "stop"),
    "stopValidator": ("start",),
    "startValidator": ("stop",),
}

# Operations that would keep others from succeeding get something of their own: a plan has quotas, a halted chain answers 409.
CHANGED = {"updateWorkspace": {"workspaceId": world.new_workspace()}}
CHANGED["setWorkspacePlan"] = {"workspaceId": world.new_workspace()}
CHANGED["getTransaction"] = {"blockchainId": DEFAULT_BLOCKCHAIN, "hash": world.transaction}
# Before a chain starts its modules are changed at will.
CHANGED |= dict.fromkeys(
    ("enableModule", "listModules", "getModule"), {"blockchainId": world.module_chain, "module": world.module}
)
CHANGED |= dict.fromkeys(BEFORE, {"blockchainId": world.commanded_chain, "validatorId": world.commanded_validator})
# A webhook that is disabled is not tested: 409.
CHANGED["updateWebhook"] = {"webhookId": world.new_webhook()}
# Its domain has the record that proves it.
CHANGED["verifyDappDomain"] = {"dappId": world.named_dapp}
# A chain of one block for each transaction has no validators to add; stake and votes are the chains' that have them.
CHANGED["addValidator"] = {"blockchainId": world.network}
CHANGED |= dict.fromkeys(("setValidatorStake", "claimRewards", "updateValidator"), {"validatorId": world.own_validator})
CHANGED |= dict.fromkeys(("listDelegations", "delegate", "undelegate"), {"validatorId": world.delegated_validator})
CHANGED |= dict.fromkeys(("listUnbondings", "withdrawStake"), {"validatorId": world.own_validator})
CHANGED["unjailValidator"] = {"validatorId": world.jailed_validator}
CHANGED["listProposals"] = {"blockchainId": world.governed}

# They tell errors in the body, with status 200.
JSON_RPC = {"rpc", "ethereumRpc"}

# Links name these too; no request may delete, change or halt them.
SHARED = {DEFAULT_WORKSPACE, DEFAULT_BLOCKCHAIN, world.network, world.staked, world.governed, *KEPT.values()}
SHARED |= {world.named_dapp, world.commanded_validator, world.delegated_validator, world.own_validator}
SHARED |= {world.jail, world.jailed_validator}

# Chains that requests have made, oldest first. Each takes memory, so few are kept; a sequence of linked requests uses the newest.
CHAINS_MAX = 8
chains = collections.deque()


def operation_id(case):
    return case.operation.definition.raw["operationId"]


@schemathesis.hook
def before_call(context, case, kwargs):
    name = operation_id(case)
    if case.path_parameters and not case.meta.is_negative_at(ParameterLocation.PATH):
        case.path_parameters.update(ids(name, case))
    key = (case.headers or {}).get("Idempotency-Key")
    if case.meta.generation.mode.is_positive and name == "getTimeSeries":
        case.query["blockchainId"] = world.chain
    if case.meta.generation.mode.is_positive:
        prepare(name, case)
    elif isinstance(key, str):
        if name in JSON_RPC and not case.meta.is_negative_at(ParameterLocation.HEADER):
            # A key that is taken would be the answer to whatever is wrong in the body.
            case.headers["Idempotency-Key"] = unused(key)
        else:
            # What is wrong may be something else, and the key is then taken.
            sent_keys.add(bare(key))


def ids(name, case):
    """Returns the ids that replace those of a request. A link's are left, unless others need what it names."""
    is_linked = case.meta.phase.name == TestPhase.STATEFUL
    is_shared = not SHARED.isdisjoint(case.path_parameters.values())
    if name in DELETED:
        return DELETED[name]() if is_shared or not is_linked else {}
    if name in CHANGED:
        changed = {key: value for key, value in CHANGED[name].items() if key in case.path_parameters}
        return changed if is_shared or not is_linked else {}
    return {} if is_linked else {key: KEPT[key] for key in case.path_parameters}


def prepare(name, case):
    """Brings about what a valid request needs: a state of the chain, names that exist in its body, a key of its own."""
    for command in BEFORE.get(name, ()):
        place = "validators" if "validatorId" in case.path_parameters else "blockchains"
        (one,) = case.path_parameters.values()
        world.session.post(f"{world.rest}/{place}/{one}/{command}", timeout=30)
    if name == "unjailValidator" and case.meta.phase.name == TestPhase.FUZZING:
        # By this phase the validator has missed most of the blocks that it takes; before it the answer is 409.
        world.end_jail()
    if name == "withdrawStake" and case.meta.phase.name == TestPhase.FUZZING:
        # A withdrawal takes all that is free; before one is again the answer is 409.
        world.free_stake()
    if name in KNOWN_NAMES and choices.random() < 0.5:
        case.body.update(KNOWN_NAMES[name]())
    if name == "removeValidator" and choices.random() < 0.5:
        # The service signs where nobody else has.
        (case.query or {}).pop("signedTransaction", None)
    key = (case.headers or {}).get("Idempotency-Key")
    if key is not None:
        case.headers["Idempotency-Key"] = unused(key)


def deployment():
    """Returns a body in which all that the schema leaves open fits together."""
    return {
        "blockchainId": DEFAULT_BLOCKCHAIN,
        "template": "erc20-token",
        "params": {"name": "Gold", "symbol": "GLD", "totalSupply": "1000", "decimals": 18},
        "from": None,
        "gasLimit": None,
        "signedTransaction": None,
    }


def importation():
    """Returns a part of a body: the text of an export, which the schema can't describe."""
    return {"state": world.exported}


def token():
    """Returns a body of one standard, without what another has."""
    nothing = ("decimals", "features", "distribution", "asset", "uri", "from", "signedTransaction")
    named = {"blockchainId": DEFAULT_BLOCKCHAIN, "standard": "ERC721", "name": "Art", "symbol": "ART", "totalSupply": "2"}
    return dict.fromkeys(nothing) | named


def contract_call():
    """Returns a part of a body that calls a function which the token of the world has."""
    return {"method": "totalSupply", "args": [], "data": None, "from": None, "blockNumber": None}


def execution():
    nothing = ("data", "value", "from", "gasLimit", "signedTransaction")
    return dict.fromkeys(nothing) | {"method": "transfer", "args": [f"0x{'11' * 20}", "0"]}


def transfer():
    nothing = ("tokenId", "from", "gasLimit", "signedTransaction")
    return dict.fromkeys(nothing) | {"to": f"0x{'11' * 20}", "amount": "0"}


def planned_dapp():
    """Returns a body of components that know each other."""
    components = [{"type": "token", "config": {"name": "Gold", "symbol": "GLD", "totalSupply": "1000"}}]
    nothing = dict.fromkeys(("workspaceId", "blockchainId"))
    return nothing | {"template": "token-sale", "components": components, "from": world.account}


def dapp():
    domain = f"shop{next(fresh_keys)}.example"
    nothing = {"from": None, "signedTransaction": None}
    frontend = {"theme": "auto", "customDomain": domain, "public": False}
    return planned_dapp() | nothing | {"name": "Shop", "frontend": frontend}


def validator():
    """Returns a body whose validator takes a sealing key of the service."""
    nothing = ("stake", "commission", "sealingAddress", "sealingProof", "from", "consent", "signedTransaction")
    return dict.fromkeys(nothing) | {"address": f"0x{next(fresh_keys) + 0x1000:040x}", "metadata": {"location": "Bern"}}


def described():
    """Returns a part of a body without a commission, which its operator changes once a day at most."""
    return {"metadata": {"location": "Bern"}, "commission": None, "signedTransaction": None}


def own_stake():
    """Returns a body with more stake than any before."""
    return {"stake": str((100 + next(fresh_keys)) * 10**18), "from": None, "signedTransaction": None}


def delegation(tokens):
    return {"amount": str(tokens * 10**18), "from": None, "signedTransaction": None}


def proposal():
    nothing = dict.fromkeys(("description", "changes", "quorum", "threshold", "from", "signedTransaction"))
    return nothing | {"blockchainId": world.governed, "title": "Drawn", "type": "text", "votingPeriod": "1h"}


def webhook():
    return {"url": "https://example.com/hook", "filters": None, "blockchainId": None}


def project():
    return {
        "type": "dapp",
        "template": "erc20-token",
        "config": {"blockchain": "proof-of-authority", "network": "development", "features": ["smart-contracts", "mintable"]},
        "signedTransaction": None,
    }


def planned_project():
    return {
        "name": "Planned",
        "type": "dapp",
        "template": "erc20-token",
        "config": {"blockchain": DEFAULT_BLOCKCHAIN, "features": ["mintable"]},
        "from": world.account,
    }


KNOWN_NAMES = {
    "setWorkspacePlan": lambda: {"billingPlan": "team"},
    "createProject": project,
    "planProject": planned_project,
    "enableModule": lambda: {"module": "nft", "config": {"marketplaceFee": "2.5"}},
    "createToken": token,
    "callContract": contract_call,
    "executeContract": execution,
    "transferToken": transfer,
    "createWebhook": webhook,
    "createDapp": dapp,
    "planDapp": planned_dapp,
    "updateDapp": lambda: {"frontend": None},
    "updateWebhook": lambda: {"url": "https://example.com/hook", "blockchainId": DEFAULT_BLOCKCHAIN},
    "importBlockchain": importation,
    "deployContract": deployment,
    "addParticipant": lambda: {"participant": f"key:{world.new_key()}"},
    "addValidator": validator,
    "updateValidator": described,
    "setValidatorStake": own_stake,
    "slashValidator": lambda: {"percentage": 10, "amount": None, "evidence": None, "signedTransaction": None},
    "claimRewards": lambda: {"from": None, "signedTransaction": None},
    "withdrawStake": lambda: {"from": None, "signedTransaction": None},
    "unjailValidator": lambda: {"signedTransaction": None},
    "delegate": lambda: delegation(2),
    "undelegate": lambda: delegation(1),
    "createProposal": proposal,
    "voteOnProposal": lambda: {"vote": "yes", "weight": None, "from": None, "signedTransaction": None},
    "cancelProposal": lambda: {"signedTransaction": None},
}


# The fields that a 422 may name although the body fits the schema, by operation: each has a rule that JSON Schema can't say, told in
# schemathesis.toml beside the operation.
RULED_FIELDS = {
    "createApiKey": r"expiresIn",
    "rotateApiKey": r"overlap",
    "createWorkspace": r"settings\.(billingPlan|defaultNetwork)|members\[\d+\]\.email",
    "updateWorkspace": r"settings\.(billingPlan|defaultNetwork)",
    "setWorkspacePlan": r"billingPlan",
    "createBlockchain": r"config\.(blockTime|nativeToken\.premine)|validators(\[\d+\]\.address)?",
    "deployContract": r"template|params(\..+)?|from|gasLimit|signedTransaction",
    "addParticipant": r"participant",
    "importBlockchain": r"state|blockchain\..+",
    "createProject": r"template|config\.(blockchain|network|features\[\d+\])|signedTransaction",
    "planProject": r"template|config\.(blockchain|features\[\d+\])",
    "enableModule": r"config\b[\s\S]*",
    "createToken": r"(name|decimals|totalSupply|features|distribution|asset|uri|from|signedTransaction|params)\b.*",
    "callContract": r"method|args(\[\d+\][\s\S]*)?|data",
    "executeContract": r"method|args(\[\d+\][\s\S]*)?|data|value|from|gasLimit|signedTransaction",
    "transferToken": r"to|amount|tokenId|from|gasLimit|signedTransaction",
    "createWebhook": r"url|blockchainId",
    "createDapp": r"template|components(\[\d+\].*)?|frontend\.(customDomain|public)|blockchainId|from|signedTransaction",
    "planDapp": r"template|components(\[\d+\].*)?|blockchainId",
    "updateDapp": r"frontend\.(customDomain|public)",
    "updateWebhook": r"url",
    "addValidator": r"address|commission|sealing(Proof|Address)|stake|metadata(\.name)?|from|consent|signedTransaction",
    "updateValidator": r"commission|metadata(\.name)?|signedTransaction",
    "setValidatorStake": r"stake|from|signedTransaction",
    "slashValidator": r"percentage|amount|evidence|signedTransaction",
    "removeValidator": r"signedTransaction",
    "claimRewards": r"from|signedTransaction",
    "withdrawStake": r"from|signedTransaction",
    "unjailValidator": r"signedTransaction",
    "delegate": r"amount|from|signedTransaction",
    "undelegate": r"amount|from|signedTransaction",
    "createProposal": r"title|type|changes(\.[\s\S]+)?|votingPeriod|quorum|threshold|description|from|signedTransaction",
    "voteOnProposal": r"vote|weight|reason|from|signedTransaction",
    "cancelProposal": r"signedTransaction",
}


@schemathesis.check
def refused_fields_have_a_rule(ctx, response, case):
    """Fails for a 422 to what the schema allows that names a field without a rule of its own."""
    if response.status_code != 422 or not case.meta.generation.mode.is_positive:
        return
    name = operation_id(case)
    paths = [field["path"] for field in response.json()["error"]["details"]["fields"]]
    unruled = [path for path in paths if not re.fullmatch(RULED_FIELDS.get(name, "(?!)"), path)]
    assert paths and not unruled, f"{name}: 422 names {unruled or 'no field'}, for which there is no rule"


def unused(key):
    """Returns an idempotency key that no request had: one stands for one request, which the schema can't say."""
    fresh = key
    while bare(fresh) in sent_keys:
        fresh = f"unused-{next(fresh_keys)}"
    sent_keys.add(bare(fresh))
    return fresh


def bare(key):
    """Returns a key without its quotes: both spellings are one key."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


@schemathesis.hook
def after_call(context, case, response):
    if response.request.method == case.operation.method.upper():
        name = operation_id(case)
        statuses[name][response.status_code] += 1
        if name in ("createBlockchain", "importBlockchain", "createProject") and response.status_code == 201:
            data = response.json()["data"]
            # A project on a chain that was there has no network.
            if name != "createProject" or data["network"] is not None:
                chains.append(data["blockchainId"] if name == "createProject" else data["id"])
            if len(chains) > CHAINS_MAX:
                world.session.delete(f"{world.rest}/blockchains/{chains.popleft()}", timeout=30)


@atexit.register
def write_statuses():
    with open(os.environ["CHAINBOX_STATUSES"], "w", encoding="utf-8") as file:
        json.dump(statuses, file)
