"""Judges: language models behind an endpoint that rate a response (metrics/external/libraries/judge.py).

    prompt.py, prompt_file.py   the questions, and reading them from a file
    endpoint.py                 the server: address, key, one request, one answer
    sampling.py                 many requests at once, and what is tried again
    answer.py                   reading scores from answers
    local.py                    a judge on this machine, without endpoint or answers
    archive.py                  every answer kept, and what it cost
"""
