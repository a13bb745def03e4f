/* Averages and ranks of a board by the rules of the challenge (harness/challenge.py), with weights. No page in here.

   The weight of a cell is that of its dataset times that of its quality; 0 leaves it out.
     dev    mean over the cells of a dataset, then over the datasets
     test   mean over all cells
   A row that lacks a cell has no average and no rank. */
"use strict";

const Ranking = (() => {
  const MILLION = 1e6;
  const SAME = 1e-9; // sums in another order are not another value

  function weight(numbers, choice, cell) {
    const [dataset, , dimension] = numbers.cells[cell];
    const { name, level } = numbers.datasets[dataset];
    if (choice.level && choice.level !== level) return 0;
    return (choice.datasets.get(name) ?? 1) * (choice.qualities.get(dimension) ?? 1);
  }

  /* What is shown of a cell, and what counts: nothing where weights were learned on its ratings. */
  function value(numbers, stat, row, cell) {
    const found = numbers.values[stat][row][cell];
    return found === null ? null : found / MILLION;
  }

  function learned(numbers, row, cell) {
    return numbers.learned.some(([one, dataset]) => one === row && dataset === numbers.cells[cell][0]);
  }

  function average(pairs) {
    let sum = 0;
    let whole = 0;
    for (const [found, weighed] of pairs) {
      if (found === null) return null;
      sum += found * weighed;
      whole += weighed;
    }
    return whole > 0 ? sum / whole : null;
  }

  /* The mean over some cells, by the weights of their qualities alone: what a column of a dataset shows. */
  function within(numbers, choice, row, cells) {
    const stat = choice.stat || numbers.statistics[0];
    return average(cells.map((cell) => [value(numbers, stat, row, cell),
      choice.qualities.get(numbers.cells[cell][2]) ?? 1]));
  }

  function averages(numbers, choice, row, cells) {
    const competes = (cell) => (learned(numbers, row, cell) ? null
      : value(numbers, choice.stat || numbers.statistics[0], row, cell));
    const means = [...Map.groupBy(cells, (cell) => numbers.cells[cell][0])].map(([dataset, own]) => [
      average(own.map((cell) => [competes(cell), choice.qualities.get(numbers.cells[cell][2]) ?? 1])),
      choice.datasets.get(numbers.datasets[dataset].name) ?? 1]);
    return {
      dev: average(means),
      test: average(cells.map((cell) => [competes(cell), weight(numbers, choice, cell)])),
      covered: cells.filter((cell) => competes(cell) !== null).length,
    };
  }

  /* The rank of each value, equal ones sharing the better; null where there is none. */
  function ranks(values) {
    return values.map((own) => (own === null ? null
      : 1 + values.filter((other) => other !== null && other > own + SAME).length));
  }

  /* A board under a choice: the cells that count, and for each of the rows its averages and ranks by both rules. */
  function rank(numbers, board, choice, rows) {
    const cells = board.cells.filter((cell) => weight(numbers, choice, cell) > 0);
    const found = rows.map((row) => averages(numbers, choice, row, cells));
    const rule = choice.rule || board.rule;
    return {
      cells, rule, rows: found,
      ranks: { dev: ranks(found.map((row) => row.dev)), test: ranks(found.map((row) => row.test)) },
    };
  }

  /* Whether a choice leaves the numbers as the report has them. */
  function untouched(numbers, choice, board) {
    const other = (weights) => [...weights.values()].some((one) => one !== 1);
    return (!choice.stat || choice.stat === numbers.statistics[0]) && !choice.level
      && !other(choice.datasets) && !other(choice.qualities) && (!choice.rule || choice.rule === board.rule);
  }

  return { rank, within, weight, value, learned, untouched };
})();
