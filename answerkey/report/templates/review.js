// The review: of the questions that the filters leave, one at a time, the riskiest first, decided by
// keys.

const dialog = document.getElementById("review-dialog");
const part = (name) => dialog.querySelector(`.review-${name}`);
const undone = []; // what undo brings back: the place in the queue, and the decision before
let queue = reviewable;
let place = 0;

const FIELDS = {
  gold_sql: ["SQL as it should be", (row) => row.sql],
  question_text: ["Text as it should be", textOf],
  reading: ["The other reading, as SQL", (row) => row.sql],
};
const DECISIONS = [
  ["k", "keep", () => settle({ kind: KEEP, reason: "" })],
  ["d", "drop", () => ask(DROP)],
  ["s", "fix SQL", () => ask(FIX, "gold_sql")],
  ["t", "fix text", () => ask(FIX, "question_text")],
  ["a", "ambiguous", askReading],
  ["r", "take the repair", takeRepair],
  ["m", "take the models' SQL", takeModels],
  ["1", "accept the verdict", () => acceptVerdict(0)],
  ["2", "accept the second", () => acceptVerdict(1)],
  ["3", "accept the third", () => acceptVerdict(2)],
];
const MOVES = [
  ["p", "previous", () => show(place - 1)],
  ["n", "next", () => show(place + 1)],
  ["o", "open all", openFolds],
  ["u", "undo", undo],
  ["q", "close", () => dialog.close()],
];
// Which of the decisions a question offers, of those that not every one does.
const OFFERS = {
  r: (row) => repairOf(row) !== null,
  m: (row) => agreedOf(row) !== null,
  1: (row) => verdictsOf(row).length > 0,
  2: (row) => verdictsOf(row).length > 1,
  3: (row) => verdictsOf(row).length > 2,
};

// What models agree on, if it is not the corpus's own query, which a correction has replaced.
const agreedOf = ({ agreed, as_in_corpus: own }) => (agreed?.sql === own.sql ? null : agreed);

// The likeliest repair, if it is not the corpus's own query.
const repairOf = ({ repairs: [first], as_in_corpus: own }) =>
  first === undefined || first.sql === own.sql ? null : first;

// --- what one sees

// A table as it was made, and what its columns hold.
function showTable([name, { sql, rows, columns }]) {
  const lines = columns.map(([column, words]) =>
    make("tr", {}, make("th", { scope: "row" }, column), make("td", {}, words)),
  );
  const held = make("table", { className: "columns" }, make("tbody", {}, ...lines));
  if (rows) held.prepend(make("caption", {}, `${name}: ${rows}`));
  const statement = make("div", {}, make("pre", {}, make("code", {}, sql)));
  return make("div", { className: "pair table" }, statement, ...(rows ? [make("div", {}, held)] : []));
}

// The tables that gold asks, and behind a fold the others, which it should have asked perhaps.
function showSchema(row) {
  const tables = Object.entries(payload.schemas[row.database] ?? {});
  if (tables.length === 0) return [];
  const isAsked = ([name]) => row.tables.includes(name);
  const others = tables.filter((table) => !isAsked(table));
  const folded = make("details", { className: "fold" });
  folded.append(make("summary", {}, tellCount(others.length, "other table", "other tables")));
  folded.append(...others.map(showTable));
  const asked = tables.filter(isAsked).map(showTable);
  const part = showPart("Schema", ...asked, ...(others.length ? [folded] : []));
  part.classList.add("whole");
  return [part];
}

function describe(row) {
  const outcome = make("span", { className: "outcome" });
  showOutcome(outcome, row);
  const facts = [row.database, row.split, row.difficulty].filter(Boolean).join(", ");
  return make("p", { className: "facts" }, `${row.id} \u00b7 ${facts} \u00b7 `, outcome);
}

// Which of how many, and what the filters are.
function tellPlace() {
  const words = filters.listSet().map(([name, value]) => `${name} ${value}`);
  const of = words.length ? ` with ${words.join(", ")}` : "";
  return `Question ${(place + 1).toLocaleString("en")} of ${queue.length.toLocaleString("en")}${of}`;
}

function showDecision(row) {
  const decision = decisionOf(row);
  if (decision === null) return [];
  const box = make("div", { className: "decided" });
  box.append(make("p", {}, make("strong", {}, `Decided: ${decision.kind}. `), decision.reason));
  for (const text of [...Object.values(decision.replacement ?? {}), decision.reading].filter(Boolean)) {
    box.append(text === decision.replacement?.question_text ? make("p", {}, text) : showSql(text, row.sql));
  }
  return [box];
}

function showModels(row) {
  const agreed = agreedOf(row);
  return agreed === null ? [] : [showPart(`SQL on which ${agreed.models} agree`, showSql(agreed.sql, row.sql))];
}

