// Gold beside the query that was likelier meant, and what each answers that the other does not.

const NAMES_OF_RISKS = { answer_risk: "the answer", sql_risk: "the SQL" };

function showRisks(row) {
  const risks = Object.keys(payload.risks).filter((name) => row[name] !== null);
  const shares = risks.map((name) => {
    const share = Math.min(99, Math.max(1, Math.round(100 * row[name]))); // never sure
    const words = `${NAMES_OF_RISKS[name]} `;
    return make("span", { title: payload.risks[name] }, words, make("strong", {}, `${share} %`));
  });
  return shares.length ? [make("p", { className: "facts risks" }, "How likely wrong:", ...shares)] : [];
}

const tellDoubts = ({ doubts }) => doubts.map((code) => payload.meanings[code]).join(" ");

function showDoubt(repair) {
  const names = make("code", {}, repair.doubts.join(", "));
  const difference = make("strong", {}, repair.difference);
  return make("p", { className: "finding" }, `${tellDoubts(repair)} `, difference, " ", names);
}

// A flag doubts gold; a reading alone says that the question may mean something else.
const isFlagged = (row, { doubts }) => doubts.some((code) => codesOf(row).includes(code));

// One of the two queries, and its rows that tell it from the other, if the answers differ.
function showSide(heading, sql, other, title, rows) {
  const side = make("div", {}, make("h3", {}, heading), showSql(sql, other));
  if (rows !== undefined) {
    side.append(make("h3", {}, title), ...showAnswer(rows, [], `${heading}: ${title}`, rows.times));
  }
  return side;
}

function showPair(row, { sql, title, rows, doubts }) {
  const heading = isFlagged(row, { doubts }) ? "Repaired SQL" : "SQL of the reading";
  return make(
    "div",
    { className: "pair" },
    showSide("Gold SQL", row.sql, sql, title, rows[0]),
    showSide(heading, sql, row.sql, title, rows[1]),
  );
}

// Repairs whose answers differ from gold's alike, as far as rows are shown, or not at all: one is read
// for all of them.
function groupRepairs(repairs) {
  const groups = new Map();
  for (const repair of repairs) {
    const answer = JSON.stringify([repair.difference, repair.rows]);
    groups.set(answer, [...(groups.get(answer) ?? []), repair]);
  }
  return [...groups.values()];
}

function showGroup(row, [first, ...alike]) {
  const shown = [showDoubt(first), showPair(row, first)];
  if (alike.length === 0) return shown;
  const words = tellCount(alike.length, "more repair", "more repairs");
  const content = alike.flatMap((repair) => [showDoubt({ ...repair, difference: "" }), showSql(repair.sql, row.sql)]);
  return [...shown, fold(`${words} with the same answer`, ...content)];
}

// The likeliest repair, and the others behind one fold; nothing, if there is none.
function showDoubts(row) {
  const [first, ...others] = groupRepairs(row.repairs);
  if (first === undefined) return [];
  const box = make("div", { className: "doubt" });
  const title = isFlagged(row, first[0]) ? "What is in doubt" : "Another reading of the question";
  box.append(make("h3", {}, title), ...showGroup(row, first));
  if (others.length === 0) return [box];
  const words = tellCount(others.flat().length, "more repair", "more repairs");
  return [box, fold(words, ...others.flatMap((group) => showGroup(row, group)))];
}

const fold = (words, ...content) =>
  make("details", { className: "fold" }, make("summary", {}, words), ...content);

// A reading that the rows of the database do not tell from gold.
function showLatent(row) {
  if (row.latent === null) return [];
  return [fold("A reading that answers otherwise on other rows", showDoubt(row.latent), showPair(row, row.latent))];
}
