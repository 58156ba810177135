// row.js: a row of a .tv or .mem file of the golden vectors, read into the Block room and written from it.
/** The columns of a row of a recipe, in their order: name, role, lanes, bits of a lane, hex digits, and whether any NaN is right. */
function columnsOf(id, from) {
  refuseLarge(id, programFacts(programOf(id)));
  return (recipeOf(id).columns || refuse(`rows are those of recipes of the spec, and ${id} is of the descriptor: choose another recipe A`)).map(([name, role, lanes, own, anyNan]) => {
    const bits = name === "x" ? factsOf(formatOf(from)).width : own;
    return {name, role, lanes, bits, anyNan, digits: Math.ceil(lanes * bits / 4)};
  });
}
/** Refuse a tile that no row of a suite holds. */
function refuseLarge(id, {rows, columns}) {
  if (rows * columns > META.most) refuse(`a row of ${id} would be a tile of ${rows} x ${columns} values, and rows have at most ${META.most}`);
}
/** The values of a row of a suite: those of a block; of a block of one value more, which share the scale of the row or of the tensor. */
const acrossOf = ({rows, columns}) => rows * columns === 1 ? META.across : columns;
/** Of a recipe of the descriptor the columns that go in, as emu_ref has them. */
function inputsOf(id, from) {
  if (!isOwnRecipe(id)) return columnsOf(id, from).filter(({role}) => role === "in" || role === "r");
  const facts = programFacts(programOf(id)), {rows, amax, tail} = facts, {bits: drawn, lanes, wordBits} = drawingOf(id);
  refuseLarge(id, facts);
  const n = rows * acrossOf(facts);
  const all = [["x", "in", n, factsOf(formatOf(from)).width], ...(amax ? [["ts", "in", 1, 32]] : []), ...(tail !== TAIL.error && rows === 1 ? [["n_valid", "in", 1, 8]] : []), ...(drawn ? [["r", "r", n / lanes, wordBits]] : [])];
  return all.map(([name, role, lanes_, bits]) => ({name, role, lanes: lanes_, bits, anyNan: false, digits: Math.ceil(lanes_ * bits / 4)}));
}
const lanesIn = (word, {lanes, bits}) => Array.from({length: lanes}, (_, i) => BigInt.asUintN(bits, BigInt(`0x${word}`) >> BigInt(bits * i)));
const wordOf = (lanes, {bits, digits}) => lanes.reduceRight((word, lane) => word << BigInt(bits) | lane, 0n).toString(16).padStart(digits, "0");

/** The file's name and the words of a row, as the file or `grep` prints it; null: the text is no row. */
function rowIn(text) {
  const lines = text.trim().split("\n"), match = /^(?:(\S+?):(?:\d+:)?)?([ae])[ _]([0-9a-f]+(?:[ _][0-9a-f]+)*)\s*(?:\/\/.*)?$/i.exec(lines[0].trim());
  if (!match) return null;
  if (lines.length > 1) refuse(`${lines.length} lines: paste one row`);
  if (match[2] !== "a") refuse("the last line of a file, which counts its rows: paste one of those, which begin with a");
  return {name: match[1] || "", words: match[3].toLowerCase().split(/[ _]/)};
}
/** Refuse words that are not the columns of a recipe's rows. */
function fit(words, columns, id, from) {
  const wrong = columns.find((column, i) => (words[i] || "").length !== column.digits);
  if (wrong || words.length !== columns.length) {
    refuse(`a row of ${words.length} columns: one of ${id} from ${from} has ${columns.length}` + (wrong ? `, and ${wrong.digits} hex digit${wrong.digits > 1 ? "s" : ""} in ${wrong.name}: name the file before the row, as grep -H does, or choose recipe A` : ""));
  }
}
/** What a pasted row changes: recipe A, recipe B where it does not take so many values, the format of the values, the maximum, the values; the row stays to be compared. */
function readRow({name, words}, state) {
  let id = state.a, from = "";
  if (name) { // operation__source_to_block__recipe__suite.tv
    const [operation, formats = "", recipe = ""] = name.split("/").pop().split("__");
    if (operation !== "quantize" || !recipe) refuse(`a row of ${name}: Block reads rows of the suites quantize__...`);
    id = recipe;
    from = formats.split("_to_")[0];
  }
  if (!recipesHere().includes(id)) refuse(`a row of ${id}: this room has no such recipe`);
  const at = columnsOf(id, "fp32").findIndex(column => column.name === "x");
  from ||= [state.from, "fp32", "bf16"].find(format => columnsOf(id, format)[at].digits === (words[at] || "").length) || "fp32";
  if (!SOURCES.includes(from)) refuse(`a row from ${from}: this room has values in ${SOURCES.join(", ")}`);
  const columns = columnsOf(id, from);
  fit(words, columns, id, from);
  const cells = Object.fromEntries(columns.map((column, i) => [column.name, lanesIn(words[i], column)]));
  const {rows} = programFacts(programOf(id)), wide = cells.x.length / rows, valid = cells.n_valid ? Number(cells.n_valid[0]) : wide, width = factsOf(formatOf(from)).width;
  const other = programFacts(programOf(state.b)), b = other.tail === TAIL.error && (valid % other.columns || rows % other.rows) ? id : state.b;
  return {a: id, b, from, rotate: "none", signs: "", amax: cells.ts ? hex(cells.ts[0], 32) : "", x: cells.x.filter((_, i) => i % wide < valid).map(code => hex(code, width)).join(" "), rows: `${rows}`, random: cells.r ? wordsText({words: cells.r, wordBits: columns.find(({name: r}) => r === "r").bits}) : state.random, row: `a ${words.join(" ")}`};
}

