// block.js: values quantized by two recipes, every step from C's trace, and the first step where they part.
const BLOCK = {a: "mxfp4_torchao_floor", b: "mxfp4_triton_up", amax: "", from: "fp32", rotate: "none", signs: "", rows: "1", random: "key 1", row: "", flip: "", cell: "", step: "", own: "",
  x: "0x40E00000 0x40400000 0x3F800000 0xC0200000 0x3F000000 0x3E800000 0xBFC00000 0x40A00000 " + Array(24).fill("0x00000000").join(" ")};
const programFacts = program => {
  C.ex_program_facts(program, OUT);
  const [rows, columns, registers, steps, levels, draws, amax, codes, x, maximum, tail] = numbersAt(OUT, 11).map(Number);
  return {rows, columns, registers, steps, levels, draws, amax, codes, x, maximum, tail};
};
const recipesHere = () => [...new Set([...own.recipes, ...META.recipes].map(recipe => recipe.id))];
const FP32 = () => formatOf("fp32");
const TAIL = {error: 0, keep: 1, drop: 2}; // a row that is no multiple of the tile: refused; filled up with zeros that stay; that go again

function valuesOf(text, from = "fp32") { // codes of a format out of what is pasted: numbers, lists, tensor(...), hex
  const words = wordsOf(text), {width} = factsOf(formatOf(from));
  if (!words.length) refuse(`no values: write numbers or ${from} codes, 32 of them fit every block`);
  if (words.length > 512) refuse(`${words.length} values: at most 512 are shown`);
  return words.map(text_ => /^0x/i.test(text_) ? parseHex(text_, width, "code") : codeOfDecimal(text_, from));
}

const amaxOf = ({amax}) => amax.trim() ? valuesOf(amax)[0] : null; // the tensor maximum that is given, a code of fp32

const formatNames = new Map();
function nameOf(pointer) {
  if (!formatNames.size) scratch(() => [[library, META.formats], [own.at, own.formats]].forEach(([from, ids]) => ids.forEach(id => formatNames.set(C.ex_format(from, word(id)), id))));
  return formatNames.get(pointer);
}

/** What makes a cell of a register {code, value}: the format is 0 for a choice; each code of a format is decoded once. */
function itemsOf() {
  const open = {code: "open", value: "open"}, known = new Map();
  return (format, code, isOpen) => {
    if (isOpen) return open;
    if (!known.has(format)) known.set(format, new Map());
    const of = known.get(format);
    if (!of.has(code)) of.set(code, {code: hex(code, format ? factsOf(format).width : 8), value: format ? valueText(decode(format, code)) : ""});
    return of.get(code);
  };
}
/** What a recipe makes of rows of codes. drawn: the random integer of each value, null where it draws none. signs: of its own rotation, null for those it states. */
function traceOf(id, codes, amax, from, rows, drawn, signs = null) {
  const program = programOf(id), facts = programFacts(program), recipe = recipeOf(id), columns = codes.length / rows;
  const height = Math.ceil(rows / facts.rows) * facts.rows, width = Math.ceil(columns / facts.columns) * facts.columns;
  if (columns < width && facts.tail === TAIL.error) refuse(`${id}: ${columns} values: give a multiple of ${facts.columns}`);
  if (rows < height && facts.tail === TAIL.error) refuse(`${id}: ${rows} rows: give a multiple of ${facts.rows}`);
  return scratch(() => {
    const most = height * width * facts.registers, cells = room(8 * most), open = room(most), places = room(4 * (facts.registers + 1));
    const types = room(4 * facts.registers), given = place(new Uint8Array(new BigUint64Array(codes).buffer));
    const limit = amax === null || !facts.amax ? 0 : place(new Uint8Array(new Uint32Array([Number(amax)]).buffer));
    checked(C.ex_types(program, types));
    checked(C.ex_trace(program, formatOf(from), given, rows, columns, limit, drawnAt(drawn), signsAt(recipe.signs ? signs : null), cells, open, places));
    const begin = new Uint32Array(C.memory.buffer, places, facts.registers + 1).slice(), kinds = new Uint32Array(C.memory.buffer, types, facts.registers).slice();
    const all = new BigUint64Array(C.memory.buffer, cells, begin[facts.registers]).slice(), marks = new Uint8Array(C.memory.buffer, open, begin[facts.registers]).slice();
    const outs = recipe.steps.map((_, i) => C.ex_step_out(program, i)), itemOf = itemsOf(), known = new Map(); // what was read of a register, once
    const register = number => known.get(number) || known.set(number, read(number)).get(number);
    const read = number => {
      const items = Array.from({length: begin[number + 1] - begin[number]}, (_, i) => itemOf(kinds[number], all[begin[number] + i], marks[begin[number] + i]));
      C.ex_register(program, number, OUT);
      const [down, across] = numbersAt(OUT, 2).map((part, i) => part ? Number(part) : [height, width][i]); // of the matrix, what a cell covers
      return {format: nameOf(kinds[number]) || "", items, down, across, key: items.map(item => item.value || item.code).join(" ")};
    };
    const steps = recipe.steps.map(([name, text, extent], i) => ({number: i + 1, name, text, extent, takes: takesOf(program, i), ...register(outs[i])}));
    const taken = step => step.takes.map(number => ({name: recipe.steps[outs.indexOf(number)]?.[0] || givenName(program, facts, number), ...register(number)}));
    const levels = Array.from({length: facts.levels}, (_, i) => register(C.ex_level_register(program, i)));
    const filled = register(facts.codes), maximum = facts.amax ? register(facts.maximum).items[0] : null;
    const cellOf = ({items, down, across}, element) => items[Math.trunc(Math.trunc(element / columns) / down) * (width / across) + Math.trunc(element % columns / across)];
    return {id, steps, taken, levels, codes: {...filled, items: codes.map((_, i) => cellOf(filled, i))}, filled, cellOf, maximum, tail: facts.tail, rows, columns, height, width};
  });
}

