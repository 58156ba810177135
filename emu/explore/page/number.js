// number.js: one number from one format to another.
const NUMBER = {from: "fp32", code: "0x40200000", to: "e2m1", round: "rne", policy: "nvidia", r: "0", word: "", lane: "0", formats: "e2m1 e1m2 e2m3 e3m2 e4m3 e5m2 bf16", zoom: "10", own: ""};
const ZOOMS = [2, 3, 5, 10, 20, 40, 80, 256]; // how many values of the format the line shows
const SOURCES = META.formats.filter(id => ["fp32", "bf16", "fp16"].includes(id));
const sources = () => [...new Set([...own.formats, ...META.formats])]; // of a number: every format there is
const targets = () => [...new Set([...own.formats, ...META.formats])].filter(id => policiesOf(id).length);
const roundings = () => [...new Set([...own.roundings, ...META.roundings])];
const policiesOf = to => [...new Set([...own.policies.filter(([, of]) => of === to), ...META.policies.filter(([, covered]) => covered.includes(to))].map(([id]) => id))];

function convertOnce(state, id, policy, code) {
  const drawn = drawnOf(state, id);
  return {...convert(formatOf(state.from), formatOf(state.to), roundingOf(id), policyOf(policy, state.to), code, drawn ? Number(drawn.integer) : 0), drawn};
}
/** What a rounding draws for a number: its random integer and, where values share words, the word, its bits and the place of the number in it. Null: nothing.
 * Without a word in the state it is the one that gives the number the state's random integer, and 0 to its neighbours. */
function drawnOf(state, id = state.round) {
  const bits = C.ex_random_bits(roundingOf(id));
  if (!bits) return null;
  return scratch(() => {
    const of = libraryOf(own.roundings.includes(id)), name = word(id);
    C.ex_sharing(of, name, OUT);
    const integer = BigInt.asUintN(bits, BigInt(state.r)), [lanes, wordBits] = numbersAt(OUT, 2).map(Number);
    if (!lanes) return {integer};
    const lane = Number(/^[0-9]{1,2}$/.test(state.lane) ? state.lane : lanes);
    if (lane >= lanes) refuse(`value ${state.lane} of the word: write 0 to ${lanes - 1}`);
    const taken = whole => BigInt(C.ex_lane(of, name, whole, lane) >>> 0), ones = Array.from({length: wordBits}, (_, i) => 1n << BigInt(i));
    const whole = state.word ? parseHex(state.word, wordBits, "random word") : ones.filter(one => taken(one) & integer).reduce((sum, one) => sum + one, 0n);
    return {integer: taken(whole), word: whole, wordBits, lane};
  });
}
const drawnFields = (state, drawn) => drawn?.wordBits ? field("word", "random word, hex", hex(drawn.word, drawn.wordBits), "hex") + field("lane", "value of the word", state.lane, "numeric") : field("r", "random integer", state.r, "numeric");

// The finite values of a narrow format, ascending, as codes; equal values once.
const grids = {};
function gridOf(id) {
  return grids[id] ??= (() => {
    const format = formatOf(id), width = factsOf(format).width, all = [];
    if (width > 8) return [];
    for (let code = 0n; code < 1n << BigInt(width); code++) {
      const value = decode(format, code);
      if (isFinite_(value)) all.push({code, number: dyadic(value)});
    }
    all.sort((a, b) => compare(a.number, b.number) || (a.code < b.code ? -1 : 1));
    return all.filter((item, i) => i === 0 || compare(all[i - 1].number, item.number) !== 0);
  })();
}

const errorOf = (value, result) => isFinite_(value) && isFinite_(result) ? decimal(minus(dyadic(result), dyadic(value))) : "";

