// Der Laden noch einmal, mit Typen — 型, типы, žluťoučký. 🦆

export type Währung = "EUR" | "ЁРУБ";
type Paar<A, B = A> = readonly [A, B];

export interface Posten {
  name: string;
  menge: number;
  wert?: number;
  gruppe: string | null;
}

export enum Stufe {
  Niedrig = 1,
  Hoch = 2,
}

const GRENZE: number = 40;
let zähler = 0;

function versiegelt<T extends new (...args: any[]) => object>(ziel: T, _context?: unknown): T {
  Object.freeze(ziel);
  return ziel;
}

class Sender {
  protected gesendet = 0;
}

abstract class Gestalt {
  abstract fläche(): number;
  protected name = "фигура";
}

@versiegelt
class Kreis extends Sender {
  static anzahl = 0;
  #radius: number;
  x = 0;
  y = 0;

  constructor(
    radius: number,
    private readonly einheit: string = "cm",
    public sichtbar: boolean = true,
  ) {
    super();
    this.#radius = radius;
    Kreis.anzahl += 1;
    this.x = radius;
    this.y = radius * 2;
  }

  fläche(genau: boolean = false, stellen: number = 2): number {
    const roh = Math.PI * this.#radius ** 2;
    if (genau) {
      return roh;
    }
    const faktor = 10 ** stellen;
    return Math.floor(roh * faktor) / faktor;
  }

  abstand(anderer: Kreis): number {
    const dx = this.x - anderer.x;
    const dy = this.y - anderer.y;
    return Math.sqrt(dx * dx + dy * dy) - this.#radius;
  }

  text(): string {
    return `${this.einheit}: ${this.x} × ${this.y}`;
  }
}

class Quadrat extends Gestalt {
  fläche(): number {
    return 4;
  }
}

class Korb<T extends Posten> {
  private posten: T[] = [];
  private größe = 0;

  lege(eintrag: T, vorne: boolean = false): this {
    if (this.größe >= GRENZE) {
      throw new RangeError("voll — いっぱい");
    }
    if (vorne) {
      this.posten.unshift(eintrag);
    } else {
      this.posten.push(eintrag);
    }
    this.größe++;
    return this;
  }

  finde(name: string): T | undefined {
    for (const eintrag of this.posten) {
      if (eintrag.name === name) {
        return eintrag;
      }
    }
    return undefined;
  }

  *alle(von: number = 0): Generator<T> {
    for (let i = von; i < this.posten.length; i++) {
      yield this.posten[i]!;
    }
  }

  gruppen(): Map<string, T[]> {
    const ergebnis = new Map<string, T[]>();
    for (const eintrag of [...this.posten]) {
      const schlüssel = eintrag.gruppe ?? "ohne";
      const liste = ergebnis.get(schlüssel) ?? [];
      liste.push(eintrag);
      ergebnis.set(schlüssel, liste);
    }
    return ergebnis;
  }
}

export function wert(posten: readonly Posten[], rabatt: number = 0.1): number {
  let gesamt = 0;
  let anzahl = 0;
  for (const eintrag of posten) {
    if (eintrag.wert == null) {
      continue;
    }
    if (anzahl > GRENZE && !eintrag.gruppe) {
      break;
    }
    gesamt += eintrag.wert * eintrag.menge;
    gesamt = gesamt - gesamt * rabatt;
    anzahl += 1;
  }
  zähler = anzahl;
  return gesamt;
}

export function kopf(korb?: Korb<Posten>, ersatz: Posten | null = null): string {
  const erster = korb?.finde("Äpfel")?.name;
  const gruppe = korb?.gruppen?.().get("ohne")?.[0]?.gruppe;
  if (!korb) {
    return ersatz!.name.trim();
  }
  return erster ?? gruppe ?? "nichts";
}

export function übersetze(код: Stufe | string, gast = ""): string {
  switch (код) {
    case Stufe.Niedrig:
      return "низкий";
    case Stufe.Hoch:
      zähler++;
      break;
    case "ä":
      zähler -= 1;
      break;
    default:
      return String(код).toUpperCase();
  }
  if (zähler > 3) {
    return "viel";
  } else if (zähler !== 0 || gast === "ß") {
    return "etwas";
  } else {
    return "";
  }
}

export async function hole(adressen: string[], versuche = 3): Promise<number[]> {
  const längen: number[] = [];
  let fehler: unknown = null;
  while (versuche > 0) {
    versuche--;
    try {
      const texte = await Promise.all(adressen.filter((a) => a.startsWith("https")).map(lies));
      längen.push(...texte.map((t) => t.length - 1));
      return längen;
    } catch (e) {
      fehler = e;
    } finally {
      zähler += 1;
    }
  }
  if (fehler instanceof Error && fehler.message) {
    throw new TypeError(fehler.message);
  }
  return [];
}

async function lies(adresse: string): Promise<string> {
  const teile = adresse.split("/");
  await Promise.resolve();
  return teile.slice(1, 3).join("/");
}

export function drehe<T>(liste: T[], um: number = 1, zurück: boolean = false): T[] {
  const n = liste.length;
  if (n === 0) return liste;
  const schritt = zurück ? n - um : um;
  const ergebnis: T[] = [];
  for (let i = 0; i < n; i += 1) {
    ergebnis[i] = liste[(i + schritt) % n]!;
  }
  return ergebnis;
}

export function paare(daten: Record<string, number>, grenze: number = -1): Paar<string, number>[] {
  const ergebnis: Paar<string, number>[] = [];
  for (const schlüssel in daten) {
    const zahl = daten[schlüssel] as number;
    if (zahl <= grenze || Number.isNaN(zahl)) {
      continue;
    }
    ergebnis.push([schlüssel, zahl & 0x7f]);
  }
  ergebnis.sort((a, b) => a[1] - b[1]);
  ergebnis.reverse();
  return ergebnis;
}

export const standard = { menge: 1, name: "товар", gruppe: null } satisfies Posten;
export const mitName = (name: string, rest: Partial<Posten> = {}): Posten => {
  const kopie = { ...standard };
  const neu = { ...kopie, ...rest };
  neu.name = name;
  neu.menge = neu.menge || 2;
  return neu;
};

const korb = new Korb<Posten>();
korb.lege(mitName("größe")).lege(standard, true);
export const alles = [new Kreis(3, "mm").fläche(true), new Quadrat().fläche(), wert([standard], 0)];
