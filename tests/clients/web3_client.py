"""web3.py against the real binary: python web3_client.py CONFIG"""

import asyncio
import json
import os
import pathlib
import sys
import traceback

from eth_account import Account
from eth_account.messages import encode_typed_data
from hexbytes import HexBytes
from web3 import AsyncWeb3, Web3, WebSocketProvider
from web3.exceptions import ContractCustomError, Web3RPCError
from web3.types import RPCEndpoint

CONFIG = json.loads(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["CHAINBOX_CONFIG"]).read_text())
ARTIFACT = json.loads((pathlib.Path(__file__).parent / "erc20.json").read_text())
UNIT = 10**18
SUPPLY = 1_000_000 * UNIT
NOBODY = Web3.to_checksum_address("0x00000000000000000000000000000000000c0ffe")

web3 = Web3(Web3.HTTPProvider(CONFIG["urls"]["http"]))
alice, bob = (Account.from_key(key) for key in CONFIG["privateKeys"][:2])
STEPS = []


def step(function):
    STEPS.append(function)
    return function


def rpc(method, *params):
    return web3.provider.make_request(RPCEndpoint(method), list(params))


def send(account, transaction):
    """Fills in what is missing, signs here, sends, and waits for the receipt."""
    fields = {"from": account.address, "nonce": web3.eth.get_transaction_count(account.address), "chainId": CONFIG["chainId"]}
    tip = web3.eth.max_priority_fee
    fees = {"maxPriorityFeePerGas": tip, "maxFeePerGas": 2 * web3.eth.get_block("latest")["baseFeePerGas"] + tip}
    transaction = {**fields, **fees, **transaction}
    if "gas" not in transaction:
        transaction["gas"] = web3.eth.estimate_gas(transaction)
    signed = account.sign_transaction(transaction)
    return web3.eth.wait_for_transaction_receipt(web3.eth.send_raw_transaction(signed.raw_transaction), poll_latency=0.05)


def token():
    return web3.eth.contract(address=STATE["token"], abi=ARTIFACT["abi"])


def build(call, **fields):
    return call.build_transaction({"gas": 300_000, "maxFeePerGas": 1, "maxPriorityFeePerGas": 1, "nonce": 0, "chainId": 0, **fields})


def call_as(account, call):
    """Sends a contract call; keeps only what identifies it of what web3.py filled in."""
    built = build(call)
    return send(account, {"to": built["to"], "data": built["data"], "value": 0})


STATE = {}


@step
def connect():
    assert web3.is_connected()
    assert web3.eth.chain_id == CONFIG["chainId"]
    assert [a.lower() for a in web3.eth.accounts] == [a.lower() for a in CONFIG["accounts"]]
    assert all(web3.eth.get_balance(a) > UNIT for a in web3.eth.accounts)
    assert "chainbox" in web3.client_version.lower()


@step
def send_value():
    before = web3.eth.get_balance(NOBODY)
    receipt = send(alice, {"to": NOBODY, "value": UNIT})
    assert receipt["status"] == 1 and receipt["gasUsed"] == 21_000
    hash_ = web3.eth.send_transaction({"from": web3.eth.accounts[2], "to": NOBODY, "value": 1})
    assert web3.eth.wait_for_transaction_receipt(hash_, poll_latency=0.05)["status"] == 1
    assert web3.eth.get_balance(NOBODY) == before + UNIT + 1
    assert web3.eth.get_transaction(hash_)["from"] == web3.eth.accounts[2]
    block = web3.eth.get_block(receipt["blockNumber"], full_transactions=True)
    assert block["hash"] == receipt["blockHash"]
    assert block["transactions"][0]["hash"] == receipt["transactionHash"]


@step
def fees():
    history = web3.eth.fee_history(2, "latest", [25, 75])
    assert len(history["baseFeePerGas"]) == 3 and len(history["reward"]) == 2
    assert web3.eth.gas_price > 0
    assert web3.eth.estimate_gas({"from": alice.address, "to": NOBODY, "value": 1}) == 21_000


@step
def deploy():
    factory = web3.eth.contract(abi=ARTIFACT["abi"], bytecode=ARTIFACT["bytecode"])
    data = factory.constructor("Gold", "GLD", 18, SUPPLY, 2**256 - 1, alice.address, (True, True, True, True, True), []).data_in_transaction
    receipt = send(alice, {"data": data, "value": 0})
    assert receipt["status"] == 1
    STATE["token"] = receipt["contractAddress"]
    assert web3.eth.get_code(STATE["token"])[:2] == b"\xef\xcb"
    calls = token().functions
    assert (calls.name().call(), calls.symbol().call(), calls.decimals().call()) == ("Gold", "GLD", 18)
    assert calls.totalSupply().call() == calls.balanceOf(alice.address).call() == SUPPLY


@step
def transfer_and_events():
    receipt = call_as(alice, token().functions.transfer(bob.address, 25 * UNIT))
    (event,) = token().events.Transfer().process_receipt(receipt)
    assert dict(event["args"]) == {"from": alice.address, "to": bob.address, "value": 25 * UNIT}
    found = token().events.Transfer().get_logs(from_block=0, argument_filters={"to": bob.address})
    assert [log["transactionHash"] for log in found] == [receipt["transactionHash"]]
    assert token().functions.balanceOf(bob.address).call() == 25 * UNIT


