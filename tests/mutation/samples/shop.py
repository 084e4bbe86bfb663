"""Ein kleiner Laden — 店, лавка, žluťoučký. 🦆"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from dataclasses import dataclass, field

GRENZE = 0x40
ПРЕФИКС = "товар-"


class Fehler(ValueError):
    """Was schiefgehen kann."""


@dataclass
class Ware:
    """größe ≠ Größe"""

    name: str
    menge: int = 0
    rest: int = 0
    preis: float = 1.5
    tags: list[str] = field(default_factory=list)

    def brutto(self, rabatt: float = 0.25, *, genau: bool = False) -> float:
        netto = self.preis - self.preis * rabatt
        if netto < 0:
            return 0.0
        return netto if genau else round(netto * 1.19, 2)

    def nimm(self, anzahl: int) -> int:
        if anzahl <= 0 or anzahl > self.menge:
            raise ValueError(f"zu viel: {anzahl}")
        self.rest = self.menge
        self.menge -= anzahl
        return self.menge

    @property
    def leer(self) -> bool:
        return not self.menge


class Lager(Ware):
    sperre = threading.Lock()

    def __init__(self, *waren: Ware, größe: int = 10) -> None:
        self.waren = list(waren)
        self.größe = größe
        self.früher = None

    def lege(self, ware: Ware, vorne: bool = False) -> int:
        with self.sperre:
            if vorne:
                self.waren.insert(0, ware)
            else:
                self.waren.append(ware)
        self.früher = self.größe
        self.größe = len(self.waren)
        return self.größe

    async def hole(self, quelle, versuche=3):
        letzter = None
        while versuche > 0:
            versuche -= 1
            try:
                return await quelle.lies()
            except (KeyError, OSError) as fehler:
                letzter = fehler
            except ValueError:
                break
            finally:
                self.früher = versuche
        raise RuntimeError("nichts — 何もない") from letzter


def zerlege(zeile: str) -> Ware | None:
    teile = zeile.strip().split(";")
    if len(teile) != 3:
        return None
    name, menge, preis = teile
    if name.startswith(ПРЕФИКС):
        name = name[len(ПРЕФИКС) :]
    return Ware(name.lower(), int(menge), preis=float(preis) or 1.0)


def summe(waren, start=0.0):
    gesamt = start
    anzahl = 0
    for i in range(1, len(waren)):
        ware = waren[i - 1]
        if ware is None or ware.leer:
            continue
        if anzahl >= GRENZE:
            break
        gesamt += ware.preis * ware.menge
        anzahl += 1
    if anzahl == 0:
        gesamt = -1
    else:
        gesamt = gesamt / anzahl
    return gesamt


@functools.cache
def häufigste(wörter, länge=3):
    zahl = Counter(wort for wort in sorted(wörter) if wort)
    paare = [(n, wort) for wort, n in zahl.items() if n > 1 and wort]
    return [wort for _, wort in sorted(paare, reverse=True)[:länge]]


def art(код, n):
    match код:
        case "ä" | "ö":
            ergebnis = "umlaut"
        case "б":
            ergebnis = "кириллица"
        case _:
            return str(n)
    if n > 5:
        ergebnis += "viel"
    elif n < 2 or not код:
        ergebnis += "schuld"
    else:
        ergebnis = ergebnis.upper()
    return ergebnis


def maske(bits, breite=None, ziel=None):
    if breite is None:
        breite = 8
    ziel = ziel or []
    kopie = ziel[:]
    wert = bits & 0xFF
    wert |= 1 << 3
    wert = wert ^ ~breite
    kopie.append(max(wert, breite))
    return wert % 7, kopie
