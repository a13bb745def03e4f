/* The controls above the boards. They are made here, so that nobody sees them whom they would not serve. */
"use strict";

const Controls = (() => {
  const RULES = [["", "each board's own"], ["dev", "mean of datasets"], ["test", "mean of qualities"]];

  function make(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in made && name !== "list") made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  function title(name) {
    return name.charAt(0).toUpperCase() + name.slice(1).replaceAll(/[-_]/g, " ");
  }

  function select(label, options, value, chosen) {
    const field = make("select", {}, ...options.map(([key, text]) => make("option", { value: key }, text)));
    field.value = value;
    field.addEventListener("change", () => chosen(field.value));
    return make("label", { className: "field" }, make("span", {}, label), field);
  }

  function search(value, typed) {
    const field = make("input", { type: "search", value, placeholder: "metric, family, model" });
    field.addEventListener("input", () => typed(field.value));
    return make("label", { className: "field" }, make("span", {}, "Find"), field);
  }

  function menu(label, note, ...children) {
    return make("details", { className: "menu" }, make("summary", {}, label, make("small", {}, note)),
      make("fieldset", {}, make("legend", { className: "unseen" }, label), ...children));
  }

  function box(text, checked, changed) {
    const field = make("input", { type: "checkbox", checked });
    field.addEventListener("change", () => changed(field.checked));
    return make("label", { className: "choice" }, field, make("span", {}, text));
  }

  /* A set of names, each to be ticked; `kept` of them are in the choice when they are ticked. */
  function ticks(label, note, names, chosen, ticked) {
    return menu(label, note, ...names.map((name) => box(name, chosen.has(name), (on) => {
      const after = new Set(chosen);
      if (on) after.add(name);
      else after.delete(name);
      ticked(after);
    })));
  }

  /* Names with weights: unticked is 0, and leaves the name out. */
  function weighed(label, names, weights, changed) {
    if (names.length < 2) return "";
    const put = (name, weight) => changed(new Map(weights).set(name, weight));
    const out = names.filter((name) => weights.get(name) === 0).length;
    const note = out ? `${names.length - out} of ${names.length}` : weights.size ? "weighed" : "all alike";
    const lines = names.map((name) => {
      const weight = weights.get(name) ?? 1;
      const field = make("input", { type: "number", min: 0, max: 100, step: "any", value: weight, ariaLabel: `Weight of ${name}` });
      field.addEventListener("change", () => put(name, Math.max(0, Number(field.value) || 0)));
      return make("div", { className: "weight" }, box(name, weight > 0, (on) => put(name, on ? 1 : 0)), field);
    });
    const all = (text, weight) => button(text, () => changed(new Map(names.map((name) => [name, weight]))));
    return menu(label, note, make("div", { className: "all" }, all("All", 1), all("None", 0)), ...lines);
  }

  function button(text, pressed) {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", pressed);
    return made;
  }

  /* All controls for a choice; `change(part, typing)` is told what the reader changed. */
  function panel(numbers, choice, change) {
    const names = (values) => [...new Set(values)].sort((one, other) => one.localeCompare(other, "en"));
    const labels = numbers.columns.map((column) => [column.label, column.label]);
    const rules = new Set(Object.values(numbers.boards).map((board) => board.rule)).has("dev") ? RULES : [];
    const levels = names(numbers.datasets.map((dataset) => dataset.level));
    const parts = [
      select("Statistic", numbers.statistics.map((name) => [name === numbers.statistics[0] ? "" : name, title(name)]),
        choice.stat, (stat) => change({ stat })),
      ...(rules.length ? [select("Ranked by", rules, choice.rule, (rule) => change({ rule }))] : []),
      ...(levels.length > 1 ? [select("Level", [["", "all"], ...levels.map((name) => [name, name])], choice.level,
        (level) => change({ level }))] : []),
      search(choice.find, (find) => change({ find }, true)),
      ticks("Family", choice.family.size ? `${choice.family.size} shown` : "all",
        names(numbers.columns.map((column) => column.family)), choice.family, (family) => change({ family })),
      ticks("Without", [...choice.without].join(", ") || "nothing",
        names(numbers.columns.flatMap((column) => column.needs)), choice.without, (without) => change({ without })),
      weighed("Datasets", numbers.datasets.map((dataset) => dataset.name), choice.datasets,
        (datasets) => change({ datasets })),
      weighed("Qualities", names(numbers.targets.map((target) => target[2])), choice.qualities,
        (qualities) => change({ qualities })),
      select("Compare", [["", "a metric"], ...labels], choice.one, (one) => change({ one })),
      select("with", [["", "another"], ...labels], choice.other, (other) => change({ other })),
    ];
    const reset = button("Reset", () => change(null));
    return make("div", { className: "panel" }, ...parts, reset);
  }

  return { panel, make, title };
})();