function numberOf(state) { return workOut(state).shown; }
function workOut(state) { // what is said of a number, its value and its place on the line
  if (!/^[0-9]{1,10}$/.test(state.r) || BigInt(state.r) >> 32n) refuse(`random integer ${state.r}: write 0 to 4294967295`);
  const source = formatOf(state.from), to = formatOf(state.to), width = factsOf(source).width, wide = factsOf(to).width;
  const code = parseHex(state.code, width, "code"), value = decode(source, code);
  const made = convertOnce(state, state.round, state.policy, code), contract = `convert/${state.to}/${state.round}/${state.policy}`;
  const shown = {contract, code: hex(code, width), source: valueText(value), cls: value.cls, result: made.mark || hex(made.code, wide), value: "", error: "", formulas: [formulaText(state.from, code)]};
  const drawn = made.drawn ? ` with the random integer ${made.drawn.integer}` + (made.drawn.wordBits ? `, that of value ${made.drawn.lane} in the word ${hex(made.drawn.word, made.drawn.wordBits)},` : "") : "";
  if (!made.mark) {
    const result = decode(to, made.code);
    shown.value = valueText(result);
    shown.formulas.push(formulaText(state.to, made.code));
    shown.error = errorOf(value, result);
    const bin = binOf(state, result);
    if (bin) Object.assign(shown, {bin: bin.text, bias: bin.bias, ends: bin});
    const grid = gridOf(state.to).map(item => item.number);
    if (isFinite_(value)) {
      const below = grid.filter(item => compare(item, dyadic(value)) <= 0).at(-1), above = grid.find(item => compare(item, dyadic(value)) >= 0);
      if (below) shown.below = decimal(below);
      if (above) shown.above = decimal(above);
      if (below && above && compare(below, above)) {
        const middle = compare(plus(dyadic(value), dyadic(value)), plus(below, above));
        shown.between = `${decimal(below)} and ${decimal(above)}, ${["below", "at", "above"][middle + 1]} the middle`;
      }
    }
  }
  shown.formats = formatsOfSet(state);
  const line = lineOf(state, value);
  shown.line = (line?.parts || []).map(({a, b, goes}) => ({below: a.code, above: b.code, goes}));
  const end = made.mark === "open" ? "nobody knows the result: the sources leave it open" : made.mark ? "the library that is described raises an error"
    : `${shown.result}, which is ${shown.value}` + (shown.error ? `: ${shown.error === "0" ? "exact" : `an error of ${shown.error}`}` : "");
  shown.sentence = `${state.from} ${shown.code} is ${shown.source}` + (shown.between ? `, between ${shown.between}` : "") +
    `; ${contract}${drawn} gives ${end}.`;
  return {shown, value, line, made};
}

function nextCode(state, up) { // the next value up or down, +0 and -0 are one
  const format = formatOf(state.from), code = parseHex(state.code, factsOf(format).width, "code"), value = decode(format, code);
  if (!isFinite_(value)) return state.code;
  if (gridOf(state.from).length) { // a narrow format: C has said all of its values
    const above = gridOf(state.from).filter(item => compare(item.number, dyadic(value)) * (up ? 1 : -1) > 0), next = above.at(up ? 0 : -1);
    return next ? hex(next.code, factsOf(format).width) : state.code;
  }
  const magnitude = value.cls === "zero" ? 0n : round(format, roundingOf("rz"), value, 0).magnitude;
  let sign = value.sign, next;
  if (magnitude === 0n) { sign = up ? 0 : 1; next = 1n; } else next = Boolean(sign) === up ? magnitude - 1n : magnitude + 1n;
  if (next > maxMagnitude(format, sign)) return state.code;
  return hex(encode(format, next === 0n ? 0 : sign, next), factsOf(format).width);
}

/** The code of a value in a format: its own, or its nearest; where the value is beyond the format, or it has no such thing, of its code 0. */
function codeAmong(id, value) {
  try { return codeOfDecimal(typedText(value), id); } catch (error) { if (error instanceof Refusal) return 0n; throw error; }
}
const pixels = (number, low, high, width) => { // where a number is drawn; no digit comes from it
  const [x, a] = meet(minus(number, low), minus(high, low));
  return Number(x * 100000n / a) / 100000 * width;
};

// As many neighbouring values around the number as the zoom says, and for each two where C goes from a quarter, the half and three quarters of the way.
function lineOf(state, value) {
  const grid = gridOf(state.to), rounding = roundingOf(state.round), many = zoomOf(state);
  if (grid.length < 2 || !isFinite_(value)) return null;
  const after = grid.findIndex(item => compare(item.number, dyadic(value)) > 0), at = after < 0 ? grid.length : after;
  const from = held?.first ?? Math.max(0, Math.min(at - Math.trunc(many / 2), grid.length - many)), some = grid.slice(from, from + many);
  const parts = some.slice(1).map((b, i) => {
    const a = some[i];
    return {a, b, ...goesBetween(state, rounding, a, b)};
  });
  return {from, some, parts, all: grid.length};
}

