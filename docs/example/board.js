/* The interactive front page: the answer, the plot, the board, details of a row, and the comparison of two columns.

   Address, behind the #:  q=BOARD  ratings=1  models=MILLIONS  stat=NAME  without=DATASET (several)  find=TEXT
                           sort=COLUMN.ascending | descending  open=LABEL  one=LABEL  other=LABEL  y=PIXELS
   A fragment without "=" is an anchor in the page and selects nothing. Elsewhere, columns are indices into Numbers.
*/
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { fixed, three } = Compare;
  const table = document.querySelector("table.ranked");
  if (!table) return;
  const form = document.querySelector("form.ask");
  const headings = [...table.tHead.rows[0].cells];
  const [body] = table.tBodies;
  const lines = [...table.querySelectorAll("tbody [data-row]")]
    .map((cell) => ({ row: cell.parentElement, column: Number(cell.dataset.row) }));
  const cellOf = Object.assign(Object.create(null), // the index of a cell in its row, by the key of its heading
    Object.fromEntries(headings.map((heading, position) => [heading.dataset.key, position])));
  const { initial, columns } = Numbers;
  const DEFAULTS = { q: initial, ratings: "", models: "", stat: "", without: new Set(), find: "", sort: "", open: "",
    one: "", other: "" };

  /* The choice, and its address */

  function readAddress() {
    const hash = location.hash.slice(1);
    const parameters = new URLSearchParams(hash.includes("=") ? hash : "");
    const text = (name) => parameters.get(name) ?? "";
    const known = (name, values) => (values.includes(text(name)) ? text(name) : "");
    return {
      q: known("q", Numbers.questions.map((question) => question.board)) || initial,
      ratings: known("ratings", ["1"]), models: known("models", Numbers.sizes.map(([key]) => key)),
      stat: known("stat", [...Numbers.statistics.slice(1), "corrected"]),
      without: new Set(parameters.getAll("without").filter((name) => Numbers.datasets.includes(name))),
      find: text("find"), sort: text("sort"), open: text("open"), one: text("one"), other: text("other"),
      y: Number(text("y")) || 0,
    };
  }

  function address(choice) {
    const parameters = new URLSearchParams();
    for (const key of ["q", "ratings", "models", "stat", "find", "sort", "open", "one", "other"]) {
      if (choice[key] !== DEFAULTS[key]) parameters.set(key, choice[key]);
    }
    for (const name of choice.without) parameters.append("without", name);
    return parameters.toString();
  }

  let choice = readAddress();

  function change(part, typing = false) {
    choice = { ...choice, ...part };
    const hash = `#${address(choice) || "q="}`;
    if (hash !== (location.hash || "#q=")) history[typing ? "replaceState" : "pushState"](null, "", hash);
    draw();
  }

  const chosenQuestion = () => Numbers.questions.find((question) => question.board === choice.q);
  const link = (column) => make("a", { href: columns[column].path, title: columns[column].name }, columns[column].label);
  const capitalised = (name) =>
    (name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[-_]/g, " ")).replace("Roc auc", "ROC-AUC");

  /* State how many qualities of the question are averaged, if not all. */
  function coverage() {
    const [over, all] = [Ranking.targets(chosenQuestion(), choice).length, chosenQuestion().targets.length];
    return over < all ? `, over ${over} of ${all} qualities` : "";
  }

  const statistic = () => (choice.stat === "corrected" ? `Spearman, corrected for rater noise${coverage()}`
    : capitalised(choice.stat || Numbers.statistics[0]));

  /* Change the text of an element only if it differs, so that screen readers do not repeat it. */
  function write(element, text, content = text) {
    if (element.textContent !== text) element.replaceChildren(content);
  }

  /* The answer */

  function drawSentence(question, shown, ranks) {
    const box = document.getElementById("sentence");
    const answer = Ranking.ofRun(choice) ? question.answers[`${Number(choice.ratings)}${choice.models}`] : null;
    const best = answer ? answer.column : shown[0];
    const [, , size] = Numbers.sizes.find(([key]) => key === choice.models);
    const limits = [choice.ratings ? "" : "without fitting on ratings", size].filter(Boolean).join(", ")
      || "with no restrictions";
    const control = best !== undefined && columns[best].control;
    const positive = best === undefined || ranks[best][3] > 0;
    const untestedVerdict = positive ? control && "no metric with values on all targets beats" : "no metric with values on all targets agrees with people; the best is";
    const verdict = answer ? answer.verdict : untestedVerdict;
    const untested = best === undefined ? ""
      : `For this selection${coverage()}, there are no intervals and the lead is not tested.`;
    const name = box.querySelector(".best");
    if (!box.querySelector(".about")) name.after(" ", make("span", { className: "about" }));
    write(box.querySelector(".asked"), `For ${question.subject}, ${limits}:${verdict ? ` ${verdict}` : ""}`);
    const complete = ranks.includes(null) ? " with values on all targets" : "";
    const missing = ranks.some(Boolean) ? `no metric${complete} meets these restrictions`
      : "every metric has a missing value";
    const none = Ranking.targets(question, choice).length ? missing : "no dataset is left";
    if (best === undefined) write(name, none);
    else write(name, columns[best].label, link(best));
    write(box.querySelector(".about"), answer && answer.about ? `(${answer.about})` : "");
    write(box.querySelector(".evidence"), answer ? answer.evidence : untested);
    write(box.querySelector(".people"), Ranking.ofRun(choice) ? question.people : "");
  }

  /* The plot */

  const BANDS = { length: "length of the reply", random: "random numbers", rater: "one rater against the others",
    limit: "limit from rater noise" };
  const ROWS = 10;

  function svg(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /* Draw the best metrics as dots with intervals, over bands for controls and raters. Names and values are text beside
     an SVG that is stretched to the available width; its rows are as high as the lines of text. A dot is a stroke of
     zero length. */
  function drawPicture(question, shown, ranks) {
    const first = shown.slice(0, ROWS);
    const valueOf = (column) => fixed(ranks[column][3], 2);
    const marks = Object.keys(BANDS).filter((kind) => Ranking.ofRun(choice) && question.marks[kind]);
    const described = first.map((column) => `${columns[column].label} ${valueOf(column)}`).join("; ");
    const intervals = Ranking.ofRun(choice) ? " with 95 % intervals" : "";
    const text = `${statistic()}${intervals}: ${described}`;
    const ends = [...first.map((column) => ranks[column].slice(3)), ...marks.map((kind) => question.marks[kind])];
    const start = ends.some(([value, half]) => value - half < -0.1) ? -0.5 : -0.1;
    const across = (value) => Math.round(1000 * (Math.min(Math.max(value, start), 1) - start) / (1 - start));
    const ticks = [-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1].filter((tick) => tick >= start);
    const band = (kind) => {
      const [value, half] = question.marks[kind];
      const [low, high] = [across(value - half), across(value + half)];
      return svg("path", { class: kind, d: `M${low} 0H${high}V${10 * first.length}H${low}z` });
    };
    const dot = (column, line) => {
      const [, , , value, half] = ranks[column];
      const y = 10 * line + 5;
      return [svg("path", { class: "span", d: `M${across(value - half)} ${y}H${across(value + half)}` }),
        svg("path", { class: "dot", d: `M${across(value)} ${y}h0` })];
    };
    const name = (column) => make("li", { title: columns[column].name },
      make("a", { href: columns[column].path }, columns[column].label));
    const figure = document.querySelector("figure.dots");
    figure.classList.toggle("wide", start === -0.5);
    figure.replaceChildren(
      make("ol", { className: "names" }, ...first.map(name)),
      svg("svg", { class: "dots-plot", viewBox: `0 0 1000 ${10 * first.length}`, preserveAspectRatio: "none", role: "img",
        "aria-label": text }, ...marks.map(band), ...first.flatMap(dot)),
      make("ol", { className: "values", ariaHidden: "true" },
        ...first.map((column) => make("li", {}, valueOf(column)))),
      make("div", { className: "ticks", ariaHidden: "true" },
        ...ticks.map((tick) => make("span", {}, String(tick).replace("-", "−")))),
      make("figcaption", {}, make("span", {}, `The best${intervals && `,${intervals}`}.`),
        ...marks.map((kind) => make("span", { className: `key ${kind}` }, BANDS[kind]))));
  }

  /* The board */

  const STEPS = [0.05, 0.15, 0.3, 0.45, 0.6];

  function shade(value) {
    const step = STEPS.filter((edge) => Math.abs(value) >= edge).length;
    return step ? `${value > 0 ? "p" : "n"}${step}` : "z";
  }

  /* Return the two highest values above 0, distinct when rounded, as strings. */
  function leaders(values) {
    const above = values.filter((value) => value >= 0.0005).sort((first, second) => second - first);
    return [...new Set(above.map(three))].slice(0, 2);
  }

  function fill(cell, value, [best, second], small) {
    const text = three(value);
    const tag = { [second]: "u", [best]: "strong" }[text];
    cell.replaceChildren(value !== null && tag ? make(tag, {}, text) : text);
    if (small) cell.append(make("small", {}, small));
  }

  function fillRank(cell, ranked) {
    cell.replaceChildren();
    if (!ranked) return;
    const [rank, low, high] = ranked;
    const unknown = Ranking.ofRun(choice) ? "" : "not available";
    cell.append(String(rank), make("small", {}, low === null ? unknown : `${low}–${high}`));
  }

  /* Update the rank, the score and the means on the qualities in every row. */
  function drawNumbers(question, ranks) {
    const valueOf = (ranked) => ranked && ranked[3];
    const best = leaders(ranks.map(valueOf));
    const control = valueOf(ranks[columns.findIndex((column) => column.metric === "length")] ?? null);
    for (const { row, column } of lines) {
      const ranked = ranks[column];
      fillRank(row.cells[cellOf.rank], ranked);
      fill(row.cells[cellOf.score], valueOf(ranked), best, ranked && ranked[4] ? `± ${ranked[4].toFixed(2)}` : "");
      const name = row.cells[cellOf.metric];
      name.querySelector(".sign")?.remove();
      if (ranked && control !== null && ranked[3] <= control && columns[column].metric !== "length") {
        const title = "no better than counting words";
        name.querySelector("a, small")?.after(
          make("span", { className: "sign", role: "img", title, ariaLabel: title }, "▽"));
      }
    }
    for (const quality of Numbers.questions.filter(({ board }) => cellOf[board] !== undefined)) {
      const means = Ranking.ranks(quality, choice).map(valueOf);
      const leading = leaders(means);
      const count = new Set(Ranking.targets(quality, choice).map((target) => Numbers.targets[target].dataset)).size;
      headings[cellOf[quality.board]].querySelector("small").textContent = `${count} dataset${count === 1 ? "" : "s"}`;
      for (const { row, column } of lines) {
        const cell = row.cells[cellOf[quality.board]];
        fill(cell, means[column], leading, "");
        cell.className = means[column] === null ? "number" : `number ${shade(means[column])}`;
      }
    }
  }

  /* Show and sort the rows, open the details of the selected one, and state the question in the caption. */
  function arrange(question, shown) {
    for (const drawer of table.querySelectorAll(".drawer")) drawer.remove();
    for (const group of [...table.tBodies].slice(1)) group.remove();
    const order = new Map(shown.map((column, position) => [column, position]));
    const find = choice.find.toLowerCase();
    lines.sort((first, second) => (order.get(first.column) ?? 1e6) - (order.get(second.column) ?? 1e6));
    for (const { row, column } of lines) {
      const { label, name, path, metric, badge, family } = columns[column];
      const matches = [label, name, path, metric, badge, family].join(" ").toLowerCase().includes(find);
      row.hidden = find ? !matches || !Ranking.isAllowed(choice, column) : !order.has(column);
      row.querySelector(".more").setAttribute("aria-expanded", String(choice.open === label));
    }
    body.replaceChildren(...lines.map(({ row }) => row));
    const [key, direction] = choice.sort.split(/\.(?=[a-z]+$)/);
    for (const heading of headings) heading.removeAttribute("aria-sort");
    if (cellOf[key] !== undefined) {
      Tables.sort(table, cellOf[key], direction === "ascending" ? direction : "descending");
    }
    const allowed = lines.filter(({ column }) => Ranking.isAllowed(choice, column));
    const found = allowed.filter(({ row }) => !row.hidden);
    write(controls.count, find ? `${found.length} of ${allowed.length} rows` : "");
    const opened = lines.find(({ column, row }) => choice.open === columns[column].label && !row.hidden);
    if (opened) opened.row.after(details(question, shown, opened.column));
    table.caption.querySelector("span").textContent = `${statistic()}, with human ratings: ${question.title}`;
    const hidden = !choice.ratings
      && Ranking.ranks(question, choice).some((ranked, column) => ranked && columns[column].fitted);
    table.caption.querySelector(".data").textContent =
      `Ranks count all columns${hidden ? ", including those fitted on ratings, which are hidden" : ""}`;
  }

  /* Details of a row */

  function details(question, shown, column) {
    const place = shown.indexOf(column); // -1 for a column that only a search shows
    const next = shown[place + 1];
    const last = place >= 0 ? "this is the last column" : "";
    const ranks = Ranking.ranks(question, choice);
    const oneQuality = question.board.includes(":");
    const values = question.targets.map((target) => {
      const { dataset, quality } = Numbers.targets[target];
      const name = `${Numbers.datasets[dataset]}${oneQuality ? "" : ` ${quality}`}`;
      return `${name} ${three(Ranking.value(choice.stat, column, target))}`;
    });
    const others = columns.map(({ label, metric }, other) => [label, metric, other])
      .filter(([, metric, other]) => other !== column && metric === columns[column].metric)
      .map(([label, , other]) => `${label} ${three(ranks[other] && ranks[other][3])}`);
    const terms = [
      ["Against the next", place < 0 || next === undefined ? last : Compare.sentence(question, choice, column, next)],
      ["On each dataset", values.join(" · ")], ["Its other columns", others.join(" · ")],
      ["To run it", `harness run --metric "${columns[column].metric}"`]];
    const list = make("dl", {}, ...terms.filter(([, text]) => text)
      .map(([term, text]) => make("div", {}, make("dt", {}, term), make("dd", {}, text))));
    if (Numbers.worst) addWorstReply(columns[column].metric, list);
    const page = make("a", { href: columns[column].path },
      "Page of this metric: differences from its paper, largest errors, influence of length");
    return make("tr", { className: "drawer" }, make("td", { colSpan: headings.length }, make("div", {}, list, page)));
  }

  /* Add the reply with a metric's largest error; worst.js is loaded when the first row is opened. */
  let worstLoaded = null;

  function addWorstReply(metric, list) {
    worstLoaded ??= new Promise((loaded) => {
      const script = make("script", { src: Numbers.worst });
      script.addEventListener("load", loaded);
      document.head.append(script);
    });
    worstLoaded.then(() => {
      if (!Object.hasOwn(Worst, metric)) return;
      const { dataset, people, position, turns } = Worst[metric];
      const reply = turns.map((text, turn) => make(turn < turns.length - 1 ? "p" : "blockquote", {}, text));
      list.append(make("div", {},
        make("dt", {}, `The reply scored furthest too ${position > people ? "high" : "low"}`),
        make("dd", {}, ...reply, make("small", {}, `${dataset}; position among all its replies, from 0 (lowest) to 1 `
          + `(highest): people ${people.toFixed(2)}, metric ${position.toFixed(2)}`))));
    });
  }

  /* True as long as neither the address nor a control has selected anything, so that the page is still as served. */
  let asServed = true;

  function draw() {
    const question = chosenQuestion();
    const shown = Ranking.best(question, choice);
    const ranks = Ranking.ranks(question, choice);
    asServed = asServed && !address(choice);
    drawPicture(question, shown, ranks);
    if (!asServed) {
      drawSentence(question, shown, ranks);
      drawNumbers(question, ranks);
    }
    const focused = document.activeElement;
    arrange(question, shown);
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    controls.sync();
    const [first, second] = [choice.one, choice.other].map((name) => columns.findIndex(({ label }) => label === name));
    const both = first >= 0 && second >= 0 && first !== second;
    const sorted = compared.querySelector("[aria-sort]");
    compared.replaceChildren(...(both ? Compare.view(question, choice, first, second) : []));
    if (both && sorted) Tables.sort(compared.querySelector("table"), sorted.cellIndex, sorted.getAttribute("aria-sort"));
  }

  /* Controls */

  /* Return a labelled list of options for a part of the choice, and a function that updates it to the current choice. */
  function select(text, key, options, className = "field") {
    const list = make("select", { name: key, autocomplete: "off" },
      ...options.map(([value, words]) => make("option", { value }, words)));
    list.addEventListener("change", () => change({ [key]: list.value }));
    return [make("label", { className }, make("span", {}, text), " ", list), () => { list.value = choice[key]; }];
  }

  function button(text, pressed) {
    const element = make("button", { type: "button" }, text);
    element.addEventListener("click", () => pressed(element));
    return element;
  }

  function datasetBox(name) {
    const box = make("input", { type: "checkbox", autocomplete: "off" });
    box.addEventListener("change", () => {
      const without = new Set(choice.without);
      if (box.checked) without.delete(name);
      else without.add(name);
      change({ without });
    });
    return [make("label", { className: "choice" }, box, make("span", {}, name)),
      () => { box.checked = !choice.without.has(name); }];
  }

  function copyLink(element) {
    const link = `${location.href.split("#")[0]}#${address(choice) || "q="}&y=${Math.round(scrollY)}`;
    history.replaceState(null, "", link);
    navigator.clipboard?.writeText(link).catch(() => {});
    element.textContent = "Link is in the address bar";
  }

  /* Fill the form with the choices of the question, and make the controls above the board. */
  function makeControls() {
    const labels = [["", "–"], ...columns.map(({ label }) => [label, label])];
    const statistics = Numbers.statistics.map((name, position) => [position ? name : "", capitalised(name)]);
    const questions = [
      select("Quality", "q", Numbers.questions.map(({ board, title }) => [board, title]), ""),
      select("Fitted on ratings", "ratings", [["", "no"], ["1", "allowed"]], ""),
      select("Models", "models", Numbers.sizes, "")];
    const score = select("Score", "stat",
      [statistics[0], ["corrected", "corrected for rater noise"], ...statistics.slice(1)]);
    const pair = [select("Compare", "one", labels), select("with", "other", labels)];
    const boxes = Numbers.datasets.map(datasetBox);
    const find = make("input", { type: "search", placeholder: "metric, family", autocomplete: "off" });
    find.addEventListener("input", () => change({ find: find.value }, true));
    form.replaceChildren(...questions.map(([label]) => label));
    const count = make("span", { className: "count", role: "status" });
    const panel = make("div", { className: "panel", role: "group", ariaLabel: "Board" }, score[0],
      make("label", { className: "field" }, make("span", {}, "Find"), find),
      make("details", { className: "menu" }, make("summary", {}, "Datasets"), make("fieldset", {},
        make("legend", { className: "unseen" }, "Datasets"), ...boxes.map(([label]) => label))),
      ...pair.map(([label]) => label), button("Copy link", copyLink), button("Reset", () => change(DEFAULTS)), count);
    function sync(typed = true) {
      for (const [, show] of [...questions, score, ...pair, ...boxes]) show();
      if (!typed || find !== document.activeElement) find.value = choice.find;
    }
    return { panel, count, sync };
  }

  for (const { row, column } of lines) {
    const { label } = columns[column];
    const more = make("button", { type: "button", className: "more", ariaLabel: `More about ${label}` });
    more.addEventListener("click", () => change({ open: choice.open === label ? "" : label }));
    row.cells[cellOf.metric].prepend(more);
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  Tables.equip(table, (column, direction) => change({ sort: `${headings[column].dataset.key}.${direction}` }));
  const controls = makeControls();
  const compared = make("div", { className: "compared" });
  table.closest(".scroll").before(controls.panel, compared);
  for (const event of ["popstate", "hashchange"]) {
    addEventListener(event, () => {
      if (location.hash && !location.hash.includes("=")) return; // an anchor keeps the choice
      choice = readAddress();
      draw();
      controls.sync(false);
    });
  }
  draw();
  if (choice.y) scrollTo(0, choice.y);
});
