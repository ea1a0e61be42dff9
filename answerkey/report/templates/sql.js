// SQL as it is shown: a line for each clause and condition, in colours. Only white space differs from
// the query, which makes it safe to copy. Where two queries stand side by side, what differs is marked.

const listOf = (words) => new Set(words.split(" "));
const KEYWORDS = listOf(
  "ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FROM FULL " +
    "GLOB GROUP HAVING IN INNER INTERSECT IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL OFFSET ON OR ORDER OUTER " +
    "OVER PARTITION RIGHT SELECT THEN UNION USING VALUES WHEN WHERE WITH",
);
const CLAUSES = listOf(
  "CROSS EXCEPT FROM FULL GROUP HAVING INNER INTERSECT JOIN LEFT LIMIT NATURAL ORDER SELECT UNION WHERE",
);
const BEFORE_JOIN = listOf("CROSS FULL INNER LEFT NATURAL OUTER RIGHT");
const TOKEN =
  /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?|`[^`]*`?|\[[^\]]*\]?)|([\p{L}_][\p{L}\p{N}_$]*)|((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|<>|[<>=!]=|\|\||\S/giu;
const KINDS_OF_TOKENS = ["comment", "text", "quoted", "word", "number"];

// [{ kind, text, gap }]: gap is the white space before it. kind is one of those above, or "sign".
function readTokens(sql) {
  const tokens = [];
  let end = 0;
  for (const found of sql.matchAll(TOKEN)) {
    const kind = KINDS_OF_TOKENS.find((name, index) => found[index + 1] !== undefined) ?? "sign";
    tokens.push({ kind, text: found[0], gap: sql.slice(end, found.index) });
    end = found.index + found[0].length;
  }
  return tokens;
}

const wordOf = ({ kind, text }) => (kind === "word" ? text.toUpperCase() : "");

// The white space before each token, as it is shown.
function layOut(tokens) {
  const queries = []; // of each open parenthesis, whether it holds a query
  const betweens = []; // how deep each BETWEEN stands whose AND is to come
  let cases = 0; // that are open
  let before = "";
  return tokens.map((token, index) => {
    const { text, gap } = token;
    const word = wordOf(token);
    const isOfQuery = word !== "" && (queries.at(-1) ?? true);
    let startsLine = isOfQuery && CLAUSES.has(word) && !BEFORE_JOIN.has(before);
    let joinsConditions = isOfQuery && (word === "AND" || word === "OR") && cases === 0;
    if (word === "AND" && betweens.at(-1) === queries.length) {
      betweens.pop();
      joinsConditions = false;
    }
    if (text === ")" && queries.length) startsLine = queries.pop();
    let space = gap ? " " : "";
    const follows = tokens[index - 1];
    if (follows?.kind === "comment" && follows.text.startsWith("--")) space = "\n"; // the comment ends there
    else if (startsLine && index) space = `\n${"  ".repeat(queries.length)}`;
    else if (joinsConditions) space = `\n${"  ".repeat(queries.length + 1)}`;
    else if (index === 0) space = "";
    if (text === "(") queries.push(wordOf(tokens[index + 1] ?? { kind: "sign" }) === "SELECT");
    if (word === "BETWEEN") betweens.push(queries.length);
    else if (word === "CASE") cases += 1;
    else if (word === "END") cases = Math.max(0, cases - 1);
    before = word;
    return space;
  });
}

// The query with the white space that is shown.
function laidOut(sql) {
  const tokens = readTokens(sql);
  return layOut(tokens)
    .map((space, index) => space + tokens[index].text)
    .join("");
}

// --- what differs

const MAX_COMPARED = 4_000_000; // pairs of tokens
const unquote = ({ kind, text }) => (kind === "quoted" ? text.slice(1, -1) : text);
const SAME_SIGNS = { "<>": "!=", "==": "=" };

// The tables of a query by their aliases; and the places of tokens that only name things, or say what
// holds without them.
function readNames(tokens) {
  const aliases = new Map();
  const idle = new Set();
  const joins = new Set(); // commas that join tables
  const counts = new Map();
  const isName = (token) => token?.kind === "quoted" || (token?.kind === "word" && !KEYWORDS.has(wordOf(token)));
  const casts = [];
  tokens.forEach((token, index) => {
    const word = wordOf(token);
    if (token.text === "(") casts.push(wordOf(tokens[index - 1] ?? token) === "CAST");
    else if (token.text === ")") casts.pop();
    if (["INNER", "OUTER", "CROSS", "ASC"].includes(word) || token.kind === "comment" || token.text === ";") idle.add(index);
    if (word === "AS" && !casts.at(-1) && isName(tokens[index + 1])) idle.add(index).add(index + 1);
    if (word !== "FROM" && word !== "JOIN") return;
    for (let at = index + 1; isName(tokens[at]); at += 1) {
      if (tokens[at + 1]?.text === ".") at += 2;
      if (!isName(tokens[at])) break;
      const table = unquote(tokens[at]).toLowerCase();
      const times = (counts.get(table) ?? 0) + 1;
      counts.set(table, times);
      const name = times === 1 ? table : `${table} ${times}`;
      if (!aliases.has(table)) aliases.set(table, name);
      if (wordOf(tokens[at + 1] ?? token) === "AS") at += 1;
      if (isName(tokens[at + 1])) {
        at += 1;
        idle.add(at);
        aliases.set(unquote(tokens[at]).toLowerCase(), name);
      }
      if (tokens[at + 1]?.text !== ",") break;
      at += 1;
      joins.add(at);
    }
  });
  return { aliases, idle, joins };
}

// A key for each token; tokens of the same meaning have the same, and null is never compared: case, quotes,
// aliases, and a table before a column that stands alone elsewhere say nothing.
function keyTokens(tokens, { aliases, idle, joins }, bare) {
  return tokens.map((token, index) => {
    if (idle.has(index)) return null;
    if (joins.has(index)) return "JOIN";
    const { kind, text } = token;
    if (kind === "text") return `'${text.slice(1, -1)}`;
    if (kind === "number" || kind === "sign") {
      const isDot = text === "." && kind === "sign";
      return isDot ? null : (SAME_SIGNS[text] ?? text);
    }
    const name = unquote(token).toLowerCase();
    if (tokens[index + 1]?.text === "." && aliases.has(name)) return null;
    if (tokens[index - 1]?.text === "." && index > 1) {
      const table = aliases.get(unquote(tokens[index - 2]).toLowerCase());
      return table === undefined || bare.has(name) ? name : `${table}.${name}`;
    }
    if (kind === "quoted" && !bare.has(name) && !aliases.has(name)) return `'${unquote(token)}`;
    return wordOf(token) && KEYWORDS.has(wordOf(token)) ? wordOf(token) : name;
  });
}