const answers = {}; // of C about two neighbours of a format under a rounding; useOwn drops them with the facts
const asked = (what, {to, round: id}, a, b, work) => (answers[`${what} ${to} ${id} ${a.code} ${b.code}`] ??= {found: work()}).found;
/** The middle of two neighbours, and whether C goes to the upper one from a quarter, the half and three quarters of the way; null: the random integer decides. */
const goesBetween = (state, rounding, a, b) => asked("goes", state, a, b, () => {
  const sum = plus(a.number, b.number), middle = {n: sum.n, e: sum.e - 1}, probes = [nearer(a.number, b.number), middle, nearer(b.number, a.number)];
  return {middle, goes: C.ex_random_bits(rounding) || probes.some(({n}) => n === 0n) ? null : probes.map(number => goesTo(state, rounding, number, a))};
});
/** Where numbers between two neighbours change from the lower to the upper one, and whether that place itself goes up; null: it is no place that can be told. */
const edgeBetween = (state, rounding, a, b) => asked("edge", state, a, b, () => {
  const {middle, goes} = goesBetween(state, rounding, a, b), gap = minus(b.number, a.number), little = {n: gap.n, e: gap.e - 30};
  if (!goes) return null;
  const sides = [plus(a.number, little), minus(middle, little), plus(middle, little), minus(b.number, little)].map(number => number.n === 0n ? null : goesTo(state, rounding, number, a));
  if (sides.every(up => up === goes[1])) return goes[1] ? {number: a.number, goesUp: false} : {number: b.number, goesUp: true};
  return sides.join() === "false,false,true,true" ? {number: middle, goesUp: goes[1]} : null;
});
/** The bin of a value of a narrow format, the numbers that C takes to it: its ends, which of them it has, and its bias, the value less the middle of the bin. null: it cannot be told. */
function binOf(state, value) {
  const grid = gridOf(state.to), rounding = roundingOf(state.round), at = isFinite_(value) ? grid.findIndex(item => compare(item.number, dyadic(value)) === 0) : -1;
  if (at < 0) return null;
  const [below, above] = [at - 1, at].map(i => grid[i] && grid[i + 1] ? edgeBetween(state, rounding, grid[i], grid[i + 1]) : undefined); // undefined: the format ends there
  if (below === null || above === null || !(below || above)) return null;
  const sum = below && above && plus(below.number, above.number), left = below ? `${below.goesUp ? "[" : "("}${decimal(below.number)}` : "…", right = above ? `${decimal(above.number)}${above.goesUp ? ")" : "]"}` : "…";
  return {below: below?.number, above: above?.number, text: `${left}, ${right}${sum ? "" : ": where the format ends the policy decides"}`, bias: sum ? decimal(minus(dyadic(value), {n: sum.n, e: sum.e - 1})) : ""};
}

const zoomOf = ({zoom}) => ZOOMS.find(many => `${many}` === zoom) || refuse(`zoom ${zoom}: write one of ${ZOOMS.join(", ")}, the values that the line shows`);
/** One zoom step closer (-1) or farther (1); where there is none, the same. */
function zoomed(state, step) {
  const at = ZOOMS.indexOf(zoomOf(state)) + step, most = gridOf(state.to).length;
  return at < 0 || at >= ZOOMS.length || (step > 0 && ZOOMS[at - 1] >= most) ? state.zoom : `${ZOOMS[at]}`;
}
function zoomControl(state, {some, all}) {
  const button = (step, key, text) => `<button type="button" data-zoom="${step}" aria-label="${text} (key ${key})" aria-disabled="${zoomed(state, step) === state.zoom}">${key} ${text}</button>`;
  return `<div id="zoom" role="group" aria-label="zoom of the number line">${button(-1, "+", "closer")} ${button(1, "-", "farther")} <span class="small">${some.length} of ${all} values shown. The wheel over the line, and the keys + and - while the line or a button here has the focus, zoom too.</span></div>`;
}
function zoomBy(step, focus) { const zoom = zoomed(now.state, step); if (zoom !== now.state.zoom) go({zoom}, focus); }
function bindZoom(page) {
  page.querySelectorAll("[data-zoom]").forEach(button => button.addEventListener("click", () => guarded(() => zoomBy(Number(button.dataset.zoom), `[data-zoom="${button.dataset.zoom}"]`))));
  page.querySelector("#line")?.addEventListener("wheel", event => { event.preventDefault(); guarded(() => zoomBy(event.deltaY < 0 ? -1 : 1)); }, {passive: false});
  for (const [place, focus] of [["#zoom", null], ["#line", "#line"]]) page.querySelector(place)?.addEventListener("keydown", event => {
    const step = {"+": -1, "=": -1, "-": 1}[event.key];
    if (step && !event.ctrlKey && !event.metaKey) { event.preventDefault(); guarded(() => zoomBy(step, focus || `[data-zoom="${step}"]`)); }
  });
}

