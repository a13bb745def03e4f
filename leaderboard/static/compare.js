/* Two columns side by side: every quality of every dataset, the difference, and whether Williams' test calls it real. */
"use strict";

const Compare = (() => {
  const { make } = Controls;
  const OUTCOMES = ["not tested", "no", "first", "second"];
  const bytes = new Map();

  /* How a pair of rows compares, as leaderboard/model/pairs.py packs them; null where the statistic was not tested. */
  function outcome(numbers, stat, target, one, other) {
    const packed = numbers.comparisons[stat];
    if (packed === undefined) return null;
    if (!bytes.has(stat)) bytes.set(stat, Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)));
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    const count = numbers.columns.length;
    const pair = target * (count * (count - 1) / 2) + low * (2 * count - low - 1) / 2 + high - low - 1;
    const code = (bytes.get(stat)[pair >> 2] >> (2 * (pair & 3))) & 3;
    return one < other || code < 2 ? code : 5 - code;
  }

  function three(value) {
    return value === null ? "–" : value.toFixed(3).replace("-", "−").replace("−0.000", "0.000");
  }

  function line(numbers, stat, target, one, other) {
    const [dataset, quality, , items, people] = numbers.targets[target];
    const values = [one, other].map((row) => Ranking.value(numbers, stat, row, target));
    const gap = values.includes(null) ? null : values[0] - values[1];
    return { dataset: numbers.datasets[dataset].name, quality, items, people, values, gap,
      outcome: outcome(numbers, stat, target, one, other) };
  }

  function summary(lines, names, stat) {
    const both = lines.filter((one) => one.gap !== null);
    const higher = both.filter((one) => one.gap > 0).length;
    const sure = [2, 3].map((code) => both.filter((one) => one.outcome === code).length);
    const mean = both.reduce((sum, one) => sum + one.gap, 0) / both.length;
    if (!both.length) return "No quality has a value for both.";
    const tested = both.some((one) => one.outcome !== null)
      ? ` Williams' test, adjusted by Holm, has ${names[0]} above on ${sure[0]} and ${names[1]} on ${sure[1]}.`
      : ` The report has no test of differences for ${stat}.`;
    return `${names[0]} is above ${names[1]} on ${higher} of ${both.length} qualities, by ${three(mean)} on average.${tested}`;
  }

  function row(one, names) {
    const shade = one.gap === null ? "z" : `${one.gap > 0 ? "p" : "n"}${[0.02, 0.05, 0.1, 0.2, 0.3].filter((edge) => Math.abs(one.gap) >= edge).length}`;
    const word = one.outcome === null ? "–" : one.outcome > 1 ? `yes: ${names[one.outcome - 2]}` : OUTCOMES[one.outcome];
    const tds = [["number", one.items], ["number", three(one.values[0])], ["number", three(one.values[1])],
      [`number ${shade}`, three(one.gap)], ["text", word], ["number", three(one.people)]];
    return make("tr", {}, make("th", { scope: "row", className: "stub" }, one.dataset), make("td", { className: "text" }, one.quality),
      ...tds.map(([className, text]) => make("td", { className }, String(text))));
  }

  function table(numbers, stat, targets, one, other, data) {
    const names = [one, other].map((place) => numbers.columns[place].label);
    const lines = targets.map((target) => line(numbers, stat, target, one, other));
    const heads = [["stub", "Dataset"], ["text", "Quality"], ["number", "Items"], ["number", names[0]], ["number", names[1]],
      ["number", "Difference"], ["text", "Real?"], ["number", "People"]];
    const made = make("table", {},
      make("caption", {}, make("span", {}, `${Controls.title(stat)}: ${names.join(" and ")}`), make("span", { className: "data" }, `Data: ${data}`)),
      make("thead", {}, make("tr", {}, ...heads.map(([className, text]) => make("th", { scope: "col", className }, text)))),
      make("tbody", {}, ...lines.map((each) => row(each, names))));
    Tables.equip(made);
    return [make("p", {}, summary(lines, names, stat)), make("div", { className: "scroll tall", role: "group", tabIndex: 0, ariaLabel: "Comparison" }, made)];
  }

  /* The comparison of a choice: nothing until two different columns are chosen. Real and sample stay separate. */
  function view(numbers, choice) {
    const place = (label) => numbers.columns.findIndex((column) => column.label === label);
    const [one, other] = [place(choice.one), place(choice.other)];
    if (one < 0 || other < 0 || one === other) return [];
    const stat = choice.stat || numbers.statistics[0];
    const targets = numbers.targets.map((_, target) => target).filter((target) => Ranking.weight(numbers, choice, target) > 0);
    const words = { real: "real human judgements", sample: "the bundled sample (simulated raters)" };
    return Object.entries(words).flatMap(([origin, data]) => {
      const own = targets.filter((target) => numbers.datasets[numbers.targets[target][0]].origin === origin);
      return own.length ? table(numbers, stat, own, one, other, data) : [];
    });
  }

  return { view, outcome };
})();
