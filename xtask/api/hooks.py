"""What schemathesis cannot know of the world that `cargo xtask api` has made: names and ids that are there, and what would harm.

Loaded by schemathesis itself. Everything is drawn from the value that it has drawn, so that a seed replays a run.
"""

import hashlib
import json
import os
import re
import urllib.request

import schemathesis

WORKFLOWS = ["place-order", "approve", "refused", "stuck", "family"]
SERVICES = ["inventory", "payments", "shipping"]
STEPS = ["charge", "ship", "reserve", "answer"]
WHENS = ["every 1h", "30 2 * * MON-FRI", "@daily", "*/5 * * * *"]
TASKS = os.environ["STEADFAST_TASKS"].split(",")
FOLDER = os.environ["STEADFAST_FOLDER"]
SPAN = re.compile("^[0-9]+(ms|s|m|h|d)$")


def drawn(value, of):
    """One of these, by the value; in one case of four the value itself, which nobody knows."""
    number = int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:8], "big")
    return value if number % 4 == 0 else of[number // 4 % len(of)]


def put(values, name, of):
    if isinstance(values, dict) and isinstance(values.get(name), str):
        values[name] = drawn(values[name], of)


@schemathesis.hook
def map_path_parameters(context, values):
    path = context.operation.path
    put(values, "service", SERVICES)
    put(values, "name", SERVICES if "/services/" in path else WORKFLOWS)
    if "/tasks/" in path:
        put(values, "id", TASKS)
    return values


@schemathesis.hook
def map_query(context, values):
    put(values, "workflow", WORKFLOWS)
    put(values, "service", SERVICES)
    put(values, "parked_on", SERVICES)
    return values


@schemathesis.hook
def map_body(context, body):
    if context.operation.path.endswith("/workflows/{name}"):
        return drawn(body, ["workflow: approve\nsteps: { a: { wait: 1s } }\n"]) if isinstance(body, str) else body
    for inner in [body, *(body.get("tasks") or [] if isinstance(body, dict) and isinstance(body.get("tasks"), list) else [])]:
        put(inner, "workflow", WORKFLOWS)
        put(inner, "step", STEPS)
        put(inner, "when", WHENS)
    return body


@schemathesis.hook
def before_call(context, case, kwargs):
    """What would harm, or never end, is made harmless just before it is sent, in whatever way it was drawn."""
    # Nobody waits for longer than schemathesis does.
    wait = (case.query or {}).get("wait")
    if isinstance(wait, str) and SPAN.match(wait):
        case.query["wait"] = "50ms"
    # A copy of the store goes nowhere but into the folder of this run.
    if case.path.endswith("/store/backup") and isinstance(case.body, dict):
        to = case.body.get("to")
        if isinstance(to, str) and to.startswith("/"):
            case.body["to"] = f"{FOLDER}/{hashlib.sha256(to.encode()).hexdigest()[:8]}.db"
    # The stream of a task that waits has no end: the task is to have one.
    if case.path.endswith("/events") and case.method == "GET":
        end(case)


def end(case):
    base = case.operation.base_url or kwargs_base()
    task = str((case.path_parameters or {}).get("id", ""))
    if not re.match("^[0-9a-fA-F-]{32,36}$", task):
        return
    for action in ["resume", "cancel"]:
        body = json.dumps({"by": "hooks", "because": "its stream is to end"}).encode()
        address = f"{base.rstrip('/')}/api/v1/tasks/{task}/{action}"
        request = urllib.request.Request(address, body, {"content-type": "application/json"}, method="POST")
        try:
            urllib.request.urlopen(request, timeout=10).read()
        except urllib.error.HTTPError:
            pass  # It has ended, or is not there.


def kwargs_base():
    return os.environ["STEADFAST_URL"]