function numberLine({shown, value, line}, state) {
  if (!line) return "";
  const {from, some, parts} = line, low = some[0].number, high = some.at(-1).number, x = number => 20 + pixels(number, low, high, 660);
  const colour = i => `var(--bin${(from + i) % 4})`;
  const bins = parts.map(({a, b, middle, goes}, i) => {
    if (!goes) return `<rect x="${x(a.number)}" width="${x(b.number) - x(a.number)}" y="30" height="14" fill="var(--drawn)"/>`;
    const first = goes[0] ? i + 1 : i, second = goes[2] ? i + 1 : i, tie = goes[1] ? i + 1 : i;
    return `<rect x="${x(a.number)}" width="${x(middle) - x(a.number)}" y="30" height="14" fill="${colour(first)}"/>` +
      `<rect x="${x(middle)}" width="${x(b.number) - x(middle)}" y="30" height="14" fill="${colour(second)}"/>` +
      `<circle cx="${x(middle)}" cy="37" r="4" fill="${colour(tie)}" stroke="var(--ink)"/>`;
  });
  const free = [-100, -100]; // of the two lines of letters, where the last ones end: a value is written where it has room
  const label = item => {
    const text = decimal(item.number).slice(0, 12), half = 3.4 * text.length + 2, at = x(item.number), row = free.findIndex(end => at - half >= end);
    if (row < 0) return "";
    free[row] = at + half;
    return `<text x="${at}" y="${row ? 80 : 64}" text-anchor="middle">${text}</text>`;
  };
  const ticks = some.map(item => `<line x1="${x(item.number)}" x2="${x(item.number)}" y1="24" y2="50" stroke="var(--ink)"/>${label(item)}`);
  const {ends} = shown, from_ = ends && x(ends.below && compare(ends.below, low) > 0 ? ends.below : low), to_ = ends && x(ends.above && compare(ends.above, high) < 0 ? ends.above : high);
  const bin = ends && to_ >= from_ ? `<path id="bin" d="M${from_} 22 v-5 H${to_} v5" fill="none" stroke="var(--ink)"/>` : "";
  const inside = compare(dyadic(value), low) >= 0 && compare(dyadic(value), high) <= 0;
  const mark = inside ? `<path d="M${x(dyadic(value))} 28 l-6 -14 h12 z" fill="var(--accent)"/>` : "";
  return `<svg id="line" viewBox="0 0 700 90" tabindex="0" role="img" aria-label="${shown.sentence}">${bins.join("")}${ticks.join("")}${bin}${mark}</svg>` +
    `<p class="small">Drag the number along the line. A colour is what rounds to one value, a dot the value half way in the colour of where it goes; grey: the random integer decides.${bin && " The bracket holds all that rounds to the result: its bin."}` +
    `${inside ? "" : " The number lies outside of this grid."}</p>${zoomControl(state, line)}`;
}
const nearer = (near, far) => { const sum = plus({n: 3n * near.n, e: near.e}, far); return {n: sum.n, e: sum.e - 2}; };
function goesTo(state, rounding, {n, e}, lower) { // does C take a number between neighbours to the upper one
  const sign = n < 0n ? 1 : 0, format = formatOf(state.to), {magnitude} = round(format, rounding, {sign, exp: e, significand: sign ? -n : n}, 0);
  const code = factsOf(format).cls === 3 ? magnitude : encode(format, sign, magnitude); // of a codebook C says the code
  return compare(dyadic(decode(format, code)), lower.number) !== 0;
}

/** One value in every format of a chosen set, by the rounding of the state and its policy, where that covers the format, else the first that does. */
function formatsOfSet(state) {
  const code = parseHex(state.code, factsOf(formatOf(state.from)).width, "code"), value = decode(formatOf(state.from), code);
  const ids = /^\s*all\s*$/.test(state.formats) ? targets() : wordsOf(state.formats);
  return [...new Set(ids)].map(to => {
    const format = formatOf(to), policy = policiesOf(to).includes(state.policy) ? state.policy : policiesOf(to)[0];
    if (!policy) refuse(`format ${to}: no policy of this page covers it: write others, or all`);
    try {
      const made = convertOnce({...state, to}, state.round, policy, code);
      if (made.mark) return {to, policy, code: made.mark, value: "", error: "", formula: ""};
      const result = decode(format, made.code);
      return {to, policy, code: hex(made.code, factsOf(format).width), value: valueText(result), error: errorOf(value, result), formula: formulaText(to, made.code)};
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return {to, policy, code: error.message, value: "", error: "", formula: ""};
    }
  });
}

