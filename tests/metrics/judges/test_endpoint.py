"""A judge against a real server on loopback that misbehaves: retries, refusals, waits, and stored answers."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dataset import Item, Quality
from metrics.errors import BadOption, MissingResource, NoAnswer, Unreadable
from metrics.judges import endpoint, sampling
from metrics.judges.answer import Answer
from metrics.judges.prompt import find, questions
from metrics.judges.spending import LimitReached, Spending, of_run
from metrics.metric import line, signature
from metrics.models.service import Choice, Models
from metrics.registry import choose
from tests.conftest import make_item
from tests.judge_server import Server, expected, serving, well

LLM_EVAL = ("appropriateness", "content", "grammar", "relevance")
LLAMA = os.environ.get("HARNESS_LLAMA", "")
"""Address of a server of llama-cpp-python, started as docs/judges.md says."""


def items(count: int) -> list[Item]:
    return [make_item(f"toy_{number}", f"reply number {number}") for number in range(count)]


def judged(server: Server, home: Path, some: list[Item], prompt: str = "llm-eval", **options: object) -> Any:
    values = ",".join(f"{name}={value}" for name, value in {"model": "toy", "url": server.url, **options}.items())
    return choose(f"judge:{prompt}[{values}]").metric.score(some, Models(home))


def asked(body: dict[str, Any], url: str = "", timeout: float = 1.0) -> Answer:
    """Return the answer to one request with one attempt."""
    return asyncio.run(endpoint.find(url, "", timeout, 1, Spending(Choice())).ask(body))


def right(columns: Any, some: list[Item]) -> bool:
    """Return True if every item has the scores that the server gives it."""
    texts = [questions(find("llm-eval"), item)[0].user for item in some]
    return all(columns[f"llm-eval-{name}"].tolist() == [expected(text, name) for text in texts] for name in LLM_EVAL)


def test_a_passing_fault_is_retried_and_answers_are_stored(tmp_path: Path) -> None:
    some = items(2)
    for number, how in enumerate(("status 429 0.05", "status 500", "garbage", "silent", "endless", "beyond", "prose",
                                  "slow 1", "drip")):
        home, late = tmp_path / str(number), {"timeout": 0.4} if how in ("slow 1", "drip") else {}
        with serving(lambda times, how=how: how if times < 1 else "well") as server:  # type: ignore[misc]
            assert right(judged(server, home, some, **late), some), how
            assert server.behaved == {how: 2, "well": 2}
            assert max(server.answered.values()) == 1
            assert right(judged(server, home, some), some)
            assert len(server.bodies) == 4, "a second run sends nothing"


def test_a_lasting_fault_stops_the_judge_at_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for how in ("status 401", "status 403", "status 404", "redirect http://127.0.0.1:9/v1"):
        with serving(lambda times, how=how: how) as server:  # type: ignore[misc]
            with pytest.raises(MissingResource):
                judged(server, home, items(40), concurrency=2)
            assert len(server.bodies) <= 4
    capsys.readouterr()
    with pytest.raises(MissingResource, match="check that the server is running"):
        judged(server, home, items(40), tries=2)  # the server has stopped
    assert capsys.readouterr().err.count("url is right; retrying") == 1
    for judge, message in (("judge:llm-eval", "no model"), ("judge:llm-eval[model=toy]", "OPENAI_BASE_URL")):
        with pytest.raises(MissingResource, match=message):
            choose(judge).metric.score(items(1), Models(home))


def test_an_item_without_an_answer_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The request is refused, or never gets a valid answer; the second time, stored answers are used."""
    for how, times_sent in (("status 400", 1), ("beyond", 3)):
        turn, home = iter([how] * times_sent + ["well"] * 9), tmp_path / how
        with serving(lambda times, turn=turn: next(turn)) as server:  # type: ignore[misc]
            columns = judged(server, home, items(4), concurrency=1, tries=3)
            assert np.isnan(columns["llm-eval"]).tolist() == [True, False, False, False]
            assert len(server.bodies) == times_sent + 3
        assert ("1 request" in capsys.readouterr().err) == how.startswith("status")
    again = judged(server, home, items(4), concurrency=1, tries=3)
    assert np.isnan(again["llm-eval"]).tolist() == [True, False, False, False]