// The names that stand without a table in a query.
function listBare(tokens) {
  const isAlone = (token, index) => token.kind === "word" && tokens[index - 1]?.text !== "." && tokens[index + 1]?.text !== ".";
  return tokens.filter(isAlone).map(({ text }) => text.toLowerCase());
}

// The places of the tokens of `tokens` that `others` does not have: all but a longest common subsequence.
function findDifferences(tokens, others) {
  const bare = new Set([...listBare(tokens), ...listBare(others)]);
  const [left, right] = [tokens, others].map((side) =>
    keyTokens(side, readNames(side), bare)
      .map((key, place) => [key, place])
      .filter(([key]) => key !== null),
  );
  if (left.length * right.length > MAX_COMPARED) return new Set();
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i][j] =
        left[i][0] === right[j][0] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const marked = new Set();
  for (let i = 0, j = 0; i < left.length; ) {
    if (j < right.length && left[i][0] === right[j][0]) {
      i += 1;
      j += 1;
    } else if (j < right.length && lengths[i][j + 1] > lengths[i + 1][j]) j += 1;
    else {
      marked.add(left[i][1]);
      i += 1;
    }
  }
  return marked;
}

// --- elements

function classOf(token) {
  if (KEYWORDS.has(wordOf(token))) return "sql-k";
  return { text: "sql-s", number: "sql-n" }[token.kind] ?? "";
}

// The query; what `other` does not have is marked, if it is given.
function showSql(sql, other = null) {
  const tokens = readTokens(sql);
  const marked = other === null ? new Set() : findDifferences(tokens, readTokens(other));
  const code = make("code");
  let mark = null; // of the run of marked tokens that is open
  for (const [index, space] of layOut(tokens).entries()) {
    const className = classOf(tokens[index]);
    const { text } = tokens[index];
    const isInside = marked.has(index) && mark !== null && !space.includes("\n");
    (isInside ? mark : code).append(space);
    if (!marked.has(index)) mark = null;
    else if (!isInside) code.append((mark = make("mark")));
    (mark ?? code).append(className ? make("span", { className }, text) : text);
  }
  return make("pre", { className: "sql" }, code);
}

// SQL that the page has as plain text. Two in one pair are compared.
function showWrittenSql(root) {
  for (const written of root.querySelectorAll("pre.written")) {
    const others = [...(written.closest(".pair")?.querySelectorAll("pre.written") ?? [])];
    const other = others.find((each) => each !== written);
    written.shownSql = showSql(written.textContent, other?.textContent ?? null);
  }
  for (const written of root.querySelectorAll("pre.written")) written.replaceWith(written.shownSql);
}
