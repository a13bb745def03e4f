/* The boards of a page, ranked anew as the reader chooses.

   Data: <script type="application/json" id="numbers">, whose parts leaderboard/numbers.py names.
   Tables: <table data-board=NAME>; headings have data-key (rank, metric, dev, test, letters, cost, needs, family) or
   data-targets (the targets that they are the mean of); the name of a row has data-metric and data-column.
   Address: the keys behind the # are in address.js. */
"use strict";

const Boards = (() => {
  const { make } = Controls;
  const STEPS = [0.05, 0.15, 0.3, 0.45, 0.6];
  const UNRANKED = "Not ranked: a value is missing";

  function shade(value) {
    const step = STEPS.filter((edge) => Math.abs(value) >= edge).length;
    return step ? `${value > 0 ? "p" : "n"}${step}` : "z";
  }

  function three(value) {
    return value.toFixed(3).replace("-", "−").replace("−0.000", "0.000");
  }

  /* The best and the second best as shown. */
  function leaders(values) {
    return [...new Set(values.filter((value) => value !== null).map(three))]
      .sort((one, other) => Number(other.replace("−", "-")) - Number(one.replace("−", "-"))).slice(0, 2);
  }

  function shown(cell, value, lead, small = "", sign = "") {
    const text = value === null ? "–" : three(value);
    const tag = !sign && text === lead[0] ? "strong" : !sign && text === lead[1] ? "u" : "";
    cell.replaceChildren(value !== null && tag ? make(tag, {}, text) : text + sign, ...(small ? [make("small", {}, small)] : []));
  }

  /* A board's table as found: its rows, and which row of the numbers each is. */
  function open(table, numbers) {
    const place = new Map(numbers.columns.map((column, row) => [`${column.metric}\n${column.column}`, row]));
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.querySelectorAll("tbody tr")].filter((row) => row.querySelector("[data-metric]")).map((row) => {
      const name = row.querySelector("[data-metric]");
      return { row, name, place: place.get(`${name.dataset.metric}\n${name.dataset.column}`) };
    }).filter((line) => line.place !== undefined);
    const caption = table.caption.firstElementChild;
    return { table, heads, rows, board: numbers.boards[table.dataset.board], caption, title: caption.textContent };
  }

  function column(heads, key) {
    return heads.findIndex((head) => head.dataset.key === key);
  }

  /* Fill rank, averages and letters of each row. */
  function fillAverages(view, ranked, numbers, choice) {
    const { heads, board } = view;
    const same = Ranking.untouched(numbers, { ...choice, rule: "" }, board);
    const intervals = same ? board.ranks[ranked.rule] : undefined;
    const lead = Object.fromEntries(["dev", "test"].map((rule) => [rule, leaders(ranked.rows.map((row) => row[rule]))]));
    view.rows.forEach(({ row, place }, at) => {
      const [rank, interval] = [ranked.ranks[ranked.rule][at], intervals?.[place]];
      const cell = row.cells[column(heads, "rank")];
      cell.replaceChildren(rank === null ? "" : String(rank), ...(interval ? [make("small", {}, `${interval[0]}–${interval[1]}`)] : []));
      for (const rule of ["dev", "test"].filter((name) => column(heads, name) >= 0)) {
        const other = rule !== ranked.rule && ranked.ranks[rule][at] !== null ? `rank ${ranked.ranks[rule][at]}` : "";
        const covers = ranked.rows[at][rule] === null ? `${ranked.rows[at].covered} of ${ranked.targets.length} ${ranked.targets.length === 1 ? "target" : "targets"}` : other;
        shown(row.cells[column(heads, rule)], ranked.rows[at][rule], lead[rule], covers);
      }
      if (column(heads, "letters") >= 0) row.cells[column(heads, "letters")].textContent = interval?.[2] ?? "";
    });
  }

  /* Fill the columns of the datasets, and hide those that nothing is left of. */
  function fillDatasets(view, numbers, choice) {
    view.heads.forEach((head, at) => {
      if (!head.dataset.targets) return;
      const targets = head.dataset.targets.split(" ").map(Number).filter((target) => Ranking.weight(numbers, choice, target) > 0);
      head.hidden = !targets.length;
      const stands = ({ place }) => (targets.some((target) => Ranking.fitted(numbers, place, target)) ? " †" : "");
      const values = view.rows.map((line) => Ranking.within(numbers, choice, line.place, targets));
      const lead = leaders(values.filter((_, row) => !stands(view.rows[row])));
      view.rows.forEach((line, row) => {
        const cell = line.row.cells[at];
        cell.hidden = head.hidden;
        cell.className = values[row] === null ? "number" : `number ${shade(values[row])}`;
        cell.title = values[row] === null ? line.first[at].title : "";
        shown(cell, values[row], lead, "", values[row] === null ? "" : stands(line));
      });
    });
  }

  /* Mark what is not above the length control. */
  function fillSigns(view, ranked, numbers) {
    const at = view.rows.findIndex(({ place }) => numbers.columns[place].metric === "length");
    const bar = at < 0 ? null : ranked.rows[at][ranked.rule];
    view.rows.forEach(({ name }, row) => {
      const value = ranked.rows[row][ranked.rule];
      name.querySelector(".sign")?.remove();
      if (bar === null || value === null || row === at || value > bar) return;
      const words = "not above the length control";
      const sign = make("span", { className: "sign", role: "img", title: words, ariaLabel: words }, "▽");
      name.insertBefore(sign, name.querySelector("small, sup"));
    });
  }

  /* Remember the cells as they came, before they are changed for the first time. */
  function keep(view) {
    for (const line of view.rows) line.first ??= [...line.row.cells].map((cell) => cell.cloneNode(true));
  }

  function restore(view) {
    for (const head of view.heads) head.hidden = false;
    for (const { row, first } of view.rows) row.replaceChildren(...first.map((cell) => cell.cloneNode(true)));
    for (const line of view.rows) line.name = line.row.querySelector("[data-metric]");
  }

  /* Ranked rows first, by rank; below them, under a title of their own, those that lack a value. */
  function arrange(view, ranked) {
    const lines = view.rows.map((line, at) => ({ ...line, rank: ranked.ranks[ranked.rule][at], covered: ranked.rows[at].covered }));
    const [first] = view.table.tBodies;
    const rest = lines.filter((line) => line.rank === null).sort((one, other) => other.covered - one.covered);
    for (const body of [...view.table.tBodies].slice(1)) body.remove();
    const title = make("tr", { className: "group" }, make("th", { scope: "rowgroup", colSpan: view.heads.length }, make("span", {}, UNRANKED)));
    first.replaceChildren(...lines.filter((line) => line.rank !== null).sort((one, other) => one.rank - other.rank).map(({ row }) => row));
    if (rest.length) view.table.append(make("tbody", {}, title, ...rest.map(({ row }) => row)));
  }

  function filter(view, numbers, choice) {
    const find = choice.find.toLowerCase();
    let count = 0;
    for (const line of view.rows) {
      const { row, place } = line;
      const { family, needs } = numbers.columns[place];
      if (find) line.words ??= row.textContent.toLowerCase();
      row.hidden = (find !== "" && !line.words.includes(find)) || (choice.family.size > 0 && !choice.family.has(family))
        || needs.some((need) => choice.without.has(need));
      count += !row.hidden;
    }
    return count;
  }

  function order(view, choice) {
    const [board, at, direction] = choice.sort.split(".");
    const own = board === view.table.dataset.board && view.heads[Number(at)];
    if (own) Tables.sort(view.table, Number(at), direction === "descending" ? direction : "ascending");
    else for (const head of view.heads) head.removeAttribute("aria-sort");
  }

  /* Draw one board as chosen; how many of its rows are shown. */
  function draw(view, numbers, choice) {
    const ranked = Ranking.rank(numbers, view.board, choice, view.rows.map(({ place }) => place));
    const stat = choice.stat || numbers.statistics[0];
    const untouched = Ranking.untouched(numbers, choice, view.board);
    if (untouched && view.touched) restore(view);
    view.touched = !untouched;
    if (view.touched) {
      keep(view);
      fillAverages(view, ranked, numbers, choice);
      fillDatasets(view, numbers, choice);
      fillSigns(view, ranked, numbers);
    }
    view.caption.textContent = stat === numbers.statistics[0] ? view.title
      : view.title.replace(/: [^:]*$/, `: ${Controls.title(stat)}`);
    if (view.touched || view.moved) arrange(view, ranked);
    view.moved = view.touched || Boolean(choice.sort);
    order(view, choice);
    return filter(view, numbers, choice);
  }

  return { open, draw };
})();