function show(to) {
  place = Math.max(0, Math.min(to, queue.length - 1));
  const row = queue[place];
  const question = make("h2", { className: "question" }, row.question);
  const card = showCard(row, ...showModels(row), ...showSchema(row));
  part("place").textContent = tellPlace();
  part("question").replaceChildren(describe(row), question, ...showDecision(row), card);
  part("form").hidden = true;
  for (const [key, isOffered] of Object.entries(OFFERS)) {
    const button = part("decisions").querySelector(`[data-key="${key}"]`);
    button.disabled = button.hidden = !isOffered(row);
  }
  for (const [index, { verdict }] of verdictsOf(row).slice(0, 3).entries()) {
    const button = part("decisions").querySelector(`[data-key="${index + 1}"]`);
    button.lastChild.textContent = ` accept: ${verdict}`;
  }
  part("question").focus();
  part("question").scrollTop = 0;
  tellProgress();
}

// A button for each file that the decisions make.
function showFiles(box) {
  const buttons = listFiles().map((file) => {
    const button = make("button", { type: "button" }, `${file.name} (${file.count})`);
    button.addEventListener("click", () => download(file));
    return button;
  });
  box.replaceChildren(...buttons);
  return buttons.length;
}

function tellProgress() {
  showFiles(part("files"));
  const count = queue.filter((row) => decisionOf(row) !== null).length;
  const of = `${count.toLocaleString("en")} of ${queue.length.toLocaleString("en")} decided`;
  part("status").textContent = isStored
    ? `${of}, kept in this browser.`
    : `${of}. This browser keeps nothing: download before you close.`;
}

// --- what one decides

function settle(decision) {
  const row = queue[place];
  undone.push([place, decisionOf(row)]);
  decide(row, decision);
  const open = (row) => decisionOf(row) === null;
  const next = queue.findIndex((row, index) => index > place && open(row));
  const first = next === -1 ? queue.findIndex(open) : next;
  show(first === -1 ? place : first);
}

// Both are in the fields, so that Enter takes them and one may change them before.
function takeRepair() {
  const repair = repairOf(queue[place]);
  if (repair !== null) ask(FIX, "gold_sql", { ...repair, reason: tellDoubts(repair) });
}

// The likeliest repair may be the other reading: it is in the field, too.
function askReading() {
  const row = queue[place];
  const repair = decisionOf(row)?.kind === AMBIGUOUS ? null : repairOf(row);
  ask(AMBIGUOUS, "reading", repair === null ? undefined : { ...repair, reason: tellDoubts(repair) });
}

function takeModels() {
  const agreed = agreedOf(queue[place]);
  if (agreed === null) return;
  const replacement = { ...decisionOf(queue[place])?.replacement, gold_sql: agreed.sql };
  settle({ kind: FIX, reason: `${agreed.models} agree on it.`, replacement, answers: "other" });
}

// A verdict as if one had decided so. SQL that a correction has put in place since is kept.
function acceptVerdict(index) {
  const row = queue[place];
  const verdict = verdictsOf(row)[index];
  if (verdict === undefined) return;
  const { sql, answers, kind: fault } = verdict;
  const reason = verdict.reason || `Judged so by ${verdict.source}.`;
  if (verdict.verdict === "right" || sql === row.sql) settle({ kind: KEEP, reason: verdict.reason });
  else if (verdict.verdict === "ambiguous") settle({ kind: AMBIGUOUS, reason, reading: sql, answers });
  else if (sql === null) settle({ kind: DROP, reason, fault });
  else settle({ kind: FIX, reason, replacement: { gold_sql: sql }, answers, fault });
}

// After a reload there is no last decision: that of the question shown goes.
function undo() {
  const [before, decision] = undone.pop() ?? [place, null];
  decide(queue[before], decision);
  show(before);
}

