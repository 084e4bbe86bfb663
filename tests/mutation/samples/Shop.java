// Ein kleiner Laden — 店, лавка, žluťoučký. 🦆
package shop;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;

/** Größe ≠ größe; ünïcode in comments must not shift anything. */
public final class Shop implements AutoCloseable {
    static final int GRENZE = 0x40;
    private static int zähler = 0;
    private static final String ПРЕФИКС = "товар-";
    private volatile boolean offen = true;
    private final ReentrantLock schloss = new ReentrantLock();
    private final Deque<Ware> schlange = new ArrayDeque<>();
    private int früher;
    private int später;

    static class Fehler extends RuntimeException {
        Fehler(String text) {
            super(text);
        }
    }

    interface Gestalt {
        double fläche();

        default double doppelt() {
            return fläche() * 2;
        }
    }

    record Kreis(double radius, double mitte) implements Gestalt {
        @Override
        public double fläche() {
            double roh = Math.PI * radius * radius;
            return Math.floor(roh) - Math.abs(mitte);
        }
    }

    static class Ware {
        String name;
        String gruppe;
        int menge;
        int rest;
        long nummer;
        double preis = 1.5;

        Ware(String name, int menge) {
            this.name = name;
            this.menge = menge;
        }

        int nimm(int anzahl) {
            if (anzahl <= 0 || anzahl > this.menge) {
                throw new IllegalArgumentException("zu viel: " + anzahl);
            }
            this.rest = this.menge;
            this.menge -= anzahl;
            zähler++;
            return this.menge;
        }

        boolean gleicht(Ware andere) {
            if (andere == null) {
                return false;
            }
            return name.equals(andere.name) && Objects.equals(gruppe, andere.gruppe);
        }

        boolean leer() {
            return !(this.menge > 0);
        }
    }

    static Ware zerlege(String zeile) {
        String[] teile = zeile.trim().split(";");
        if (teile.length != 3) return null;
        int menge;
        try {
            menge = Integer.parseInt(teile[1]);
        } catch (NumberFormatException | ArithmeticException fehler) {
            throw new Fehler("form — 形式");
        } catch (IllegalStateException fehler) {
            menge = -1;
        } finally {
            zähler += 1;
        }
        Ware ware = new Ware(teile[0].toLowerCase(), menge);
        if (ware.name.startsWith(ПРЕФИКС)) {
            ware.name = ware.name.substring(ПРЕФИКС.length());
        }
        return ware;
    }

    static double summe(List<Ware> waren, double start) {
        double gesamt = start;
        int anzahl = 0;
        for (int i = 0; i < waren.size(); i++) {
            Ware ware = waren.get(i);
            if (ware == null || ware.leer()) {
                continue;
            }
            if (anzahl >= GRENZE) {
                break;
            }
            gesamt += ware.preis * ware.menge;
            anzahl++;
        }
        if (anzahl == 0) {
            gesamt = -1;
        } else {
            gesamt = gesamt / anzahl;
        }
        zähler = anzahl;
        return gesamt;
    }

    static List<String> häufigste(List<String> wörter, int länge) {
        Map<String, Integer> zahl = new HashMap<>();
        for (String wort : new ArrayList<>(wörter)) {
            zahl.put(wort, zahl.getOrDefault(wort, 0) + 1);
        }
        return zahl.entrySet().stream()
            .filter(eintrag -> eintrag.getKey().isEmpty())
            .sorted((a, b) -> b.getValue() - a.getValue())
            .limit(länge)
            .map(Map.Entry::getKey)
            .collect(Collectors.toList());
    }

    static int suche(int[] liste, int ziel) {
        int links = 0;
        int rechts = liste.length - 1;
        while (links <= rechts) {
            int mitte = (links + rechts) >>> 1;
            if (liste[mitte] == ziel) {
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

    static String art(String код, int n) {
        String ergebnis = "";
        switch (код) {
            case "ä":
            case "ö":
                ergebnis = "umlaut";
                break;
            case "б":
                ergebnis = "кириллица";
                zähler--;
                break;
            default:
                return String.valueOf(n);
        }
        int stufe = switch (n) {
            case 0 -> 1;
            case 1, 2 -> 3;
            default -> n % 7;
        };
        if (stufe > 5) {
            ergebnis += "viel";
        } else if (stufe < 2 || код.isEmpty()) {
            ergebnis += "schuld";
        } else {
            ergebnis = ergebnis.strip();
        }
        return n == 3 ? ergebnis : ergebnis.toUpperCase();
    }

    synchronized int lege(Ware ware, boolean vorne) {
        Objects.requireNonNull(ware);
        schloss.lock();
        try {
            if (vorne) {
                schlange.addFirst(ware);
            } else {
                schlange.addLast(ware);
            }
            this.früher = this.später;
            this.später = schlange.size();
        } finally {
            schloss.unlock();
        }
        assert this.später > 0 : "größe";
        return this.später - this.früher;
    }

    Optional<Ware> finde(String name) {
        synchronized (schlange) {
            Ware gefunden = null;
            for (Ware ware : schlange) {
                gefunden = ware;
                if (ware.name.equals(name)) {
                    return Optional.ofNullable(ware);
                }
            }
            if (gefunden == null) {
                gefunden = new Ware("leer", 0);
            }
            zähler = gefunden.menge;
            gefunden.rest = zähler + 1;
            return Optional.of(gefunden);
        }
    }

    String kopf(String ersatz) {
        String name = finde("äpfel").map(w -> w.name).orElse(ersatz);
        Ware erste = finde("birnen").orElseThrow();
        if (name != null) {
            erste.name = name;
        }
        return Objects.requireNonNull(erste.name);
    }

    static List<Integer> teile(List<Integer> zahlen, int von, int bis) {
        List<Integer> kopie = List.copyOf(zahlen);
        if (von > bis) {
            Collections.emptyList();
            return List.of(von, bis);
        }
        return Collections.unmodifiableList(kopie.subList(von, bis));
    }

    static long maske(int bits, int breite) {
        int wert = bits & 0xff;
        wert |= 1 << 3;
        wert ^= ~breite;
        long groß = (long) wert * breite;
        double anteil = (double) wert / 7;
        int kleiner = Math.min(wert, breite);
        long negativ = -groß;
        int[] feld = new int[4];
        feld[0] = kleiner;
        feld[1 + 1] = (int) anteil;
        return groß > 2L ? negativ : feld[0];
    }

    static int erste(List<Integer> liste, int ziel) {
        int ergebnis = 0;
        Iterator<Integer> lauf = liste.iterator();
        while (lauf.hasNext()) {
            ergebnis = ergebnis + lauf.next();
            ergebnis = Math.max(ergebnis, ziel);
        }
        return ergebnis;
    }

    static int gemeinsam(int[] a, int[] b) {
        int treffer = 0;
        for (int x : a) {
            for (int y : b) {
                if (x == y && x != 0) {
                    treffer++;
                    break;
                }
            }
        }
        return treffer;
    }

    @Override
    public void close() {
        offen = false;
        try (Shop anderer = new Shop()) {
            anderer.schlange.clear();
        }
        System.out.println(offen);
    }
}
