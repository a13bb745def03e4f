"""Judges: language models behind an endpoint that rate a response (metrics/external/libraries/judge.py).

    prompt.py, prompt_file.py   what is asked
    address.py, endpoint.py     who is asked, and what is tried again
    secret.py                   the key, struck out of what comes back
    asking.py, answer.py        what is made of the answers
    kept.py, usage.py           what is kept of them, and what they cost
"""
