// The table of all questions. Text is only ever set as text: nothing here parses HTML, and what
// DataTables caches for its search is escaped, since it decodes entities through innerHTML.
const payload = JSON.parse(document.getElementById("payload").textContent);
const rows = payload.rows.map((values) =>
  Object.fromEntries(payload.columns.map((name, index) => [name, values[index]])),
);
const form = document.querySelector(".filters");
const search = document.getElementById("search");
const selects = [...form.querySelectorAll("select")];

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const escapeText = (text) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const codesOf = (row) => [...new Set(row.findings.map(([code]) => code))];
const outcomeOf = (row) => (row.reason === null ? "selected" : "left out");

// --- what a row looks like

function showQuestion(cell, row) {
  const button = make("button", { type: "button", className: "open", textContent: row.question });
  button.setAttribute("aria-expanded", "false");
  const brief = [row.database, row.split, row.difficulty, row.answer_type].filter(Boolean);
  const outcome = make("span", { className: "outcome" });
  showOutcome(outcome, row);
  cell.append(button, make("span", { className: "brief" }, `${brief.join(", ")}, `, outcome));
}

function showOutcome(cell, row) {
  if (row.reason !== null) {
    const reason = make("code", {}, row.reason);
    cell.append(make("span", { className: "left-out" }, "left out: ", reason));
    return;
  }
  const codes = codesOf(row).join(", ");
  cell.append("selected");
  if (codes) cell.append(" ", make("span", { className: "codes" }, "flag: ", make("code", {}, codes)));
}

function showCell(value) {
  if (value === null) return make("td", { className: "null" }, "NULL");
  if (typeof value !== "string") return make("td", { className: "numeric" }, String(value));
  if (value === "") return make("td", { className: "null" }, "empty text");
  return make("td", {}, value);
}

function showAnswer(answer, names = [], label = "Gold answer") {
  if (answer === null) return [make("p", {}, "none")];
  if (answer.count === 0) return [make("p", {}, "no row")];
  const lines = answer.rows.map((cells) => make("tr", {}, ...cells.map(showCell)));
  const shown = make("table", {}, make("tbody", {}, ...lines));
  if (names.length > 0 && names.length === answer.rows[0].length) {
    const heads = names.map((name, index) => {
      const isNumeric = lines[0].cells[index].className === "numeric";
      return make("th", { scope: "col", className: isNumeric ? "numeric" : "" }, name);
    });
    shown.prepend(make("thead", {}, make("tr", {}, ...heads)));
  }
  const box = make("div", { className: "answer" }, shown);
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", label);
  if (answer.count === lines.length) return [box];
  const all = answer.count.toLocaleString("en");
  return [box, make("p", {}, `The first ${lines.length} of ${all} rows.`)];
}

const KINDS = ["k", "s", "n"]; // keywords, text and numbers, by the first letter of a piece

function showSql(pieces) {
  const shown = pieces.map((piece) => {
    const text = piece.slice(1);
    return KINDS.includes(piece[0]) ? make("span", { className: `sql-${piece[0]}` }, text) : text;
  });
  return make("pre", {}, make("code", {}, ...shown));
}

// Other queries that are right, too, and what they return.
function showOthers(row) {
  return row.others.flatMap(({ shown, answer }) => [
    make("h3", {}, "Another accepted answer"),
    showSql(shown),
    ...showAnswer(answer),
  ]);
}

function showFinding([code, evidence]) {
  const pairs = evidence.map(([name, text]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, text)),
  );
  const meaning = make("p", { className: "finding" }, make("code", {}, code));
  meaning.append(` ${payload.meanings[code]}`);
  return pairs.length ? [meaning, make("dl", {}, ...pairs)] : [meaning];
}

