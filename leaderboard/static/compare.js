/* The comparison of two columns on every dataset and quality of a question, with the tests of each target. */
"use strict";

const Compare = (() => {
  const WORDS = { williams: "Williams’ test", "perm-both": "PERM-BOTH" };
  const CAVEAT = "takes items as independent, and gives p-values that are too small where several share a context";
  const bytes = new Map();

  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function three(value) {
    return value === null ? "–" : value.toFixed(3).replace("-", "−").replace("−0.000", "0.000");
  }

  /* Return the result of a test of two rows, packed by leaderboard/model/numbers.py: 0 untested, 1 no, 2 first, 3 second. */
  function outcome(test, target, first, second) {
    if (!bytes.has(test)) bytes.set(test, Uint8Array.from(atob(Numbers.tests[test]), (sign) => sign.charCodeAt(0)));
    const [low, high] = [Math.min(first, second), Math.max(first, second)];
    const count = Numbers.columns.length;
    const pair = target * (count * (count - 1) / 2) + low * (2 * count - low - 1) / 2 + high - low - 1;
    const code = (bytes.get(test)[pair >> 2] >> (2 * (pair & 3))) & 3;
    return first < second || code < 2 ? code : 5 - code;
  }

  /* State on how many targets the first is above, by how much, and on how many a test confirms it. */
  function sentence(question, one, other) {
    const names = [one, other].map((row) => Numbers.columns[row][0]);
    const gaps = question.targets.map((target) => [Ranking.value("", one, target), Ranking.value("", other, target), target])
      .filter((gap) => gap[0] !== null && gap[1] !== null);
    if (!gaps.length) return "No quality has a value for both.";
    const mean = gaps.reduce((sum, [first, second]) => sum + first - second, 0) / gaps.length;
    if (mean < 0) return sentence(question, other, one);
    const tests = Object.keys(Numbers.tests).map((test) => {
      const outcomes = gaps.map(([, , target]) => outcome(test, target, one, other));
      const [won, lost] = [2, 3].map((code) => outcomes.filter((result) => result === code).length);
      return ` ${WORDS[test] ?? test} finds ${names[0]} better on ${won} and ${names[1]} on ${lost}${test === "williams" ? `; it ${CAVEAT}` : ""}.`;
    });
    return `${names[0]} is above ${names[1]} on ${gaps.filter(([first, second]) => first > second).length} of ${gaps.length}, `
      + `by ${three(mean)} on average.${tests.join("")}`;
  }

  function row(target, one, other) {
    const [dataset, quality, items] = Numbers.targets[target];
    const values = [one, other].map((column) => Ranking.value("", column, target));
    const gap = values.includes(null) ? null : values[0] - values[1];
    const words = ["not tested", "no", Numbers.columns[one][0], Numbers.columns[other][0]];
    return make("tr", {}, make("th", { scope: "row", className: "stub" }, Numbers.datasets[dataset]),
      make("td", { className: "words" }, quality), ...[String(items), ...values.map(three), three(gap)].map((text) => make("td", { className: "number" }, text)),
      ...Object.keys(Numbers.tests).map((test) => make("td", { className: "words" }, words[outcome(test, target, one, other)])));
  }

  /* The comparison of two rows: a sentence and a table. */
  function view(question, one, other) {
    const names = [one, other].map((column) => Numbers.columns[column][0]);
    const heads = [["stub", "Dataset"], ["words", "Quality"], ["number", "Items"], ["number", names[0]], ["number", names[1]], ["number", "Difference"],
      ...Object.keys(Numbers.tests).map((test) => ["words", `Better by ${WORDS[test] ?? test}`])];
    const table = make("table", {}, make("caption", {}, make("span", {}, `${names.join(" and ")}: ${question.title}`)),
      make("thead", {}, make("tr", {}, ...heads.map(([className, text]) => make("th", { scope: "col", className }, text)))),
      make("tbody", {}, ...question.targets.map((target) => row(target, one, other))));
    Tables.equip(table);
    return [make("p", {}, sentence(question, one, other)),
      make("div", { className: "scroll", role: "group", tabIndex: 0, ariaLabel: "Comparison" }, table)];
  }

  return { view, sentence, make, three };
})();