/** What a register holds that no step fills. */
function givenName(program, {x, maximum}, number) {
  C.ex_register(program, number, OUT);
  return number === x ? "x" : number === maximum ? "tensor maximum" : numbersAt(OUT, 3)[2] ? "constant" : "operand";
}
/** The registers that a step takes, each once. */
function takesOf(program, step) {
  C.ex_step_args(program, step, OUT);
  return [...new Set(numbersAt(OUT, 4).map(Number).filter(register => register >= 0))];
}

/** The first codes of a register with their values. */
const codesText = items => `<code>${items.slice(0, 8).map(({code, value}) => `<span title="${value}">${code}${value && value !== code ? ` (${short(value)})` : ""}</span>`).join(" ")}${items.length > 8 ? ` … ${items.length} in all` : ""}</code>`;
const short = text => text.length > 14 ? `${text.slice(0, 13)}…` : text;
function blockOf(state) {
  const taken = takenOf(state), {codes, from, rows} = taken, amax = amaxOf(state), draws = [state.a, state.b].map(id => blockDraws(id, state.random, codes.length));
  const [a, b] = [state.a, state.b].map((id, i) => traceOf(id, codes, amax, from, rows, draws[i]?.integers, taken.signs));
  const keys = new Set(b.steps.map(step => `${step.items.length} ${step.key}`));
  const parts = a.steps.find(step => !keys.has(`${step.items.length} ${step.key}`)) || null;
  const differ = a.codes.items.map((item, i) => item.value !== b.codes.items[i].value || item.code !== b.codes.items[i].code);
  const scaleA = a.levels.at(-1), scaleB = b.levels.at(-1);
  let scales = "one of them has no scales";
  if (scaleA && scaleB) {
    const count = scaleA.items.filter((item, i) => item.value !== scaleB.items[i]?.value).length;
    scales = scaleA.items.length === scaleB.items.length ? `${count} of ${scaleA.items.length} scales differ` : `they have ${scaleA.items.length} and ${scaleB.items.length} scales`;
  }
  const other = parts && b.steps.find(step => step.name === parts.name && step.items.length === parts.items.length);
  const spot = other ? parts.items.findIndex((item, i) => item.value !== other.items[i].value) : 0, at = Math.max(spot, 0);
  const shown = item => `${item.code}${item.value && item.value !== item.code ? `, ${item.value}` : ""}`;
  const sentence = `Of ${codes.length} values ${differ.filter(Boolean).length} get other codes from ${a.id} than from ${b.id}, and ${scales}. ` + (parts
    ? `The first step of ${a.id} whose result no step of ${b.id} has is ${parts.number}, ${parts.name} = ${parts.text}: ${shown(parts.items[at])}` +
      (other ? `; ${b.id} has ${shown(other.items[at])} in its step ${other.number} of that name.` : ".")
    : `Every result of a step of ${a.id} is one of ${b.id} too.`) + draws.map((drawn, i) => drawn && (!i || a.id !== b.id) ? ` ${drawnSays([a, b][i].id, drawn)}` : "").join("") + signsSay(state, taken.signs);
  const row = state.row ? rowSays(state.row, a, codes, from, amax, draws[0]) : "", rotation = taken.rotation ? rotationSays(state, taken, a, amax, draws[0]) : "";
  const flips = flipsOf(state, taken, amax, [a, b], draws), step = stepOf(state, a, b), cell = cellSays(state, taken, a, b);
  return {flips, step, cell, codes: taken.rotation?.given || codes, taken: {codes, from}, rows, draws, a, b, parts, differ, sentence, row, rotation};
}

