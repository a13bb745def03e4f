/* The ranks of columns on a question: those of the run or, for another statistic or fewer datasets, computed here.

   The numbers are in numbers.js, described in leaderboard/model/numbers.py. A column that lacks a target of the question
   has no rank. The mean is over the targets of a dataset, then over the datasets (rule dev), or over all targets (rule
   test). */
"use strict";

const Ranking = (() => {
  const MILLION = 1e6;
  const SAME = 1e-9; // tolerance for sums in another order

  /* Return true if the numbers are those of the run: only then are there intervals and a tested lead. */
  function untouched(choice) {
    return !choice.stat && choice.without.size === 0;
  }

  function competes(row, target) {
    return !Numbers.fitted.some(([fitted, dataset]) => fitted === row && dataset === Numbers.targets[target][0]);
  }

  /* Return the correlation of a row on a target; "corrected" is the first statistic divided by the limit from rater noise. */
  function value(stat, row, target) {
    const name = stat === "corrected" || !stat ? Numbers.statistics[0] : stat;
    const shown = Numbers.values[name][row][target];
    if (shown === null) return null;
    const limit = Numbers.targets[target][3];
    if (stat === "corrected") return limit ? shown / MILLION / limit : null;
    return shown / MILLION;
  }

  function average(values) {
    return values.length && values.every((number) => number !== null) ? values.reduce((sum, number) => sum + number, 0) / values.length : null;
  }

  function mean(question, choice, row) {
    const targets = question.targets.filter((target) => !choice.without.has(Numbers.datasets[Numbers.targets[target][0]])
      && (choice.stat !== "corrected" || Numbers.targets[target][3]));
    const pairs = targets.map((target) => [Numbers.targets[target][0], competes(row, target) ? value(choice.stat, row, target) : null]);
    if (question.rule === "test") return average(pairs.map(([, number]) => number));
    const datasets = [...new Set(pairs.map(([dataset]) => dataset))];
    return average(datasets.map((dataset) => average(pairs.filter(([name]) => name === dataset).map(([, number]) => number))));
  }

  /* Return for every row its rank, low, high, value and half its interval, or null. */
  function places(question, choice) {
    if (untouched(choice)) return question.places;
    const means = Numbers.columns.map((_, row) => mean(question, choice, row));
    return means.map((average) => (average === null ? null
      : [1 + means.filter((other) => other !== null && other > average + SAME).length, null, null, average, 0]));
  }

  function allowed(choice, row) {
    const [, , , , , fitted, parameters] = Numbers.columns[row];
    return (choice.ratings || !fitted) && (!choice.models || (parameters !== null && parameters <= Number(choice.models) * MILLION));
  }

  /* Return the allowed rows, best first: the best of each metric and the first of equal ones. */
  function best(question, choice) {
    const ranked = places(question, choice);
    const [metrics, taken] = [new Set(), new Set()];
    return [...ranked.keys()].filter((row) => ranked[row] !== null && allowed(choice, row))
      .sort((first, second) => ranked[first][0] - ranked[second][0] || first - second)
      .filter((row) => {
        const [, , metric, , , , , , equals] = Numbers.columns[row];
        if (metrics.has(metric) || equals.some((other) => taken.has(other))) return false;
        metrics.add(metric);
        taken.add(row);
        return true;
      });
  }

  return { untouched, places, best, value, allowed };
})();