def test_a_partial_outage_is_never_recorded_as_missing_scores(tmp_path: Path) -> None:
    for how in ("status 500", "status 503", "status 429"):
        with serving() as server:
            server.script = lambda times, how=how, lost=server.times: how if len(lost) % 4 == 2 else "well"  # type: ignore[misc]
            with pytest.raises(NoAnswer, match=r"in up to 2 attempts .HTTP .*run the same"):
                judged(server, tmp_path / how, items(12), concurrency=1, tries=2)
            assert len(server.bodies) == 3, "nothing else is asked"


def test_no_scores_if_every_request_is_refused_or_unreadable(home: Path) -> None:
    for how, error, message, counts in (("status 400", MissingResource, "HTTP 400", (3, 200)),
                                        ("prose", Unreadable, "As a language", (3, 100))):
        with serving(lambda times, how=how: how) as server:  # type: ignore[misc]
            for count in counts:
                with pytest.raises(error, match=message):
                    judged(server, home, items(count), concurrency=2)
            assert len(server.bodies) < 3 + sampling.MAX_UNUSABLE + 4


def test_unreadable_answers_in_a_row_stop_the_judge(home: Path) -> None:
    turn = iter(["well", *["prose"] * 23, "well", *["prose"] * 99])
    with serving(lambda times: next(turn)) as server:
        with pytest.raises(Unreadable, match=r"24 .*As a language"):
            judged(server, home, items(99), concurrency=1, tries=1)
        assert server.behaved == {"well": 2, "prose": 23 + sampling.MAX_UNUSABLE}
    with serving(lambda times: "partial") as server:
        columns = judged(server, home, items(30), concurrency=1, tries=2)
        assert np.isfinite(columns["llm-eval-relevance"]).all()
        assert np.isnan(columns["llm-eval-grammar"]).all()
    turn = iter(["well"] * 5 + ["prose"] * 99)
    with serving(lambda times: next(turn)) as server:
        columns = judged(server, home, items(10), concurrency=1, tries=6)
        assert np.isfinite(columns["llm-eval"]).tolist() == [True] * 5 + [False] * 5, "six attempts count once"


def test_an_estimate_includes_retries_of_stored_unreadable_answers(home: Path) -> None:
    turn = iter(["prose", "partial", "well", "well"])
    with serving(lambda times: next(turn)) as server:
        judged(server, home, items(4), concurrency=1, tries=1)
        for tries, pending in ((1, 0), (2, 2)):
            judge: Any = choose(f"judge:llm-eval[model=toy,url={server.url},tries={tries}]").metric
            assert judge.estimate(items(4), Models(home)).requests == pending


def test_yes_or_no_without_probabilities_stops_at_the_first_answer(home: Path) -> None:
    with serving(lambda times: "yes") as server:
        for prompt in ("relevance", "quality"):
            with pytest.raises(Unreadable, match="judge:g-eval"):
                judged(server, home, items(40), prompt=prompt, concurrency=1)
        assert server.behaved == {"yes": 2}
        with pytest.raises(BadOption, match="logprobs=false"):
            judged(server, home, items(1), prompt="quality", logprobs="false")
        server.script = lambda times: "odds"
        assert np.isfinite(judged(server, home, items(1), prompt="relevance")["relevance"]).all(), "nothing was stored"


def test_a_run_continues_after_the_server_died(home: Path) -> None:
    some, lock, alive = items(30), threading.Lock(), iter(range(12))

    def dying(_times: int) -> str:
        with lock:
            return "well" if next(alive, None) is not None else "silent"

    with serving(dying) as server:
        with pytest.raises(MissingResource, match=r"in up to 3 attempts.*run the same"):
            judged(server, home, some, concurrency=4, tries=3)
        time.sleep(0.2)  # for requests that are no longer awaited
        while server.now:
            time.sleep(0.01)
        assert sum(server.answered.values()) == 12
        assert len(server.bodies) < 12 + 3 * 5 + 3 * 4, "not three times each of the 18 others"
        server.script = well
        assert right(judged(server, home, some), some)
        assert set(server.answered.values()) == {1}, "stored answers are not requested again"


def test_concurrency_is_used_and_items_of_equal_texts_are_one_question(home: Path) -> None:
    with serving(delay=0.1) as server:
        judged(server, home, items(20), concurrency=5)
        assert server.peak == 5
        judged(server, home, [make_item(name, "the same") for name in "abcdef"])
        assert len(server.bodies) == 21


def test_progress_is_printed(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sampling, "REPORT_SECONDS", 0)
    with serving() as server:
        judged(server, home, items(3), concurrency=1)
    assert "judge:llm-eval: 2 of 3 done" in capsys.readouterr().err


