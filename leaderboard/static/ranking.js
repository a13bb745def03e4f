/* The ranks of columns on a question: those of the run or, for another statistic or fewer datasets, computed here.

   The numbers are in numbers.js, described in leaderboard/model/numbers.py. A column without a value on some target of
   the question has no rank. The mean is over the targets of a dataset, then over the datasets (rule dev), or over all
   targets (rule test). Columns and targets are indices into Numbers. */
"use strict";

const Ranking = (() => {
  const TOLERANCE = 1e-9; // for sums in a different order

  /* Return true if the numbers are those of the run; only these have intervals and a tested lead. */
  function ofRun(choice) {
    return !choice.stat && choice.without.size === 0;
  }

  function isFitted(column, target) {
    return Numbers.fitted.some(([fitted, dataset]) => fitted === column && dataset === Numbers.targets[target].dataset);
  }

  /* Return the correlation of a column on a target; "corrected" is the first statistic divided by the limit. */
  function value(stat, column, target) {
    const name = stat === "corrected" || !stat ? Numbers.statistics[0] : stat;
    const correlation = Numbers.values[name][column][target];
    const { limit } = Numbers.targets[target];
    if (correlation === null || stat !== "corrected") return correlation;
    return limit ? correlation / limit : null;
  }

  function average(values) {
    if (!values.length || values.includes(null)) return null;
    return values.reduce((sum, number) => sum + number, 0) / values.length;
  }

  const datasetOf = (target) => Numbers.targets[target].dataset;

  /* Return the targets of a question in the chosen datasets; for corrected values, those with a limit. */
  function targets(question, choice) {
    return question.targets.filter((target) => !choice.without.has(Numbers.datasets[datasetOf(target)])
      && (choice.stat !== "corrected" || Numbers.targets[target].limit));
  }

  /* Return the mean of a value over targets, by the rule of the question; null if one is missing or there are none. */
  function mean(question, over, valueOf) {
    if (question.rule === "test") return average(over.map(valueOf));
    const datasets = [...new Set(over.map(datasetOf))];
    return average(datasets.map((dataset) => (
      average(over.filter((target) => datasetOf(target) === dataset).map(valueOf)))));
  }

  /* Return [rank, low, high, value, half-width of its interval] or null for every column. */
  function ranks(question, choice) {
    if (ofRun(choice)) return question.ranks;
    const over = targets(question, choice);
    const means = Numbers.columns.map((_, column) => mean(question, over, (target) => (
      isFitted(column, target) ? null : value(choice.stat, column, target))));
    const rank = (score) => 1 + means.filter((other) => other !== null && other > score + TOLERANCE).length;
    return means.map((score) => (score === null ? null : [rank(score), null, null, score, 0]));
  }

  function isAllowed(choice, column) {
    const { fitted, parameters } = Numbers.columns[column];
    const small = !choice.models || (parameters !== null && parameters <= Number(choice.models) * 1e6);
    return small && (choice.ratings || !fitted);
  }

  /* Return the best allowed column of each metric, best first; of columns with identical scores, only the first. */
  function best(question, choice) {
    const ranked = ranks(question, choice);
    const metrics = new Set();
    const kept = new Set();
    return [...ranked.keys()].filter((column) => ranked[column] !== null && isAllowed(choice, column))
      .sort((first, second) => ranked[first][0] - ranked[second][0] || first - second)
      .filter((column) => {
        const { metric, equals } = Numbers.columns[column];
        if (metrics.has(metric) || equals.some((other) => kept.has(other))) return false;
        metrics.add(metric);
        kept.add(column);
        return true;
      });
  }

  return { ofRun, targets, mean, ranks, best, value, isAllowed };
})();
