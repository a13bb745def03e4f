"""A real server: that of llama-cpp-python, started as docs/judges.md says, with its address in HARNESS_LLAMA."""

import os

import pytest

from metrics.judges import endpoint

SERVER = os.environ.get("HARNESS_LLAMA", "")


@pytest.mark.slow
@pytest.mark.skipif(not SERVER, reason="HARNESS_LLAMA names no server")
def test_a_real_server_gives_probabilities_of_digits() -> None:
    """The server does not support json_schema, so requests do without it."""
    schema = {"type": "json_schema", "json_schema": {"name": "sum", "schema": {"type": "object"}}}
    answer = endpoint.find(SERVER, "", 600.0).ask({
        "model": "any", "max_tokens": 12, "temperature": 0, "logprobs": True, "top_logprobs": 5,
        "response_format": schema, "messages": [{"role": "user", "content": "What is 2 + 2?"}]})
    assert answer.prompt > 0
    assert any(alternatives for _, _, alternatives in answer.tokens), answer.text
