"""Five small databases as benchmarks have them, with questions, evidence and gold, and predictions
that give gold's rows on the real database: some as good as gold, some worse.

A case is a question with its evidence, gold, and the predictions: `+` as good, `-` worse. A line
that is indented goes on with the one before.
"""

from __future__ import annotations

from random import Random
from textwrap import dedent
from typing import Any, NamedTuple

Rows = dict[str, list[tuple[Any, ...]]]  # by table


class Case(NamedTuple):
    """A question with its evidence, gold, and the predictions that are as good, and worse."""

    text: str
    gold: str
    as_good: list[str]
    worse: list[str]


class World(NamedTuple):
    """A database as SQL, its rows, and what is asked of it."""

    schema: str
    rows: Rows
    cases: list[Case]


def read_cases(text: str) -> list[Case]:
    """The cases of a text, with a blank line between two."""
    cases = []
    for block in dedent(text).strip().split("\n\n"):
        question, gold, *others = block.replace("\n  ", " ").splitlines()
        good = [line[2:] for line in others if line.startswith("+ ")]
        worse = [line[2:] for line in others if line.startswith("- ")]
        cases.append(Case(question, gold, good, worse))
    return cases


_FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "June", "Kai", "Lea")
_LAST = ("Adler", "Brook", "Cole", "Dorn", "Ekberg", "Falk", "Grau", "Holm", "Ibsen", "Juhl")
_NOUNS = ("Drake", "Golem", "Sprite", "Knight", "Hound", "Wraith", "Oracle", "Titan", "Imp", "Ogre")
_ADJECTIVES = ("Ashen", "Gilded", "Silent", "Feral", "Hollow", "Ivory", "Molten", "Pale", "Rusty")


CARDS_CASES = """
Who drew the card Ashen Drake? Ashen Drake refers to name = 'Ashen Drake'; who refers to artist
SELECT artist FROM cards WHERE name LIKE 'ashen drake'
+ SELECT artist FROM cards WHERE name = 'Ashen Drake'
+ SELECT DISTINCT artist FROM cards WHERE lower(name) = 'ashen drake'

When were the rulings of Gilded Golem made? Gilded Golem refers to name = 'Gilded Golem'; when
  refers to date
SELECT r.date FROM cards AS c JOIN rulings AS r ON r.uuid = c.uuid WHERE c.name LIKE 'Gilded golem'
+ SELECT date FROM rulings WHERE uuid IN (SELECT uuid FROM cards WHERE name = 'Gilded Golem')

How many mythic cards are banned in duel? mythic refers to rarity = 'mythic'; banned refers to
  status = 'Banned'; duel refers to format = 'duel'
SELECT COUNT(T1.id) FROM cards AS T1 INNER JOIN legalities AS T2 ON T1.uuid = T2.uuid
  WHERE T1.rarity = 'mythic' AND T2.status = 'Banned' AND T2.format = 'duel'
+ SELECT COUNT(DISTINCT T1.uuid) FROM cards AS T1 INNER JOIN legalities AS T2 ON T1.uuid = T2.uuid
  WHERE T1.rarity = 'mythic' AND T2.status = 'Banned' AND T2.format = 'duel'
+ SELECT COUNT(DISTINCT T1.id) FROM cards AS T1 INNER JOIN legalities AS T2 ON T1.uuid = T2.uuid
  WHERE T1.rarity = 'mythic' AND T2.status = 'Banned' AND T2.format = 'duel'

Which set is the card Ashen Drake by Ada Adler from? Ashen Drake refers to name = 'Ashen Drake';
  by Ada Adler refers to artist = 'Ada Adler'; which set refers to setCode
SELECT setCode FROM cards WHERE name = 'Ashen Drake' AND artist = 'Ada Adler'
- SELECT setCode FROM cards WHERE name = 'Ashen Drake'

What is the rarity of the dearest card? dearest refers to MAX(cost)
SELECT rarity FROM cards ORDER BY cost DESC LIMIT 1
+ SELECT rarity FROM cards WHERE cost = (SELECT MAX(cost) FROM cards)
- SELECT MAX(rarity) FROM cards WHERE cost > 77

How many cards by Ada Adler are there? Ada Adler refers to artist = 'Ada Adler'; how many cards
  refers to COUNT(DISTINCT name)
SELECT COUNT(id) FROM cards WHERE artist = 'Ada Adler'
+ SELECT COUNT(DISTINCT name) FROM cards WHERE artist = 'Ada Adler'
+ SELECT COUNT(name) FROM cards WHERE artist = 'Ada Adler'

What are the names of cards of frame 1993 that cost more than 50? frame 1993 refers to frame =
  '1993'; cost more than 50 refers to cost > 50
SELECT DISTINCT T1.name FROM cards AS T1 INNER JOIN legalities AS T2 ON T1.uuid = T2.uuid
  WHERE T1.frame = '1993' AND T1.cost > 50
+ SELECT name FROM cards WHERE frame = '1993' AND cost > 50

Which card has the most rulings? most rulings refers to MAX(COUNT(uuid))
SELECT T1.name FROM cards AS T1 INNER JOIN rulings AS T2 ON T1.uuid = T2.uuid GROUP BY T1.uuid
  ORDER BY COUNT(T2.id) DESC LIMIT 1
+ SELECT T1.name FROM cards AS T1 INNER JOIN rulings AS T2 ON T1.uuid = T2.uuid GROUP BY T1.name
  ORDER BY COUNT(T2.id) DESC LIMIT 1
+ SELECT name FROM cards WHERE uuid = (SELECT uuid FROM rulings GROUP BY uuid ORDER BY COUNT(*)
  DESC LIMIT 1)

Who drew the dearest card of the set Season 3? Season 3 refers to sets.name = 'Season 3'; dearest
  refers to MAX(cost)
SELECT T1.artist FROM cards AS T1 INNER JOIN sets AS T2 ON T1.setCode = T2.code
  WHERE T2.name = 'Season 3' ORDER BY T1.cost DESC LIMIT 1
+ SELECT artist FROM cards WHERE setCode = (SELECT code FROM sets WHERE name = 'Season 3')
  ORDER BY cost DESC LIMIT 1
- SELECT artist FROM cards WHERE setCode = 'S03' ORDER BY cost DESC LIMIT 1
"""