/** Where A and B put each value on the grid of its elements: a ring of A, a dot of B, a bar between them where they differ. */
function gridFigure({a, b, differ}) {
  const placed = trace => trace.codes.items.map(item => {
    const value = item.code === "open" || !trace.codes.format ? null : decode(formatOf(trace.codes.format), BigInt(item.code));
    return value && isFinite_(value) ? dyadic(value) : null;
  });
  const [first, second] = [placed(a), placed(b)], all = [...first, ...second].filter(Boolean).sort(compare), low = all[0], high = all.at(-1);
  if (!all.length || compare(low, high) === 0) return "";
  const wide = Math.max(6, 660 / first.length), y = number => 150 - pixels(number, low, high, 130), ends = all.filter((item, i) => !i || compare(all[i - 1], item)).filter((_, i, grid) => grid.length <= 16 || i === 0 || i === grid.length - 1);
  const marks = first.map((one, i) => {
    const other = second[i], x = 70 + (i + 0.5) * wide;
    return (one && other && differ[i] ? `<line class="part" x1="${x}" x2="${x}" y1="${y(one)}" y2="${y(other)}" stroke="var(--accent)" stroke-width="3"/>` : "") +
      (one ? `<circle class="a" cx="${x}" cy="${y(one)}" r="5" fill="none" stroke="var(--ink)"/>` : "") + (other ? `<circle class="b" cx="${x}" cy="${y(other)}" r="2.5" fill="var(--ink)"/>` : "");
  });
  let free = 1000; // a value is written where the last one leaves room for its letters
  const label = item => y(item) > free - 15 ? "" : (free = y(item), `<text x="60" y="${y(item) + 4}" text-anchor="end">${dyadicText(item)}</text>`);
  const lines = ends.map(item => `<line x1="66" x2="${70 + wide * first.length}" y1="${y(item)}" y2="${y(item)}" stroke="var(--line)"/>${label(item)}`);
  return `<svg id="grid" viewBox="0 0 ${80 + wide * first.length} 170" role="img" aria-label="the element value of each code, by A and by B">${lines.join("")}${marks.join("")}</svg>` +
    `<p class="small">The value of each element code before scaling, element 0 first: a ring by A, a dot by B.</p>`;
}

