// Gold beside the query that was likelier meant, and what each answers that the other does not.

function showRisks(row) {
  const risks = Object.entries(payload.risks).filter(([name]) => row[name] !== null);
  if (risks.length === 0) return [];
  const words = risks.map(([name, meaning]) => `${name} ${row[name].toFixed(2)}: ${meaning}`);
  return [make("p", { className: "facts" }, words.join(" · "))];
}

const tellDoubts = ({ doubts }) => doubts.map((code) => payload.meanings[code]).join(" ");

function showDoubt(repair) {
  const names = make("code", {}, repair.doubts.join(", "));
  const difference = make("strong", {}, repair.difference);
  return make("p", { className: "finding" }, names, ` ${tellDoubts(repair)} `, difference);
}

// A flag doubts gold; a reading alone says that the question may mean something else.
const isFlagged = (row, { doubts }) => doubts.some((code) => codesOf(row).includes(code));

// One of the two queries, and its rows that the other lacks, if any row differs.
function showSide(title, shown, rows, isTold) {
  const side = make("div", {}, make("h3", {}, title), showSql(shown));
  if (isTold) {
    side.append(make("h3", {}, "Rows that the other lacks"));
    side.append(...showAnswer(rows, [], `${title}: rows that the other lacks`));
  }
  return side;
}

function showPair(row, repair) {
  const { shown, rows } = repair;
  const isTold = rows.some(({ count }) => count > 0);
  return make(
    "div",
    { className: "pair" },
    showSide("Gold SQL", row.shown, rows[0], isTold),
    showSide(isFlagged(row, repair) ? "Repaired SQL" : "SQL of the reading", shown, rows[1], isTold),
  );
}

// The likeliest repair, and the others behind one fold; gold alone, if there is none.
function showGold(row) {
  const [first, ...others] = row.repairs;
  if (first === undefined) return [make("h3", {}, "Gold SQL"), showSql(row.shown)];
  const box = make("div", { className: "doubt" });
  const title = isFlagged(row, first) ? "What is in doubt" : "Another reading of the question";
  box.append(make("h3", {}, title), showDoubt(first), showPair(row, first));
  if (others.length === 0) return [box];
  const words = others.length === 1 ? "1 more repair" : `${others.length} more repairs`;
  const fold = make("details", { className: "fold" }, make("summary", {}, words));
  for (const repair of others) fold.append(showDoubt(repair), showPair(row, repair));
  return [box, fold];
}