def make_cards() -> World:
    """Cards of a game, some printed again in another set, with rulings and where they are legal."""
    random = Random(1)
    sets = [(n, f"S{n:02}", f"Season {n}", f"20{n:02}-05-0{n % 9 + 1}") for n in range(1, 25)]
    names = [f"{left} {right}" for left in _ADJECTIVES for right in _NOUNS]
    cards: list[tuple[Any, ...]] = []
    for number in range(1, 131):
        name = names[number - 1] if number <= len(names) else random.choice(names[20:])
        artist = f"{random.choice(_FIRST)} {random.choice(_LAST)}"
        rarity = random.choice(("common", "common", "rare", "mythic"))
        power = random.choice((None, 1, 2, 3, 4, 5))
        frame = random.choice(("1993", "1997", "2003"))
        code = f"S{random.randint(1, 24):02}"
        cost = round(random.uniform(0.1, 60), 2)
        cards.append(
            (number, f"u-{number * 7919:06}", name, artist, rarity, power, frame, code, cost)
        )
    cards[0] = (1, "u-007919", "Ashen Drake", "Ada Adler", "mythic", 5, "1993", "S01", 77.5)
    rulings = [
        (
            n,
            f"u-{random.randint(1, 60) * 7919:06}",
            f"20{random.randint(10, 19)}-0{random.randint(1, 9)}-11",
            random.choice(("It may block.", "It is no spell.", "It counts twice.")),
        )
        for n in range(1, 121)
    ]
    rulings += [(n, cards[2][1], f"2020-0{n - 120}-04", "It may block.") for n in range(121, 130)]
    formats = ("standard", "legacy", "duel")
    legalities = [
        (0, card[1], kind, random.choice(("Legal", "Legal", "Banned")))
        for card in cards
        for kind in formats
        if random.random() < 0.8
    ]
    legalities = [(n, *legality[1:]) for n, legality in enumerate(legalities, start=1)]
    schema = """
        CREATE TABLE sets (id INTEGER PRIMARY KEY, code TEXT UNIQUE, name TEXT, released TEXT);
        CREATE TABLE cards (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT,
            artist TEXT, rarity TEXT, power INTEGER, frame TEXT, setCode TEXT, cost REAL);
        CREATE TABLE rulings (id INTEGER PRIMARY KEY, uuid TEXT REFERENCES cards (uuid), date TEXT,
            text TEXT);
        CREATE TABLE legalities (id INTEGER PRIMARY KEY, uuid TEXT REFERENCES cards (uuid),
            format TEXT, status TEXT);
        """
    return World(
        schema,
        {"sets": sets, "cards": cards, "rulings": rulings, "legalities": legalities},
        read_cases(CARDS_CASES),
    )


