// Package shop ist ein kleiner Laden — 店, лавка, žluťoučký; 🦆 in comments.
package shop

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

// Grenze says how much is too much.
const Grenze = 0x40

const währung = "EUR"

var (
	errLeer  = errors.New("leer — 空")
	zähler   int
	ПРЕФИКС  = "товар-"
	erlaubte = map[string]bool{"ä": true, "б": false}
)

type basis struct {
	name   string
	größe  int
	breite int
}

// Ware is a thing with a price.
type Ware struct {
	basis
	mu    sync.Mutex
	preis float64
	menge int
	alt   int
	tags  []string
}

type gestalt interface {
	Fläche() float64
}

type kreis struct {
	radius float64
	mitte  float64
}

func (k *kreis) Fläche() float64 {
	if k.radius <= 0 {
		return 0
	}
	return math.Floor(math.Pi*k.radius*k.radius) - k.mitte
}

// Nimm takes some away.
func (w *Ware) Nimm(anzahl int, grund string) (rest int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if anzahl <= 0 || anzahl > w.menge {
		return 0, fmt.Errorf("%s: zu viel: %w", grund, errLeer)
	}
	w.alt = w.menge
	w.menge -= anzahl
	rest = w.menge
	zähler++
	return rest, nil
}

func (w *Ware) passt(höhe int, breite int) bool {
	flächen := w.größe * w.breite
	if höhe == 0 {
		panic("höhe fehlt")
	}
	return flächen-höhe*breite > 0 && !w.leer()
}

func (w *Ware) leer() bool {
	return w.menge == 0
}

// Zerlege reads "имя;12;3" apart.
func Zerlege(zeile string) (*Ware, error) {
	teile := strings.Split(strings.TrimSpace(zeile), ";")
	if len(teile) != 3 {
		return nil, errLeer
	}
	var anzahl int
	_, err := fmt.Sscanf(teile[1], "%d", &anzahl)
	if err != nil {
		return nil, err
	}
	ware := &Ware{basis: basis{name: strings.ToLower(teile[0])}, menge: anzahl}
	if strings.HasPrefix(ware.name, ПРЕФИКС) {
		ware.name = ware.name[len(ПРЕФИКС):]
		ware.tags = append(ware.tags, "präfix", währung)
	}
	return ware, nil
}

// Summe adds up what there is.
func Summe(waren []*Ware, start float64) float64 {
	gesamt := start
	anzahl := 0
	for i := 0; i < len(waren); i++ {
		ware := waren[i]
		if ware == nil {
			continue
		}
		if anzahl >= Grenze {
			break
		}
		gesamt += ware.preis * float64(ware.menge)
		anzahl++
	}
	if anzahl == 0 {
		gesamt = -1
	} else {
		gesamt = gesamt / float64(anzahl)
	}
	zähler = anzahl
	return gesamt
}

// Suche halves a sorted list.
func Suche(liste []int, ziel int) int {
	links, rechts := 0, len(liste)-1
	for links <= rechts {
		mitte := (links + rechts) >> 1
		if liste[mitte] == ziel {
			return mitte
		}
		if liste[mitte] < ziel {
			links = mitte + 1
		} else if liste[mitte] > ziel {
			rechts = mitte - 1
		} else {
			rechts--
		}
	}
	return -1
}

// Häufigste counts words.
func Häufigste(wörter []string, länge int) []string {
	zahl := map[string]int{}
	for _, wort := range append([]string(nil), wörter...) {
		zahl[wort] += 1
	}
	sortiert := make([]string, 0, len(zahl))
	for wort, n := range zahl {
		if n > 1 && wort != "" {
			sortiert = append(sortiert, wort)
		}
	}
	sort.Slice(sortiert, func(a, b int) bool {
		return zahl[sortiert[a]] > zahl[sortiert[b]]
	})
	if len(sortiert) > länge {
		sortiert = sortiert[:länge]
	}
	return sortiert
}

// Art names a code.
func Art(код string, n int) string {
	ergebnis := ""
	switch код {
	case "ä", "ö":
		ergebnis = "umlaut"
	case "б":
		ergebnis = "кириллица"
		fallthrough
	case "型":
		ergebnis += "!"
		if n > 3 {
			break
		}
		zähler--
	default:
		return fmt.Sprint(код, n)
	}
	if _, ok := erlaubte[код]; !ok {
		ergebnis = strings.TrimSuffix(ergebnis, "!")
	}
	return ergebnis
}

// Lade reads a file, several times if need be.
func Lade(pfad string, versuche int) ([]byte, error) {
	var letzter error
	for versuche > 0 {
		versuche--
		daten, err := os.ReadFile(pfad)
		if err == nil {
			return daten, nil
		}
		letzter = err
		if errors.Is(err, os.ErrNotExist) {
			letzter = fmt.Errorf("lade: %w", err)
			break
		}
	}
	return nil, letzter
}

// Rechne works in the background.
func Rechne(zahlen []int, frist time.Duration) (int, error) {
	var gruppe sync.WaitGroup
	ergebnisse := make(chan int, len(zahlen))
	for _, zahl := range zahlen {
		gruppe.Add(1)
		go func(n int) {
			defer gruppe.Done()
			ergebnisse <- n * n
		}(zahl)
	}
	go gruppe.Wait()
	summe := 0
	ende := time.After(frist)
	for range zahlen {
		select {
		case wert := <-ergebnisse:
			summe += wert
		case <-ende:
			return summe, errors.New("zu spät")
		}
	}
	return summe, nil
}

// Wähle sets the outer variable from within a block.
func Wähle(a, b int, tief bool) (int, string) {
	wert := a
	text := "außen"
	if tief {
		wert = b
		text = "innen"
		fmt.Println(wert, text)
	}
	kleiner := int64(wert) & 0xff
	kleiner |= 1 << 3
	kleiner = kleiner &^ 2
	return int(kleiner) % max(a, 1), text
}

func max(a, b int) int {
	if a < b {
		return b
	}
	return a
}

func letzte(liste []*Ware, name string) *Ware {
	var gefunden *Ware
	for _, ware := range liste {
		gefunden = ware
		if ware != nil && ware.name == name {
			ware.alt = ware.menge
			ware.menge = ware.alt + 1
		}
	}
	if gefunden == nil {
		gefunden = &Ware{}
	}
	return gefunden
}

func alles() []gestalt {
	formen := []gestalt{&kreis{radius: 1.5, mitte: 0}}
	formen = append(formen, &kreis{radius: math.Abs(-2.5)}, &kreis{})
	return formen
}
