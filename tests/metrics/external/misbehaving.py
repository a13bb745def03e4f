"""A program of the protocol of docs/protocol.md that misbehaves once, as its argument says, and then scores."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HOW, DONE = sys.argv[1], Path("misbehaved")
CARD = {"name": "words", "title": "Words", "columns": ["words"], "family": "control", "levels": ["turn", "dialogue"]}
SLEEP = "import time; time.sleep(60)"


def line(message):
    return json.dumps(message).encode() + b"\n"


def put(content):
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def misbehave(id_):
    sys.stderr.write("about to misbehave\n")
    sys.stderr.flush()
    answers = {
        "garbage": bytes(range(255, 10, -1)) + b"\n",
        "no-json": b"{'id': 1}\n",
        "no-object": line([id_]),
        "other-id": line({"id": id_ - 1, "columns": {"words": []}}),
        "no-columns": line({"id": id_}),
        "raises": line({"id": id_, "error": "KeyError", "message": "two\nlines"}),
    }
    if HOW in answers:
        put(answers[HOW])
    elif HOW == "truncated":
        put(line({"id": id_, "columns": {"words": [1.0]}})[:-4])
        sys.exit()
    elif HOW in globals():
        globals()[HOW]()


def segmentation():
    os.kill(os.getpid(), signal.SIGSEGV)


def leaves():
    os._exit(3)


def hangs():
    time.sleep(60)


def chatters():
    while True:
        os.write(2, b"x" * 65536)


def leaves_the_pipe_to_another():
    subprocess.Popen([sys.executable, "-c", SLEEP])
    os._exit(4)


def starts_another_session():
    subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    time.sleep(60)


def closes():
    os.close(1)
    time.sleep(60)


for asked in sys.stdin.buffer:
    question = json.loads(asked)
    if question["ask"] == "describe":
        put(line({"id": question["id"], "protocol": 2, "card": CARD, "options": [], "environment": ["made-up==1"]}))
        continue
    if not DONE.exists():
        DONE.touch()
        misbehave(question["id"])
        if HOW != "nothing":
            continue
    words = [len((item["response"] or item["context"][-1])["text"].split()) for item in question["items"]]
    put(line({"id": question["id"], "columns": {"words": words}}))