@step
def revert_with_custom_error():
    expected = token().encode_abi("transfer", [NOBODY, SUPPLY])
    assert expected.startswith("0xa9059cbb")
    try:
        token().functions.transfer(NOBODY, SUPPLY).call({"from": bob.address})
    except ContractCustomError as error:
        data = HexBytes(error.data)
        assert data[:4] == Web3.keccak(text="ERC20InsufficientBalance(address,uint256,uint256)")[:4], data.hex()
        decoded = web3.codec.decode(["address", "uint256", "uint256"], bytes(data[4:]))
        assert decoded == (bob.address.lower(), 25 * UNIT, SUPPLY), decoded
    else:
        raise AssertionError("the call did not revert")
    built = build(token().functions.transfer(NOBODY, SUPPLY))
    assert send(bob, {"to": built["to"], "data": built["data"], "gas": 200_000, "value": 0})["status"] == 0


@step
def permit():
    names = [("owner", "address"), ("spender", "address"), ("value", "uint256"), ("nonce", "uint256"), ("deadline", "uint256")]
    message = {
        "owner": bob.address,
        "spender": alice.address,
        "value": 7 * UNIT,
        "nonce": token().functions.nonces(bob.address).call(),
        "deadline": web3.eth.get_block("latest")["timestamp"] + 100_000,
    }
    domain = {"name": "Gold", "version": "1", "chainId": CONFIG["chainId"], "verifyingContract": STATE["token"]}
    types = {"Permit": [{"name": name, "type": type_} for name, type_ in names]}
    signed = bob.sign_message(encode_typed_data(domain, types, message))
    r, s = (number.to_bytes(32, "big") for number in (signed.r, signed.s))
    calls = token().functions
    arguments = (message["owner"], message["spender"], message["value"], message["deadline"], signed.v, r, s)
    assert call_as(alice, calls.permit(*arguments))["status"] == 1
    assert calls.allowance(bob.address, alice.address).call() == 7 * UNIT
    assert call_as(alice, calls.transferFrom(bob.address, NOBODY, 7 * UNIT))["status"] == 1
    assert calls.balanceOf(NOBODY).call() == 7 * UNIT


@step
def subscribe():
    async def listen():
        async with AsyncWeb3(WebSocketProvider(CONFIG["urls"]["ws"])) as live:
            heads = await live.eth.subscribe("newHeads")
            logs = await live.eth.subscribe("logs", {"address": STATE["token"]})
            receipt = await asyncio.to_thread(call_as, alice, token().functions.transfer(bob.address, 1))
            seen = {}
            async for message in live.socket.process_subscriptions():
                seen[message["subscription"]] = message["result"]
                if len(seen) == 2:
                    break
            assert seen[heads]["hash"] == receipt["blockHash"], seen
            assert seen[logs]["transactionHash"] == receipt["transactionHash"], seen
            assert await live.eth.unsubscribe(heads)

    asyncio.run(asyncio.wait_for(listen(), 20))


@step
def filters():
    blocks = web3.eth.filter("latest")
    logs = web3.eth.filter({"address": STATE["token"]})
    receipt = call_as(alice, token().functions.transfer(bob.address, 2))
    assert blocks.get_new_entries() == [receipt["blockHash"]]
    assert [log["transactionHash"] for log in logs.get_new_entries()] == [receipt["transactionHash"]]
    assert web3.eth.uninstall_filter(logs.filter_id)


@step
def batch():
    with web3.batch_requests() as requests:
        for account in CONFIG["accounts"]:
            requests.add(web3.eth.get_balance(Web3.to_checksum_address(account)))
        assert all(balance > 0 for balance in requests.execute())


@step
def proof():
    block = web3.eth.get_block("latest")
    answer = web3.eth.get_proof(STATE["token"], ["0x" + "02".zfill(64)], block["number"])
    assert Web3.keccak(answer["accountProof"][0]) == block["stateRoot"]
    assert Web3.keccak(answer["storageProof"][0]["proof"][0]) == answer["storageHash"]


@step
def snapshot_time_and_impersonation():
    height, balance = web3.eth.block_number, web3.eth.get_balance(NOBODY)
    id_ = rpc("evm_snapshot")["result"]
    send(alice, {"to": NOBODY, "value": 5})
    assert rpc("evm_revert", id_)["result"] is True
    assert (web3.eth.block_number, web3.eth.get_balance(NOBODY)) == (height, balance)
    assert rpc("evm_revert", id_)["result"] is False

    before = web3.eth.get_block("latest")["timestamp"]
    rpc("evm_increaseTime", 3600)
    rpc("evm_mine")
    assert web3.eth.get_block("latest")["timestamp"] >= before + 3600

    other = Web3.to_checksum_address("0x00000000000000000000000000000000000ba1e5")
    rpc("hardhat_setBalance", other, hex(UNIT))
    rpc("hardhat_impersonateAccount", other)
    hash_ = web3.eth.send_transaction({"from": other, "to": NOBODY, "value": 1})
    assert web3.eth.wait_for_transaction_receipt(hash_, poll_latency=0.05)["from"] == other
    rpc("hardhat_stopImpersonatingAccount", other)


@step
def bad_input():
    try:
        web3.eth.send_raw_transaction(b"\x02\xc0\xff\xee")
    except Web3RPCError as error:
        assert error.rpc_response["error"]["code"] < 0
    else:
        raise AssertionError("garbage was accepted")
    answer = rpc("eth_noSuchMethod")
    assert answer["error"]["code"] == -32601, answer
    assert web3.is_connected()


def main():
    for function in STEPS:
        name = function.__name__.replace("_", " ")
        try:
            function()
        except Exception:
            print(f"FAIL web3.py: {name}")
            traceback.print_exc(file=sys.stdout)
            sys.exit(1)
        print(f"ok   web3.py: {name}", flush=True)


main()
