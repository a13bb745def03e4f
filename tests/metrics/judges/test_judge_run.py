"""`harness run --metric judge:...` and `harness judge try` against a server on loopback, and a judge in process."""

import asyncio
import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import registry as datasets
from harness.cli import main
from harness.results import files
from metrics import registry
from metrics.errors import BadOption, CannotScore, MissingResource
from metrics.judges import endpoint
from metrics.judges.spending import Spending
from metrics.metric import signature
from metrics.models.service import Choice, Models
from tests import tiny
from tests.conftest import Invoke, make_item
from tests.judge_server import Server, serving

KEY = "sk-planted-4711-do-not-write-me"


def command(server: Server, out: Path, *more: str, options: str = "") -> list[str]:
    return ["run", "--dataset", "dailydialog-gupta", "--data", "sample", "--limit", "20", "--draws", "0", "--examples",
            "0", "--metric", f"judge:llm-eval[model=toy,url={server.url}{options}]", "--out", str(out), *more]


def found(url: str, key_from: str = "") -> endpoint.Endpoint:
    return endpoint.find(url, key_from, 5.0, 1, Spending(Choice()))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_the_key_goes_to_the_server_only(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                         capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ways = iter(["status 500", "well", "status 400", *["well"] * 99])
    with serving(lambda times: next(ways), echo=True) as server:
        assert main(command(server, tmp_path, "--json", options=",concurrency=1")) == 0
        assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
        assert all("Host" in headers and KEY not in json.dumps(server.bodies) for headers in server.headers)
    for how in ("status 401", "status 404", "status 418", "redirect http://localhost:9/x", "garbage"):
        with serving(lambda times, how=how: how) as server:
            asked = f"judge:llm-eval[model={how.partition('/')[0]},url={server.url},tries=2]"
            assert main(["judge", "try", asked, "--dataset", "topical-usr"]) == 2
    written = "".join(capfd.readouterr())
    assert "[key] 418" in written, "removed where the server repeats it"
    assert b"Bearer [key]" in everything(home), "in stored answers as well"
    for text in (written.encode(), everything(home), everything(tmp_path)):
        assert KEY.encode() not in text


def test_a_key_that_an_error_repeats_is_removed(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                                   capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for form in ("object", "list", "name", "escaped", "plain"):
        with serving(lambda times, how=f"hidden 404 {form}": how) as server, \
                pytest.raises(MissingResource, match=r"HTTP 404.*no \[key\]!") as raised:  # type: ignore[misc]
            asyncio.run(found(server.url).ask({"messages": []}))
        assert KEY not in repr(raised.value), form
    with serving(lambda times: "hidden 404 object") as server:
        assert main(command(server, tmp_path, "--metric", "length")) == 1
    assert b"no [key]!" in everything(tmp_path)
    assert KEY.encode() not in everything(tmp_path) + everything(home) + "".join(capfd.readouterr()).encode()
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX-Other: 1")
    with pytest.raises(MissingResource, match="characters that are not allowed") as refused:
        found("http://localhost:1/v1")
    assert KEY not in str(refused.value)


def test_a_key_is_sent_unencrypted_only_if_key_from_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MY_KEY", KEY)

    def sent(url: str, key_from: str = "") -> bool:
        return bool(found(url, key_from).key)

    assert sent("https://example.org/v1")
    assert sent("http://localhost:8000/v1")
    assert not sent("http://example.org/v1")
    assert sent("http://example.org/v1", "MY_KEY")


def test_try_shows_questions_and_scores(invoke: Invoke) -> None:
    with serving() as server:
        asked = ("judge", "try", f"judge:llm-eval[model=toy,url={server.url}]", "--dataset", "topical-usr")
        assert "<conversation>" in invoke(*asked, "--dry").out
        assert not server.bodies
        assert "relevance: " in invoke(*asked).out.splitlines()[-1]
        assert len(server.bodies) == 1
        invoke(*asked, "--item", "none", status=2)
        server.script = lambda times: "prose"
        assert "As a language" in invoke(*asked, "--item", "topical-usr_00001", status=1).out


def test_try_shows_a_turn_of_a_dialogue_if_the_prompt_asks_about_turns(invoke: Invoke) -> None:
    asked = ("judge", "try", "judge:g-eval[model=toy]", "--dataset", "fed-dial", "--dry")
    assert "--- user" in invoke(*asked).out
    assert "--- user" in invoke(*asked, "--item", "fed-dial_00000#3").out
    assert "'fed-dial_00000#" in invoke(*asked, "--item", "fed-dial_00000", status=2).err


def test_a_run_says_what_it_will_send_and_stops_at_a_limit(tmp_path: Path, invoke: Invoke) -> None:
    with serving() as server:
        limited = command(server, tmp_path, "--price", "1,10", "--max-requests", "7")
        assert "20 requests" in invoke(*limited, "--dry-run").out
        assert not server.bodies
        assert "--max-requests 7" in invoke(*limited, status=1).out
        assert len(server.bodies) == 7
        paid = invoke(*command(server, tmp_path), "--price", "1,10").err
        assert len(server.bodies) == 20
        assert "13 requests and 1,430 tokens for 0.0026" in paid
    for flags in (["--price", "cheap"], ["--max-cost", "1"], ["--max-requests", "-1"]):
        invoke(*command(server, tmp_path, *flags), status=2)


def test_an_interrupted_run_sends_no_more_requests(tmp_path: Path, invoke: Invoke) -> None:
    def interrupt() -> None:
        while len(server.bodies) < 4:
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with serving(lambda times: "slow 0.3") as server:
        threading.Thread(target=interrupt, daemon=True).start()
        invoke(*command(server, tmp_path, options=",concurrency=4"), status=130)
        sent = len(server.bodies)
        assert sent < 20
        server.script = lambda times: "well"
        invoke(*command(server, tmp_path, options=",concurrency=4"))
        assert len(server.bodies) == 20


def test_stored_answers_are_not_measured_as_speed(tmp_path: Path, home: Path) -> None:
    costs, items = [], []
    with serving() as server:
        for name, limit in (("first", "10"), ("partly stored", "20"), ("stored", "20")):
            assert main(command(server, tmp_path / name, "--limit", limit)) == 0
            items.append([row.items for row in files.read(tmp_path / name / "report").timings])
            costs.append((home / "costs.json").read_bytes())
    assert items == [[10], [0], [0]]
    assert costs[0] == costs[1] == costs[2]


def test_a_judge_without_answers_has_failed(tmp_path: Path) -> None:
    for how in ("status 401", "prose"):
        with serving(lambda times, how=how: how) as server:
            assert main(command(server, tmp_path / how, "--metric", "length", options=",tries=2")) == 1
        results = files.read(tmp_path / how / "report")
        assert [failure.metric for failure in results.failures] == ["judge:llm-eval[model=toy,tries=2]"], how
        assert not results.skips


def test_answers_are_shown_escaped_and_on_this_machine_only(tmp_path: Path) -> None:
    assert main(["run", "--metric", "length", "--dataset", "dailydialog-gupta", "--out", str(tmp_path / "none")]) == 0
    assert main(["judge", "view", str(tmp_path / "none")]) == 2
    with serving(lambda times: "chatty") as server:
        assert main(command(server, tmp_path, "--seed", "5", options=",temperature=0.7")) == 0
    assert main(["judge", "view", str(tmp_path), "--url", "http://localhost:1/v1"]) == 0
    assert (tmp_path / "judge-answers.html").read_text().count("--url") == 1
    assert main(["judge", "view", str(tmp_path)]) == 0, "the report has the server's address"
    page = (tmp_path / "judge-answers.html").read_text()
    assert "no answer" not in page, "the seed of the run selects the answers"
    assert page.count("<h3>") == 20
    assert "Tell me if I can help" in page
    assert "&lt;reply&gt;" in page
    assert "<reply>" not in page
    assert main(["publish", "--out", str(tmp_path), "--site", str(tmp_path / "public")]) == 0
    assert b"Tell me if I can help" not in everything(tmp_path / "public")


def test_view_names_a_prompt_file_that_is_not_here(tmp_path: Path, invoke: Invoke,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    prompt, out = tmp_path / "mine" / "kind.toml", tmp_path / "out"
    prompt.write_text('title = "Kind"\nanswer = "number"\nturn = "{response}"\n'
                      '[[qualities]]\nname = "kind"\nlow = 1\nhigh = 5\n')
    with serving() as server:
        invoke("run", "--dataset", "dailydialog-gupta", "--data", "sample", "--limit", "20", "--draws", "0",
               "--metric", f"judge:{prompt}[model=toy,url={server.url}]", "--out", str(out))
        assert "kind.toml" in invoke("judge", "view", str(out), status=2).err
        monkeypatch.chdir(prompt.parent)
        invoke("judge", "view", str(out), "--url", server.url)


def test_a_local_judge_gives_the_mean_of_its_scale(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    """The mean is computed by hand from the likelihoods of the digits."""
    file = tiny.gguf(tmp_path / "tiny.gguf")
    models = Models(home)
    items = [make_item("a", "I like tea.", context=("hi", "what do you like?"))]
    (tmp_path / "kind.toml").write_text(
        'title = "Kind"\nanswer = "number"\nturn = "{context} {response} {low}-{high}"\n'
        '[[qualities]]\nname = "kind"\nlow = 1\nhigh = 3\n')
    own = registry.choose(f"judge:{tmp_path / 'kind.toml'}[lm={file}]").metric
    model = models.lm(str(file))
    text = model.conversation([{"role": "user", "content": "system: hi\nuser: what do you like? I like tea. 1-3"}])
    digits = np.array([model.log_likelihoods([(text, digit)])[0][0] for digit in "123"], dtype=float)
    weights = np.exp(digits) / np.exp(digits).sum()
    assert own.score(items, models)["kind"][0] == pytest.approx(weights @ [1, 2, 3], abs=1e-5)
    assert signature(own, models)["lm"].startswith("tiny.gguf@")
    assert signature(own, models)["prompt"].startswith("kind@")
    (tmp_path / "long.toml").write_text(
        'title = "Long"\nanswer = "yes"\nlogprobs = true\nturn = "{context}\\n\\n{response}"\n'
        '[[qualities]]\nname = "long"\nlow = 0\nhigh = 1\n')
    long = make_item("c", "yes", context=("word " * 200, "hello"))  # the first turn does not fit
    short = make_item("d", "yes", context=("hello",))
    too_long = make_item("e", "word " * 200)
    judge = registry.choose(f"judge:{tmp_path / 'long.toml'}[lm={file}]").metric
    assert np.isfinite(judge.score([long, too_long, short], models)["long"]).tolist() == [True, False, True]
    with pytest.raises(CannotScore):
        judge.score([too_long], models)
    asked = ("judge", "try", f"judge:{tmp_path / 'kind.toml'}[lm={file}]", "--dataset", "esl")
    assert invoke(*asked).out.splitlines()[-1].startswith("kind: ")
    with pytest.raises(BadOption, match="url"):
        registry.choose(f"judge:g-eval[lm={file},url=http://localhost:1]")
    with pytest.raises(MissingResource, match="lm="):
        registry.choose("judge:g-eval").metric.score(items, models)


def test_a_local_judge_answers_for_each_quality_of_a_dataset(home: Path, tmp_path: Path) -> None:
    """The answers are those to each question alone."""
    file, prompt = tiny.gguf(tmp_path / "tiny.gguf"), tmp_path / "brief.toml"
    asked = (("all", "good", "overall"), ("form", "right", "grammar"), ("safe", "safe", "safety"))
    head = 'title = "Brief"\nanswer = "yes"\nlogprobs = true\nturn = "{response}\\n\\n{description}?"\n'
    prompt.write_text(head + "".join(
        f'[[qualities]]\nname = "{name}"\nlow = 0\nhigh = 1\ndescription = "{question}"\nrates = ["{rated}"]\n'
        for name, question, rated in asked))
    judge = f"judge:{prompt}[lm={file}]"
    assert main(["run", "--dataset", "dailydialog-zhao", "--data", "sample", "--limit", "12", "--draws", "0", "--home",
                 str(home), "--metric", judge, "--out", str(tmp_path / "out")]) == 0
    (path,) = (tmp_path / "out" / "scores").rglob("*.parquet")
    table = pq.ParquetFile(path).read()
    assert table.column_names == ["item", "score:brief", "score:brief@grammar"]
    rows = files.read(tmp_path / "out" / "report").correlations
    values = {row.quality: row.value for row in rows if row.statistic == "spearman"}
    assert values["content"] != values["grammar"]
    model, sample = Models(home).lm(str(file)), datasets.sample(datasets.card("dailydialog-zhao"))
    texts = [model.conversation([{"role": "user", "content": f"{item.response.text}\n\nright?"}])
             for item in sample.items[:12] if item.response]
    alone = [model.answers([(text,)], ("Yes", "No"))[0][0] for text in texts]
    np.testing.assert_allclose(table.column("score:brief@grammar"), [yes - no for yes, no in alone], atol=1e-4)
