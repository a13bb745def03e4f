/* Sorting by clicks on headings, CSV downloads, and a filter for long tables. board.js keeps a board's order in the
   address. */
"use strict";

/* Create an element with attributes and children. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const Tables = (() => {
  const LONG = 12; // rows that fit on a screen
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  /* Return the main text of a cell, without small lines, footnotes, signs and buttons. */
  function main(cell) {
    const copy = cell.cloneNode(true);
    for (const extra of copy.querySelectorAll("small, sup, .sign, button")) extra.remove();
    return copy.textContent.trim();
  }

  const UNITS = { k: 1e3, M: 1e6 };

  function number(text) {
    const match = /^[<\s]*([-−]?\d[\d.]*)(?: ([kM])$)?/.exec(text);
    return match ? Number(match[1].replace("−", "-")) * (UNITS[match[2]] ?? 1) : null;
  }

  function headings(table) {
    return [...table.tHead.rows[0].cells];
  }

  /* Sort the rows of each group; missing values stay last. */
  function sort(table, column, direction) {
    const heading = headings(table)[column];
    const numeric = heading.matches(".number, .rank");
    const sign = direction === "descending" ? -1 : 1;
    const value = (row) => (numeric ? number(main(row.cells[column])) : main(row.cells[column]));
    const order = (first, second) => (first === null) - (second === null)
      || sign * (numeric ? first - second : collator.compare(first, second));
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.matches(".group, .drawer")).map((row) => [value(row), row]);
      rows.sort(([first], [second]) => order(first, second));
      body.append(...rows.map(([, row]) => row));
    }
    for (const other of headings(table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
  }

  /* Return the sort direction of the next click: at first, numbers are descending, names and ranks ascending. */
  function nextDirection(heading) {
    const current = heading.getAttribute("aria-sort");
    if (current) return current === "ascending" ? "descending" : "ascending";
    return heading.classList.contains("number") ? "descending" : "ascending";
  }

  /* Return the visible rows and columns as CSV; small lines get a separate column. */
  function csv(table) {
    const columns = headings(table).map((heading, column) => [heading, column]).filter(([heading]) => !heading.hidden);
    const rows = [...table.querySelectorAll("tbody tr:not(.group, .drawer)")].filter((row) => !row.hidden);
    const small = (cell) => [...cell.querySelectorAll("small")].map((line) => line.textContent.trim()).join("; ");
    const hasSmall = columns.map(([, column]) => rows.some((row) => small(row.cells[column])));
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const head = columns.flatMap(([heading], index) =>
      [main(heading), ...(hasSmall[index] ? [`${main(heading)} (below)`] : [])]);
    const lines = rows.map((row) => columns.flatMap(([, column], index) =>
      [main(row.cells[column]), ...(hasSmall[index] ? [small(row.cells[column])] : [])]
        .map((text) => text.replaceAll("−", "-"))));
    return [head, ...lines].map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
  }

  function download(table) {
    const href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
    make("a", { href, download: `${table.caption?.querySelector("span").id || "table"}.csv` }).click();
    URL.revokeObjectURL(href);
  }

  /* Make a table sortable and downloadable; `onSort` replaces the sorting. */
  function equip(table, onSort = (column, direction) => sort(table, column, direction)) {
    if (!table.tHead || table.dataset.equipped) return;
    table.dataset.equipped = "yes";
    headings(table).forEach((heading, column) => {
      const title = `Sort by ${main(heading)}`;
      const button = make("button", { type: "button", className: "sort", ariaLabel: title, title });
      button.addEventListener("click", () => onSort(column, nextDirection(heading)));
      heading.append(button);
    });
    const title = "Download this table as shown";
    const button = make("button", { type: "button", className: "csv", title }, "CSV");
    button.addEventListener("click", () => download(table));
    table.caption?.firstElementChild.append(button);
  }

  /* Add a search field above a long table that hides rows without the entered text. */
  function addFilter(table) {
    const rows = [...table.querySelectorAll("tbody tr:not(.group)")];
    const fits = rows.length <= LONG && table.offsetHeight <= innerHeight;
    if (fits || table.matches(".ranked")) return;
    const input = make("input", { type: "search", autocomplete: "off" });
    const count = make("span", { className: "count", role: "status" });
    input.addEventListener("input", () => {
      const text = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
      for (const body of table.tBodies) body.hidden = ![...body.rows].some((row) => !row.hidden && !row.matches(".group"));
      count.textContent = text ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
    const label = make("label", { className: "field" }, make("span", {}, "Find in this table"), input);
    table.closest(".scroll").before(make("div", { className: "find" }, label, count));
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const table of document.querySelectorAll("main table")) {
      if (!table.matches(".ranked")) equip(table); // board.js equips the board
      addFilter(table);
    }
  });
  return { sort, equip };
})();
