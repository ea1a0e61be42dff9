// The table of all questions. What DataTables caches for its search is escaped, since it decodes
// entities through innerHTML.
const form = document.querySelector(".filters");
const search = document.getElementById("search");
const selects = [...form.querySelectorAll("select")];

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
  const codes = codesOf(row);
  const words = codes.length === 1 ? "1 flag" : `${codes.length} flags`;
  cell.append("selected");
  if (codes.length) cell.append(" ", make("span", { className: "codes", title: codes.join(", ") }, words));
}

// Text stands in quotes, which the style adds: '5' is no number, and 'NULL' is not NULL.
function showCell(value) {
  if (value === null) return make("td", { className: "null" }, "NULL");
  if (typeof value !== "string") return make("td", { className: "numeric" }, String(value));
  return make("td", { className: "text" }, value);
}

// times: how often each row stands, in words.
function showAnswer(answer, names = [], label = "Gold answer", times = []) {
  if (answer === null) return [make("p", {}, "none")];
  if (answer.count === 0) return [make("p", {}, "no row")];
  const lines = answer.rows.map((cells) => make("tr", {}, ...cells.map(showCell)));
  for (const [index, words] of times.slice(0, lines.length).entries()) {
    lines[index].append(make("td", { className: "times" }, words));
  }
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

const showPart = (title, ...content) => make("div", { className: "part" }, make("h3", {}, title), ...content);

// Other queries that are right, too, and what they return.
const showOthers = (row) =>
  row.others.map(({ sql, answer }) =>
    showPart("Another accepted answer", showSql(sql, row.sql), ...showAnswer(answer)),
  );

function showFinding([code, evidence]) {
  const pairs = evidence.map(([name, text]) => {
    const className = /sql|template/.test(name) ? "sql" : "";
    return make("div", {}, make("dt", {}, name), make("dd", { className }, text));
  });
  const meaning = make("p", { className: "finding" }, `${payload.meanings[code]} `);
  meaning.append(make("code", {}, code));
  return pairs.length ? [meaning, make("dl", {}, ...pairs)] : [meaning];
}

function showFacts(row) {
  const facts = [
    row.id,
    row.tables.length ? `tables ${row.tables.join(", ")}` : null,
    row.hardness === null ? null : `hardness ${row.hardness}`,
    row.is_ordered ? "the order of rows matters" : null,
    row.source,
  ];
  return make("p", { className: "facts" }, facts.filter(Boolean).join(" \u00b7 "));
}

// What a correction did, why and by whom, and the query that the corpus has.
function showCorrection({ correction, sql }) {
  if (correction === null) return [];
  const words = correction.action === "replace" ? "Corrected" : "Excluded by a correction";
  const box = make("div", { className: "verdict" }, make("h3", {}, words), make("p", {}, correction.reason));
  if (correction.source) box.append(make("p", { className: "facts" }, correction.source));
  if (correction.text !== null) box.append(showPart("Question in the corpus", make("p", {}, correction.text)));
  if (correction.sql !== null) {
    const before = make("div", {}, make("h3", {}, "SQL in the corpus"), showSql(correction.sql, sql));
    const now = make("div", {}, make("h3", {}, "Gold SQL, as corrected"), showSql(sql, correction.sql));
    box.append(make("div", { className: "pair" }, before, now));
  }
  return [box];
}

// A question as a card: gold with its answer, or beside the query that was likelier meant; why it is
// left out; what else is known of it, and `more`.
function showCard(row, ...more) {
  const box = make("div", { className: "details" });
  const flags = [...row.findings];
  const kind = row.answer_type === null ? "" : `, ${row.answer_type}`;
  const answer = showPart(`Gold answer${kind}`, ...showAnswer(row.answer, row.names));
  const parts = [answer, ...showOthers(row)];
  const verdicts = verdictsOf(row);
  const corrected = showCorrection(row);
  box.append(...corrected, ...showVerdicts(row));
  // What somebody has said of a question goes before what rules say of it.
  const isJudged = corrected.length + verdicts.length > 0;
  const isShown = row.correction?.sql || verdicts.some(({ sql }) => sql !== null);
  if (!isShown && (isJudged || row.repairs.length === 0)) {
    box.append(make("div", { className: "pair" }, showPart("Gold SQL", showSql(row.sql)), ...parts.splice(0)));
  }
  if (isJudged && row.repairs.length) {
    box.append(fold(tellCount(row.repairs.length, "query by a rule", "queries by rules"), ...showDoubts(row)));
  } else box.append(...showDoubts(row));
  if (row.reason !== null) {
    const why = make("div", { className: "why" }, make("h3", {}, "Why it is left out"));
    why.append(...showFinding(flags.shift()));
    box.append(why);
  }
  if (flags.length) parts.push(showPart("Flags", ...flags.flatMap(showFinding)));
  box.append(...showRisks(row), make("div", { className: "pair" }, ...parts, ...more), ...showLatent(row));
  if (row.suite !== null) box.append(showSuite(row.suite));
  box.append(showFacts(row));
  return box;
}

showWrittenSql(document);

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
  if (isOpening) row.child(showCard(row.data()), "details-row").show();
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
  if (key === "verdict") return hasVerdict(row, value);
  if (key === "outcome") return outcomeOf(row) === value;
  if (key !== "code") return row[key] === value;
  return row.reason === null ? codesOf(row).includes(value) : row.reason === value;
}

table.search.fixed("filters", (text, row) =>
  selects.every(({ name, value }) => value === "" || matches(row, name, value)),
);
const filters = keepInAddress(form, () => table.search(search.value).draw());
const listFound = () => table.rows({ search: "applied" }).data().toArray();
const more = form.querySelector(".more");
const isWide = matchMedia("(min-width: 44rem)").matches;
more.open = isWide || filters.listSet().some(([name]) => name !== "search");

// A place of the page that is folded opens.
function unfold() {
  const place = document.getElementById(location.hash.slice(1));
  if (place?.matches("details")) place.open = true;
}
addEventListener("hashchange", unfold);
unfold();
