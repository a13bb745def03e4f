/* What the reader chose, kept in the address behind the #, so that a link, a reload and Back bring it again.

     stat=pearson        the statistic                    level=turn       turn or dialogue datasets only
     rule=dev | test     the rule, else each board's own  family=NAME      only this family (may stand several times)
     d.DATASET=2         weight; 0 leaves the dataset out without=NEED     none that needs this (several times)
     q.QUALITY=2         the same for a quality           find=TEXT        rows whose names hold the text
     sort=BOARD.COLUMN.ascending | descending             one=, other=     LABEL of the two columns to compare

   An address without "=" is a place in the page, and chooses nothing. */
"use strict";

const Address = (() => {
  const PLAIN = ["stat", "rule", "level", "find", "sort", "one", "other"];

  function weights(given, prefix) {
    const found = new Map();
    for (const [key, value] of given) {
      const weight = Number(value);
      if (key.startsWith(prefix) && value !== "" && weight >= 0 && Number.isFinite(weight)) {
        found.set(key.slice(prefix.length), weight);
      }
    }
    return found;
  }

  function read() {
    const hash = location.hash.slice(1);
    const given = new URLSearchParams(hash.includes("=") ? hash : "");
    return {
      ...Object.fromEntries(PLAIN.map((key) => [key, given.get(key) ?? ""])),
      family: new Set(given.getAll("family")),
      without: new Set(given.getAll("without")),
      datasets: weights(given, "d."),
      qualities: weights(given, "q."),
    };
  }

  function written(choice) {
    const given = new URLSearchParams();
    for (const key of PLAIN) if (choice[key]) given.set(key, choice[key]);
    for (const key of ["family", "without"]) for (const value of choice[key]) given.append(key, value);
    for (const [name, weight] of choice.datasets) if (weight !== 1) given.set(`d.${name}`, weight);
    for (const [name, weight] of choice.qualities) if (weight !== 1) given.set(`q.${name}`, weight);
    return given.toString();
  }

  /* Put a choice into the address. While the reader types, no step is added to the history. */
  function write(choice, typing) {
    const hash = `#${written(choice) || "stat="}`;
    if (hash === (location.hash || "#stat=")) return;
    if (typing) location.replace(hash);
    else location.hash = hash;
  }

  return { read, write };
})();