/** The results of one block in the columns of a row: lanes of {code, known, nan}. */
function resultsOf(trace) {
  const recipe = recipeOf(trace.id), told = item => item.code === "open" ? {code: 0n, known: false, nan: false} : {code: BigInt(item.code), known: true, nan: item.value === "NaN"};
  const found = {codes: trace.filled.items.map((item, i) => i % trace.width < trace.columns || trace.tail !== TAIL.drop ? told(item) : {code: 0n, known: false, nan: false})};
  recipe.levels.forEach((name, i) => { found[name] = trace.levels[i].items.map(told); });
  const known = Object.values(found).some(lanes => lanes.some(lane => lane.known)), step = trace.steps.find(item => item.name === recipe.amax);
  if (step) found.amax = [known ? told(step.items[0]) : {code: 0n, known: false, nan: false}];
  return found;
}
const laneAt = (lanes, i, count) => lanes[Math.trunc(i * lanes.length / count)]; // a coarser register stands for several lanes

/** The place of item i of rows of `columns` items among rows of `wide` lanes. */
const spread = (i, columns, wide) => Math.trunc(i / columns) * wide + i % columns;

/** What the results of a pasted row have to do with those of C, under the row's masks. */
function rowSays(row, trace, codes, from, amax, drawn) {
  const columns = columnsOf(trace.id, from), words = rowIn(row)?.words || refuse("row: write a row of a .tv file");
  fit(words, columns, trace.id, from);
  const word = name => { const i = columns.findIndex(column => column.name === name); return i < 0 ? null : lanesIn(words[i], columns[i]); };
  const x = word("x"), tall = programFacts(programOf(trace.id)).rows, valid = Number(word("n_valid")?.[0] ?? x.length / tall), maximum = word("ts")?.[0] ?? amax;
  const isOther = (lanes, items) => items.some((item, i) => item !== lanes[spread(i, items.length / tall, lanes.length / tall)]);
  if (valid !== trace.columns || tall !== trace.rows || isOther(x, codes) || maximum !== amax || drawn && isOther(word("r"), drawn.words)) refuse("row: it has other values, other random words or another tensor maximum than the room");
  const found = resultsOf(trace), wrong = [];
  let compared = 0;
  columns.filter(({role}) => role === "out" || role === "stage").forEach(column => {
    const masks = lanesIn(words[columns.findIndex(({name}) => name === `m_${column.name}`)], column), kinds = word(`k_${column.name}`);
    word(column.name).forEach((want, i) => {
      if (!masks[i]) return;
      const got = laneAt(found[column.name], i, column.lanes);
      compared += 1;
      if (!got.known || (kinds && kinds[i] ? !got.nan : (got.code ^ want) & masks[i])) wrong.push({name: column.name, i, want: hex(want, column.bits), got: got.known ? hex(got.code, column.bits) : "open"});
    });
  });
  if (!compared) return "The pasted row leaves all of its results open.";
  if (!wrong.length) return `All ${compared} results that the pasted row compares are those of ${trace.id}.`;
  const [{name, i, want, got}] = wrong;
  return `${wrong.length} of the ${compared} results that the pasted row compares ${wrong.length > 1 ? "are not those" : "is not that"} of ${trace.id}; the first is ${name}, element ${i}: the row has ${want}, here it is ${got}.`;
}