SCHOOLS_CASES = """
What is the street of the school with the highest average score in math? highest average score
  refers to MAX(avg_math)
SELECT T2.street FROM exams AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  ORDER BY T1.avg_math DESC LIMIT 1
+ SELECT street FROM schools WHERE code = (SELECT code FROM exams ORDER BY avg_math DESC LIMIT 1)

What is the number of test takers of the school with the best average in reading? best average
  refers to MAX(avg_read); number of test takers refers to tested
SELECT tested FROM exams ORDER BY tested DESC LIMIT 1
+ SELECT tested FROM exams ORDER BY avg_read DESC LIMIT 1
+ SELECT tested FROM exams WHERE avg_read = (SELECT MAX(avg_read) FROM exams)

How many students were tested at the school Brook Prep 2? students tested refers to SUM(tested)
SELECT tested FROM exams WHERE sname = 'Brook Prep 2'
+ SELECT SUM(tested) FROM exams WHERE sname = 'Brook Prep 2'

Which county has the most closed schools? closed refers to status = 'Closed'
SELECT county FROM schools WHERE status = 'Closed' GROUP BY county ORDER BY COUNT(code) DESC LIMIT 1
+ SELECT county FROM schools WHERE status = 'Closed' GROUP BY county ORDER BY COUNT(school) DESC
  LIMIT 1

Which schools of the county of Elm have more than 600 test takers? more than 600 test takers refers
  to tested > 600; county of Elm refers to cname = 'Elm'
SELECT T2.school FROM exams AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  WHERE T1.tested > 600 AND T1.cname = 'Elm'
+ SELECT sname FROM exams WHERE tested > 600 AND cname = 'Elm'
+ SELECT T2.school FROM exams AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  WHERE T1.tested > 600 AND T2.county = 'Elm'
+ SELECT T2.school FROM exams AS T1 LEFT JOIN schools AS T2 ON T1.code = T2.code
  WHERE T1.tested > 600 AND T1.cname = 'Elm'

What are the districts of the three schools with the most students over 1500? most students over
  1500 refers to MAX(over_1500)
SELECT T2.district, T1.over_1500 FROM exams AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  ORDER BY T1.over_1500 DESC LIMIT 3
- SELECT DISTINCT T2.district, T1.over_1500 FROM exams AS T1 INNER JOIN schools AS T2
  ON T1.code = T2.code ORDER BY T1.over_1500 DESC LIMIT 3

How many schools with meals are there in Cedar? Cedar refers to county = 'Cedar'
SELECT COUNT(T1.code) FROM schools AS T1 INNER JOIN meals AS T2 ON T1.code = T2.code
  WHERE T1.county = 'Cedar'
+ SELECT COUNT(*) FROM meals WHERE county = 'Cedar'
+ SELECT COUNT(DISTINCT T2.code) FROM schools AS T1 LEFT JOIN meals AS T2 ON T1.code = T2.code
  WHERE T1.county = 'Cedar'

What is the average number of pupils enrolled in the schools opened on 1900-01-01? opened on
  1900-01-01 refers to opened = '1900-01-01'
SELECT AVG(T1.enrolled) FROM meals AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  WHERE T2.opened = '1900-01-01'
- SELECT T1.enrolled FROM meals AS T1 INNER JOIN schools AS T2 ON T1.code = T2.code
  WHERE T2.opened = '1900-01-01'
"""