function showDetails(row) {
  const box = make("div", { className: "details" });
  box.append(...showGold(row), ...showRisks(row));
  const kind = row.answer_type === null ? "" : `, ${row.answer_type}`;
  box.append(make("h3", {}, `Gold answer${kind}`), ...showAnswer(row.answer, row.names));
  box.append(...showOthers(row));
  const flags = [...row.findings];
  if (row.reason !== null) {
    box.append(make("h3", {}, "Why it is left out"), ...showFinding(flags.shift()));
  }
  if (flags.length) box.append(make("h3", {}, "Flags"), ...flags.flatMap(showFinding));
  const facts = [
    row.id,
    row.tables.length ? `tables ${row.tables.join(", ")}` : null,
    row.hardness === null ? null : `hardness ${row.hardness}`,
    row.is_ordered ? "the order of rows matters" : null,
    row.source,
  ];
  box.append(make("p", { className: "facts" }, facts.filter(Boolean).join(" · ")));
  if (row.suite !== null) box.append(showSuite(row.suite));
  return box;
}

// --- the table

const levels = { easy: 1, medium: 2, hard: 3 };
const column = (title, data, width, extra = {}) => ({
  title,
  data,
  width,
  className: "wide",
  type: "string",
  searchable: false,
  render: (value) => escapeText(value ?? ""),
  createdCell: (cell, value) => {
    cell.textContent = value ?? "none";
  },
  ...extra,
});
const table = new DataTable("#table", {
  data: rows,
  columns: [
    column("Question", "question", null, {
      className: "",
      searchable: true,
      render: (value, kind, row) =>
        escapeText(kind === "filter" ? `${value} ${row.sql} ${row.id}` : value),
      createdCell: (cell, value, row) => {
        cell.textContent = "";
        showQuestion(cell, row);
      },
    }),
    column("Database", "database", "11rem"),
    column("Split", "split", "5rem"),
    column("Difficulty", "difficulty", "7rem", {
      type: "num",
      render: (value, kind) => (kind === "sort" || kind === "type" ? (levels[value] ?? 0) : ""),
    }),
    column("Answer", "answer_type", "6.5rem"),
    column("Outcome", outcomeOf, "13rem", {
      render: (value, kind, row) => escapeText(`${value} ${codesOf(row).join(" ")}`),
      createdCell: (cell, value, row) => {
        cell.textContent = "";
        showOutcome(cell, row);
      },
    }),
  ],
  autoWidth: false,
  deferRender: true,
  order: [],
  pageLength: 20,
  pagingType: "simple_numbers",
  layout: { topStart: "info", topEnd: null, bottomStart: null, bottomEnd: "paging" },
  language: {
    info: "Questions _START_ to _END_ of _TOTAL_",
    infoEmpty: "No question",
    infoFiltered: "(_MAX_ in this table)",
    thousands: ",",
    zeroRecords: "No question matches. Clear the filters, or search for less.",
    paginate: { previous: "Previous", next: "Next" },
  },
});
table.table().node().hidden = false;
form.hidden = false;

function toggle(line) {
  const row = table.row(line);
  const isOpening = !row.child.isShown();
  if (isOpening) row.child(showDetails(row.data()), "details-row").show();
  else row.child.remove();
  line.classList.toggle("has-details", isOpening);
  line.querySelector(".open").setAttribute("aria-expanded", String(isOpening));
}

table.table().body().addEventListener("click", (event) => {
  const line = event.target.closest("tr");
  const isOfARow = line !== null && line.querySelector(":scope > td > .open") !== null;
  if (isOfARow && String(getSelection()) === "") toggle(line);
});

// --- search and filters

function matches(row, key, value) {
  if (key === "outcome") return outcomeOf(row) === value;
  if (key !== "code") return row[key] === value;
  return row.reason === null ? codesOf(row).includes(value) : row.reason === value;
}

function draw() {
  table.search(search.value).draw();
}

table.search.fixed("filters", (text, row) =>
  selects.every(({ dataset, value }) => value === "" || matches(row, dataset.key, value)),
);
search.addEventListener("input", DataTable.util.debounce(draw, 150));
for (const select of selects) select.addEventListener("change", draw);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(draw));

for (const link of document.querySelectorAll("a[data-code]")) {
  link.addEventListener("click", () => {
    form.reset();
    document.getElementById("filter-code").value = link.dataset.code;
    draw();
  });
}