def test_questions_about_other_qualities_reuse_stored_answers(home: Path) -> None:
    file = home / "brief.toml"
    file.write_text('title = "Brief"\nanswer = "number"\nturn = "{response} {quality}"\n' + "".join(
        f'[[qualities]]\nname = "{name}"\nlow = 1\nhigh = 5\nrates = ["{name}"]\n' for name in ("overall", "safety")))
    with serving() as server:
        judge: Any = choose(f"judge:{file}[model=toy,url={server.url}]").metric
        for qualities, sent in ((["overall"], 3), (["overall", "safety"], 6), (["safety"], 6)):
            judge.about([*map(Quality, qualities)]).score(items(3), Models(home))
            assert len(server.bodies) == sent, qualities


def test_the_time_that_a_server_asks_for_is_waited(home: Path) -> None:
    turn = iter(["status 429 0.3"] + ["well"] * 9)
    with serving(lambda times: next(turn)) as server:
        judged(server, home, items(2), concurrency=1)
        assert server.arrivals[1] - server.arrivals[0] >= 0.29


def test_a_proxy_and_a_query_are_used_but_no_key_in_a_query(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, url = items(2), "http://judge.example/v1?api-version=2026-01"
    with serving() as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        assert right(judged(server, home, some, url=url), some)
        paths = {headers["path"] for headers in server.headers}
        assert paths == {"http://judge.example/v1/chat/completions?api-version=2026-01"}
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert right(judged(server, home / "other", some), some), "this machine needs no proxy"
    for name in ("api-key", "token"):
        with pytest.raises(BadOption) as refused:
            judged(server, home, some, url=f"{url}&{name}=hush-hush")
        assert "hush" not in str(refused.value)


def test_samples_are_averaged_and_differ_by_their_seed(home: Path) -> None:
    some = items(2)
    with serving() as server:
        assert right(judged(server, home, some, samples=3, temperature=1), some)
        seeds = [body["seed"] for body in server.bodies]
        assert (len(seeds), len(set(seeds))) == (6, 3)
        judged(server, home, some, samples=5, temperature=1)
        assert len(server.bodies) == 10, "three of five are stored"


def test_scores_are_weighted_by_probabilities(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """(4·.5 + 5·.2 + 5·.1 + 3·.1) / .9 of each of the four qualities; their mean on 0 to 1."""
    with serving(lambda times: "logprobs") as server:
        columns = judged(server, home, items(2), prompt="g-eval")
        assert columns["g-eval-coherence"] == pytest.approx([3.8 / 0.9] * 2)
        assert columns["g-eval"] == pytest.approx([(3.8 / 0.9 - 1) / 4] * 2)
        assert server.bodies[0]["logprobs"] is True
        judged(server, home, items(2), prompt="g-eval", logprobs="false")
        assert "logprobs" not in server.bodies[-1]
    usage = capsys.readouterr().err.splitlines()
    assert ["weighted" in line for line in usage] == [True, False]
    assert "8 of 8 weighted" in usage[0]


def test_the_signature_has_prompt_sampling_and_server(home: Path) -> None:
    def signed(options: str) -> str:
        return line(signature(choose(f"judge:llm-eval[model=toy{options}]").metric, Models(home)))

    plain = signed("")
    assert plain.startswith("judge|revision=2|model=toy|samples=1|temperature=0.0|")
    assert f"prompt=llm-eval@{find('llm-eval').digest}" in plain
    assert plain == signed(",concurrency=2,timeout=5,key_from=KEY")
    assert plain != signed(",url=http://localhost:1/v1")
    assert "localhost" not in signed(",url=http://localhost:1/v1")
    options = ("samples=2", "temperature=1", "max_tokens=9", "logprobs=true", "tries=2")
    assert len({plain, *(signed(f",{option}") for option in options)}) == 6


def test_an_interrupt_ends_soon_and_answers_are_stored(home: Path) -> None:
    some, calls = items(12), iter(range(99))

    def interrupt() -> None:
        while len(server.bodies) < 8:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with serving(lambda times: "well" if next(calls) < 4 else "slow 20") as server:
        threading.Thread(target=interrupt, daemon=True).start()
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            judged(server, home, some, concurrency=4)
        assert time.monotonic() - before < 5
        server.script = well
        sent = len(server.bodies)
        assert right(judged(server, home, some), some)
        assert len(server.bodies) - sent == 8


def test_fields_that_a_server_refuses_by_name_are_left_out(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda times: "picky response_format max_completion_tokens") as server:
        some = items(3)
        assert right(judged(server, home, some, concurrency=1), some)
        assert [sorted(body.keys() & {"response_format", "max_tokens", "max_completion_tokens"})
                for body in server.bodies] == [["max_tokens", "response_format"], *[["max_completion_tokens"]] * 3]
        assert sorted(server.bodies[0]["response_format"]["json_schema"]["schema"]["required"]) == [*LLM_EVAL]
        judged(server, home, items(4), structured="false", max_tokens=99)
        assert "response_format" not in server.bodies[4]
    assert "response_format" in capsys.readouterr().err


def test_a_limit_is_never_passed_and_the_next_run_continues(tmp_path: Path) -> None:
    """A million tokens of prompts cost 1, of answers 10: 100 + 10 tokens are 0.0002."""
    some, price = items(12), {"price": (1.0, 10.0)}
    for limits, most in (({"max_requests": 5}, 5), ({"max_cost": 0.004}, 11)):
        models = Models(tmp_path / min(limits), Choice(**price, **limits))  # type: ignore[arg-type]
        with serving() as server:
            judge = choose(f"judge:llm-eval[model=toy,url={server.url},concurrency=2]").metric
            with pytest.raises(LimitReached):
                judge.score(some, models)
            sent = len(server.bodies)
            assert 1 < sent <= most
            assert of_run(models).cost == pytest.approx(0.0002 * sent)
            assert judge.estimate(some, models).requests == 12 - sent  # type: ignore[attr-defined]
            assert right(judge.score(some, Models(models.home)), some)
            assert len(server.bodies) == 12, "nothing is paid twice"


def test_a_limit_counts_requests_with_a_refused_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda times: "picky response_format max_completion_tokens", delay=0.1) as server:
        for number, limits in enumerate(({"max_requests": 3}, {"max_requests": 3, "max_cost": 0.01})):
            models = Models(tmp_path / str(number), Choice(price=(1.0, 10.0), **limits))  # type: ignore[arg-type]
            with pytest.raises(LimitReached):
                choose(f"judge:llm-eval[model=toy,url={server.url},concurrency=3]").metric.score(items(4), models)
            assert len(server.bodies) == 3 * (number + 1)
            assert capsys.readouterr().err.count("response_format") == 1
        judged(server, tmp_path, items(2), concurrency=1, tries=1)
        assert len(server.bodies) == 9, "a refused field is no failed attempt"


def test_lone_surrogates_in_an_answer_are_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = items(2)
    for number, key in enumerate(("", "a-long-enough-key")):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with serving(lambda times: "surrogate") as server:
            for _ in range(2):
                columns = judged(server, home / str(number), some, prompt="g-eval")
                assert columns["g-eval-coherence"].tolist() == [4, 4]
            assert len(server.bodies) == 8, "the second time, all answers are stored"


def test_azure_and_openai_are_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    body = {"model": "toy", "messages": [{"role": "user", "content": "Rate: hello"}]}
    with serving() as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        with pytest.raises(MissingResource):  # no version
            asked(body)
        monkeypatch.setenv("OPENAI_API_VERSION", "2026-01")
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key-1")
        asked(body)
    assert server.headers[0]["Api-Key"] == "azure-key-1"
    assert server.headers[0]["path"] == "/openai/deployments/toy/chat/completions?api-version=2026-01"
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT")
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")
    assert endpoint.find("", "", 1.0, 1, Spending(Choice())).name == "api.openai.com"


def test_without_the_package_a_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingResource, match=r"\[judges\]"):
        asked({}, "http://localhost:1/v1")


@pytest.mark.slow
@pytest.mark.skipif(not LLAMA, reason="HARNESS_LLAMA names no server")
def test_a_real_server_gives_probabilities_of_digits() -> None:
    """The server does not support json_schema, so requests do without it."""
    schema = {"type": "json_schema", "json_schema": {"name": "sum", "schema": {"type": "object"}}}
    answer = asked({
        "model": "any", "max_tokens": 12, "temperature": 0, "logprobs": True, "top_logprobs": 5,
        "response_format": schema, "messages": [{"role": "user", "content": "What is 2 + 2?"}]}, LLAMA, 600.0)
    assert answer.prompt > 0
    assert any(alternatives for _, _, alternatives in answer.tokens), answer.text