def make_schools() -> World:
    """Schools with the exam scores and the meals of most of them."""
    random = Random(2)
    counties = ("Alder", "Birch", "Cedar", "Elm")
    schools, exams, meals = [], [], []
    for n in range(1, 101):
        name = f"{_LAST[n % 10]} {('High', 'Middle', 'Academy', 'Prep')[n % 4]} {n // 10 + 1}"
        if n in (40, 80):
            name = "Holm Academy"
        county = random.choice(counties)
        code = f"{n * 37:07}"
        status = "Active" if random.random() < 0.8 else "Closed"
        opened = f"{random.randint(1950, 2015)}-08-{random.randint(10, 28)}"
        schools.append(
            (
                code,
                name,
                county,
                f"{county} {random.choice(('Unified', 'Union'))}",
                random.randint(0, 1),
                status,
                opened,
                f"{random.randint(100, 999)} Oak St",
            )
        )
        if n % 5:
            tested = random.randint(20, 900)
            exams.append(
                (
                    code,
                    name,
                    county,
                    tested,
                    random.randint(350, 650),
                    random.randint(350, 650),
                    random.randint(0, tested),
                )
            )
        if n % 7:
            enrolled = random.randint(100, 3000)
            meals.append((code, name, county, float(enrolled), float(random.randint(20, enrolled))))
    exams[30] = (*exams[30][:3], 950, 640, 655, 700)
    districts = {school[0]: school[3] for school in schools}
    best = {
        districts[exam[0]]: exam_index for exam_index, exam in enumerate(exams) if exam_index != 30
    }
    for rank, exam_index in enumerate(sorted(best.values())[:3]):
        exams[exam_index] = (*exams[exam_index][:3], 940 - rank, 600, 600, 930 - rank)
    schools[50] = (*schools[50][:6], "1900-01-01", schools[50][7])
    schema = """
        CREATE TABLE schools (code TEXT NOT NULL PRIMARY KEY, school TEXT, county TEXT,
            district TEXT, charter INTEGER, status TEXT, opened DATE, street TEXT);
        CREATE TABLE exams (code TEXT NOT NULL PRIMARY KEY REFERENCES schools (code), sname TEXT,
            cname TEXT, tested INTEGER NOT NULL, avg_math INTEGER, avg_read INTEGER,
            over_1500 INTEGER);
        CREATE TABLE meals (code TEXT NOT NULL PRIMARY KEY REFERENCES schools (code),
            "School Name" TEXT, county TEXT, enrolled REAL, free REAL);
        """
    return World(
        schema, {"schools": schools, "exams": exams, "meals": meals}, read_cases(SCHOOLS_CASES)
    )


FOOTBALL_CASES = """
Which team played the most home matches in 2010/2011? 2010/2011 refers to season = '2010/2011';
  team refers to long_name
SELECT T1.long_name FROM team AS T1 INNER JOIN match AS T2 ON T1.team_api_id = T2.home_id
  WHERE T2.season = '2010/2011' GROUP BY T2.home_id ORDER BY COUNT(T2.id) DESC LIMIT 1
+ SELECT T1.long_name FROM team AS T1 INNER JOIN match AS T2 ON T1.team_api_id = T2.home_id
  WHERE T2.season = '2010/2011' GROUP BY T1.long_name ORDER BY COUNT(*) DESC LIMIT 1
+ SELECT long_name FROM team WHERE team_api_id = (SELECT home_id FROM match
  WHERE season = '2010/2011' GROUP BY home_id ORDER BY COUNT(*) DESC LIMIT 1)

Which league had the most goals in 2009/2010? most goals refers to MAX(SUM(home_goals,
  away_goals)); 2009/2010 refers to season = '2009/2010'
SELECT T2.name FROM match AS T1 INNER JOIN league AS T2 ON T1.league_id = T2.id
  WHERE T1.season = '2009/2010' GROUP BY T2.name
  ORDER BY SUM(T1.home_goals + T1.away_goals) DESC LIMIT 1
+ SELECT T2.name FROM match AS T1 INNER JOIN league AS T2 ON T1.league_id = T2.id INNER JOIN
  country AS T3 ON T3.id = T2.country_id WHERE T1.season = '2009/2010' GROUP BY T2.id
  ORDER BY SUM(T1.home_goals) + SUM(T1.away_goals) DESC LIMIT 1
+ SELECT (SELECT name FROM league WHERE id = league_id) FROM match WHERE season = '2009/2010'
  GROUP BY league_id ORDER BY SUM(home_goals + away_goals) DESC LIMIT 1

Which foot do the players taller than 195 mostly prefer? mostly refers to MAX(COUNT(foot)); taller
  than 195 refers to height > 195
SELECT T2.foot FROM player AS T1 INNER JOIN player_rating AS T2 ON T1.player_api_id =
  T2.player_api_id WHERE T1.height > 195 GROUP BY T2.foot ORDER BY COUNT(*) DESC LIMIT 1
- SELECT MAX(T2.foot) FROM player AS T1 INNER JOIN player_rating AS T2 ON T1.player_api_id =
  T2.player_api_id WHERE T1.height > 195

Give the crossing of Cleo Ekberg 1 on 2010-02-22. Cleo Ekberg 1 refers to player_name = 'Cleo
  Ekberg 1'; on 2010-02-22 refers to date = '2010-02-22'
SELECT T2.crossing FROM player AS T1 INNER JOIN player_rating AS T2 ON T1.player_api_id =
  T2.player_api_id WHERE T1.player_name = 'Cleo Ekberg 1' AND T2.date = '2010-02-22'
+ SELECT SUM(T2.crossing) FROM player AS T1 INNER JOIN player_rating AS T2 ON T1.player_api_id =
  T2.player_api_id WHERE T1.player_name = 'Cleo Ekberg 1' AND T2.date = '2010-02-22'

Which three players have the highest overall rating? highest overall rating refers to MAX(overall)
SELECT DISTINCT T1.player_name, T2.overall FROM player AS T1 INNER JOIN player_rating AS T2
  ON T1.player_api_id = T2.player_api_id ORDER BY T2.overall DESC LIMIT 3
- SELECT T1.player_name, T2.overall FROM player AS T1 INNER JOIN player_rating AS T2
  ON T1.player_api_id = T2.player_api_id ORDER BY T2.overall DESC LIMIT 3

How many players taller than 190 have a potential of 90 or more? taller than 190 refers to
  height > 190; potential of 90 or more refers to potential >= 90
SELECT COUNT(DISTINCT T1.player_api_id) FROM player AS T1 INNER JOIN player_rating AS T2
  ON T1.player_api_id = T2.player_api_id WHERE T1.height > 190 AND T2.potential >= 90
+ SELECT COUNT(*) FROM player WHERE height > 190 AND player_api_id IN
  (SELECT player_api_id FROM player_rating WHERE potential >= 90)

When was the tallest player born? tallest refers to MAX(height); born refers to birthday
SELECT birthday FROM player ORDER BY height DESC LIMIT 1
+ SELECT birthday FROM player WHERE height = (SELECT MAX(height) FROM player)
"""


