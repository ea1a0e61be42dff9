// Decisions of a review: kept in this browser, and written as files that `dvc repro` takes.

const STORE = `answerkey review ${payload.dataset}`;
const KEEP = "keep";
const DROP = "drop";
const FIX = "fix";
const AMBIGUOUS = "ambiguous";

const textOf = (row) => row.text ?? row.question;

// A question that a person has decided about in data/corrections or data/verdicts.
const isSettled = (row) =>
  row.reason === "excluded_by_curator" ||
  (row.verdict !== null && !row.verdict.source.startsWith("model:"));

// Those that a decision can name, the riskiest first; those without an answer last.
const reviewable = rows
  .filter((row) => row.as_in_corpus !== null && !isSettled(row))
  .sort((a, b) => (b.answer_risk ?? -1) - (a.answer_risk ?? -1));

function readStore() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

const store = { reviewer: "", decisions: {}, ...readStore() };

let isStored = true; // as far as one knows

// All decisions at once: called where one changes, and not where one looks at the next question.
function keep() {
  try {
    localStorage.setItem(STORE, JSON.stringify(store));
    isStored = true;
  } catch {
    isStored = false;
  }
}

// A decision is about one text and one query: where either has changed since, there is none.
function decisionOf(row) {
  const decision = store.decisions[row.id];
  const isAboutIt = decision?.question === textOf(row) && decision.sql === row.sql;
  return isAboutIt ? decision : null;
}

function decide(row, decision) {
  if (decision === null) delete store.decisions[row.id];
  else {
    const date = new Date().toISOString().slice(0, 10);
    store.decisions[row.id] = { question: textOf(row), sql: row.sql, date, ...decision };
  }
  keep();
}

const listDecided = () =>
  reviewable.map((row) => [row, decisionOf(row)]).filter(([, decision]) => decision !== null);

// A JSON string is a YAML string, but for characters that YAML wants escaped.
const quote = (text) =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function nameQuestion(row) {
  const { database, question, sql } = { ...row, ...row.as_in_corpus };
  return [
    `- database: ${quote(database)}`,
    `  question: ${quote(question)}`,
    `  gold_sql: ${quote(sql)}`,
  ];
}

const tellReviewer = () => (store.reviewer ? `person:${store.reviewer}` : "person");

function writeCorrection(row, { kind, replacement, reason, date }) {
  const values = Object.entries(replacement ?? {}).map(([name, text]) => `    ${name}: ${quote(text)}`);
  return [
    ...nameQuestion(row),
    ...(kind === FIX ? ["  action: replace", "  replacement:", ...values] : ["  action: exclude"]),
    `  reason: ${quote(reason)}`,
    `  source: ${quote(tellReviewer())}`,
    `  date: ${quote(date)}`,
    "",
  ].join("\n");
}

// A file for each corpus that has corrections: its name, how many entries, and its text, which is made
// when somebody asks for it. Questions of one text and query are one to a correction; the last that is
// decided counts.
function listCorrections(decided) {
  const files = new Map();
  for (const [row, decision] of decided) {
    if (decision.kind !== FIX && decision.kind !== DROP) continue;
    if (!files.has(row.corpus)) files.set(row.corpus, new Map());
    const { database, question, sql } = { ...row, ...row.as_in_corpus };
    files.get(row.corpus).set([database, question, sql].join("\0"), [row, decision]);
  }
  return [...files].map(([corpus, entries]) => ({
    name: `corrections_${corpus}.yaml`,
    count: entries.size,
    write: () => [...entries.values()].map((entry) => writeCorrection(...entry)).join(""),
  }));
}

// What a decision says of a question as it is; of one that is fixed, what was wrong in the corpus, and
// that it is right as fixed.
function listVerdicts(row, { kind, reason, replacement, reading, answers, fault }) {
  const about = { question_text: textOf(row), gold_sql: row.sql };
  if (kind === KEEP) return [{ ...about, verdict: "right", reason }];
  if (kind === DROP) return [{ ...about, verdict: "wrong", reason, kind: fault }];
  if (kind === AMBIGUOUS) return [{ ...about, verdict: "ambiguous", reason, sql: reading, answers }];
  const { question, sql } = { ...row, ...row.as_in_corpus };
  const before = { question_text: question, gold_sql: sql };
  const wrong = { verdict: "wrong", reason, sql: replacement.gold_sql, answers, kind: fault };
  const fixed = { ...before, ...replacement, verdict: "right", reason: "" };
  return [{ ...before, ...wrong }, fixed];
}

function listJudged(decided) {
  const count = decided.reduce((sum, [, { kind }]) => sum + (kind === FIX ? 2 : 1), 0);
  return count === 0 ? [] : [{ name: "verdicts.jsonl", count, write: () => writeVerdicts(decided) }];
}

// What is undefined, or null as a loaded verdict has it, is not written.
function writeVerdicts(decided) {
  const lines = decided.flatMap(([row, decision]) =>
    listVerdicts(row, decision).map(({ question_text, gold_sql, verdict, reason, sql, answers, kind }) => ({
      corpus: row.corpus,
      database_name: row.database,
      question_text,
      gold_sql,
      verdict,
      reason,
      source: tellReviewer(),
      date: decision.date,
      sql: sql ?? undefined,
      answers: answers ?? undefined,
      kind: kind ?? undefined,
    })),
  );
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

// The files that a review writes, as far as it has come.
function listFiles() {
  const decided = listDecided();
  return [...listCorrections(decided), ...listJudged(decided)];
}

function download({ name, write }) {
  const address = URL.createObjectURL(new Blob([write()]));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
