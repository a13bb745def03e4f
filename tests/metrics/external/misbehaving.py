"""A program with the protocol of docs/protocol.md that misbehaves once, as its argument says, and then scores."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HOW, DONE = sys.argv[1], Path("misbehaved")
CARD = {"name": "words", "title": "Words", "columns": ["words"], "family": "control", "levels": ["turn", "dialogue"]}
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def put(content):
    sys.stdout.buffer.write(content if isinstance(content, bytes) else json.dumps(content).encode() + b"\n")
    sys.stdout.flush()


def leave_the_pipe_to_another():
    subprocess.Popen(SLEEP)
    os._exit(4)


def start_another_session():
    subprocess.Popen(SLEEP, start_new_session=True)
    time.sleep(60)


def chatter():
    while True:
        os.write(2, b"x" * 65536)


def close():
    os.close(1)
    time.sleep(60)


def truncate(id_):
    put(json.dumps({"id": id_, "columns": {"words": [1.0]}}).encode()[:-4])
    sys.exit()


WAYS = {
    "nothing": lambda id_: None,
    "garbage": lambda id_: put(bytes(range(255, 10, -1)) + b"\n"),
    "no-object": lambda id_: put([id_]),
    "other-id": lambda id_: put({"id": id_ - 1, "columns": {"words": []}}),
    "no-columns": lambda id_: put({"id": id_}),
    "raises": lambda id_: put({"id": id_, "error": "KeyError", "message": "two\nlines"}),
    "truncated": truncate,
    "segmentation": lambda id_: os.kill(os.getpid(), signal.SIGSEGV),
    "leaves": lambda id_: os._exit(3),
    "hangs": lambda id_: time.sleep(60),
    "chatters": lambda id_: chatter(),
    "leaves-the-pipe-to-another": lambda id_: leave_the_pipe_to_another(),
    "starts-another-session": lambda id_: start_another_session(),
    "closes": lambda id_: close(),
}

for line in sys.stdin.buffer:
    question = json.loads(line)
    if question["ask"] == "describe":
        put({"id": question["id"], "protocol": 2, "card": CARD, "options": [], "environment": ["made-up==1"]})
        continue
    if not DONE.exists():
        DONE.touch()
        os.write(2, b"about to misbehave\n")
        WAYS[HOW](question["id"])
        if HOW != "nothing":
            continue
    words = [len((item["response"] or item["context"][-1])["text"].split()) for item in question["items"]]
    put({"id": question["id"], "columns": {"words": words}})