// SQL stands in its field as it is shown, a line for each clause; what is saved is its own text, as
// long as nobody has changed it there.
function ask(kind, name, proposal) {
  const row = queue[place];
  const decision = decisionOf(row);
  const before = decision?.kind === kind ? decision : null;
  const [label, find] = FIELDS[name] ?? [];
  const value = make("textarea", { spellcheck: false, required: true });
  const reason = make("input", { type: "text", required: true });
  let own, proposed;
  reason.value = proposal?.reason ?? before?.reason ?? "";
  if (kind === DROP && before === null && row.findings.length) {
    reason.value = payload.meanings[row.findings[0][0]];
  }
  const fields = [make("label", {}, "Reason", reason)];
  if (kind !== DROP) {
    own = proposal?.sql ?? before?.reading ?? before?.replacement?.[name] ?? find(row);
    value.value = name === "question_text" ? own : laidOut(own);
    value.rows = Math.min(14, value.value.split("\n").length + 1);
    if (name !== "question_text") value.className = "sql";
    proposed = value.value.trim();
    fields.unshift(make("label", {}, label, value));
  }
  const save = make("button", { type: "submit" }, "Save (Enter in the reason)");
  const cancel = make("button", { type: "button" }, "Cancel (Esc)");
  cancel.addEventListener("click", () => show(place));
  const box = part("form");
  box.replaceChildren(...fields, make("p", {}, save, " ", cancel));
  box.onsubmit = (event) => {
    event.preventDefault();
    const corpus = { gold_sql: "sql", question_text: "question" }[name];
    const written = value.value.trim();
    const text = written === proposed ? own.trim() : written;
    const isSame = [find?.(row), row.as_in_corpus[corpus]].includes(text);
    value.setCustomValidity(kind !== DROP && isSame ? "It is this already: change it." : "");
    reason.setCustomValidity(reason.value.trim() ? "" : "Say what is wrong.");
    if (!box.reportValidity()) return;
    const made = { kind, reason: reason.value.trim() };
    if (kind === FIX) made.replacement = { ...before?.replacement, [name]: text };
    if (kind === AMBIGUOUS) made.reading = text;
    // Of SQL that somebody has executed, one knows what it answers.
    const known = [proposal, before && { ...before, sql: before.reading ?? before.replacement?.gold_sql }];
    const sql = made.reading ?? made.replacement?.gold_sql;
    made.answers = known.find((each) => sql !== undefined && each?.sql === sql)?.answers;
    settle(made);
  };
  for (const field of [value, reason]) field.oninput = () => field.setCustomValidity("");
  box.hidden = false;
  value.setSelectionRange(0, 0);
  if (kind !== DROP && proposal === undefined) value.focus();
  else reason.select();
}

// All that is folded of a question, or none of it.
function openFolds() {
  const folds = [...part("question").querySelectorAll("details")];
  const isOpening = folds.some(({ open }) => !open);
  for (const fold of folds) fold.open = isOpening;
}

// --- keys

for (const [box, actions] of [[part("decisions"), DECISIONS], [part("moves"), MOVES]]) {
  for (const [key, name, act] of actions) {
    const button = make("button", { type: "button" }, make("kbd", {}, key), ` ${name}`);
    button.dataset.key = key;
    button.addEventListener("click", act);
    box.append(button);
  }
}

dialog.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea")) return;
  const found = [...DECISIONS, ...MOVES].find(([key]) => key === event.key.toLowerCase());
  if (found === undefined) return;
  event.preventDefault();
  found[2]();
});

dialog.addEventListener("cancel", (event) => {
  if (part("form").hidden) return;
  event.preventDefault();
  show(place);
});

addEventListener("storage", ({ key }) => {
  if (key !== STORE) return;
  Object.assign(store, readStore()); // another tab has decided
  tellProgress();
  tellDecided();
});

const reviewer = document.getElementById("reviewer");
reviewer.value = store.reviewer;
reviewer.addEventListener("input", () => {
  store.reviewer = reviewer.value.trim();
  keep();
  tellProgress();
});

part("out").open = isWide;
const start = document.getElementById("start-review");
const filesOfPage = document.querySelector("#review > .review-files");
start.hidden = reviewable.length === 0;

// The order is that of `reviewable`, whatever the table is sorted by.
function listQueue() {
  const found = new Set(listFound());
  return reviewable.filter((row) => found.has(row));
}

function tellStart() {
  const queued = listQueue();
  const { length } = queued;
  start.disabled = length === 0;
  const words = tellCount(length, "question", "questions");
  const decided = queued.filter((row) => decisionOf(row) !== null).length;
  start.textContent = decided === 0 ? `Start the review of ${words}` : `Go on: ${decided.toLocaleString("en")} of ${words} decided`;
}

// What was decided before may be downloaded without another look at it.
function tellDecided() {
  tellStart();
  filesOfPage.hidden = showFiles(filesOfPage) === 0;
  if (!filesOfPage.hidden) filesOfPage.prepend("Download what is decided: ");
}
table.on("draw", tellStart);
dialog.addEventListener("close", tellDecided);
tellDecided();

start.addEventListener("click", () => {
  queue = listQueue();
  undone.length = 0;
  dialog.showModal();
  const first = queue.findIndex((row) => decisionOf(row) === null);
  show(first === -1 ? 0 : first);
});

// --- verdicts to start from

const picker = document.getElementById("load-verdicts");
const forget = document.getElementById("forget-verdicts");
const toldOfLoaded = document.getElementById("loaded-verdicts");

function tellLoaded(words) {
  const count = loaded.size.toLocaleString("en");
  toldOfLoaded.textContent = words ?? (loaded.size ? `${count} questions with loaded verdicts.` : "");
  forget.hidden = loaded.size === 0;
  table.draw();
}

picker.addEventListener("change", async () => {
  const words = [];
  for (const file of picker.files) {
    try {
      words.push(await loadVerdicts(file));
    } catch (error) {
      words.push(`${file.name}: ${error.message}.`);
    }
  }
  picker.value = "";
  storeLoaded();
  tellLoaded(words.join(" "));
});
forget.addEventListener("click", () => {
  loaded.clear();
  storeLoaded();
  tellLoaded();
});
document.querySelector(".load-verdicts").hidden = false;
tellLoaded();
