// Verdicts on a question: that of the run, and those of files that one loads, as a start of the review.

const LOADED = `answerkey verdicts ${payload.dataset}`;
const READINGS_DIFFER = "they differ";
const NO_VERDICT = "none";
const loaded = new Map(readLoaded()); // by id, a list of verdicts

function readLoaded() {
  try {
    return JSON.parse(localStorage.getItem(LOADED)) ?? [];
  } catch {
    return [];
  }
}

// Where the browser has no room for them, they stay until the page is closed.
function storeLoaded() {
  try {
    localStorage.setItem(LOADED, JSON.stringify([...loaded]));
  } catch {
    localStorage.removeItem(LOADED);
  }
}

function verdictsOf(row) {
  return [...(row.verdict === null ? [] : [row.verdict]), ...(loaded.get(row.id) ?? [])];
}

function hasVerdict(row, value) {
  const verdicts = verdictsOf(row);
  if (value === NO_VERDICT) return verdicts.length === 0;
  const words = verdicts.map(({ verdict }) => verdict);
  if (value !== READINGS_DIFFER) return words.includes(value);
  return new Set([...words, ...verdicts.flatMap(({ readings }) => readings)]).size > 1;
}

// --- what one sees

const ANSWERS = { same: "It answers as gold does here.", other: "It answers otherwise than gold." };
const SQL_OF_VERDICTS = { wrong: "What is asked", ambiguous: "The other reading" };

// Each verdict, the first that has SQL beside gold.
function showVerdicts(row) {
  const verdicts = verdictsOf(row);
  const first = verdicts.find(({ sql }) => sql !== null);
  return verdicts.map((verdict) => showVerdict(row, verdict, verdict === first));
}

function showVerdict(row, { verdict, reason, source, date, sql, answers, kind, readings }, isFirst) {
  const read = readings.length > 1 ? `, of the readings ${readings.join(", ")}` : "";
  const box = make("div", { className: "verdict" });
  const words = [`${source}, ${date}${read}`, kind, ANSWERS[answers]].filter(Boolean);
  box.append(make("h3", {}, "Verdict: ", make("strong", {}, verdict)));
  if (reason) box.append(make("p", {}, reason));
  box.append(make("p", { className: "facts" }, words.join(" \u00b7 ")));
  if (sql === null) return box;
  const gold = isFirst ? [make("div", {}, make("h3", {}, "Gold SQL"), showSql(row.sql, sql))] : [];
  const other = make("div", {}, make("h3", {}, SQL_OF_VERDICTS[verdict]), showSql(sql, row.sql));
  box.append(make("div", { className: "pair" }, ...gold, other));
  return box;
}

// --- files of them

async function hashText(text) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Each question by database, text and SQL, and by what these are in the corpus; also by hashes, where a
// file has some.
async function nameRows(needsHashes) {
  const names = new Map();
  for (const row of rows) {
    if (row.as_in_corpus === null) continue;
    const before = { ...row, ...row.as_in_corpus };
    for (const [text, sql] of [[textOf(row), row.sql], [before.question, before.sql]]) {
      const ways = needsHashes ? [[text, sql], [await hashText(`${text}\n${sql}`)]] : [[text, sql]];
      for (const database of [row.database, before.database]) {
        for (const way of ways) {
          const key = JSON.stringify([database, ...way]);
          names.set(key, (names.get(key) ?? new Set()).add(row.id));
        }
      }
    }
  }
  return names;
}

function readVerdict(line, number) {
  let found;
  try {
    found = JSON.parse(line);
  } catch {
    throw new Error(`line ${number} is no JSON`);
  }
  if (!["right", "wrong", "ambiguous"].includes(found?.verdict)) {
    throw new Error(`line ${number} has no verdict: right, wrong or ambiguous`);
  }
  const { verdict, reason = "", source = "", date = "", sql = null } = found;
  const { answers = null, kind = null, sha256 } = found;
  const readings = found.readings ?? [];
  const of = sha256 === undefined ? [found.question_text, found.gold_sql] : [sha256];
  const read = { verdict, reason, source, date, sql, answers, kind, readings };
  return [JSON.stringify([found.database_name, ...of]), read];
}

async function loadVerdicts(file) {
  const lines = (await file.text()).split("\n").map((line, index) => [line, index + 1]);
  const found = lines.filter(([line]) => line.trim()).map(([line, number]) => readVerdict(line, number));
  const names = await nameRows(found.some(([key]) => JSON.parse(key).length === 2));
  let about = 0;
  for (const [key, verdict] of found) {
    const ids = names.get(key) ?? [];
    about += ids.size > 0 ? 1 : 0;
    for (const id of ids) {
      const others = (loaded.get(id) ?? []).filter(({ source }) => source !== verdict.source);
      loaded.set(id, [...others, verdict]);
    }
  }
  return `${file.name}: ${about.toLocaleString("en")} of ${found.length.toLocaleString("en")} verdicts are about these questions.`;
}