document.addEventListener("DOMContentLoaded", () => {
  const { make } = Controls;
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const views = [...document.querySelectorAll("table[data-board]")].map((table) => Boards.open(table, numbers));
  if (!views.length) return;
  const panel = make("div");
  const count = make("p", { className: "count", role: "status" });
  const compared = make("div", { className: "compared" });
  const fold = make("details", { className: "controls", open: matchMedia("(min-width: 40rem)").matches || location.hash.includes("=") },
    make("summary", {}, "Filter, weigh and compare"), panel, count, compared);
  views[0].table.closest("section").before(make("section", { className: "boxed", ariaLabel: "Controls" }, fold));
  for (const folded of document.querySelectorAll("section:has(table[data-board]) details.folded")) folded.hidden = true;

  /* What the address chooses; a statistic or a rule that there is not is as good as none. */
  function chosen() {
    const found = Address.read();
    const among = (names, name) => (names.includes(name) ? name : "");
    return { ...found, stat: among(numbers.statistics, found.stat), rule: among(["dev", "test"], found.rule) };
  }

  let choice = chosen();

  function change(part, typing = false) {
    choice = part === null ? { ...chosen(), stat: "", rule: "", level: "", find: "", sort: "", one: "", other: "",
      family: new Set(), without: new Set(), datasets: new Map(), qualities: new Map() } : { ...choice, ...part };
    Address.write(choice, typing);
    draw(typing);
  }

  /* The panel is made anew but while the reader types in it; which menus are open, and the focus, are kept. */
  function repanel() {
    const open = [...panel.querySelectorAll("details")].map((menu) => menu.open);
    const fields = "input, select, button, summary";
    const focus = [...panel.querySelectorAll(fields)].indexOf(document.activeElement);
    panel.replaceChildren(Controls.panel(numbers, choice, change));
    panel.querySelectorAll("details").forEach((menu, at) => { menu.open = open[at] ?? false; });
    panel.querySelectorAll(fields)[focus]?.focus();
  }

  function draw(typing = false) {
    if (!typing) repanel();
    const counts = views.map((view) => Boards.draw(view, numbers, choice));
    count.textContent = counts.map((shown, at) => `${views[at].title.replace(/: [^:]*$/, "")}: ${shown} of ${views[at].rows.length} rows`).join(" · ");
    compared.replaceChildren(...Compare.view(numbers, choice));
  }

  for (const view of views) {
    Tables.equip(view.table, (column, direction) => change({ sort: `${view.table.dataset.board}.${column}.${direction}` }));
  }
  window.addEventListener("hashchange", () => {
    choice = chosen();
    draw(document.activeElement?.type === "search");
  });
  draw();
});
