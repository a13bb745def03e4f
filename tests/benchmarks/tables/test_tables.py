"""Users' tables: how each is read, and errors with line, column and remedy."""

import datetime
import gzip
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.dataset import SYSTEM, USER
from benchmarks.errors import BadRecord
from benchmarks.tables import ratings, sheet
from benchmarks.tables.cells import PROMPT, parse_scale, turns
from benchmarks.tables.ratings import Table
from tests.conftest import refused

THREE = "Do you have tea?,Green please.\nWhere is it?,I like trains.\nHello,Hi there\n"


@dataclass(frozen=True)
class Case:
    """A file and its expected reading: votes by quality and item in order, roles, parts of the report."""

    content: str | bytes
    votes: dict[str, list[list[float]]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    report: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    scales: tuple[str, ...] = ()
    name: str = "t.csv"


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


CASES = {
    "a column for each rater": Case(
        lines("prompt,answer,rater_anna,rater_ben,rater_cho", "Hi,Yo,5,4,5", "Tea?,No,1,,2", "A,B,3,3,3"),
        {"rating": [[5, 4, 5], [1, 2], [3, 3, 3]]}, {"context": "prompt", "response": "answer"}, ("3 raters",)),
    "raters of two words": Case(
        lines("prompt,answer,Rater: Anna Ott,Rater: Ben Orr,Rater: Cho", "Hi,Yo,5,4,5", "Tea?,No,1,2,2"),
        {"rating": [[5, 4, 5], [1, 2, 2]]}, report=("3 raters",)),
    "names of raters after qualities": Case(
        lines("prompt,answer,fluency_anna,fluency_ben ott,Fun anna,Fun ben ott", "Hi,Yo,5,4,5,3", "Ho,No,1,2,2,1"),
        {"fluency": [[5, 4], [1, 2]], "fun": [[5, 3], [2, 1]]}, report=("2 raters",)),
    "names of raters before qualities": Case(
        lines("prompt,answer,anna_fluency,ben_fluency,anna_fun,ben_fun", "Hi,Yo,5,4,5,3", "Tea?,No,1,2,2,1"),
        {"fluency": [[5, 4], [1, 2]], "fun": [[5, 3], [2, 1]]}, report=("2 raters",)),
    "names after a quality beside numbered raters of another": Case(
        lines("prompt,answer,overall_anna,overall_ben,fun_1,fun_2", "Hi,Yo,1,2,3,4", "Ho,Ya,2,3,4,4"),
        {"overall_anna": [[1], [2]], "overall_ben": [[2], [3]], "fun": [[3, 4], [4, 4]]}),
    "a stated column of one of several raters": Case(lines("answer,rater_anna,rater_ben", "Yo,5,4", "No,1,2"),
        {"rating": [[5, 4], [1, 2]]}, columns={"rating": "rater_anna"}),
    "names of raters beside the only quality": Case(
        lines("prompt,answer,overall_anna,overall_ben", "Hi,Yo,5,4", "Tea?,No,1,2"), {"overall": [[5, 4], [1, 2]]}),
    "aspects of a quality": Case(
        lines("prompt,answer,context_relevance,answer_relevance,relevance_topic,relevance_style", "Hi,Yo,5,4,5,3",
        "Tea?,No,1,2,2,1"), {"context_relevance": [[5], [1]], "answer_relevance": [[4], [2]], "relevance_topic": [[5],
        [2]], "relevance_style": [[3], [1]]}),
    "qualities and programs after a word for raters": Case(
        lines("prompt,answer,human_fluency,human_relevance,judge_score", "Hi,Yo,5,4,5", "Tea?,No,1,2,2"),
        {"human_fluency": [[5], [1]], "human_relevance": [[4], [2]], "judge_score": [[5], [2]]}),
    "numbered questions, years and ranks": Case(
        lines("question_id,qid,year,answer,rank,fun", "1,1,2024,Yo,1,2", "2,1,2025,No,2,3"), {"fun": [[2], [3]]},
        report=("left out   question_id, qid, year, rank: its name",)),
    "a misspelt name": Case(lines("contxt,answer,fun", "Hi you,Yo,1", "Ho you,Ye,2", "He you,Yu,2"),
        {"fun": [[1], [2], [2]]}, {"response": "answer"}, ("add --columns context=contxt",)),
    "qualities side by side": Case(
        lines("question,output,fluency_1,fluency_2,fun_1,fun_2", "Hi,Yo,1,2,3,4", "Ho,Ye,2,2,4,4", "Q,A,3,1,5,4"),
        {"fluency": [[1, 2], [2, 2], [3, 1]], "fun": [[3, 4], [4, 4], [5, 4]]}, {"response": "output"}),
    "one vote in a row, by quality and rater": Case(lines("id,context,response,quality,rating,worker", "1,a,b,fun,3,x",
        "1,a,b,fluent,4,x", "1,a,b,fun,5,y", "2,c,d,fun,1,x", "2,c,d,fluent,2,y"), {"fun": [[3, 5], [1]],
        "fluent": [[4], [2]]}, {"annotator": "worker", "item": "id"}, ("2 items", "2 raters")),
    "Excel's semicolons and decimal commas": Case(
        "sep=;\r\ncontext;response;quality of reply\r\nHi;Yo, you;4,5\r\nHo;Ye;2,0\r\nQ;A;3,5\r\n",
        {"quality of reply": [[4.5], [2], [3.5]]}, {"response": "response"}, ("one vote per item",)),
    "a byte order mark": Case(b"\xef\xbb\xbf" + b"response,fun\nYo,1\nYe,2\nYa,3\n", {"fun": [[1], [2], [3]]}),
    "UTF-16, as Excel's Unicode text": Case("response\tfun\nJürgen\t1\nYe\t2\nYa\t3\n".encode("utf-16"),
        {"fun": [[1], [2], [3]]}, name="t.txt"),
    "Windows-1252": Case("response,fun\nJürgen “sagt”,1\nYe,2\nYa,3\n".encode("cp1252"), {"fun": [[1], [2], [3]]},
        report=("read as Windows-1252",)),
    "a title and blank lines above the header": Case(
        lines("Survey of May,,", "", ",,", "context,response,fun", "Hi,Yo,1", "", "Ho,Ye,2", "Q,A,3"),
        {"fun": [[1], [2], [3]]}, report=("line 1 is above the header",)),
    "a header of two lines": Case(
        lines("Context,Response,Fluency,,Fun,", ",,Anna,Ben,Anna,Ben", "Hi,Yo,1,2,3,4", "Ho,Ye,2,2,4,4"),
        {"Fluency": [[1, 2], [2, 2]], "Fun": [[3, 4], [4, 4]]}, report=("the header has two lines", "2 raters")),
    "merged cells without a second name": Case(lines("response,fun,fun,fun", "Yo,1,2,3", "Ye,2,2,2", "Ya,3,1,1"),
        {"fun": [[1, 2, 3], [2, 2, 2], [3, 1, 1]]}, report=("3 raters", "'fun' is the name of 3 columns")),
    "names that pandas has numbered": Case(
        lines("response,fun,fun.1,joy,joy.1", "Yo,1,2,3,1", "Ye,2,2,2,3", "Ya,3,1,1,2"),
        {"fun": [[1, 2], [2, 2], [3, 1]], "joy": [[3, 1], [2, 3], [1, 2]]}, report=("2 raters",)),
    "an outlier": Case(lines("response,fun", "Yo,1", "Ye,55", "Ya,3", "Yi,5"), {"fun": [[1], [55], [3], [5]]},
        report=("line 3",)),
    "a context of lines": Case(lines("context,response,fun", '"It rains.\nDo you like tea?",Yo,1', "Ho,Ye,2", "Q,A,3"),
        {"fun": [[1], [2], [3]]}, report=("1 row whose lines are read as turns", "--columns prompt=context",
        "first item system: It rains. | user: Do you like tea? | system: Yo")),
    "a context of lines that is a prompt": Case(
        lines("context,response,fun", '"It rains.\nDo you like tea?",Yo,1', "Ho,Ye,2", "Q,A,3"),
        {"fun": [[1], [2], [3]]}, columns={"prompt": "context"},
        report=("first item user: It rains. Do you like tea? | system: Yo",)),
    "references in several rows": Case(
        lines("id,response,reference,rating,quality", "1,Yo,Ya,1,fun", "1,Yo,Yu,2,fun", "2,Hi,Ho,3,fun"),
        {"fun": [[1, 2], [3]]}, roles={"reference": "reference"}),
    "ratings as 4/5 and as 4 - good": Case(
        lines("response,fun,fluent", "Yo,4/5,4 - good", "Ye,2/5,2 - poor", "Ya,5/5,(3) fair"),
        {"fun": [[4], [2], [5]], "fluent": [[4], [2], [3]]}),
    "labels with a usual order": Case(
        lines("response,safe,useful", "Yo,Yes,To some extent", "Ye,no,No", "Ya,YES,Yes", "Yi,No,no"),
        {"safe": [[1], [0], [1], [0]], "useful": [[1], [0], [2], [0]]}, report=("no < to some extent < yes",)),
    "labels whose order the user states": Case(
        lines("response,verdict,fun", "Yo,Meh,1", "Ye,Ace,2", "Ya,Awful,3", "Yi,Ace,1"),
        {"verdict": [[1], [2], [0], [2]], "fun": [[1], [2], [3], [1]]}, scales=("awful < meh < ace",)),
    "missing votes in many spellings": Case(lines("response,fun", "Yo,1", "Ye,N/A", "Ya,-", "Yi,", "Yu,?", "Yy,3"),
        {"fun": [[1], [], [], [], [], [3]]}, report=("4 rows without a rating",)),
    "rows without a response": Case(lines("context,response,fun", "Hi,Yo,1", "Ho,,2", "Q,A,3", "R,B,2"),
        {"fun": [[1], [3], [2]]}, report=("1 row without a response",)),
    "repeated ids of other texts": Case(lines("id,response,fun", "7,Yo,1", "7,Ye,2", "8,Ya,3"),
        {"fun": [[1], [2], [3]]}, report=("1 row with the id of another item",)),
    "a row without an id among repeated ids": Case(
        lines("id,response,fun", "1,Yo,5", "2,Ye,4", ",Ya,3", "1,Yo,1", "2,Ye,2"), {"fun": [[5, 1], [4, 2], [3]]}),
    "columns other than ratings": Case(lines("response,fun,timestamp,notes,bleu", "Yo there,1,1728569383,good,0.1",
        "Ye,2,1728569384,,0.2", "Ya,3,1728569385,odd,0.3"), {"fun": [[1], [2], [3]]},
        report=("left out   timestamp, bleu: its name", "left out   notes: ")),
    "unbalanced quotation marks": Case(
        lines("response\tlabel", *(f'say "{number}\t{number % 3}' for number in range(30))),
        {"label": [[number % 3] for number in range(30)]}, name="t.tsv"),
    "short rows, as Excel writes them": Case(lines("context,response,fun,note", "Hi,Yo,1", "Ho,Ye,2", "Q,A,3,x"),
        {"fun": [[1], [2], [3]]}),
    "unusual names": Case(lines("left,right,ok",
        *(f"a long question number {n},a longer reply to question {n},{n % 2}" for n in range(4))), {"ok": [[0], [1],
        [0], [1]]}, {"response": "right", "context": "left"}, ("no column has a usual name",)),
    "names stated by the user": Case(lines("x,y,z,w", "Hi,Yo,1,9", "Ho,Ye,2,8", "Q,A,3,7"), {"z": [[1], [2], [3]]},
        columns={"response": "y", "context": "x", "ignore": "w"}, roles={"response": "y"}),
    "ratings stated by the user, whose names suggest none": Case(
        lines("response,rank,age,fun", "Yo,1,2,9", "Ye,2,1,8", "Ya,3,3,7"),
        {"rank": [[1], [2], [3]], "age": [[2], [1], [3]]}, columns={"rating": "rank+age"}, report=("fun: not stated",)),
    "a judge beside raters": Case(
        lines("response,rater_1,rater_2,judge", "Yo,1,2,1.5", "Ye,2,2,2.5", "Ya,3,1,2.25"),
        {"rating": [[1, 2, 1.5], [2, 2, 2.5], [3, 1, 2.25]]}, report=("judge: if these are scores of a metric",)),
    "a semicolon within commas": Case(lines("context,response,fun", "Hi; you,Yo; me,1", "Ho; you,Ye; me,2"),
        {"fun": [[1], [2]]}),
    "JSON lines with chat messages": Case(lines(*(json.dumps({"messages": [{"role": "user", "content": "Hi"}],
        "response": "Yo" * n, "ratings": {"fun": n}}) for n in (1, 2, 3))), {"fun": [[1], [2], [3]]},
        {"context": "messages"}, name="t.jsonl"),
    "chats with a system prompt": Case(json.dumps([{"chat": [{"role": "system", "content": "Be kind."}, {"role": "user",
        "content": "Hi"}, {"role": "assistant", "content": "Yo"}], "fun": n} for n in (1, 2)]), {"fun": [[1], [2]]},
        report=("2 rows with a system prompt, which is left out", "item user: Hi | system: Yo"), name="t.json"),
    "responses that are chat messages": Case(json.dumps([{"prompt": {"role": "user", "content": "Hi"}, "fun": 1,
        "response": {"role": "assistant", "content": "Yo"}}, {"prompt": "Ho", "response": {"text": "Ye"}, "fun": 2}]),
        {"fun": [[1], [2]]}, report=("first item user: Hi | system: Yo",), name="t.json"),
    "whole dialogues with speakers in front": Case(
        json.dumps([{"conversation": f"User: Hi\nBot: Yo {n}\nUser: Tea?", "score": n} for n in (1, 2, 3)]),
        {"score": [[1], [2], [3]]}, {"dialogue": "conversation"}, name="t.json"),
    "votes in a list": Case(json.dumps([{"reply": "Yo", "fun": [1, 2]}, {"reply": "Ye", "fun": [3, 3]}]),
        {"fun": [[1, 2], [3, 3]]}, name="t.json"),
    "a column of empty lists": Case(
        json.dumps([{"reply": f"Yo {n}", "fun": n, "tags": [], "notes": "[]"} for n in (1, 2)]), {"fun": [[1], [2]]},
        name="t.json"),
    "an object of columns": Case(json.dumps({"response": ["Yo", "Ye"], "fun": [1, 2]}), {"fun": [[1], [2]]},
        name="t.json"),
    "an export of Qualtrics": Case(lines("ResponseId,Q1,Q2", "Response ID,Model response,How helpful?",
        '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"', "R1,Yo,1", "R2,Ye,2",
        "R3,Ya,3"), {"How helpful?": [[1], [2], [3]]}, {"item": "Response ID", "response": "Model response"}),
    "stars and thumbs": Case(lines("reply,stars,up", "Yo,★★,👍", "Ye,★★★★☆,👎", "Ya,★,👍"),
        {"stars": [[2], [4], [1]], "up": [[1], [0], [1]]}),
    "a time in front of each turn": Case(
        lines("chat,fun", '"[10:01] User: Hi\n[10:02] Bot: Yo",1', '"10:03:10 User: Ho\n10:04:00 Bot: Ye",2'),
        {"fun": [[1], [2]]}, report=("first item user: Hi | system: Yo",)),
    "a rating called quality, and comments of one word": Case(
        lines("question,answer,quality,comments", "Hi,Yo,1,ok", "Ho,Ye,2,good", "Ha,Ya,3,ok", "Hu,Yu,1,ok"),
        {"quality": [[1], [2], [3], [1]]}, report=("left out   comments",)),
    "numbered columns beside a column of raters": Case(
        lines("id,response,worker_id,fun_1,fun_2", "1,Yo,ann,3,5", "1,Yo,bob,5,4", "2,Ye,cy,2,1"),
        {"fun_1": [[3, 5], [2]], "fun_2": [[5, 4], [1]]}, report=("3 raters", "--columns ignore=worker_id makes them")),
    "radio buttons of Mechanical Turk": Case(
        lines("HITId,MaxAssignments,WorkerId,Input.response,Input.context,Input.model,Answer.fun.1,Answer.fun.2,"
              "Answer.fun.3,Answer.comment", "309D6,3,A,Yo,Hi,m,false,true,false,I think so",
              "309D6,3,B,Yo,Hi,m,false,false,true,", "3H00,3,A,Ye,Ho,n,true,false,false,"),
        {"fun": [[2, 3], [1]]}, {"response": "Input.response", "context": "Input.context", "system": "Input.model"},
        ("2 items, 3 votes, 2 raters", "'Answer.fun' is the number of the chosen one")),
    "a number in the column of each choice": Case(
        lines("user\tid\treply\tfun:::scale_1\tfun:::scale_2", "ann\ti\tYo\t\t2", "bob\ti\tYo\t1\t", "ann\tj\tYe\t1\t"),
        {"fun:::scale": [[2, 1], [1]]}, {"annotator": "user"}, ("2 raters",), name="t.tsv"),
    "yes and no by numbered raters": Case(
        lines("reply,safe_1,safe_2", "Yo,true,false", "Ye,true,true", "Ya,false,false"),
        {"safe": [[1, 0], [1, 1], [0, 0]]}),
    "texts and references in nested objects": Case(json.dumps([{"inputs": {"question": "Hi"},
        "reference_outputs": {"answer": "Ya"}, "outputs": {"answer": f"Yo {n}"}, "ratings": {"knowledge": n,
        "model": 3 - n}} for n in (1, 2)]), {"knowledge": [[1], [2]], "model": [[2], [1]]},
        {"context": "inputs.question", "response": "outputs.answer", "reference": "reference_outputs.answer"},
        name="t.json"),
    "objects of a single rating": Case(lines("response,fun", '"Yo","[{""rating"": 4}]"', '"Ye","[{""rating"": 2}]"'),
        {"fun": [[4], [2]]}),
    "responses in JSON": Case(lines("response,fun", '"{""a"": 1}",1', "Ye,2"), {"fun": [[1], [2]]}),
    "messages in a column named user": Case(lines("user,reply,fun", "Hi,Yo,1", "Is it you?,Ye,2", "Hi,Ya,3"),
        {"fun": [[1], [2], [3]]}, {"context": "user"}),
    "columns of one value": Case(lines("reply,project,rater_1,rater_2", "Yo,7,5,3", "Ye,7,5,4"),
        {"rating": [[5, 3], [5, 4]]}, report=("left out   project: the same vote in every row",)),
    "codes that begin with a digit": Case(lines("reply,key,fun", "Yo,309D6X,4good", "Ye,4H1,2 - bad"),
        {"fun": [[4], [2]]}),
    "questions with words for measurements": Case(
        lines("response,Is the last turn natural?,Has it the right number of words?,What is your age?,turn",
        "Yo,1,2,30,1", "Ye,2,1,40,2"), {"Is the last turn natural?": [[1], [2]],
        "Has it the right number of words?": [[2], [1]]},
        report=("left out   What is your age?, turn: its name does not suggest a rating", "--columns rating=COLUMN")),
    "a question for the raters' ids": Case(
        lines("response,What is your Prolific ID?,Progress,fun", "Yo,5f0abc,100,1", "Yo,5f1abc,90,3", "Ye,5f0abc,80,2"),
        {"fun": [[1, 3], [2]]}, {"annotator": "What is your Prolific ID?"}, ("2 raters",)),
    "true and false": Case(lines(*(json.dumps({"reply": f"Yo {n}", "safe": bool(n % 2)}) for n in range(4))),
        {"safe": [[0], [1], [0], [1]]}, name="t.jsonl"),
    "true and false in reverse order": Case(json.dumps([{"reply": "Yo", "bad": True}, {"reply": "Ye", "bad": False}]),
        {"bad": [[0], [1]]}, scales=("true < false",), name="t.json"),
    "a reversed scale of numbers as pandas writes them": Case(lines("reply,bad", "Yo,5.0", "Ye,", "Ya,4.0"),
        {"bad": [[0], [], [1]]}, scales=("5 < 4 < 3 < 2 < 1",)),
}


def read(case: Case, folder: Path) -> Table:
    path = folder / case.name
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    return ratings.of_sheet(sheet.read(path), case.columns, tuple(map(parse_scale, case.scales)))


def votes(table: Table) -> dict[str, list[list[float]]]:
    ids = {item.id: [] for item in table.dataset.items}
    names = [quality.name for quality in table.dataset.card.qualities]
    by_quality: dict[str, dict[str, list[float]]] = {name: dict(ids) for name in names}
    for rating in table.dataset.ratings:
        by_quality[rating.quality][rating.item] = list(rating.votes)
    return {quality: list(by_item.values()) for quality, by_item in by_quality.items()}


def test_tables_are_read(tmp_path: Path) -> None:
    for name, case in CASES.items():
        table = read(case, tmp_path)
        assert votes(table) == case.votes, name
        assert case.roles.items() <= table.columns.roles.items(), name
        report = "\n".join(table.report)
        assert [part for part in case.report if part not in report] == [], name


def workbook(*rows: tuple[object, ...], title: str = "") -> openpyxl.Workbook:
    """Return a workbook with these rows, on a second sheet if it has a title."""
    book = openpyxl.Workbook()
    filled = book.create_sheet(title) if title else book.active
    for row in rows:
        filled.append(row)  # type: ignore[union-attr]
    return book


def test_files_in_other_formats_are_read(tmp_path: Path) -> None:
    book = workbook(("Study of tea",), ("context", "response", "Fun", "when"),
                    ("Hi", "Yo", 1, datetime.date(2026, 1, 2)), ("Ho", "Ye", 2), ("Q", "A", 3.0), title="ratings")
    book.worksheets[0].append(["Cover"])
    for name in ("t.xlsx", "t.csv"):
        book.save(tmp_path / name)
    columns = {"context": ["Hi", "Ho", "Q"], "response": ["Yo", "Ye", "A"], "Fun": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"context,response,Fun\nHi,Yo,1\nHo,Ye,2\nQ,A,3\n"))
    for path in tmp_path.iterdir():
        table = ratings.of_sheet(sheet.read(path), {})
        assert votes(table) == {"Fun": [[1], [2], [3]]}, path
        assert [item.context[0].text for item in table.dataset.items] == ["Hi", "Ho", "Q"], path


