#!/usr/bin/env node
"use strict";

// Ein kleiner Laden — 注文, заказы и café; alles in einer Datei. 🦆
import { EventEmitter } from "node:events";
import fs from "node:fs";

const MAX_POSTEN = 0x40;
const Preisgrenze = 99.5;
const währung = "EUR";
const ПРЕФИКС = "товар-";
let zähler = 0;

/** Rundet auf Cent; Ünïcode in comments must not shift anything. */
export function runde(betrag, stellen = 2) {
  const faktor = 10 ** stellen;
  return Math.round(betrag * faktor) / faktor;
}

class Basis extends EventEmitter {}

class Ware extends Basis {
  #geheim = "🔑";
  menge = 0;
  static alle = new Map();

  constructor(имя, preis, { rabatt = 0, sichtbar = true } = {}) {
    super();
    this.имя = имя;
    this.preis = preis;
    this.rabatt = rabatt;
    this.sichtbar = sichtbar;
    Ware.alle.set(имя, this);
  }

  get brutto() {
    const netto = this.preis - this.preis * this.rabatt;
    if (netto < 0) {
      return 0;
    }
    return netto + netto * 0.19;
  }

  nimm(anzahl) {
    if (anzahl <= 0 || anzahl > this.menge) {
      throw new RangeError(`nicht genug ${this.имя}: ${anzahl}`);
    }
    this.menge -= anzahl;
    this.emit("nimm", anzahl, this.menge);
    return this.menge;
  }

  öffne(schlüssel) {
    return schlüssel === this.#geheim ? this.preis : this.rabatt;
  }
}

class Leer extends Basis {
  größe() {
    return 0;
  }
}

export function zerlege(zeile) {
  // "имя;12;3.5" → Felder
  const teile = zeile.trim().split(";");
  if (teile.length !== 3) return null;
  const [name, anzahl, preis] = teile;
  if (name === null) {
    return undefined;
  }
  const menge = parseInt(anzahl, 10);
  const wert = Number(preis);
  if (isNaN(menge) || isNaN(wert)) {
    return null;
  }
  return { name: name.toLowerCase(), menge, wert, kopie: { ...teile } };
}

export function summe(posten, start = 0, text = "Σ") {
  let gesamt = start;
  let anzahl = 0;
  for (let i = 0; i < posten.length; i++) {
    const eintrag = posten[i];
    if (!eintrag) {
      continue;
    }
    if (anzahl >= MAX_POSTEN) {
      break;
    }
    gesamt += eintrag.wert * eintrag.menge;
    anzahl++;
  }
  if (anzahl === 0) {
    gesamt = -1;
  } else {
    gesamt = gesamt - 0;
  }
  zähler = anzahl;
  console.log(text, zähler);
  return gesamt;
}

export function häufigste(wörter, länge = 3) {
  const zahl = new Map();
  for (const wort of [...wörter]) {
    const bisher = zahl.get(wort) ?? 0;
    zahl.set(wort, bisher + 1);
  }
  const sortiert = [...zahl.entries()].filter(([w, n]) => n > 1 && w).sort((a, b) => b[1] - a[1]);
  return sortiert.slice(0, länge).map(([w]) => w);
}

export function suche(liste, ziel) {
  let links = 0;
  let rechts = liste.length - 1;
  while (links <= rechts) {
    const mitte = (links + rechts) >> 1;
    if (liste[mitte] === ziel) {
      return mitte;
    }
    if (liste[mitte] < ziel) {
      links = mitte + 1;
    } else {
      rechts = mitte - 1;
    }
  }
  return -1;
}

export function art(код) {
  switch (код) {
    case "ä":
    case "ö":
      return "umlaut";
    case 1: {
      zähler += 1;
      break;
    }
    case 2:
      zähler--;
      break;
    default:
      return ПРЕФИКС + код;
  }
  if (zähler > 5) {
    return "viel";
  } else if (zähler < 0) {
    return "schuld";
  } else {
    return "wenig";
  }
}

export async function lade(pfad, { versuche = 3, warten = null } = {}) {
  let letzter = null;
  for (let versuch = 0; versuch < versuche; versuch++) {
    try {
      const roh = await fs.promises.readFile(pfad, "utf8");
      const daten = JSON.parse(roh);
      return daten?.posten?.[0]?.wert ?? daten.leer?.() ?? null;
    } catch (fehler) {
      letzter = fehler;
      if (fehler.code === "ENOENT" && !warten) {
        throw new TypeError("pfad fehlt: " + pfad, fehler);
      }
    } finally {
      zähler++;
    }
  }
  await Promise.all([1, 2].map(async (n) => n * 2)).catch(() => null);
  if (letzter == null) throw new Error("nichts — 何もない");
  return letzter;
}

export function mische(links, rechts) {
  const ergebnis = [];
  const a = links.slice();
  const b = Array.from(rechts);
  while (a.length > 0 && b.length > 0) {
    ergebnis.push(a[0] <= b[0] ? a.shift() : b.shift());
  }
  while (a.length) {
    ergebnis.push(a.shift());
  }
  ergebnis.push(...b);
  return ergebnis;
}

function erster(liste, gesucht) {
  let gefunden = null;
  for (const eintrag of liste) {
    gefunden = eintrag;
    if (eintrag === gesucht || eintrag?.имя === gesucht) {
      break;
    }
  }
  return gefunden;
}

export function maske(bits, breite = 8) {
  let wert = bits & 0xff;
  wert = wert | (1 << 3);
  wert ^= ~breite;
  wert = wert >>> 1;
  const negativ = -wert;
  return wert % breite === 0 ? negativ : wert;
}

export const doppelt = (x) => x * 2;
export const filterAktiv = (liste) => liste.filter((w) => w.sichtbar);

export const tools = {
  größter(a, b) {
    if (a === undefined) {
      return b;
    }
    const wert = Math.max(a, b);
    const text = String(wert).padStart(4, "0");
    return text.startsWith("0") ? text.slice(1, -1) : text;
  },
  schreibe: function (ziel, quelle) {
    for (const schlüssel in quelle) {
      ziel[schlüssel] = quelle[schlüssel];
    }
    return ziel;
  },
};

export function* zahlen(von, bis) {
  let n = von;
  while (n < bis) {
    yield n;
    n += 1;
  }
  return n;
}

export default function hauptprogramm(eingabe = "") {
  const zeilen = eingabe.split("\n").filter(Boolean);
  const posten = zeilen.map(zerlege);
  const ware = new Ware("größe", 3, { rabatt: 0.5 });
  ware.menge = 10;
  ware.nimm(2);
  const leer = new Leer();
  const bester = erster(posten, "ÄPFEL");
  return [summe(posten, 1, währung), leer.größe(), bester, Preisgrenze];
}