function drawBlock(state, page) {
  const shown = blockOf(state), element = elementOf(state, shown.codes.length), columns = shown.codes.length / shown.rows;
  const row = (name, items, marks) => r => `<tr><th scope="row">${shown.rows > 1 ? `row ${r}, ` : ""}${name}</th>${items.slice(r * columns, (r + 1) * columns).map((item, c) => [item, r * columns + c]).map(([item, i]) =>
    `<td class="${marks && marks[i] ? "differs" : ""}${i === element || (shown.cell && i === shown.cell.element) ? " chosen" : ""}" data-i="${i}" title="${item.value}">${item.code}<br>${short(item.value)}</td>`).join("")}</tr>`;
  const cells = (codes, id) => codes.map(code => ({code: hex(code, factsOf(formatOf(id)).width), value: valueText(decode(formatOf(id), code))}));
  const drawn = shown.draws.flatMap((draw, i) => draw && (!i || shown.b.id !== shown.a.id) ? [row(`random, ${"AB"[i]}`, draw.integers.map(integer => ({code: hex(BigInt(integer), draw.bits), value: ""})))] : []);
  const lines = [row("value", cells(shown.codes, state.from)), ...(shown.rotation ? [row("rotated", cells(shown.taken.codes, shown.taken.from))] : []), ...drawn, row("A", shown.a.codes.items, shown.differ), row("B", shown.b.codes.items, shown.differ)];
  const levels = trace => trace.levels.map((level, i) => `<dt>level ${i + 1}</dt><dd>${level.items.map(item => `${item.code} is ${item.value}`).join("; ")}</dd>`).join("");
  const steps = trace => `<section class="half"><h3>${trace.id}</h3><dl>${levels(trace)}</dl><ol>${trace.steps.map(step =>
    `<li class="${step === shown.parts ? "parts" : ""}${step.number === shown.step ? " now" : ""}"${step.number === shown.step ? ' aria-current="step"' : ""}><b>${step.name}</b> = ${escape_(step.text)} <span class="small">[${step.extent}${step.format && `, ${step.format}`}]</span><br>${codesText(step.items)}</li>`).join("")}</ol></section>`;
  show(page, `<form class="fields">${choose("sample", "sample of a real model", [NO_SAMPLE, ...SAMPLES.samples.map(({name}) => name)], {sample: sampleOf(state)?.name || NO_SAMPLE})}${choose("a", "recipe A", recipesHere(), state)}${choose("b", "recipe B", recipesHere(), state)}${choose("from", "values in", SOURCES, state)}${choose("rotate", "rotation before both", ["none", ...META.transforms.map(([id]) => id)], state)}${signBits(state) ? field("signs", `signs${state.rotate === "none" ? " of a recipe's own rotation" : ""} (empty: its own)`, state.signs, "text") : ""}${field("amax", `tensor maximum (empty: of ${state.rotate === "none" ? "these" : "the rotated"} values)`, state.amax, "text")}${field("rows", "rows", state.rows, "numeric")}${shown.draws.some(Boolean) ? randomField(state) : ""}${field("flip", `nearest changes of element (0 to ${shown.codes.length - 1})`, state.flip, "numeric")}` +
    `<label class="whole">values: numbers or ${escape_(state.from)} codes, as Python, torch or a list prints them, or a row of a .tv or .mem file of the vectors<textarea name="x" rows="4">${escape_(state.x)}</textarea></label></form>` +
    `<p id="sentence" role="status">${escape_(shown.sentence)}</p>${shown.row && `<p id="row" role="status">${escape_(shown.row)}</p>`}${shown.rotation && `<p id="rotation">${escape_(shown.rotation)}</p>`}${sampleSays(state)}<div class="wide" id="cells" tabindex="0" role="group" aria-label="values and codes: arrows left and right choose an element, shift with up and down changes it"><table><tbody>${Array.from({length: shown.rows}, (_, r) => lines.map(line => line(r)).join("")).join("")}</tbody></table></div>` +
    `<p class="small">With the focus on the table: arrows left and right, Home and End choose an element; Shift with arrow up or down goes to its next value.</p>${shown.cell ? `<p id="cell" role="status">${escape_(shown.cell.sentence)}</p>` : ""}` + flipLines(shown.flips) + gridFigure(shown) + barsFigure(shown, state.from) + `<h2>Step by step</h2>${stepper(shown)}<div class="halves">${steps(shown.a)}${steps(shown.b)}</div>` + ownForm(state));
  if (held) return; // nothing is clicked meanwhile
  bindOwn(page, state);
  bindFlips(page, shown, state.from);
  bindCells(page, state, shown.codes);
  bindRandom(page, shown);
  bindSteps(page, shown);
}