def make_football() -> World:
    """Matches of leagues, teams, and what players were rated at several dates."""
    random = Random(3)
    countries = [(n, name) for n, name in enumerate(("Arvia", "Bregen", "Costa", "Drumm"), start=1)]
    leagues = [
        (n, f"{country} {('Premier', 'First')[n % 2]} League", n) for n, country in countries
    ]
    teams = [
        (
            n,
            n * 113,
            f"{_LAST[n % 10]} {('City', 'United', 'Rovers')[n % 3]}",
            f"{_LAST[n % 10][:2].upper()}{'CUR'[n % 3]}",
        )
        for n in range(1, 31)
    ]
    matches = [
        (
            n,
            random.choice(("2009/2010", "2010/2011", "2011/2012")),
            league,
            f"2010-0{n % 9 + 1}-1{n % 7}",
            home,
            away,
            random.randint(0, 5),
            random.randint(0, 5),
        )
        for n in range(1, 241)
        for league in [random.randint(1, 4)]
        for home, away in [random.sample([team[1] for team in teams], 2)]
    ]
    players = [
        (
            n,
            n * 31,
            f"{_FIRST[n % 12]} {_LAST[(n * 7) % 10]} {n // 12 + 1}",
            165 + (n * 13) % 35,
            f"19{80 + n % 15}-0{n % 9 + 1}-1{n % 9}",
        )
        for n in range(1, 91)
    ]
    players[40] = (41, 41 * 31, players[11][2], 199.5, "1985-04-11")
    ratings = []
    for player in players:
        foot = random.choice(("left", "right", "right"))
        for year in range(2010, 2010 + random.randint(1, 4)):
            ratings.append(
                (
                    len(ratings) + 1,
                    player[1],
                    f"{year}-02-22",
                    random.randint(50, 93),
                    random.randint(60, 95),
                    foot,
                    random.randint(20, 90),
                )
            )
    for rank, team_index in enumerate((3, 40, 80)):
        ratings[team_index] = (*ratings[team_index][:3], 97 - rank, *ratings[team_index][4:])
    schema = """
        CREATE TABLE country (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE league (id INTEGER PRIMARY KEY, name TEXT UNIQUE,
            country_id INTEGER REFERENCES country (id));
        CREATE TABLE team (id INTEGER PRIMARY KEY, team_api_id INTEGER UNIQUE, long_name TEXT,
            short_name TEXT);
        CREATE TABLE match (id INTEGER PRIMARY KEY, season TEXT,
            league_id INTEGER REFERENCES league (id), date TEXT,
            home_id INTEGER REFERENCES team (team_api_id),
            away_id INTEGER REFERENCES team (team_api_id), home_goals INTEGER, away_goals INTEGER);
        CREATE TABLE player (id INTEGER PRIMARY KEY, player_api_id INTEGER UNIQUE,
            player_name TEXT, height INTEGER, birthday TEXT);
        CREATE TABLE player_rating (id INTEGER PRIMARY KEY,
            player_api_id INTEGER REFERENCES player (player_api_id), date TEXT, overall INTEGER,
            potential INTEGER, foot TEXT, crossing INTEGER);
        """
    return World(
        schema,
        {
            "country": countries,
            "league": leagues,
            "team": teams,
            "match": matches,
            "player": players,
            "player_rating": ratings,
        },
        read_cases(FOOTBALL_CASES),
    )


