"""What the operations work on: made once over the service's own interface, and anew for those that delete."""

import html
import itertools
import re
import time

import requests
from name_server import NameServer

PASSWORD = "correct horse battery staple"
DEFAULT_WORKSPACE = "ws_default"
DEFAULT_BLOCKCHAIN = "bc_default"
LOOKS_MAX = 20
# Validators of the chain without stake: each penalty and each removal takes one away.
VALIDATORS = 12
# Validators beside the one that is stopped: the more there are, the fewer slots are empty.
OTHERS_IN_JAIL_CHAIN = 6
# An absent validator of proof of stake comes into jail after the chain's first 100 blocks, of which there is at most one a second.
JAILED_WITHIN_S = 240
# It stays there for ten minutes.
JAIL_S = 600
# The protocol takes a new unbonding period over at the end of an epoch.
EPOCH_WITHIN_S = 90


class World:
    """A client of one service, and the ids of what it has made there."""

    def __init__(self, config, name_server):
        self.root = config["urls"]["http"]
        self.rest = config["urls"]["rest"]
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {config['apiKey']}"
        self.numbers = itertools.count(1)
        self.used_tokens = set()
        self.is_stake_free = False
        self.owner, self.viewer = self.new_user(), self.new_user()
        self.member = self.join_both(DEFAULT_WORKSPACE)
        self.key = self.new_key()
        self.invitation = self.new_invitation()
        self.chain, self.commanded_chain = self.new_chain(), self.new_chain()
        self.module_chain = self.make("/blockchains", {"name": "modules", "start": False})
        self.canceled_chain, self.unwanted = self.make("/blockchains", {"name": "canceled"}), None
        self.module = self.new_module("nft")
        self.project = self.new_project()
        self.exported = self.session.get(f"{self.rest}/blockchains/{self.chain}/export", timeout=30).text
        self.validator = self.first(f"/blockchains/{DEFAULT_BLOCKCHAIN}/validators")["id"]
        token = {"blockchainId": DEFAULT_BLOCKCHAIN, "standard": "ERC20", "name": "Gold", "symbol": "GLD", "totalSupply": "1000"}
        self.token = self.make("/tokens", token)
        made = self.session.get(f"{self.rest}/tokens/{self.token}", timeout=30).json()["data"]
        self.transaction, self.account = made["transactionHash"], made["from"]
        self.make_networks()
        self.webhook = self.new_webhook()
        self.client = self.new_client()
        self.dapp = self.new_dapp()
        self.tokens = {}
        NameServer(name_server, lambda name: self.tokens.get(name, "none"))
        self.named_dapp = self.new_dapp(frontend={"customDomain": "proved.example", "public": True})
        domain = self.session.get(f"{self.rest}/dapps/{self.named_dapp}", timeout=30).json()["data"]["domain"]
        self.tokens[domain["recordName"]] = domain["token"]
        self.deployment = self.make(
            "/contracts/deploy",
            {
                "blockchainId": DEFAULT_BLOCKCHAIN,
                "template": "erc20-token",
                "params": {"name": "Gold", "symbol": "GLD", "totalSupply": "1000", "decimals": 18},
            },
        )

    def make_networks(self):
        """Makes chains in real time: one without stake, whose validators the treasury administers; one with stake, of others' operators; and
        one of the treasury's own validator, which votes."""
        operators = [{"address": f"0x{number + 0x21:02x}" + f"{number + 0x21:02x}" * 19} for number in range(VALIDATORS)]
        second = {"config": {"blockTime": "1s"}}
        self.make_jail(second, operators[:OTHERS_IN_JAIL_CHAIN])
        self.network = self.make("/blockchains", second | {"name": "network", "validators": operators})
        stake = second | {"consensus": "proof-of-stake"}
        self.staked = self.make("/blockchains", stake | {"name": "staked", "validators": operators[:4]})
        self.governed = self.make("/blockchains", stake | {"name": "governed"})
        members = [one["id"] for one in self.list(f"/blockchains/{self.network}/validators?limit={VALIDATORS}")]
        self.commanded_validator = members[0]
        self.slashed_validators, self.removed_validators = itertools.cycle(members[4:8]), itertools.cycle(members[8:])
        self.delegated_validator = self.first(f"/blockchains/{self.staked}/validators")["id"]
        self.own_validator = self.first(f"/blockchains/{self.governed}/validators")["id"]
        terms = {"title": "Kept", "type": "text", "votingPeriod": "365d"}
        self.proposal = self.make("/governance/proposals", terms | {"blockchainId": self.governed})
        self.shorten_unbonding()
        self.wait_for(LOOKS_MAX, f"/governance/proposals/{self.proposal}", lambda found: found["status"] == "active")

    def make_jail(self, config, others):
        """Makes a chain with stake, whose validator of the workspace's own wallet is stopped, so that it will be in jail."""
        wallet = self.read(f"/workspaces/{DEFAULT_WORKSPACE}")["wallet"]
        body = {"name": "jail", "consensus": "proof-of-stake", "validators": [*others, {"address": wallet}]}
        self.jail = self.make("/blockchains", config | body)
        (self.jailed_validator,) = (
            one["id"] for one in self.list(f"/blockchains/{self.jail}/validators") if one["address"].lower() == wallet.lower()
        )
        self.is_jail_over = False
        self.send("POST", f"/validators/{self.jailed_validator}/stop", None, 200)
        self.jailed_by = time.monotonic() + JAILED_WITHIN_S

    def end_jail(self):
        """Waits until the stopped validator is in jail, and moves the service's clock to the end of its time there; once."""
        if self.is_jail_over:
            return
        left = max(LOOKS_MAX, int(self.jailed_by - time.monotonic()))
        jailed = self.wait_for(left, f"/validators/{self.jailed_validator}", lambda found: found["status"] == "jailed")
        # The other chains go on at the new time as well. Nothing that the requests need ends as soon.
        call = {"jsonrpc": "2.0", "id": 1, "method": "evm_increaseTime", "params": [JAIL_S]}
        moved = self.send("POST", f"/blockchains/{DEFAULT_BLOCKCHAIN}/eth", call, 200)
        if "result" not in moved:
            raise RuntimeError(f"evm_increaseTime: {moved}")
        # Both times are ISO 8601 in UTC, with milliseconds.
        self.wait_for(LOOKS_MAX, f"/blockchains/{self.jail}/blocks/latest", lambda block: block["timestamp"] >= jailed["jailedUntil"])
        self.is_jail_over = True

    def free_stake(self):
        """Takes stake of the treasury's own validator back and waits until it is free, to be withdrawn; once."""
        if self.is_stake_free:
            return
        self.wait_for_shorter_unbonding()
        soon = self.take_back()
        if soon is None:
            raise RuntimeError("the unbonding period is as long as before")
        self.wait_for(LOOKS_MAX, f"/blockchains/{self.governed}/blocks/latest", lambda block: block["timestamp"] > soon)
        self.is_stake_free = True

    def shorten_unbonding(self):
        """Votes for an unbonding period of a second, before others' proposals fill the chain."""
        terms = {"title": "Sooner", "type": "parameter-change", "changes": {"unbondingPeriod": "1s"}, "votingPeriod": "10s"}
        path = f"/governance/proposals/{self.make('/governance/proposals', terms | {'blockchainId': self.governed})}"
        self.wait_for(LOOKS_MAX, path, lambda found: found["status"] == "active")
        self.session.post(f"{self.rest}{path}/vote", json={"vote": "yes"}, timeout=30).raise_for_status()
        self.sooner = path

    def wait_for_shorter_unbonding(self):
        """Waits until the shorter unbonding period is in force."""
        self.wait_for(3 * LOOKS_MAX, self.sooner, lambda found: found["status"] == "executed")
        for _ in range(EPOCH_WITHIN_S // 10):
            if self.take_back() is not None:
                return
            time.sleep(10)
        raise RuntimeError(f"the unbonding period was not another after {EPOCH_WITHIN_S} s")

    def take_back(self):
        """Takes a little stake back; returns the time at which it is free, if that is today."""
        path = f"/validators/{self.own_validator}"
        known = {one["completesAt"] for one in self.list(f"{path}/unbondings?limit=100")}
        self.send("POST", f"{path}/undelegations", {"amount": str(10**9)}, 200)
        listed = self.wait_for(LOOKS_MAX, f"{path}/unbondings?limit=100", lambda found: {one["completesAt"] for one in found} - known)
        # Both are ISO 8601 in UTC, with milliseconds; the first unbonding periods are of weeks.
        head = self.read(f"/blockchains/{self.governed}/blocks/latest")["timestamp"]
        return next((one["completesAt"] for one in listed if (one["completesAt"] or "9999")[:10] <= head[:10]), None)

    def wait_for(self, seconds, path, is_wanted):
        """Looks at a resource every second until it is as wanted, and returns it."""
        for _ in range(seconds):
            found = self.read(path)
            if is_wanted(found):
                return found
            time.sleep(1)
        raise RuntimeError(f"{path} was not as wanted after {seconds} s: {found}")

    def send(self, method, path, body, expected):
        """Sends a request of the world's own, and returns what is answered."""
        for _ in range(2):
            answer = self.session.request(method, self.rest + path, json=body, timeout=30)
            if answer.status_code != 429:
                break
            # The drawn requests have used up the minute's quota.
            time.sleep(int(answer.headers["Retry-After"]) + 1)
        if answer.status_code != expected:
            raise RuntimeError(f"{method} {path}: expected {expected}, got {answer.status_code} {answer.text}")
        return answer.json()

    def read(self, path):
        """Returns a resource."""
        return self.send("GET", path, None, 200)["data"]

    def make(self, path, body):
        """Posts a body and returns the id of what it made."""
        return self.send("POST", path, body, 201)["data"]["id"]

    def first(self, path):
        """Returns the first item of a list."""
        return self.list(path)[0]

    def list(self, path):
        """Returns a page of a list."""
        return self.read(path)

    def new_client(self):
        client = {"client_name": f"client {next(self.numbers)}", "redirect_uris": ["https://app.example/back"]}
        answer = self.session.post(f"{self.root}/oauth/register", json=client, timeout=30)
        answer.raise_for_status()
        return answer.json()["client_id"]

    def new_webhook(self):
        """Nobody listens there: what is delivered is refused at once."""
        return self.make("/webhooks", {"url": "http://127.0.0.1:1025/", "events": ["contract.deployed"]})

    def new_dapp(self, **more):
        """Returns a dApp of two components."""
        components = [
            {"type": "token", "config": {"name": "Gold", "symbol": "GLD", "totalSupply": "1000"}},
            {"type": "staking", "config": {"stakingToken": "GLD"}},
        ]
        body = {"name": f"dapp {next(self.numbers)}", "components": components} | more
        return self.make("/dapps", body)

    def new_workspace(self):
        return self.make("/workspaces", {"name": f"work {next(self.numbers)}"})

    def new_key(self):
        return self.make("/auth/api-keys", {"name": f"key {next(self.numbers)}", "scopes": ["blockchain:read"]})

    def new_invitation(self):
        email = f"guest{next(self.numbers)}@example.org"
        return self.make(f"/workspaces/{DEFAULT_WORKSPACE}/invitations", {"email": email})

    def new_chain(self):
        return self.make("/blockchains", {"name": f"chain {next(self.numbers)}", "features": ["privacy"]})

    def new_module(self, name):
        return self.make(f"/blockchains/{self.module_chain}/modules", {"module": name})

    def new_proposal(self):
        """Returns an active proposal on which nobody votes, of a chain of its own: the last one until it is canceled."""
        path = "/governance/proposals"
        if self.unwanted is None or self.read(f"{path}/{self.unwanted}")["status"] != "active":
            terms = {"title": "Not now", "type": "text", "votingPeriod": "365d"}
            self.unwanted = self.make(path, terms | {"blockchainId": self.canceled_chain})
        return self.unwanted

    def new_project(self):
        """Returns a project on the default chain, so that no chain is made for it."""
        body = {"name": f"project {next(self.numbers)}", "config": {"blockchain": DEFAULT_BLOCKCHAIN}}
        return self.make(f"/workspaces/{DEFAULT_WORKSPACE}/projects", body)

    def new_participant(self):
        """Returns somebody who may read the chain, as operations name it."""
        return self.make(f"/blockchains/{self.chain}/participants", {"participant": f"key:{self.new_key()}"})

    def new_membership(self):
        """Returns a workspace, and a member of it that is not its owner."""
        workspace = self.new_workspace()
        return workspace, self.join_both(workspace)

    def new_user(self):
        """Signs a user up by the pages, with the mail of the development service's mailbox; returns its browser and address."""
        browser, email = requests.Session(), f"member{next(self.numbers)}@example.org"
        self.submit(browser, "/oauth/signup", email=email, new_password=PASSWORD)
        token = self.mailed_token(email, "/oauth/confirm")
        self.submit(browser, f"/oauth/confirm?token={token}", password=PASSWORD)
        return browser, email

    def join_both(self, workspace):
        """Makes one user an owner, since the last owner can't leave, and the other a viewer; returns the viewer's id."""
        self.join(workspace, *self.owner, "owner")
        self.join(workspace, *self.viewer, "viewer")
        members = self.session.get(f"{self.rest}/workspaces/{workspace}/members", timeout=30).json()["data"]
        ids = [member["id"] for member in members if member["role"] == "viewer"]
        if len(ids) != 1:
            raise RuntimeError(f"expected one viewer in {workspace}, got {members}")
        return ids[0]

    def join(self, workspace, browser, email, role):
        """Makes a user a member by an invitation."""
        self.make(f"/workspaces/{workspace}/invitations", {"email": email, "role": role})
        token = self.mailed_token(email, "/oauth/invitations/accept")
        self.submit(browser, f"/oauth/invitations/accept?token={token}")

    def submit(self, browser, path, **fields):
        """Opens a page and sends its form with the fields."""
        page = browser.get(self.root + path, timeout=30)
        form = re.search(r'<form[^>]*action="([^"]+)".*?</form>', page.text, re.S)
        if form is None:
            raise RuntimeError(f"GET {path}: expected a page with a form, got {page.status_code} {page.text}")
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[0])
        body = {name: html.unescape(value) for name, value in hidden} | fields
        answer = browser.post(self.root + html.unescape(form[1]), data=body, timeout=30)
        if not answer.ok:
            raise RuntimeError(f"POST {form[1]}: {answer.status_code} {answer.text}")

    def mailed_token(self, email, path):
        """Returns the token, not returned before, in a mail to an address with a link to a page. A look delivers a part of what is due."""
        link = re.compile(re.escape(path) + r"\?token=(\S+)")
        for _ in range(LOOKS_MAX):
            box = requests.get(f"{self.root}/oauth/mailbox", headers={"Accept": "application/json"}, timeout=30).json()
            found = [link.search(mail["body"]) for mail in box["mails"] if mail["to"] == email]
            fresh = [match[1] for match in found if match and match[1] not in self.used_tokens]
            if fresh:
                self.used_tokens.add(fresh[0])
                return fresh[0]
        raise RuntimeError(f"expected a mail to {email} with a link to {path}, got none in {LOOKS_MAX} looks")
