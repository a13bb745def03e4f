/* The interactive front page: the answer, the picture, the board, details of a row, two columns compared.

   Address, behind the #:  q=BOARD  ratings=1  models=MILLIONS  stat=NAME  without=DATASET (several)  find=TEXT
                           sort=COLUMN.ascending | descending  open=ROW  one=LABEL  other=LABEL  y=PIXELS
   A fragment without "=" is an anchor in the page and selects nothing. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { make, three } = Compare;
  const table = document.querySelector("table.ranked");
  if (!table) return;
  const heads = [...table.tHead.rows[0].cells];
  const [body] = table.tBodies;
  const lines = [...table.querySelectorAll("tbody tr")].filter((row) => row.querySelector("[data-row]"))
    .map((row) => ({ row, place: Number(row.querySelector("[data-row]").dataset.row) }));
  const at = Object.assign(Object.create(null), Object.fromEntries(heads.map((head, place) => [head.dataset.key, place])));
  const form = document.querySelector("form.ask");
  const { initial } = Numbers;
  const STEPS = [0.05, 0.15, 0.3, 0.45, 0.6];

  function read() {
    const hash = location.hash.slice(1);
    const parameters = new URLSearchParams(hash.includes("=") ? hash : "");
    const among = (name, known) => (known.includes(parameters.get(name)) ? parameters.get(name) : "");
    return {
      q: among("q", Numbers.questions.map((question) => question.board)) || initial,
      ratings: among("ratings", ["1"]), models: among("models", Numbers.sizes.map(([key]) => key)),
      stat: among("stat", [...Numbers.statistics.slice(1), "corrected"]),
      without: new Set(parameters.getAll("without").filter((name) => Numbers.datasets.includes(name))),
      find: parameters.get("find") ?? "", sort: parameters.get("sort") ?? "", open: parameters.get("open") ?? "",
      one: parameters.get("one") ?? "", other: parameters.get("other") ?? "", y: Number(parameters.get("y")) || 0,
    };
  }

  function written(choice) {
    const parameters = new URLSearchParams();
    if (choice.q !== initial) parameters.set("q", choice.q);
    for (const key of ["ratings", "models", "stat", "find", "sort", "open", "one", "other"]) if (choice[key]) parameters.set(key, choice[key]);
    for (const name of choice.without) parameters.append("without", name);
    return parameters.toString();
  }

  let choice = read();

  function change(part, typing = false) {
    choice = { ...choice, ...part };
    const hash = `#${written(choice) || "q="}`;
    if (hash !== (location.hash || "#q=")) history[typing ? "replaceState" : "pushState"](null, "", hash);
    draw();
  }

  const asked = () => Numbers.questions.find((question) => question.board === choice.q);
  const label = (row) => Numbers.columns[row][0];
  const link = (row) => make("a", { href: Numbers.columns[row][1] }, label(row));

  function sentence(question, shown) {
    const box = document.getElementById("sentence");
    const answer = Ranking.untouched(choice) ? question.answers[`${Number(choice.ratings)}${choice.models}`] : null;
    const [, , size] = Numbers.sizes.find(([key]) => key === choice.models);
    const limits = [choice.ratings ? "" : "without ratings", size].filter(Boolean).join(", ");
    const quality = question.title.replace(/^overall/, "overall quality");
    const best = answer ? answer[0] : shown[0];
    const beaten = best !== undefined && Numbers.columns[best][7] ? " no metric beats" : "";
    box.querySelector(".asked").textContent = `For ${quality}, ${limits || "with no restrictions"}:${beaten}`;
    box.querySelector(".best").replaceChildren(best === undefined ? "every metric has a missing value" : link(best));
    const about = box.querySelector(".about") ?? box.querySelector(".best").parentElement.appendChild(make("span", { className: "about" }));
    about.textContent = answer && answer[1] ? ` (${answer[1]})` : "";
    box.querySelector(".evidence").textContent = answer ? answer[2] : best === undefined ? ""
      : "For this selection intervals are not available and no lead is tested.";
    box.querySelector(".people").textContent = question.people;
  }

  /* Shorten a name: models without "encoder=" or "lm=", and only the end of long options, where columns differ. */
  function shortened(label) {
    const name = label.replace(/([[,])(encoder|lm)=/g, "$1");
    const [metric, ...options] = name.split("[");
    const left = 24 - metric.length;
    return options.length && name.length > 26 && left > 4 ? `${metric}[…${options.join("[").slice(-left)}` : name;
  }

  const BANDS = { length: "length of the reply", random: "random numbers", rater: "one rater against the others", limit: "limit from rater noise" };
  const ROWS = 12;
  const across = (value) => Math.round(1000 * (Math.min(Math.max(value, -0.1), 1) + 0.1) / 1.1);

  function drawn(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /* The best metrics as dots with intervals, beside controls and raters. Names and values are text beside one SVG that is
     stretched to the available width; its rows are as high as the lines of text. A dot is a stroke of zero length. */
  function picture(question, shown, places) {
    const first = shown.slice(0, ROWS);
    const bands = Object.keys(BANDS).map((kind, place) => [kind, Ranking.untouched(choice) ? question.marks[place] : null]).filter(([, mark]) => mark);
    const text = `Spearman with 95 % intervals: ${first.map((row) => `${label(row)} ${places[row][3].toFixed(2)}`).join("; ")}`;
    const plot = drawn("svg", { class: "dots-plot", viewBox: `0 0 1000 ${10 * ROWS}`, preserveAspectRatio: "none", role: "img", "aria-label": text },
      ...bands.map(([kind, [value, half]]) => drawn("path", { class: kind, d: `M${across(value - half)} 0H${across(value + half)}V${10 * ROWS}H${across(value - half)}z` })),
      ...first.flatMap((row, line) => {
        const [, , , value, half] = places[row];
        return [drawn("path", { class: "span", d: `M${across(value - half)} ${10 * line + 5}H${across(value + half)}` }),
          drawn("path", { class: "dot", d: `M${across(value)} ${10 * line + 5}h0` })];
      }));
    document.querySelector("figure.dots").replaceChildren(
      make("ol", { className: "names" }, ...first.map((row) => make("li", { title: label(row) }, make("a", { href: Numbers.columns[row][1] }, shortened(label(row)))))),
      plot,
      make("ol", { className: "values", ariaHidden: "true" }, ...first.map((row) => make("li", {}, places[row][3].toFixed(2).replace("-", "−")))),
      make("div", { className: "ticks", ariaHidden: "true" }, ...[0, 0.2, 0.4, 0.6, 0.8, 1].map((tick) => make("span", {}, String(tick)))),
      make("figcaption", {}, make("span", {}, "The best, with 95 % intervals."), ...bands.map(([kind]) => make("span", { className: `key ${kind}` }, BANDS[kind]))));
  }

  function shade(value) {
    const step = STEPS.filter((edge) => Math.abs(value) >= edge).length;
    return step ? `${value > 0 ? "p" : "n"}${step}` : "z";
  }

  function fill(cell, value, lead, small) {
    const text = value === null ? "–" : three(value);
    const tag = { [lead[1]]: "u", [lead[0]]: "strong" }[text];
    cell.replaceChildren(value !== null && tag ? make(tag, {}, text) : text, ...(small ? [make("small", {}, small)] : []));
  }

  const leaders = (values) => [...new Set(values.filter((value) => value !== null))].sort((first, second) => second - first).slice(0, 2).map(three);

  /* Update rank, score and the means on the qualities in every row. */
  function numbers(question, places) {
    const known = Ranking.untouched(choice);
    const lead = leaders(places.map((ranked) => ranked && ranked[3]));
    const control = places[Numbers.columns.findIndex((column) => column[2] === "length")];
    for (const { row, place } of lines) {
      const ranked = places[place];
      row.cells[at.rank].replaceChildren(ranked ? String(ranked[0]) : "", ...(ranked ? [make("small", {}, ranked[1] === null ? (known ? "" : "not available") : `${ranked[1]}–${ranked[2]}`)] : []));
      fill(row.cells[at.score], ranked && ranked[3], lead, ranked && ranked[4] ? `± ${ranked[4].toFixed(2)}` : "");
      const name = row.cells[at.metric];
      name.querySelector(".sign")?.remove();
      if (ranked && control && ranked[3] <= control[3] && Numbers.columns[place][2] !== "length") {
        const words = "no better than counting words";
        name.querySelector("a, small")?.after(make("span", { className: "sign", role: "img", title: words, ariaLabel: words }, "▽"));
      }
    }
    for (const other of Numbers.questions.filter((question) => at[question.board] !== undefined)) {
      const means = Ranking.places(other, choice);
      const best = leaders(means.map((ranked) => ranked && ranked[3]));
      for (const { row, place } of lines) {
        const cell = row.cells[at[other.board]];
        fill(cell, means[place] && means[place][3], best, "");
        cell.className = means[place] ? `number ${shade(means[place][3])}` : "number";
      }
    }
  }

  function drawer(question, shown, place) {
    const below = shown[shown.indexOf(place) + 1];
    const values = question.targets.map((target) => [Numbers.targets[target], Ranking.value(choice.stat, place, target)]);
    const others = Numbers.columns.map((column, row) => [column, row]).filter(([column, row]) => row !== place && column[2] === Numbers.columns[place][2]);
    const places = Ranking.places(question, choice);
    const items = make("dl", {}, ...[
      ["Against the next", below === undefined ? "this is the last" : Compare.sentence(question, place, below)],
      ["On each dataset", values.map(([[dataset, quality], value]) => `${Numbers.datasets[dataset]}${question.board.includes(":") ? "" : ` ${quality}`} ${three(value)}`).join(" · ")],
      ["Its other columns", others.map(([column, row]) => `${column[0]} ${three(places[row] && places[row][3])}`).join(" · ")],
    ].filter(([, text]) => text).map(([term, text]) => make("div", {}, make("dt", {}, term), make("dd", {}, text))));
    if (Numbers.worst) reply(Numbers.columns[place][2], items);
    const page = make("a", { href: Numbers.columns[place][1] }, "Page of this metric: differences from its paper, largest errors, influence of length");
    return make("tr", { className: "drawer" }, make("td", { colSpan: heads.length }, make("div", {}, items, page)));
  }

  /* Add the reply with the largest error of a metric; worst.js is loaded when the first row is opened. */
  let replies = null;

  function reply(metric, items) {
    replies ??= new Promise((loaded) => {
      const script = make("script", { src: "worst.js" });
      script.addEventListener("load", loaded);
      document.head.append(script);
    });
    replies.then(() => {
      if (!Object.hasOwn(Worst, metric)) return;
      const [dataset, people, position, ...turns] = Worst[metric];
      const high = position > people ? "high" : "low";
      items.append(make("div", {}, make("dt", {}, `The reply scored furthest too ${high}`), make("dd", {},
        ...turns.map((text, turn) => make(turn < turns.length - 1 ? "p" : "blockquote", {}, text)),
        make("small", {}, `${dataset}; position among all its replies, from 0 (lowest) to 1 (highest): people ${people.toFixed(2)}, metric ${position.toFixed(2)}`))));
    });
  }

  function arrange(question, shown) {
    for (const drawer of table.querySelectorAll(".drawer")) drawer.remove();
    for (const group of [...table.tBodies].slice(1)) group.remove();
    const order = new Map(shown.map((row, place) => [row, place]));
    const find = choice.find.toLowerCase();
    lines.sort((first, second) => (order.get(first.place) ?? 1e6) - (order.get(second.place) ?? 1e6));
    for (const { row, place } of lines) {
      const matches = !find || Numbers.columns[place].filter((part) => typeof part === "string").join(" ").toLowerCase().includes(find);
      row.hidden = find ? !matches || !Ranking.allowed(choice, place) : !order.has(place);
      const open = choice.open === label(place);
      row.querySelector(".more").setAttribute("aria-expanded", String(open));
    }
    body.replaceChildren(...lines.map(({ row }) => row));
    const [key, direction] = choice.sort.split(/\.(?=[a-z]+$)/);
    if (at[key] !== undefined) Tables.sort(table, at[key], direction === "ascending" ? direction : "descending");
    else for (const head of heads) head.removeAttribute("aria-sort");
    const opened = lines.find(({ place, row }) => choice.open === label(place) && !row.hidden);
    if (opened) opened.row.after(drawer(question, shown, opened.place));
    table.caption.firstElementChild.textContent = `${choice.stat === "corrected" ? "Spearman, corrected for rater noise" : title(choice.stat || Numbers.statistics[0])}, with human ratings: ${question.title}`;
  }

  const title = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[-_]/g, " ");

  function compared(question) {
    const [one, other] = [choice.one, choice.other].map((name) => Numbers.columns.findIndex((column) => column[0] === name));
    return one < 0 || other < 0 || one === other ? [] : Compare.view(question, one, other);
  }

  /* At first the page is as served, unless the address selects something. */
  let came = true;

  function draw() {
    const question = asked();
    const shown = Ranking.best(question, choice);
    const places = Ranking.places(question, choice);
    came = came && !written(choice);
    if (came) {
      arrange(question, shown);
      picture(question, shown, places);
      controls.sync();
      return;
    }
    sentence(question, shown);
    picture(question, shown, places);
    numbers(question, places);
    arrange(question, shown);
    controls.sync();
    pair.replaceChildren(...compared(question));
  }

  function select(text, options, key, className = "field") {
    const made = make("select", { name: key, autocomplete: "off" }, ...options.map(([value, words]) => make("option", { value }, words)));
    made.addEventListener("change", () => change({ [key]: made.value }));
    return [make("label", { className }, make("span", {}, text), " ", made), () => { made.value = choice[key]; }];
  }

  /* Make the choices of the question and the controls above the board. */
  function panel() {
    const names = [["", "–"], ...Numbers.columns.map((column) => [column[0], column[0]])];
    const selects = [
      select("Score", [["", title(Numbers.statistics[0])], ["corrected", "corrected for rater noise"], ...Numbers.statistics.slice(1).map((name) => [name, title(name)])], "stat"),
      select("Compare", names, "one"), select("with", names, "other")];
    const asks = [
      select("Quality", Numbers.questions.map((question) => [question.board, question.title]), "q", ""),
      select("Fitted on ratings", [["", "no"], ["1", "allowed"]], "ratings", ""), select("Models", Numbers.sizes, "models", "")];
    form.replaceChildren(...asks.map(([label]) => label));
    const find = make("input", { type: "search", placeholder: "metric, family", autocomplete: "off" });
    find.addEventListener("input", () => change({ find: find.value }, true));
    const boxes = Numbers.datasets.map((name) => {
      const box = make("input", { type: "checkbox", autocomplete: "off" });
      box.addEventListener("change", () => {
        const without = new Set(choice.without);
        if (box.checked) without.delete(name);
        else without.add(name);
        change({ without });
      });
      return [make("label", { className: "choice" }, box, make("span", {}, name)), () => { box.checked = !choice.without.has(name); }];
    });
    const button = (text, pressed) => {
      const made = make("button", { type: "button" }, text);
      made.addEventListener("click", () => pressed(made));
      return made;
    };
    const reset = button("Reset", () => change({ q: initial, ratings: "", models: "", stat: "", without: new Set(), find: "", sort: "", open: "", one: "", other: "" }));
    const copy = button("Copy link", (made) => {
      const address = `${location.href.split("#")[0]}#${[written(choice) || "q=", `y=${Math.round(scrollY)}`].join("&")}`;
      history.replaceState(null, "", address);
      navigator.clipboard?.writeText(address).catch(() => {});
      made.textContent = "In the address";
    });
    const datasets = make("details", { className: "menu" }, make("summary", {}, "Datasets"), make("fieldset", {}, make("legend", { className: "unseen" }, "Datasets"), ...boxes.map(([box]) => box)));
    const made = make("div", { className: "panel", role: "group", ariaLabel: "Board" }, selects[0][0], make("label", { className: "field" }, make("span", {}, "Find"), find), datasets,
      selects[1][0], selects[2][0], copy, reset);
    return { made, sync: () => { for (const [, update] of [...asks, ...selects, ...boxes]) update(); if (find !== document.activeElement) find.value = choice.find; } };
  }

  for (const { row, place } of lines) {
    const more = make("button", { type: "button", className: "more", ariaLabel: `More about ${label(place)}` });
    more.addEventListener("click", () => change({ open: choice.open === label(place) ? "" : label(place) }));
    row.cells[at.metric].prepend(more);
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  Tables.equip(table, (column, direction) => change({ sort: `${heads[column].dataset.key}.${direction}` }));
  const controls = panel();
  const pair = make("div", { className: "compared" });
  table.closest(".scroll").before(controls.made, pair);
  addEventListener("popstate", () => { choice = read(); draw(); });
  addEventListener("hashchange", () => { choice = read(); draw(); });
  draw();
  if (choice.y) scrollTo(0, choice.y);
});