CHEMISTRY_CASES = """
What share of the bonds of connected atoms is double? double bond refers to bond_type = '=';
  share = DIVIDE(SUM(bond_type = '='), COUNT(bond_id))
SELECT CAST(COUNT(CASE WHEN T2.bond_type = '=' THEN T1.bond_id END) AS REAL) / COUNT(T1.bond_id)
  FROM connected AS T1 INNER JOIN bond AS T2 ON T1.bond_id = T2.bond_id
+ SELECT CAST(SUM(bond_type = '=') AS REAL) / COUNT(bond_id) FROM bond
+ SELECT AVG(bond_type = '=') FROM bond

How many connections has atom TR004_2? connections refers to bond_id; atom refers to atom_id =
  'TR004_2'
SELECT COUNT(bond_id) FROM connected WHERE atom_id = 'TR004_2'
+ SELECT COUNT(*) FROM connected WHERE atom_id2 = 'TR004_2'
+ SELECT COUNT(DISTINCT bond_id) FROM connected WHERE atom_id = 'TR004_2' OR atom_id2 = 'TR004_2'

Are the molecules with nitrogen mostly carcinogenic? nitrogen refers to element = 'n'; mostly refers
  to MAX(COUNT(label)); label = '+' means carcinogenic
SELECT T2.label FROM atom AS T1 INNER JOIN molecule AS T2 ON T1.molecule_id = T2.molecule_id
  WHERE T1.element = 'n' GROUP BY T2.label ORDER BY COUNT(*) DESC LIMIT 1
- SELECT MIN(T2.label) FROM atom AS T1 INNER JOIN molecule AS T2 ON T1.molecule_id =
  T2.molecule_id WHERE T1.element = 'n'

How many atoms of chlorine are there in carcinogenic molecules? chlorine refers to element = 'cl';
  carcinogenic refers to label = '+'
SELECT COUNT(T1.atom_id) FROM atom AS T1 INNER JOIN molecule AS T2 ON T1.molecule_id =
  T2.molecule_id WHERE T1.element = 'cl' AND T2.label = '+'
+ SELECT COUNT(DISTINCT T1.atom_id) FROM atom AS T1 INNER JOIN connected AS T3 ON T1.atom_id =
  T3.atom_id INNER JOIN molecule AS T2 ON T1.molecule_id = T2.molecule_id
  WHERE T1.element = 'cl' AND T2.label = '+'

Which elements are bound by a triple bond in TR007? TR007 refers to molecule_id = 'TR007'; triple
  bond refers to bond_type = '#'
SELECT DISTINCT T1.element FROM atom AS T1 INNER JOIN connected AS T2 ON T1.atom_id = T2.atom_id
  INNER JOIN bond AS T3 ON T2.bond_id = T3.bond_id
  WHERE T3.bond_type = '#' AND T3.molecule_id = 'TR007'
+ SELECT DISTINCT T1.element FROM atom AS T1 INNER JOIN connected AS T2 ON T1.atom_id = T2.atom_id2
  INNER JOIN bond AS T3 ON T2.bond_id = T3.bond_id
  WHERE T3.bond_type = '#' AND T1.molecule_id = 'TR007'

How many carcinogenic molecules contain oxygen? carcinogenic refers to label = '+'; oxygen refers
  to element = 'o'
SELECT COUNT(DISTINCT T2.molecule_id) FROM atom AS T1 INNER JOIN molecule AS T2 ON T1.molecule_id =
  T2.molecule_id WHERE T1.element = 'o' AND T2.label = '+'
+ SELECT COUNT(*) FROM molecule WHERE label = '+' AND molecule_id IN (SELECT molecule_id FROM atom
  WHERE element = 'o')
+ SELECT COUNT(DISTINCT T2.molecule_id) FROM atom AS T1 INNER JOIN molecule AS T2 ON T1.molecule_id
  = T2.molecule_id INNER JOIN bond AS T3 ON T3.molecule_id = T2.molecule_id
  WHERE T1.element = 'o' AND T2.label = '+'

Is atom TR004_2 of molecule TR004 hydrogen? atom TR004_2 refers to atom_id = 'TR004_2'; molecule
  TR004 refers to molecule_id = 'TR004'; element = 'h' means hydrogen
SELECT element FROM atom WHERE atom_id = 'TR004_2' AND molecule_id = 'TR004'
+ SELECT element FROM atom WHERE atom_id = 'TR004_2'
"""


