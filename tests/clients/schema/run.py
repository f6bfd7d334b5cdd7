"""Tests the service by its OpenAPI document with schemathesis, and that each operation succeeded at least once.

Usage: run.py CONFIG, the file that `chainbox dev --config-out` wrote. The node asks the name server at CHAINBOX_NAME_SERVER, which the hooks
start: `chainbox dev` reads that variable, too.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
METHODS = ("get", "put", "post", "patch", "delete")
TIME_LIMIT_S = 480


def main(config_path):
    with open(config_path, encoding="utf-8") as file:
        config = json.load(file)
    location = config["urls"]["openapi"]
    with urllib.request.urlopen(location, timeout=30) as answer:
        document = json.load(answer)
    names = sorted(
        operation["operationId"]
        for path in document["paths"].values()
        for method, operation in path.items()
        if method in METHODS
    )
    with tempfile.TemporaryDirectory() as work:
        code, output, statuses = schemathesis(config_path, config["apiKey"], location, pathlib.Path(work))
    missing = print_table(names, statuses)
    if code != 0:
        print(output)
        print(f"FAIL schemathesis: exit status {code}")
    else:
        print("ok   schemathesis: every answer is what the document says")
    if missing:
        print(f"FAIL schemathesis: no success of {', '.join(missing)}")
    else:
        print(f"ok   schemathesis: each of {len(names)} operations succeeded")
    return 1 if code != 0 or missing else 0


def schemathesis(config_path, api_key, location, work):
    """Runs it in a directory of its own, and returns its exit status, what it said, and the answers of each operation."""
    statuses = work / "statuses.json"
    environment = os.environ | {
        "CHAINBOX_CONFIG": str(pathlib.Path(config_path).resolve()),
        "CHAINBOX_API_KEY": api_key,
        "CHAINBOX_STATUSES": str(statuses),
        "PYTHONPATH": str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    command = [program, "--config-file", HERE / "schemathesis.toml", "run", location, "--no-color"]
    try:
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S)
        code, output = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        code, output = 1, f"{(late.stdout or b'').decode()}\nit took more than {TIME_LIMIT_S} s"
    return code, output, json.loads(statuses.read_text()) if statuses.exists() else {}


def print_table(names, statuses):
    """Prints how often each operation was called, and how often it succeeded; returns those that never did."""
    missing = []
    print(f"     {'operation':<22}{'calls':>7}{'2xx':>7}  others")
    for name in names:
        counts = statuses.get(name, {})
        good = sum(count for status, count in counts.items() if status.startswith("2"))
        others = " ".join(f"{status}:{count}" for status, count in sorted(counts.items()) if not status.startswith("2"))
        print(f"     {name:<22}{sum(counts.values()):>7}{good:>7}  {others}")
        if good == 0:
            missing.append(name)
    return missing


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
