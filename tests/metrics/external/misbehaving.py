"""A program that speaks the protocol of docs/protocol.md, and misbehaves once, in the way its argument names.

It imports nothing that is slow. A file beside it notes that it has misbehaved; from then on it scores.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

HOW, DONE = sys.argv[1], Path("misbehaved")
CARD = {"name": "words", "title": "Words", "columns": ["words"], "family": "control", "levels": ["turn", "dialogue"]}
SLEEP = "import time; time.sleep(60)"


def take(length):
    content = sys.stdin.buffer.read(length)
    if len(content) < length:
        sys.exit()
    return content


def packed(head, body=b""):
    content = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack(">IQ", len(content), len(body)) + content + body


def put(content):
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def misbehave(id_):
    sys.stderr.write("about to misbehave\n")
    sys.stderr.flush()
    answers = {
        "garbage": bytes(range(255, 0, -1)),
        "no-json": packed(b"{'id': 1}"),
        "no-object": packed([id_]),
        "other-id": packed({"id": id_ - 1}, b'{"words": []}'),
        "no-body": packed({"id": id_}),
        "twice": packed({"id": id_}, b'{"words": []}') * 2,
        "raises": packed({"id": id_, "error": "KeyError", "message": "two\nlines"}),
    }
    if HOW in answers:
        put(answers[HOW])
    elif HOW == "truncated":
        put(packed({"id": id_}, b'{"words": [1.0]}')[:-4])
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


def lets_another_grow():
    subprocess.run([sys.executable, "-c", f"held = bytearray(b'x' * (300 << 20)); {SLEEP}"], check=False)


def leaves_the_pipe_to_another():
    subprocess.Popen([sys.executable, "-c", SLEEP])
    os._exit(4)


def starts_another_session():
    subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=True)
    time.sleep(60)


def closes():
    os.close(1)
    time.sleep(60)


while True:
    head_length, body_length = struct.unpack(">IQ", take(12))
    question, content = json.loads(take(head_length)), take(body_length)
    if question["ask"] == "describe":
        put(packed({"id": question["id"], "protocol": 1, "card": CARD, "options": [],
                    "environment": ["made-up==1"]}))
        continue
    records = json.loads(content)
    if not DONE.exists():
        DONE.touch()
        misbehave(question["id"])
        if HOW != "nothing":
            continue
    words = [len((one["response"] or one["context"][-1])["text"].split()) for one in records]
    put(packed({"id": question["id"]}, json.dumps({"words": words}).encode()))
