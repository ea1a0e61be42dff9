// Corrections: entries of data/corrections, which name a question by the text of its corpus.

// A JSON string is a YAML string, but for characters that YAML wants escaped.
const quote = (text) =>
  JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function nameQuestion(row) {
  const { database, question, sql } = { ...row, ...row.as_in_corpus };
  return [
    `- database: ${quote(database)}`,
    `  question: ${quote(question)}`,
    `  gold_sql: ${quote(sql)}`,
  ];
}

// An entry that lacks what only a person knows.
function startCorrection(row) {
  return [
    ...nameQuestion(row),
    "  action: replace  # or exclude, without a replacement",
    "  replacement:",
    `    gold_sql: ${quote({ ...row, ...row.as_in_corpus }.sql)}  # as it should be`,
    "  reason:  # what is wrong",
    "",
  ].join("\n");
}

function offerCorrection(row) {
  const button = make("button", { type: "button", textContent: "Copy as correction" });
  const status = make("p", { className: "facts" });
  status.setAttribute("role", "status");
  const box = make("div", { className: "correction" }, button, status);
  button.addEventListener("click", async () => {
    const text = startCorrection(row);
    const shown = make("pre", {}, make("code", {}, text));
    box.replaceChildren(button, status, shown);
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "Copied. Complete it in a file of data/corrections.";
    } catch {
      status.textContent = "Not copied: select the text below, for a file of data/corrections.";
    }
  });
  return box;
}
