// The review: one question at a time, the riskiest first, decided by keys.

const dialog = document.getElementById("review-dialog");
const part = (name) => dialog.querySelector(`.review-${name}`);
const undone = []; // what undo brings back: the place in the queue, and the decision before
let place = 0;

const FIXES = { gold_sql: ["SQL", (row) => row.sql], question_text: ["Text", textOf] };
const ACTIONS = [
  ["k", "keep", () => settle({ kind: KEEP, reason: "" })],
  ["d", "drop", () => ask(DROP)],
  ["s", "fix SQL", () => ask(FIX, "gold_sql")],
  ["t", "fix text", () => ask(FIX, "question_text")],
  ["r", "take the repair", takeRepair],
  ["m", "take the models' SQL", takeModels],
  ["n", "next", () => show(place + 1)],
  ["p", "previous", () => show(place - 1)],
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
  return row.tables.flatMap((name) =>
    name in tables ? [make("pre", {}, make("code", {}, tables[name]))] : [],
  );
}

function describe(row) {
  const facts = [
    `Question ${place + 1} of ${queue.length}`,
    row.id,
    row.database,
    row.reason === null ? "selected" : `left out: ${row.reason}`,
    row.source,
  ];
  return make("p", { className: "facts" }, facts.join(" · "));
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
  if (agreed === null) return [];
  const heading = make("h3", {}, `SQL on which ${agreed.models} agree`);
  return [heading, showSql(agreed.shown)];
}

function show(to) {
  place = Math.max(0, Math.min(to, queue.length - 1));
  const row = queue[place];
  const left = make("div", {}, ...showModels(row));
  left.append(make("h3", {}, "Gold answer"), ...showAnswer(row.answer, row.names), ...showOthers(row));
  if (row.suite !== null) left.append(showSuite(row.suite));
  const right = make("div", {}, make("h3", {}, "Flags"));
  right.append(...(row.findings.length ? row.findings.flatMap(showFinding) : ["none"]));
  right.append(make("h3", {}, "Schema"), ...showSchema(row));
  const question = make("p", { className: "question" }, row.question);
  const gold = make("div", { className: "details" }, ...showGold(row));
  const pair = make("div", { className: "review-pair details" }, left, right);
  part("question").replaceChildren(describe(row), question, ...showRisks(row), ...showDecision(row), gold, pair);
  part("form").hidden = true;
  part("keys").querySelector("[data-key=r]").disabled = repairOf(row) === null;
  part("keys").querySelector("[data-key=m]").disabled = agreedOf(row) === null;
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
  const count = listDecided().length;
  part("status").textContent = isStored()
    ? `${count} of ${queue.length} decided, kept in this browser.`
    : `${count} of ${queue.length} decided. This browser keeps nothing: download before you close.`;
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
  ask(FIX, "gold_sql", { text: repair.sql, reason: tellDoubts(repair) });
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

function ask(kind, name, proposal) {
  const row = queue[place];
  const decision = decisionOf(row);
  const before = decision?.kind === kind ? decision : null;
  const [label, find] = FIXES[name] ?? [];
  const value = make("textarea", { rows: 6, spellcheck: false, required: true });
  const reason = make("input", { type: "text", required: true });
  reason.value = proposal?.reason ?? before?.reason ?? "";
  if (kind === DROP && before === null && row.findings.length) {
    reason.value = payload.meanings[row.findings[0][0]];
  }
  const fields = [make("label", {}, "Reason", reason)];
  if (kind === FIX) {
    value.value = proposal?.text ?? before?.replacement[name] ?? find(row);
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
    const isSame = [find?.(row), row.as_in_corpus[corpus]].includes(value.value.trim());
    value.setCustomValidity(kind === FIX && isSame ? "It is this already: change it." : "");
    reason.setCustomValidity(reason.value.trim() ? "" : "Say what is wrong.");
    if (!box.reportValidity()) return;
    const fixed = kind === FIX ? { ...before?.replacement, [name]: value.value.trim() } : undefined;
    settle({ kind, reason: reason.value.trim(), replacement: fixed });
  };
  for (const field of [value, reason]) field.oninput = () => field.setCustomValidity("");
  box.hidden = false;
  if (kind === FIX && proposal === undefined) value.focus();
  else reason.select();
}

// --- keys

for (const [key, name, act] of ACTIONS) {
  const button = make("button", { type: "button" }, make("kbd", {}, key), ` ${name}`);
  button.dataset.key = key;
  button.addEventListener("click", act);
  part("keys").append(button);
}

dialog.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea")) return;
  const found = ACTIONS.find(([key]) => key === event.key.toLowerCase());
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

const start = document.getElementById("start-review");
start.hidden = queue.length === 0;
start.addEventListener("click", () => {
  dialog.showModal();
  const first = queue.findIndex((row) => decisionOf(row) === null);
  show(first === -1 ? 0 : first);
});
