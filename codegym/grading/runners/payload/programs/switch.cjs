// What switched functions ask: the number of the edit that is tried. Loaded before any file.
"use strict";
const { appendFileSync } = require("node:fs");
const chosen = Number(process.env.CODEGYM_MUTANT || 0);
const reach = process.env.CODEGYM_REACH;
const seen = new Set();
globalThis.cg_chosen = !reach
  ? () => chosen
  : (which) => {
      if (!seen.has(which)) {
        seen.add(which);
        appendFileSync(reach, `${which}\n`);
      }
      return chosen;
    };