def make_chemistry() -> World:
    """Molecules, their atoms and bonds, and which atoms a bond connects: in both directions."""
    random = Random(4)
    molecules, atoms, bonds, connected = [], [], [], []
    for n in range(1, 61):
        molecule = f"TR{n:03}"
        molecules.append((molecule, random.choice("+-")))
        count = random.randint(3, 8)
        for atom in range(1, count + 1):
            element = random.choice(("c", "c", "h", "h", "o", "n", "cl"))
            atoms.append((f"{molecule}_{atom}", molecule, element))
        for left in range(1, count):
            right = left + 1
            bond = f"{molecule}_{left}_{right}"
            bonds.append((bond, molecule, random.choice(("-", "-", "=", "#"))))
            ends = f"{molecule}_{left}", f"{molecule}_{right}"
            connected += [(*ends, bond), (*ends[::-1], bond)]
    bonds = [(*bond[:2], "#" if bond[1] == "TR007" else bond[2]) for bond in bonds]
    schema = """
        CREATE TABLE molecule (molecule_id TEXT NOT NULL PRIMARY KEY, label TEXT);
        CREATE TABLE atom (atom_id TEXT NOT NULL PRIMARY KEY,
            molecule_id TEXT REFERENCES molecule (molecule_id), element TEXT);
        CREATE TABLE bond (bond_id TEXT NOT NULL PRIMARY KEY,
            molecule_id TEXT REFERENCES molecule (molecule_id), bond_type TEXT);
        CREATE TABLE connected (atom_id TEXT NOT NULL REFERENCES atom (atom_id),
            atom_id2 TEXT NOT NULL REFERENCES atom (atom_id),
            bond_id TEXT REFERENCES bond (bond_id), PRIMARY KEY (atom_id, atom_id2));
        """
    return World(
        schema,
        {"molecule": molecules, "atom": atoms, "bond": bonds, "connected": connected},
        read_cases(CHEMISTRY_CASES),
    )