REFUSED = {
    "no ratings": (Case(lines("context,response", "Hi,Yo", "Ho,Ye")), ["context, response", "--columns rating"]),
    "no responses": (Case(lines("a,fun", "1,2", "2,1")), ["a, fun", "--columns response=COLUMN"]),
    "votes in nested objects": (Case(json.dumps([{"data": {"response": f"Yo {n}"}, "annotations": [{"id": n,
        "result": n}], "of": n} for n in (1, 2)]), name="t.json"), ["annotations", "objects (id, result)", "JSON-MIN",
        "--columns ignore=COLUMN"]),
    "votes in objects that are stated": (
        Case(json.dumps([{"reply": f"Yo {n}", "fun": [{"value": n, "user": "a"}]} for n in (1, 2)]),
        columns={"rating": "fun"}, name="t.json"), ["fun", "objects (user, value)", "a row per vote"]),
    "texts in objects": (Case(lines("outputs,fun", '"{""answer"": ""Yo""}",1', '"{""answer"": ""Ye""}",2')), ["outputs",
        "objects (answer)", "column of its own"]),
    "pairs of responses": (Case(json.dumps([{"model_a": "x", "anony": n, "conversation_a": [{"role": "user",
        "content": "Hi"}], "conversation_b": [{"role": "user", "content": "Hi"}]} for n in (1, 2)]), name="t.json"),
        ["conversation_a, conversation_b", "a row per response", "--columns response=COLUMN"]),
    "only constants": (Case(lines("response,project", "Yo,1", "Ye,1")), ["'project' holds the same vote in every row",
        "--columns rating=COLUMN"]),
    "labels without an order": (Case(lines("response,verdict", *["Yo,A", "Ye,B", "Y,N/A"] * 2)), ["verdict",
        "unknown order", '--scale "A < B"']),
    "two columns stated for a response": (Case(lines("a,b,fun", "Yo,Ye,1"), columns={"response": "a+b"}),
        ["one column"]),
    "a word among numbers": (Case(lines("response,fun", *(f"Yo {n},{n % 5}" for n in range(20)), "Ye,five")),
        ["line 22", "fun", "five", "--columns ignore=fun"]),
    "a stated rating of words": (Case(lines("response,verdict,fun", "Yo,fine,1", "Ye,lovely,2"),
        columns={"rating": "verdict"}), ["line 2", "verdict", "fine", "--scale"]),
    "an unquoted separator": (Case(lines("response,fun", "Yo,1", "Ye, you,2", "Ya,3")), ["line 3", "3 cells",
        "must be quoted"]),
    "one column": (Case(lines("response", "Yo", "Ye")), ["one column", "response"]),
    "an empty file": (Case("\n\n"), ["no rows"]),
    "an unknown column stated": (Case(lines("response,fun", "Yo,1"), columns={"response": "respnse"}), ["respnse",
        "response"]),
    "an unknown role stated": (Case(lines("response,fun", "Yo,1"), columns={"reponse": "response"}), ["reponse",
        "response"]),
    "a label missing in the stated scale": (Case(lines("response,safe", "Yo,Yes", "Ye,Unsure", "Ya,No"),
        scales=("no < yes",)), ["line 3", "safe", "'unsure' is not one of no < yes"]),
    "fractions that a spreadsheet has turned into dates": (
        Case(lines("response,fun", "Yo,4/5", "Ye,5-Apr", "Ya,05. Mai")), ["line 3", "'5-apr' is a date",
        "1 more record is"]),
    "a stated scale for no column": (Case(lines("response,fun", "Yo,4.5", "Ye,5"), scales=("5 < 4",)),
        ['--scale "5 < 4"']),
    "a stated rating without votes": (Case(lines("response,mine,overall", "Yo,,1", "Ye,,2", "Ya,,3"),
        columns={"rating": "mine"}), ["'mine'", "no votes"]),
    "an old workbook": (Case(b"\xd0\xcf\x11\xe0rest", name="t.xls"), [".xlsx"]),
    "not JSON": (Case("[{", name="t.json"), ["JSON"]),
    "columns of different lengths": (Case('{"response": ["Yo"], "fun": [1, 2]}', name="t.json"), ["different lengths"]),
    "empty columns": (Case('{"response": [], "fun": []}', name="t.json"), ["no rows"]),
    "binary": (Case(b"response,fun\nYo\0\0\0,1\n"), ["null bytes"]),
}


