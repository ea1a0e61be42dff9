// The review: of the questions that the filters leave, one at a time, the riskiest first, decided by
// keys.

const dialog = document.getElementById("review-dialog");
const part = (name) => dialog.querySelector(`.review-${name}`);
const undone = []; // what undo brings back: the place in the queue, and the decision before
let queue = reviewable;
let place = 0;

const FIXES = { gold_sql: ["SQL", (row) => row.sql], question_text: ["Text", textOf] };
const DECISIONS = [
  ["k", "keep", () => settle({ kind: KEEP, reason: "" })],
  ["d", "drop", () => ask(DROP)],
  ["s", "fix SQL", () => ask(FIX, "gold_sql")],
  ["t", "fix text", () => ask(FIX, "question_text")],
  ["r", "take the repair", takeRepair],
  ["m", "take the models' SQL", takeModels],
];
const MOVES = [
  ["p", "previous", () => show(place - 1)],
  ["n", "next", () => show(place + 1)],
  ["u", "undo", undo],
  ["q", "close", () => dialog.close()],
];

// What models agree on, if it is not the corpus's own query, which a correction has replaced.
const agreedOf = ({ agreed, as_in_corpus: own }) => (agreed?.sql === own.sql ? null : agreed);

// The likeliest repair, if it is not the corpus's own query.
const repairOf = ({ repairs: [first], as_in_corpus: own }) =>
  first === undefined || first.sql === own.sql ? null : first;

// --- what one sees

function showSchema(row) {
  const tables = payload.schemas[row.database] ?? {};
  const shown = row.tables.filter((name) => name in tables);
  if (shown.length === 0) return [];
  return [showPart("Schema", ...shown.map((name) => make("pre", {}, make("code", {}, tables[name]))))];
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
  for (const text of Object.values(decision.replacement ?? {})) {
    box.append(make("pre", {}, make("code", {}, text)));
  }
  return [box];
}

function showModels(row) {
  const agreed = agreedOf(row);
  return agreed === null ? [] : [showPart(`SQL on which ${agreed.models} agree`, showSql(agreed.shown))];
}

function show(to) {
  place = Math.max(0, Math.min(to, queue.length - 1));
  const row = queue[place];
  const question = make("h2", { className: "question" }, row.question);
  const card = showCard(row, ...showModels(row), ...showSchema(row));
  part("place").textContent = tellPlace();
  part("question").replaceChildren(describe(row), question, ...showDecision(row), card);
  part("form").hidden = true;
  for (const [key, isThere] of [["r", repairOf(row) !== null], ["m", agreedOf(row) !== null]]) {
    const button = part("decisions").querySelector(`[data-key=${key}]`);
    button.disabled = button.hidden = !isThere;
  }
  part("question").focus();
  part("question").scrollTop = 0;
  tellProgress();
}

function tellProgress() {
  const files = [...writeCorrections(), ...writeVerdicts()];
  const buttons = files.map((file) => {
    const button = make("button", { type: "button" }, `${file.name} (${file.count})`);
    button.addEventListener("click", () => download(file));
    return button;
  });
  part("files").replaceChildren(...buttons);
  const count = queue.filter((row) => decisionOf(row) !== null).length;
  const of = `${count.toLocaleString("en")} of ${queue.length.toLocaleString("en")} decided`;
  part("status").textContent = isStored()
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
  if (repair === null) return;
  ask(FIX, "gold_sql", { ...repair, reason: tellDoubts(repair) });
}

function takeModels() {
  const agreed = agreedOf(queue[place]);
  if (agreed === null) return;
  const replacement = { ...decisionOf(queue[place])?.replacement, gold_sql: agreed.sql };
  settle({ kind: FIX, reason: `${agreed.models} agree on it.`, replacement });
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
  const [label, find] = FIXES[name] ?? [];
  const value = make("textarea", { spellcheck: false, required: true });
  const reason = make("input", { type: "text", required: true });
  let own, laidOut;
  reason.value = proposal?.reason ?? before?.reason ?? "";
  if (kind === DROP && before === null && row.findings.length) {
    reason.value = payload.meanings[row.findings[0][0]];
  }
  const fields = [make("label", {}, "Reason", reason)];
  if (kind === FIX) {
    own = proposal?.sql ?? before?.replacement[name] ?? find(row);
    const { shown } = proposal ?? row;
    const isShown = name === "gold_sql" && own === (proposal ?? row).sql;
    value.value = isShown ? shown.map((piece) => piece.slice(1)).join("") : own;
    value.rows = Math.min(14, value.value.split("\n").length + 1);
    if (name === "gold_sql") value.className = "sql";
    laidOut = value.value.trim();
    fields.unshift(make("label", {}, `${label} as it should be`, value));
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
    const text = written === laidOut ? own.trim() : written;
    const isSame = [find?.(row), row.as_in_corpus[corpus]].includes(text);
    value.setCustomValidity(kind === FIX && isSame ? "It is this already: change it." : "");
    reason.setCustomValidity(reason.value.trim() ? "" : "Say what is wrong.");
    if (!box.reportValidity()) return;
    const fixed = kind === FIX ? { ...before?.replacement, [name]: text } : undefined;
    settle({ kind, reason: reason.value.trim(), replacement: fixed });
  };
  for (const field of [value, reason]) field.oninput = () => field.setCustomValidity("");
  box.hidden = false;
  value.setSelectionRange(0, 0);
  if (kind === FIX && proposal === undefined) value.focus();
  else reason.select();
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
});

const reviewer = document.getElementById("reviewer");
reviewer.value = store.reviewer;
reviewer.addEventListener("input", () => {
  store.reviewer = reviewer.value.trim();
  tellProgress();
});

part("out").open = isWide;
const start = document.getElementById("start-review");
start.hidden = reviewable.length === 0;

// The order is that of `reviewable`, whatever the table is sorted by.
function listQueue() {
  const found = new Set(listFound());
  return reviewable.filter((row) => found.has(row));
}

function tellStart() {
  const { length } = listQueue();
  start.disabled = length === 0;
  const words = length === 1 ? "1 question" : `${length.toLocaleString("en")} questions`;
  start.textContent = `Start the review of ${words}`;
}
table.on("draw", tellStart);
tellStart();

start.addEventListener("click", () => {
  queue = listQueue();
  undone.length = 0;
  dialog.showModal();
  const first = queue.findIndex((row) => decisionOf(row) === null);
  show(first === -1 ? 0 : first);
});
