/* Averages and ranks of a board by the rules of the challenge (harness/run/rank.py), with weights. No page in here.

   The weight of a target is that of its dataset times that of its quality; 0 leaves it out.
     dev    mean over the targets of a dataset, then over the datasets
     test   mean over all targets
   A row that lacks a target has no average and no rank. */
"use strict";

const Ranking = (() => {
  const MILLION = 1e6;
  const SAME = 1e-9; // sums in another order are not another value

  function weight(numbers, choice, target) {
    const [dataset, , dimension] = numbers.targets[target];
    const { name, level } = numbers.datasets[dataset];
    if (choice.level && choice.level !== level) return 0;
    return (choice.datasets.get(name) ?? 1) * (choice.qualities.get(dimension) ?? 1);
  }

  /* What is shown of a target, and what counts: nothing where weights were fitted on its ratings. */
  function value(numbers, stat, row, target) {
    const millionths = numbers.values[stat][row][target];
    return millionths === null ? null : millionths / MILLION;
  }

  function fitted(numbers, row, target) {
    return numbers.fitted.some(([one, dataset]) => one === row && dataset === numbers.targets[target][0]);
  }

  function average(pairs) {
    let sum = 0;
    let whole = 0;
    for (const [value, weighed] of pairs) {
      if (value === null) return null;
      sum += value * weighed;
      whole += weighed;
    }
    return whole > 0 ? sum / whole : null;
  }

  /* The mean over some targets, by the weights of their qualities alone: what a column of a dataset shows. */
  function within(numbers, choice, row, targets) {
    const stat = choice.stat || numbers.statistics[0];
    return average(targets.map((target) => [value(numbers, stat, row, target),
      choice.qualities.get(numbers.targets[target][2]) ?? 1]));
  }

  function averages(numbers, choice, row, targets) {
    const competes = (target) => (fitted(numbers, row, target) ? null
      : value(numbers, choice.stat || numbers.statistics[0], row, target));
    const means = [...Map.groupBy(targets, (target) => numbers.targets[target][0])].map(([dataset, own]) => [
      average(own.map((target) => [competes(target), choice.qualities.get(numbers.targets[target][2]) ?? 1])),
      choice.datasets.get(numbers.datasets[dataset].name) ?? 1]);
    return {
      dev: average(means),
      test: average(targets.map((target) => [competes(target), weight(numbers, choice, target)])),
      covered: targets.filter((target) => competes(target) !== null).length,
    };
  }

  /* The rank of each value, equal ones sharing the better; null where there is none. */
  function ranks(values) {
    return values.map((own) => (own === null ? null
      : 1 + values.filter((other) => other !== null && other > own + SAME).length));
  }

  /* A board under a choice: the targets that count, and for each of the rows its averages and ranks by both rules. */
  function rank(numbers, board, choice, rows) {
    const targets = board.targets.filter((target) => weight(numbers, choice, target) > 0);
    const lines = rows.map((row) => averages(numbers, choice, row, targets));
    const rule = choice.rule || board.rule;
    return {
      targets, rule, rows: lines,
      ranks: { dev: ranks(lines.map((row) => row.dev)), test: ranks(lines.map((row) => row.test)) },
    };
  }

  /* Whether a choice leaves the numbers as the report has them. */
  function untouched(numbers, choice, board) {
    const other = (weights) => [...weights.values()].some((one) => one !== 1);
    return (!choice.stat || choice.stat === numbers.statistics[0]) && !choice.level
      && !other(choice.datasets) && !other(choice.qualities) && (!choice.rule || choice.rule === board.rule);
  }

  return { rank, within, weight, value, fitted, untouched };
})();
