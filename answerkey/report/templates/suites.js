// The test suite of a question: what its databases tell from gold SQL.

const percent = (share) => `${Math.round(1000 * share) / 10} %`;

function showRows(title, rows) {
  const box = make("div", {}, make("p", { className: "facts" }, title));
  if (rows === null) box.append(make("p", {}, "it fails"));
  else box.append(...showAnswer({ rows, count: rows.length }, [], title));
  return box;
}

function showKill([file, operator, sql, goldRows, neighborRows]) {
  const heading = make("p", { className: "finding" }, make("code", {}, file), " kills ");
  heading.append(make("code", {}, operator));
  const pair = make("div", { className: "rows" });
  pair.append(showRows("Gold SQL gives", goldRows), showRows("The neighbor gives", neighborRows));
  return [heading, make("pre", {}, make("code", {}, sql)), pair];
}

function showNeighbor([operator, sql]) {
  const heading = make("p", { className: "finding" }, make("code", {}, operator), " is alive");
  return [heading, make("pre", {}, make("code", {}, sql))];
}

function showSuite({ scores, killed, databases, kill, alive }) {
  const words =
    scores === null
      ? "no neighbor counts"
      : `mutation score ${percent(scores[1])}, ${percent(scores[0])} on the database alone`;
  const box = make("details", { className: "suite" }, make("summary", {}, `Test suite: ${words}`));
  const count = `${databases} ${databases === 1 ? "database" : "databases"}, killed neighbors: ${killed}.`;
  box.append(make("p", { className: "facts" }, count));
  if (kill !== null) box.append(...showKill(kill));
  box.append(...alive.flatMap(showNeighbor));
  return box;
}