def test_errors_name_location_and_remedy(tmp_path: Path) -> None:
    for case, parts in REFUSED.values():
        with refused(BadRecord, case.name, *parts):
            read(case, tmp_path)


def test_two_hundred_columns_are_read(tmp_path: Path) -> None:
    header = ["context", "response", *(f"q{number}" for number in range(198))]
    rows = [["Hi", f"Yo {row}", *(str((row + number) % 5) for number in range(198))] for row in range(5)]
    table = read(Case(lines(*map(",".join, [header, *rows]))), tmp_path)
    assert len(table.dataset.card.qualities) == 198
    assert len(table.report) < 20
    assert any("and 174 more" in line for line in table.report)


def test_a_usual_name_of_an_unused_column_is_not_called_misspelt(tmp_path: Path) -> None:
    table = read(Case(lines("response,fun,quality", "Yo,1,fine one", "Ye,2,a good one")), tmp_path)
    assert table.columns.left_out == {"quality": "text without a role"}


def test_a_workbook_with_wrong_dimensions_is_read_completely(tmp_path: Path) -> None:
    book = workbook(("context", "response", "fun"), *(("Hi", f"Yo {n}", n) for n in range(5)))
    book.save(tmp_path / "right.xlsx")
    for dimension in (b"A1:C4", b"A1"):
        with zipfile.ZipFile(tmp_path / "right.xlsx") as right, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as wrong:
            for name in right.namelist():
                wrong.writestr(name, right.read(name).replace(b'ref="A1:C6"', b'ref="%b"' % dimension))
        assert votes(ratings.of_sheet(sheet.read(tmp_path / "t.xlsx"), {})) == {"fun": [[0], [1], [2], [3], [4]]}


