/* Sorting by a click on a heading, and CSV downloads, for every table. board.js keeps the order of a board in the address. */
"use strict";

const Tables = (() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  /* Return the main text of a cell, without small lines, footnotes and signs. */
  function main(cell) {
    const copy = cell.cloneNode(true);
    for (const extra of copy.querySelectorAll("small, sup, .sign, button")) extra.remove();
    return copy.textContent.trim();
  }

  function number(text) {
    const match = /^[<\s]*([-−]?\d[\d.]*)/.exec(text);
    return match ? Number(match[1].replace("−", "-")) : null;
  }

  function headings(table) {
    return [...table.tHead.rows[0].cells];
  }

  function numeric(heading) {
    return heading.classList.contains("number") || heading.classList.contains("rank");
  }

  /* Sort the rows of each group; missing values stay last. */
  function sort(table, column, direction) {
    const heading = headings(table)[column];
    const sign = direction === "descending" ? -1 : 1;
    const value = numeric(heading) ? (row) => number(main(row.cells[column])) : (row) => main(row.cells[column]);
    const order = (first, second) => (first === null) - (second === null)
      || sign * (numeric(heading) ? first - second : collator.compare(first, second));
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.matches(".group, .drawer")).map((row) => [value(row), row]);
      rows.sort(([first], [second]) => order(first, second));
      body.append(...rows.map(([, row]) => row));
    }
    mark(table, column, direction);
  }

  function mark(table, column, direction) {
    headings(table).forEach((heading, place) => {
      if (place === column) heading.setAttribute("aria-sort", direction);
      else heading.removeAttribute("aria-sort");
    });
  }

  /* Return the direction of the next click: numbers begin with the highest, names and ranks with the first. */
  function next(heading) {
    const before = heading.getAttribute("aria-sort");
    if (before) return before === "ascending" ? "descending" : "ascending";
    return heading.classList.contains("number") ? "descending" : "ascending";
  }

  function sortable(table, sorted) {
    headings(table).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.setAttribute("aria-label", `Sort by ${main(heading)}`);
      button.title = button.getAttribute("aria-label");
      button.addEventListener("click", () => sorted(column, next(heading)));
      heading.append(button);
    });
  }

  function csv(table) {
    const visible = headings(table).map((heading, column) => [heading, column]).filter(([heading]) => !heading.hidden);
    const rows = [...table.querySelectorAll("tbody tr:not(.group, .drawer)")].filter((row) => !row.hidden);
    const small = (cell) => [...cell.querySelectorAll("small")].map((line) => line.textContent.trim()).join("; ");
    const below = visible.map(([, column]) => rows.some((row) => small(row.cells[column])));
    const line = (cells) => cells.map((text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",");
    const head = visible.flatMap(([heading], at) => [main(heading), ...(below[at] ? [`${main(heading)} (below)`] : [])]);
    const lines = rows.map((row) => visible.flatMap(([, column], at) =>
      [main(row.cells[column]).replace("−", "-"), ...(below[at] ? [small(row.cells[column])] : [])]));
    return [head, ...lines].map(line).join("\n") + "\n";
  }

  function download(table) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    link.download = `${table.caption?.firstElementChild?.id ?? "table"}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function downloadable(table) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "csv";
    button.textContent = "CSV";
    button.title = "Download what this table shows";
    button.addEventListener("click", () => download(table));
    table.caption?.firstElementChild.after(button);
  }

  /* Make a table sortable and downloadable. */
  function equip(table, sorted = (column, direction) => sort(table, column, direction)) {
    if (!table.tHead || table.dataset.equipped) return;
    table.dataset.equipped = "yes";
    sortable(table, sorted);
    downloadable(table);
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("main table").forEach((table) => equip(table)));
  return { sort, equip, csv, main };
})();
