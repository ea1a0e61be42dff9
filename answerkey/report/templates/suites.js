// The test suite of a question: what its databases tell from gold SQL.

const percent = (share) => `${Math.round(1000 * share) / 10} %`;

function showNeighbor([operator, sql]) {
  const heading = make("p", { className: "finding" }, make("code", {}, operator), " is alive");
  return [heading, showSql(sql)];
}

function showSuite({ scores, killed, databases, alive }) {
  const words =
    scores === null
      ? "no neighbor counts"
      : `mutation score ${percent(scores[1])}, ${percent(scores[0])} on the database alone`;
  const box = make("details", { className: "suite" }, make("summary", {}, `Test suite: ${words}`));
  const count = `${databases} ${databases === 1 ? "database" : "databases"}, killed neighbors: ${killed}.`;
  box.append(make("p", { className: "facts" }, count));
  box.append(...alive.flatMap(showNeighbor));
  return box;
}
