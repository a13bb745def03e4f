/* The comparison of two columns on every target of a question, with its tests. */
"use strict";

const Compare = (() => {
  const TESTS = { williams: "Williams’ test", "perm-both": "PERM-BOTH" };
  const [NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE] = [0, 1, 2, 3]; // as in leaderboard/model/numbers.py

  const testName = (test) => TESTS[test] ?? test;

  /* Format a number with a true minus sign, but none before zero. */
  function fixed(value, decimals) {
    return value.toFixed(decimals).replace(/^-(?=0\.0*$)/, "").replace("-", "−");
  }

  const three = (value) => (value === null ? "–" : fixed(value, 3));

  /* Return the result of a test of two columns on a target. */
  function outcome(test, target, first, second) {
    const [low, high] = [Math.min(first, second), Math.max(first, second)];
    const pair = low * (2 * Numbers.columns.length - low - 1) / 2 + high - low - 1;
    const code = Number(Numbers.tests[test][target][pair] ?? NOT_TESTED);
    if (first < second || code < BETTER) return code;
    return code === BETTER ? WORSE : BETTER;
  }

  /* The tests are those of Spearman's correlation, whichever statistic is chosen. */
  const targetsOf = (question, choice) => Ranking.targets(question, { ...choice, stat: "" });

  /* State on how many targets the better column is above the other, by how much, and what each test finds. */
  function sentence(question, choice, first, second) {
    const gap = (target) => Ranking.value("", first, target) - Ranking.value("", second, target);
    const both = targetsOf(question, choice)
      .filter((target) => ![first, second].some((column) => Ranking.value("", column, target) === null));
    if (!both.length) return "No quality has values for both.";
    const mean = Ranking.mean(question, both, gap);
    if (mean < 0) return sentence(question, choice, second, first);
    const [firstName, secondName] = [first, second].map((column) => Numbers.columns[column].label);
    const tests = Object.keys(Numbers.tests).map((test) => {
      const outcomes = both.map((target) => outcome(test, target, first, second));
      const [won, lost] = [BETTER, WORSE].map((code) => outcomes.filter((result) => result === code).length);
      return ` ${testName(test)} finds ${firstName} better on ${won} and ${secondName} on ${lost}.`;
    });
    const above = both.filter((target) => gap(target) > 0).length;
    return `By Spearman, ${firstName} is above ${secondName} on ${above} of ${both.length}, `
      + `by ${three(mean)} on average.${tests.join("")}`;
  }

  function row(target, first, second) {
    const { dataset, quality, items } = Numbers.targets[target];
    const values = [first, second].map((column) => Ranking.value("", column, target));
    const gap = values.includes(null) ? null : values[0] - values[1];
    const words = { [NOT_TESTED]: "not tested", [NO_DIFFERENCE]: "no",
      [BETTER]: Numbers.columns[first].label, [WORSE]: Numbers.columns[second].label };
    const cell = (className) => (text) => make("td", { className }, text);
    return make("tr", {}, make("th", { scope: "row", className: "stub" }, Numbers.datasets[dataset]),
      cell("words")(quality), ...[String(items), ...values.map(three), three(gap)].map(cell("number")),
      ...Object.keys(Numbers.tests).map((test) => cell("words")(words[outcome(test, target, first, second)])));
  }

  /* Return the comparison of two columns on the chosen datasets: a sentence and a table. */
  function view(question, choice, first, second) {
    const names = [first, second].map((column) => Numbers.columns[column].label);
    const headings = [["stub", "Dataset"], ["words", "Quality"], ["number", "Items"], ["number", names[0]],
      ["number", names[1]], ["number", "Difference"],
      ...Object.keys(Numbers.tests).map((test) => ["words", `Better by ${testName(test)}`])];
    const table = make("table", {},
      make("caption", {}, make("div", {}, make("span", {}, `${names.join(" and ")}, Spearman: ${question.title}`))),
      make("thead", {}, make("tr", {},
        ...headings.map(([className, text]) => make("th", { scope: "col", className }, text)))),
      make("tbody", {}, ...targetsOf(question, choice).map((target) => row(target, first, second))));
    Tables.equip(table);
    return [make("p", {}, sentence(question, choice, first, second)),
      make("div", { className: "scroll", role: "group", tabIndex: 0, ariaLabel: "Comparison" }, table)];
  }

  return { view, sentence, fixed, three };
})();