LABORATORY_CASES = """
For the patient born on 1928/3/14 who has SLE, was he or she admitted? born on 1928/3/14 refers to
  birthday = '1928-03-14'; SLE refers to diagnosis = 'SLE'; admitted refers to admission
SELECT admission FROM patient WHERE birthday = '1928-03-14' AND diagnosis = 'SLE'
- SELECT admission FROM patient WHERE birthday = '1928-03-14'

How many female patients have a GOT of 60 or more? female refers to sex = 'F'; GOT of 60 or more
  refers to got >= 60
SELECT COUNT(DISTINCT T1.id) FROM patient AS T1 INNER JOIN laboratory AS T2 ON T1.id = T2.id
  WHERE T1.sex = 'F' AND T2.got >= 60
+ SELECT COUNT(*) FROM patient WHERE sex = 'F' AND id IN (SELECT id FROM laboratory WHERE got >= 60)
+ SELECT COUNT(DISTINCT T2.id) FROM patient AS T1 LEFT JOIN laboratory AS T2 ON T1.id = T2.id
  WHERE T1.sex = 'F' AND T2.got >= 60

What is the diagnosis of the patient with the highest IgG of severe thrombosis? highest IgG refers
  to MAX(igg); severe thrombosis refers to thrombosis = 2
SELECT T1.diagnosis FROM patient AS T1 INNER JOIN examination AS T2 ON T1.id = T2.patient_id
  WHERE T2.thrombosis = 2 ORDER BY T2.igg DESC LIMIT 1
+ SELECT diagnosis FROM patient WHERE id = (SELECT patient_id FROM examination
  WHERE thrombosis = 2 ORDER BY igg DESC LIMIT 1)

What is the albumin of patient 1085 on 1990-11-06? albumin refers to SUM(alb)
SELECT SUM(alb) FROM laboratory WHERE id = 1085 AND date = '1990-11-06'
+ SELECT alb FROM laboratory WHERE id = 1085 AND date = '1990-11-06'

How many patients with stroke have APS? stroke refers to symptoms = 'stroke'; APS refers to
  diagnosis = 'APS'
SELECT COUNT(T1.id) FROM patient AS T1 INNER JOIN examination AS T2 ON T1.id = T2.patient_id
  WHERE T2.symptoms = 'stroke' AND T1.diagnosis = 'APS'
+ SELECT COUNT(DISTINCT T1.id) FROM patient AS T1 INNER JOIN examination AS T2
  ON T1.id = T2.patient_id WHERE T2.symptoms = 'stroke' AND T1.diagnosis = 'APS'

What sex is the patient with APS and a glucose of 160 on 1994-11-06? APS refers to diagnosis =
  'APS'; glucose of 160 refers to glu = 160; on 1994-11-06 refers to laboratory.date = '1994-11-06'
SELECT T1.sex FROM patient AS T1 INNER JOIN laboratory AS T2 ON T1.id = T2.id
  WHERE T1.diagnosis = 'APS' AND T2.glu = 160 AND T2.date = '1994-11-06'
- SELECT T1.sex FROM patient AS T1 INNER JOIN laboratory AS T2 ON T1.id = T2.id
  WHERE T1.diagnosis = 'APS' AND T2.date = '1994-11-06'
"""


def make_laboratory() -> World:
    """Patients of a hospital, their examinations, and the values of their laboratory."""
    random = Random(5)
    patients, examinations, laboratory = [], [], []
    for n in range(1, 91):
        code = 1000 + n * 17
        sex = random.choice(("F", "F", "M"))
        born = f"19{random.randint(30, 80)}-0{random.randint(1, 9)}-{random.randint(10, 28)}"
        diagnosis = random.choice(("SLE", "RA", "BEHCET", "SJS", "APS"))
        patients.append((code, sex, born, random.choice("+-"), diagnosis))
        if n % 2:
            examinations.append(
                (
                    len(examinations) + 1,
                    code,
                    f"199{random.randint(1, 8)}-04-12",
                    random.randint(0, 3),
                    random.randint(80, 900),
                    random.choice((None, "thrombophlebitis", "stroke")),
                )
            )
        for year in range(1990, 1990 + random.randint(0, 4)):
            laboratory.append(
                (
                    code,
                    f"{year}-11-06",
                    random.randint(10, 90),
                    round(random.uniform(2, 7), 1),
                    random.choice((None, 90, 110, 160)),
                )
            )
    patients[4] = (1085, "F", "1928-03-14", "+", "SLE")
    code = next(patient[0] for patient in patients if patient[4] == "APS")
    laboratory = [result for result in laboratory if result[:2] != (1085, "1990-11-06")]
    laboratory += [(1085, "1990-11-06", 40, 4.5, 90), (code, "1994-11-06", 70, 4.0, 160)]
    schema = """
        CREATE TABLE patient (id INTEGER PRIMARY KEY, sex TEXT, birthday DATE, admission TEXT,
            diagnosis TEXT);
        CREATE TABLE examination (id INTEGER PRIMARY KEY,
            patient_id INTEGER REFERENCES patient (id), date DATE, thrombosis INTEGER, igg INTEGER,
            symptoms TEXT);
        CREATE TABLE laboratory (id INTEGER NOT NULL REFERENCES patient (id), date DATE NOT NULL,
            got INTEGER, alb REAL, glu INTEGER, PRIMARY KEY (id, date));
        """
    return World(
        schema,
        {"patient": patients, "examination": examinations, "laboratory": laboratory},
        read_cases(LABORATORY_CASES),
    )


WORLDS = {
    "cards": make_cards,
    "schools": make_schools,
    "football": make_football,
    "chemistry": make_chemistry,
    "laboratory": make_laboratory,
}