def test_a_stray_cell_and_merge_far_away_are_not_filled_in(tmp_path: Path) -> None:
    book = workbook(("response", "fun"), ("Yo", 1), ("Ye", 2))
    book.worksheets[0].cell(900_000, 16_000).number_format = "0.00"
    book.save(tmp_path / "right.xlsx")
    with zipfile.ZipFile(tmp_path / "right.xlsx") as right, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as wide:
        for name in right.namelist():
            wide.writestr(name, right.read(name).replace(
                b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="F1:XFD1048576"/></mergeCells>'))
    assert votes(ratings.of_sheet(sheet.read(tmp_path / "t.xlsx"), {})) == {"fun": [[1], [2]]}


def test_merged_cells_of_a_workbook_count_in_each_row(tmp_path: Path) -> None:
    book = workbook(("context", "response", "fun", None, "note"), (None, None, "Anna", "Ben"), ("Hi", "Yo", 1, 2, "x"),
                    (None, "Ya", 3, 4), (None,) * 5, ("Ho", "Ye", 5, 1, "y"))
    for cells in ("A1:A2", "B1:B2", "C1:D1", "E1:E2", "A3:A5", "E3:E4"):
        book.worksheets[0].merge_cells(cells)
    book.save(tmp_path / "t.xlsx")
    table = ratings.of_sheet(sheet.read(tmp_path / "t.xlsx"), {})
    assert votes(table) == {"fun": [[1, 2], [3, 4], [5, 1]]}
    assert [item.context[0].text for item in table.dataset.items] == ["Hi", "Hi", "Ho"]
    assert table.columns.roles == {"context": "context", "response": "response"}


def test_zero_is_a_name_of_raters_and_systems(tmp_path: Path) -> None:
    rows = [{"id": n, "reply": f"Yo {n}", "model": n, "rater": rater, "fun": n} for n in (0, 1) for rater in (0, 1)]
    dataset = read(Case(json.dumps(rows), name="t.json"), tmp_path).dataset
    assert [item.system for item in dataset.items] == ["0", "1"]
    assert {rating.raters for rating in dataset.ratings} == {("r1", "r2")}


def test_raters_are_pseudonyms(tmp_path: Path) -> None:
    table = read(CASES["one vote in a row, by quality and rater"], tmp_path)
    assert {name for rating in table.dataset.ratings for name in rating.raters} == {"r1", "r2"}
    table = read(CASES["a column for each rater"], tmp_path)
    assert table.dataset.ratings[1].raters == ("r1", "r3")
    assert "anna" not in repr(table.dataset)


def test_references_of_several_rows_are_joined(tmp_path: Path) -> None:
    dataset = read(CASES["references in several rows"], tmp_path).dataset
    assert [[reference.text for reference in item.references] for item in dataset.items] == [["Ya", "Yu"], ["Ho"]]


TURNS: list[tuple[object, list[tuple[str, str]]]] = [
    ("Hi\nYo\nTea?", [(USER, "Hi"), (SYSTEM, "Yo"), (USER, "Tea?")]),
    ("Hi\u2028there\r\nYo\x85you\rTea?", [(USER, "Hi\u2028there"), (SYSTEM, "Yo\x85you"), (USER, "Tea?")]),
    ("User: Hi\nthere\nAssistant: Yo", [(USER, "Hi\nthere"), (SYSTEM, "Yo")]),
    ('[{"role": "assistant", "content": "Yo"}]', [(SYSTEM, "Yo")]),
    ([{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}], [(USER, "Hi"), (SYSTEM, "Yo")]),
    (["Hi", "Yo"], [(SYSTEM, "Hi"), (USER, "Yo")]), (None, []), ("", []),
    ([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], [(USER, "Hi")]),
    ([{"role": "user", "content": "- a\n  - b\n"}], [(USER, "- a\n  - b")]),
    ([{"role": "developer", "content": "Be"}, {"role": "user", "content": "Hi"}], [(PROMPT, "Be"), (USER, "Hi")]),
    ([{"from": "system", "value": "Be"}, {"from": "gpt", "value": "Yo"}], [(PROMPT, "Be"), (SYSTEM, "Yo")]),
    ([{"role": "user", "content": "Hi"}, {"role": "system", "content": "Yo"}], [(USER, "Hi"), (SYSTEM, "Yo")]),
    ("System: Be\nUser: Hi\nBot: Yo", [(PROMPT, "Be"), (USER, "Hi"), (SYSTEM, "Yo")]),
    ("System: Yo\nUser: Hi", [(SYSTEM, "Yo"), (USER, "Hi")]),
]


def test_turns_of_a_context_have_speakers_and_texts() -> None:
    for cell, expected in TURNS:
        assert [(turn.speaker, turn.text) for turn in turns(cell)] == expected, cell


def test_a_response_keeps_its_line_breaks_and_spaces(tmp_path: Path) -> None:
    for content, response in (('reply,fun\n"Yes:\n\n  x = ""\\n""",1\n', 'Yes:\n\n  x = "\\n"'),
                              ("reply,fun\na\\nb  c,1\n", "a\nb  c"),
                              ('reply,fun\n"Say:\r\nA: tea\r\nB: milk",1\n', "Say:\nA: tea\nB: milk")):
        (item,) = read(Case(content), tmp_path).dataset.items
        assert item.response is not None
        assert item.response.text == response


def test_ids_and_votes_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows = ["Hi,Yo,a,1", "Hi,Yo,b,2", "Ho,Yo,a,3", "Hi,Yo,a,4"]
    table, sorted_table = (read(Case(lines("context,response,system,fun", *order)), tmp_path)
                           for order in (rows, rows[::-1]))
    assert any("1 row whose texts repeat" in line for line in table.report)
    first, second = ({rating.item.partition("#")[0] for rating in table.dataset.ratings if rating.votes == (2.0,)}
                     for table in (table, sorted_table))
    assert first == second != set()
    assert {item.id for item in table.dataset.items} == {item.id for item in sorted_table.dataset.items}


def test_raters_on_different_scales_are_reported(tmp_path: Path) -> None:
    def remarks(factor: int) -> list[str]:
        rows = [f"Yo {n},{1 + n % 5},{factor * (1 + n % 5)}" for n in range(10)]
        return [line for line in read(Case(lines("response,rater_anna,rater_ben", *rows)), tmp_path).report
                if "scales differ" in line]

    assert remarks(1) == remarks(2) == []
    (remark,) = remarks(20)
    assert [part for part in ("1 to 5", "20 to 100") if part not in remark] == []


def test_a_scale_needs_two_labels() -> None:
    for text in ("yes", "no <", "a < a", ""):
        with pytest.raises(ValueError):  # noqa: PT011  (the command line names the flag)
            parse_scale(text)