/** Rows of a recipe, {column, text} of each word, a block each. */
function blockRows(state, id, some = columnsOf) {
  const {codes, from, rows, signs} = takenOf(state), own = programFacts(programOf(id)), facts = {...own, columns: acrossOf(own)}, columns = codes.length / rows, drawn = blockDraws(id, state.random, codes.length), out = [];
  some(id, from);
  if (signs !== null && recipeOf(id).signs) refuse(`Copy .tv row: a row of ${id} has no signs: leave them out`);
  if (rows % facts.rows) refuse(`Copy .tv row: a row of ${id} has ${facts.rows} rows of values: give a multiple of them`);
  if ((columns > facts.columns || rows > facts.rows) && !recipeOf(id).alone) refuse(`Copy .tv row: ${id} looks at more than a block: give one block` + (own.columns < facts.columns ? `, ${facts.columns} values at most` : ""));
  if (drawn && rows > 1 && columns % drawn.lanes) refuse(`Copy .tv row: ${drawn.lanes} values share a random word: give a multiple of them in each row`);
  const given = amaxOf(state), whole = traceOf(id, codes, given, from, rows, drawn?.integers);
  const maximum = whole.maximum && whole.maximum.code !== "open" ? BigInt(whole.maximum.code) : given;
  if (whole.maximum && maximum === null) refuse(`Copy .tv row: the sources leave the maximum of these values open for ${id}: write it`);
  for (let top = 0; top < rows; top += facts.rows)
    for (let left = 0; left < columns; left += facts.columns) {
      const part = drawn && {integers: blockIn(drawn.integers, columns, top, left, facts), words: blockIn(drawn.words, Math.ceil(columns / drawn.lanes), top, left / drawn.lanes, {rows: facts.rows, columns: Math.ceil(facts.columns / drawn.lanes)})};
      out.push(rowOfBlock(id, from, filledUp(blockIn(codes, columns, top, left, facts), own), maximum, facts.rows, part, some(id, from)));
    }
  return out;
}
/** Codes of a block, those of a block of one value with zeros behind them, which change no maximum. */
const filledUp = (codes, facts) => acrossOf(facts) > facts.columns ? [...codes, ...Array(acrossOf(facts) - codes.length).fill(0n)] : codes;
/** Whether rows of a suite hold what the room has. */
function isInRows(state, id) {
  try { return blockRows(state, id, inputsOf).length > 0; } catch (error) { if (error instanceof Refusal) return false; throw error; }
}
function rowOfBlock(id, from, codes, maximum, rows, drawn, columns) {
  const found = resultsOf(traceOf(id, codes, maximum, from, rows, drawn?.integers));
  const lanesOf = (items, {lanes}) => { const out = Array(lanes).fill(0n); items.forEach((item, i) => { out[spread(i, items.length / rows, lanes / rows)] = item; }); return out; };
  return columns.map(column => ({column, text: (() => {
    const lanes = found[column.name.replace(/^[mk]_/, "")], each = work => wordOf(Array.from({length: column.lanes}, (_, i) => work(i)), column);
    if (column.name === "x") return wordOf(lanesOf(codes, column), column);
    if (column.role === "r") return wordOf(lanesOf(drawn.words, column), column);
    if (column.name === "ts") return each(() => maximum);
    if (column.name === "n_valid") return each(() => BigInt(codes.length / rows));
    if (column.role === "pad") return each(() => 0n);
    if (column.role === "kind") return each(i => BigInt(laneAt(lanes, i, column.lanes).nan));
    if (column.role === "mask") return maskWord(column, lanes, columns.find(({name}) => `m_${name}` === column.name));
    return each(i => laneAt(lanes, i, column.lanes).code);
  })()}));
}
const maskWord = (column, lanes, masked) => wordOf(Array.from({length: masked.lanes}, (_, i) => laneAt(lanes, i, masked.lanes).known ? (1n << BigInt(masked.bits)) - 1n : 0n), {bits: masked.bits, digits: column.digits});

/** A pasted text, what it makes of the room, what is said of it, and the row that the room copies then. */
function pasted(text) {
  try {
    const state = {...BLOCK, ...changeOfBlock(BLOCK, "x", text)};
    return {...state, said: blockOf(state).row, copy: rowText("block", state)};
  } catch (error) { if (error instanceof Refusal) return {refused: error.message}; throw error; }
}

/** The rows of lists within a list; {}: the text has none. */
function rowsIn(text) {
  const lists = text.match(/\[[^[\]]*\]/g) || [], lengths = lists.map(list => wordsOf(list).length);
  if (new Set(lengths).size > 1) refuse(`lists of ${[...new Set(lengths)].join(" and ")} values: give as many in each row`);
  return lists.length ? {rows: `${lists.length}`} : {};
}
/** What a change of a field of Block changes: a pasted row fills the others; another format keeps the values, or their nearest. */
function changeOfBlock(state, name, value) {
  if (name === "sample") return changeOfSample(value);
  const row = name === "x" ? rowIn(value) : null;
  if (row) return readRow(row, state);
  const changes = {[name]: value, ...(["x", "a", "amax", "from", "rotate", "signs", "rows", "random"].includes(name) ? {row: ""} : {}), ...(name === "rotate" || ["a", "b"].includes(name) && state.rotate === "none" && !signBits({...state, [name]: value}) ? {signs: ""} : {}), ...(["a", "b"].includes(name) ? {step: ""} : {}), ...(name === "x" ? {cell: "", ...rowsIn(value)} : {})};
  if (name === "from") {
    const {width} = factsOf(formatOf(value));
    changes.x = valuesOf(state.x, state.from).map(code => hex(codeOfDecimal(typedText(decode(formatOf(state.from), code)), value), width)).join(" ");
  }
  return changes;
}
