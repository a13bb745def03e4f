"""Language models as judges that rate responses (metrics/external/judge.py).

    prompt.py      the questions, read from a file
    sampling.py    many questions at once
    endpoint.py    the server: one request, one answer, with retries
    spending.py    requests and money of a run
    answer.py      answers: received, stored, and read as scores
"""
