// What every script of the page uses: the questions.
const payload = JSON.parse(document.getElementById("payload").textContent);
const rows = payload.rows.map((values) =>
  Object.fromEntries(payload.columns.map((name, index) => [name, values[index]])),
);
// Those of the dataset first: one sees what came of the run, and not what it left.
rows.sort((a, b) => (a.reason !== null) - (b.reason !== null));

const tellCount = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const escapeText = (text) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const codesOf = (row) => [...new Set(row.findings.map(([code]) => code))];
const outcomeOf = (row) => (row.reason === null ? "selected" : "left out");
