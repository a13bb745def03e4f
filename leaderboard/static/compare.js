/* Two columns side by side: every quality of every dataset, the difference, and whether Williams' test calls it real. */
"use strict";

const Compare = (() => {
  const { make } = Controls;
  const VERDICTS = ["not tested", "no", "first", "second"];
  const bytes = new Map();

  /* The verdict on a pair of rows, as leaderboard/verdicts.py packs them; null where the statistic was not tested. */
  function verdict(numbers, stat, cell, one, other) {
    const packed = numbers.verdicts[stat];
    if (packed === undefined) return null;
    if (!bytes.has(stat)) bytes.set(stat, Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)));
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    const count = numbers.columns.length;
    const pair = cell * (count * (count - 1) / 2) + low * (2 * count - low - 1) / 2 + high - low - 1;
    const found = (bytes.get(stat)[pair >> 2] >> (2 * (pair & 3))) & 3;
    return one < other || found < 2 ? found : 5 - found;
  }

  function three(value) {
    return value === null ? "–" : value.toFixed(3).replace("-", "−").replace("−0.000", "0.000");
  }

  function line(numbers, stat, cell, one, other) {
    const [dataset, quality, , items, people] = numbers.cells[cell];
    const values = [one, other].map((row) => Ranking.value(numbers, stat, row, cell));
    const gap = values.includes(null) ? null : values[0] - values[1];
    return { dataset: numbers.datasets[dataset].name, quality, items, people, values, gap,
      verdict: verdict(numbers, stat, cell, one, other) };
  }

  function told(lines, names, stat) {
    const both = lines.filter((one) => one.gap !== null);
    const higher = both.filter((one) => one.gap > 0).length;
    const sure = [2, 3].map((code) => both.filter((one) => one.verdict === code).length);
    const mean = both.reduce((sum, one) => sum + one.gap, 0) / both.length;
    if (!both.length) return "No quality has a value for both.";
    const tested = both.some((one) => one.verdict !== null)
      ? ` Williams' test, adjusted by Holm, has ${names[0]} above on ${sure[0]} and ${names[1]} on ${sure[1]}.`
      : ` The report has no test of differences for ${stat}.`;
    return `${names[0]} is above ${names[1]} on ${higher} of ${both.length} qualities, by ${three(mean)} on average.${tested}`;
  }

  function row(one, names) {
    const shade = one.gap === null ? "z" : `${one.gap > 0 ? "p" : "n"}${[0.02, 0.05, 0.1, 0.2, 0.3].filter((edge) => Math.abs(one.gap) >= edge).length}`;
    const word = one.verdict === null ? "–" : one.verdict > 1 ? `yes: ${names[one.verdict - 2]}` : VERDICTS[one.verdict];
    const cells = [["number", one.items], ["number", three(one.values[0])], ["number", three(one.values[1])],
      [`number ${shade}`, three(one.gap)], ["text", word], ["number", three(one.people)]];
    return make("tr", {}, make("th", { scope: "row", className: "stub" }, one.dataset), make("td", { className: "text" }, one.quality),
      ...cells.map(([className, text]) => make("td", { className }, String(text))));
  }

  function table(numbers, stat, cells, one, other, data) {
    const names = [one, other].map((place) => numbers.columns[place].label);
    const lines = cells.map((cell) => line(numbers, stat, cell, one, other));
    const heads = [["stub", "Dataset"], ["text", "Quality"], ["number", "Items"], ["number", names[0]], ["number", names[1]],
      ["number", "Difference"], ["text", "Real?"], ["number", "People"]];
    const made = make("table", {},
      make("caption", {}, make("span", {}, `${Controls.title(stat)}: ${names.join(" and ")}`), make("span", { className: "data" }, `Data: ${data}`)),
      make("thead", {}, make("tr", {}, ...heads.map(([className, text]) => make("th", { scope: "col", className }, text)))),
      make("tbody", {}, ...lines.map((each) => row(each, names))));
    Tables.equip(made);
    return [make("p", {}, told(lines, names, stat)), make("div", { className: "scroll tall", role: "group", tabIndex: 0, ariaLabel: "Comparison" }, made)];
  }

  /* What is to be seen of a choice: nothing until two different columns are chosen. Real and sample stay apart. */
  function view(numbers, choice) {
    const place = (label) => numbers.columns.findIndex((column) => column.label === label);
    const [one, other] = [place(choice.one), place(choice.other)];
    if (one < 0 || other < 0 || one === other) return [];
    const stat = choice.stat || numbers.statistics[0];
    const cells = numbers.cells.map((_, cell) => cell).filter((cell) => Ranking.weight(numbers, choice, cell) > 0);
    const words = { real: "real human judgements", sample: "the bundled sample (simulated raters)" };
    return Object.entries(words).flatMap(([origin, data]) => {
      const own = cells.filter((cell) => numbers.datasets[numbers.cells[cell][0]].origin === origin);
      return own.length ? table(numbers, stat, own, one, other, data) : [];
    });
  }

  return { view, verdict };
})();
