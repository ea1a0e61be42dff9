// SQL as it is shown: a line for each clause, and colours. Only white space differs from the query.
const TOKEN =
  /('(?:[^']|'')*')|("(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|(--[^\n]*|\/\*[\s\S]*?\*\/)|(\b\d[\w.]*)|([\p{L}_][\p{L}\d_$]*)|\s+|[<>=!|]+|[\s\S]/gu;
const KINDS = ["text", "name", "comment", "number", "word"];
const KEYWORDS = new Set(
  `ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FROM
  FULL GLOB GROUP HAVING IN INNER INTERSECT IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR
  ORDER OUTER OVER PARTITION RIGHT SELECT THEN UNION USING VALUES WHEN WHERE WITH`.split(/\s+/),
);
const CLAUSES = new Set(
  "CROSS EXCEPT FROM FULL GROUP HAVING INNER INTERSECT JOIN LEFT LIMIT NATURAL ORDER SELECT UNION WHERE".split(" "),
);
const JOINED = new Set("CROSS FULL INNER LEFT NATURAL OUTER RIGHT".split(" ")); // before JOIN

function readTokens(sql) {
  const tokens = [];
  for (const [text, ...groups] of sql.matchAll(TOKEN)) {
    if (text.trim() === "") {
      if (tokens.length) tokens.at(-1).hasSpace = true;
      continue;
    }
    const upper = text.toUpperCase();
    const kind = KINDS[groups.findIndex((group) => group !== undefined)] ?? "sign";
    tokens.push({ text, upper, kind: kind === "word" && KEYWORDS.has(upper) ? "keyword" : kind });
  }
  return tokens;
}

function showSql(sql) {
  const code = document.createElement("code");
  const queries = []; // of each open parenthesis, whether it holds a query
  let before = null;
  const tokens = readTokens(sql);
  tokens.forEach((token, place) => {
    if (token.text === ")") {
      if (queries.pop()) code.append(`\n${"  ".repeat(queries.length)}`);
    }
    const isQuery = queries.every(Boolean);
    const startsLine = token.kind === "keyword" && CLAUSES.has(token.upper) && isQuery;
    if (startsLine && before !== null && !JOINED.has(before.upper)) {
      code.append(`\n${"  ".repeat(queries.length)}`);
    } else if (before?.kind === "comment" && before.text.startsWith("--")) code.append("\n");
    else if (before?.hasSpace && before.text !== "(" && token.text !== ")") code.append(" ");
    const span = document.createElement("span");
    span.textContent = token.text;
    if (token.kind !== "sign" && token.kind !== "word") span.className = `sql-${token.kind}`;
    code.append(span);
    if (token.text === "(") queries.push(tokens[place + 1]?.upper === "SELECT");
    before = token;
  });
  return code;
}

// The names of the columns that a query gives, as far as its text says: [] if it has a `*`.
function nameColumns(sql) {
  const names = [];
  let item = [];
  let depth = 0;
  let isInside = false;
  const finish = () => {
    const last = item.at(-1);
    const isName = item.length === 1 || item.at(-2).upper === "AS" || item.at(-2).text === ".";
    const isAlias = last !== undefined && isName && ["word", "name"].includes(last.kind);
    const text = item.map((token) => token.text + (token.hasSpace ? " " : "")).join("");
    names.push(isAlias ? last.text.replace(/^["`[]|["`\]]$/g, "") : text.trim());
    item = [];
  };
  for (const token of readTokens(sql)) {
    if (depth === 0 && token.upper === "SELECT" && !isInside) isInside = true;
    else if (isInside) {
      if (token.text === "(") depth += 1;
      if (token.text === ")") depth -= 1;
      if (depth === 0 && token.text === "*" && !item.length) return [];
      if (depth === 0 && token.text === "*" && item.at(-1).text === ".") return [];
      if (depth === 0 && ["FROM", "UNION", "EXCEPT", "INTERSECT", "WHERE"].includes(token.upper)) break;
      if (depth === 0 && token.text === ",") finish();
      else if (item.length || !["DISTINCT", "ALL"].includes(token.upper)) item.push(token);
    } else if (token.upper === "WITH") return [];
  }
  if (item.length) finish();
  return names;
}

for (const code of document.querySelectorAll(".example pre code")) {
  code.replaceWith(showSql(code.textContent));
}
