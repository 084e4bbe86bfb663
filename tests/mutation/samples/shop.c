/* Ein kleiner Laden — 店, лавка, žluťoučký. 🦆 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRENZE 0x40
#define MIN(a, b) ((a) < (b) ? (a) : (b))

#if defined(__GNUC__) && !defined(KEIN_INLINE)
#define SCHNELL 1
#else
#define SCHNELL 0
#endif

/* größe ≠ Größe */
struct ware {
    char *name;
    int menge;
    int rest;
    double preis;
    struct ware *nächste;
};

typedef struct {
    struct ware *erste;
    struct ware *letzte;
    size_t anzahl;
    size_t grenze;
} lager;

enum stufe { NIEDRIG = 1, HOCH };

static volatile int zähler = 0;
static const char *ПРЕФИКС = "товар-";

static int größte(int a, int b)
{
    return a > b ? a : b;
}

struct ware *ware_neu(const char *name, int menge)
{
    struct ware *w;

    if (name == NULL || menge < 0) {
        errno = EINVAL;
        return NULL;
    }
    w = malloc(sizeof(*w));
    if (!w)
        return NULL;
    memset(w, 0, sizeof(struct ware));
    w->name = malloc(strlen(name) + 1);
    if (w->name == NULL) {
        free(w);
        return NULL;
    }
    strcpy(w->name, name);
    w->menge = menge;
    w->rest = menge - 1;
    w->preis = 1.5;
    return w;
}

void ware_free(struct ware *w)
{
    if (w != NULL) {
        free(w->name);
        free(w);
    }
}

int ware_nimm(struct ware *w, int anzahl)
{
    if (!w || anzahl <= 0 || anzahl > w->menge) {
        return -1;
    }
    w->rest = w->menge;
    w->menge -= anzahl;
    zähler++;
    return w->menge;
}

int lager_lege(lager *l, struct ware *w, bool vorne)
{
    int ergebnis = 0;

    if (l->anzahl >= l->grenze)
        goto voll;
    if (vorne) {
        w->nächste = l->erste;
        l->erste = w;
    } else {
        if (l->letzte)
            l->letzte->nächste = w;
        l->letzte = w;
    }
    l->anzahl += 1;
    ergebnis = größte((int)l->anzahl, zähler);
    return ergebnis;
voll:
    errno = ENOSPC;
    return -1;
}

double summe(const struct ware *feld, size_t n, double start)
{
    double gesamt = start;
    int anzahl = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        const struct ware *w = &feld[i];
        if (w->menge == 0)
            continue;
        if (anzahl >= GRENZE)
            break;
        gesamt += w->preis * w->menge;
        anzahl++;
    }
    if (anzahl == 0) {
        gesamt = -1;
    } else {
        gesamt = gesamt / anzahl;
    }
    return fabs(gesamt);
}

int suche(const int *liste, int n, int ziel)
{
    int links = 0, rechts = n - 1;

    while (links <= rechts) {
        int mitte = (links + rechts) >> 1;
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

const char *art(int code, int n)
{
    const char *ergebnis = "";

    switch (code) {
    case 1:
    case 2:
        ergebnis = "umlaut — äöü";
        break;
    case 3:
        ergebnis = "кириллица";
        zähler--;
        break;
    default:
        return ПРЕФИКС;
    }
    if (n > 5) {
        ergebnis = "viel";
    } else if (n < 0 || code == 2) {
        ergebnis = "schuld";
    } else {
        zähler -= n;
    }
    return n == 3 ? ergebnis : "sonst";
}

size_t zerlege(char *zeile, char **teile, size_t höchstens)
{
    size_t n = 0;
    char *p = zeile;

    while (*p && n < höchstens) {
        char *ende = strchr(p, ';');
        teile[n] = p;
        n++;
        if (ende == NULL) {
            break;
        }
        *ende = '\0';
        p = ende + 1;
    }
    return n;
}

int klein(char *ziel, const char *quelle, size_t länge)
{
    unsigned char zeichen;
    size_t i;
    int geändert = 0;

    memcpy(ziel, quelle, länge);
    for (i = 0; i + 1 < länge; i++) {
        zeichen = (unsigned char)quelle[i];
        if (isupper(zeichen) && zeichen != 'X') {
            ziel[i] = (char)tolower(zeichen);
            geändert = geändert + 1;
        }
    }
    ziel[länge - 1] = '\0';
    return geändert;
}

uint64_t maske(uint32_t bits, int breite)
{
    static int aufrufe = 0;
    uint64_t wert = bits & 0xff;

    aufrufe++;
    wert |= 1 << 3;
    wert ^= ~breite;
    if (breite == aufrufe)
        wert = (uint64_t)bits * 2;
    while (wert > 100 && aufrufe) {
        wert /= 2;
    }
    return wert % 7 == 0 ? wert : -wert;
}

int kopiere(FILE *von, FILE *nach)
{
    char puffer[128];
    long gesamt = 0;
    size_t n;

    for (;;) {
        n = fread(puffer, 1, sizeof(puffer), von);
        if (n == 0)
            break;
        if (fwrite(puffer, 1, n, nach) != n) {
            fclose(nach);
            return -2;
        }
        gesamt += (long)n;
    }
    fflush(nach);
    return gesamt > 0 && !ferror(von);
}

int letzte(const int *werte, int n, int ziel)
{
    int gefunden = -1;
    int i;

    for (i = 0; i < n; i++) {
        gefunden = werte[i];
        if (gefunden == ziel) {
            zähler = i;
            gefunden = MIN(zähler, ziel);
        }
    }
    return gefunden;
}

int lies_zahl(const char **text)
{
    int wert = 0;
    bool negativ = false;

    do {
        if (**text == '-')
            negativ = true;
    } while (isspace(*(*text)++));
    while (isdigit(**text)) {
        wert = wert * 10 + (**text - '0');
        (*text)++;
    }
    return negativ ? -wert : wert;
}

size_t anhängen(char *d, const char *s)
{
    char *anfang = d;

    while (*s) {
        *d = *s++;
        d++;
    }
    *d = 0;
    return (size_t)(d - anfang);
}