function sideBySide(state) { // all roundings and policies; what C refuses says so
  const code = parseHex(state.code, factsOf(formatOf(state.from)).width, "code"), policies = policiesOf(state.to), to = formatOf(state.to);
  const cell = (id, policy) => {
    try {
      const made = convertOnce(state, id, policy, code);
      return made.mark || `${hex(made.code, factsOf(to).width)} ${valueText(decode(to, made.code))}`;
    } catch (error) { return error instanceof Refusal ? error.message : (() => { throw error; })(); }
  };
  return {policies, rows: roundings().map(id => [id, policies.map(policy => cell(id, policy))])};
}

function drawNumber(state, page) {
  const work = workOut(state), {shown} = work, source = formatOf(state.from), {width, sign, exp} = factsOf(source), code = BigInt(state.code);
  const bits = Array.from({length: width}, (_, i) => {
    const place = width - 1 - i, kind = i < sign ? "sign" : i < sign + exp ? "exponent" : "fraction";
    return `<button class="bit ${kind}" data-bit="${place}" aria-label="bit ${place}, ${kind}" aria-pressed="${Boolean(code >> BigInt(place) & 1n)}">${code >> BigInt(place) & 1n}</button>`;
  });
  const table = sideBySide(state), own = table.policies.indexOf(state.policy), mine = (table.rows.find(([id]) => id === state.round) || [0, []])[1][own];
  const body = table.rows.map(([id, cells]) => `<tr><th scope="row">${id}</th>${cells.map(cell => `<td class="${cell === mine ? "" : "other"}">${cell}</td>`).join("")}</tr>`);
  show(page, `<form class="fields">${choose("from", "from", sources(), state)}${field("typed", "number", shown.source, "decimal")}${field("code", "code", shown.code, "hex")}` +
    `${choose("to", "to", targets(), state)}${choose("round", "rounding", roundings(), state)}${choose("policy", "policy", policiesOf(state.to), state)}${drawnFields(state, work.made.drawn)}</form>` +
    `<div class="bits" role="group" aria-label="bits of the code">${bits.join("")}</div><p class="small">Arrow up and down in the number or the code go to the next value.</p>` +
    `<p id="sentence" role="status">${shown.sentence}</p><div id="formulas">${formulaLine(state.from, code)}${work.made.mark ? "" : formulaLine(state.to, work.made.code)}</div>${numberLine(work, state)}` +
    `<dl>${Object.entries({class: shown.cls, result: shown.result, value: shown.value, error: shown.error, "bin of the result": shown.bin, "bias of the bin": shown.bias && `${shown.bias}: the result less the middle of its bin`, "value below": shown.below, "value above": shown.above})
      .filter(([, text]) => text).map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join("")}</dl>` +
    `<h2>All roundings and policies</h2><div class="wide" tabindex="0"><table><thead><tr><th>rounding</th>${table.policies.map(id => `<th scope="col">${id}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table></div>` +
    `<h2>The value in other formats</h2><form class="fields"><label class="whole">formats, or all<input name="formats" value="${escape_(state.formats)}" autocomplete="off" spellcheck="false"></label></form>` +
    `<div class="wide tall" tabindex="0"><table id="formats"><thead><tr>${["format", "policy", "code", "value", "error", "formula"].map(name => `<th scope="col">${name}</th>`).join("")}</tr></thead><tbody>${shown.formats.map(item =>
      `<tr><th scope="row">${item.to}</th><td>${item.policy}</td><td>${item.code}</td><td>${item.value}</td><td>${item.error}</td><td>${item.formula}</td></tr>`).join("")}</tbody></table></div>` + ownForm(state));
  if (held) return; // nothing is clicked meanwhile
  bindOwn(page, state);
  bindZoom(page);
  page.querySelectorAll(".bit").forEach(button => button.addEventListener("click", () => {
    go({code: hex(code ^ 1n << BigInt(button.dataset.bit), width)}, `[data-bit="${button.dataset.bit}"]`);
  }));
}
