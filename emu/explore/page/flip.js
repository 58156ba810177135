// flip.js: the nearest other values of one element of Block with which a recipe gives it another code or scale; C tries them.
/** Whether a tile holds so much that C has no time to quantize it thousands of times. */
const isLargeTile = ({rows, columns}) => rows * columns > 512;
/** The element that is chosen: its place among the values; null: none. */
function elementOf({flip}, count) {
  const text = flip.trim();
  if (!text) return null;
  if (!/^[0-9]{1,3}$/.test(text) || Number(text) >= count) refuse(`element ${text}: write a number from 0 to ${count - 1}, or nothing`);
  return Number(text);
}
/** The number of a finite value in the order of its format's values: 0 for zero, else its magnitude as C counts them, with its sign. */
function indexOf(format, value) {
  const magnitude = value.cls === "zero" ? 0n : round(format, roundingOf("rz"), value, 0).magnitude;
  return value.sign ? -magnitude : magnitude;
}
/** The part of rows of items that a block has, from row `top` and column `left` on. */
const blockIn = (items, columns, top, left, {rows: tall, columns: wide}) => Array.from({length: Math.min(tall, items.length / columns - top)}, (_, r) => items.slice((top + r) * columns + left, (top + r) * columns + Math.min(columns, left + wide))).flat();
/** What C finds one way, step 1 or -1: how many values further, 0n for none, and how many it tried one by one, and whether it then went on in larger steps. */
function flipOf(id, codes, from, amax, element, step, rows, drawn, signs) {
  const format = formatOf(from), value = decode(format, codes[element]), program = programOf(id), facts = programFacts(program), columns = codes.length / rows, at = [Math.trunc(element / columns), element % columns];
  const alone = recipeOf(id).alone && (!facts.amax || amax !== null) && codes.every(code => isFinite_(decode(format, code))); // a block of its own, or all rows
  const [top, left] = alone ? [at[0] - at[0] % facts.rows, at[1] - at[1] % facts.columns] : [0, 0], part = items => alone ? blockIn(items, columns, top, left, facts) : items;
  const given = part(codes), wide = alone ? Math.min(facts.columns, columns - left) : columns;
  return scratch(() => {
    const limit = amax === null || !facts.amax ? 0 : place(new Uint8Array(new Uint32Array([Number(amax)]).buffer));
    checked(C.ex_flip(program, format, place(new Uint8Array(new BigUint64Array(given).buffer)), given.length / wide, wide, limit, drawnAt(drawn && part(drawn)), signsAt(recipeOf(id).signs ? signs : null), (at[0] - top) * wide + at[1] - left, indexOf(format, value), value.sign, step, OUT));
    const [steps, tried, skips] = numbersAt(OUT, 3);
    return {steps, tried, skips: skips === 1n};
  });
}
/** The code of an element and of each scale above it, with their names. */
const toldOf = (trace, element) => [["code", trace.codes.items[element]], ...trace.levels.map((level, i) =>
  [`scale ${recipeOf(trace.id).levels[i]}`, trace.cellOf(level, element)])];
const isOther = (one, two) => one.code !== two.code;

/** The nearest change of an element up or down by one recipe: the code of the value that makes it (null: none does), and a sentence. trace: of the values as they are. */
function nearestOf(trace, codes, from, amax, element, step, drawn, signs) {
  const format = formatOf(from), {width} = factsOf(format), value = decode(format, codes[element]), {steps, tried, skips} = flipOf(trace.id, codes, from, amax, element, step, trace.rows, drawn, signs);
  const way = step > 0 ? "Up" : "Down";
  if (!steps) return {code: null, steps, tried, skips, sentence: `${way}: no finite value of ${from} gives it another code or scale by ${trace.id}.`};
  const index = indexOf(format, value) + BigInt(step) * steps, sign = index < 0n || (index === 0n && value.sign) ? 1 : 0;
  const code = encode(format, sign, sign ? -index : index), next = decode(format, code), given = codes.map((own, i) => i === element ? code : own), there = traceOf(trace.id, given, amax, from, trace.rows, drawn, signs);
  const after = toldOf(there, element), shown = item => item.value && item.value !== item.code ? `${item.code}, ${item.value}` : item.code;
  const parts = toldOf(trace, element).flatMap(([name, item], i) => isOther(item, after[i][1]) ? [`its ${name} ${shown(item)} becomes ${shown(after[i][1])}`] : []);
  const others = trace.codes.items.filter((item, i) => i !== element && isOther(item, there.codes.items[i])).length;
  return {code, steps, tried, skips, sentence: `${way}: at ${hex(code, width)}, ${valueText(next)}, which is ${steps} ${steps === 1n ? "value" : "values"} or ${decimal(minus(dyadic(next), dyadic(value)))} further, ${parts.join(", ")} by ${trace.id}` +
    `${others ? `; ${others} other ${others > 1 ? "codes" : "code"} of the row ${others > 1 ? "change" : "changes"} too` : ""}.`};
}
/** What the room says of the chosen element; null: none is chosen. */
function flipsOf(state, {codes, from, rotation, signs}, amax, traces, draws) {
  const element = elementOf(state, codes.length);
  if (element === null || held) return null; // not of every value that a bar is dragged over
  const {width} = factsOf(formatOf(from)), value = decode(formatOf(from), codes[element]), head = `Element ${element} is ${hex(codes[element], width)}, ${valueText(value)}`;
  if (rotation) return {element, head: `${head}, behind a rotation: choose the rotation none to see the nearest changes of it.`, ways: []};
  if (!isFinite_(value)) return {element, head: `${head}: it has no neighbours.`, ways: []};
  const large = traces.find(({id}) => isLargeTile(programFacts(programOf(id))));
  if (large) return {element, head: `${head}: the nearest changes of it are looked for in tiles of at most 512 values, and ${large.id} has larger ones.`, ways: []};
  const ways = traces.filter((trace, i) => !i || trace.id !== traces[0].id).flatMap((trace, i) => [1, -1].map(step => ({side: "ab"[i], step, ...nearestOf(trace, codes, from, amax, element, step, draws[i]?.integers, signs)})));
  const far = ways.find(({skips}) => skips);
  const claim = far ? `Tried were each of the first ${far.tried} values up and down, then each that bfloat16 has: only what changes and changes back between two neighbours of bfloat16 could be nearer.` : "Every value between was tried.";
  return {element, head: `${head}. The nearest values of it with another code or scale:`, ways, claim};
}
function flipLines(flips) {
  if (!flips) return "";
  return `<section id="flips"><p>${escape_(flips.head)}</p><ul>${flips.ways.map(({side, step, code, sentence}) => `<li>${escape_(sentence)}${code === null ? "" :
    ` <button data-go="${side}${step}" aria-label="Go there: ${step > 0 ? "up" : "down"} by ${side.toUpperCase()}">Go there</button>`}</li>`).join("")}</ul>${flips.claim ? `<p class="small">${escape_(flips.claim)}</p>` : ""}</section>`;
}
/** Make the cells choose an element, and the buttons go to its nearest change. */
function bindFlips(page, {flips, codes}, from) {
  page.querySelectorAll("td[data-i]").forEach(cell => cell.addEventListener("click", () => go({flip: cell.dataset.i}, "[name=flip]")));
  page.querySelectorAll("[data-go]").forEach(button => button.addEventListener("click", () => {
    const {code} = flips.ways.find(({side, step}) => `${side}${step}` === button.dataset.go), {width} = factsOf(formatOf(from));
    go({x: codes.map((own, i) => hex(i === flips.element ? code : own, width)).join(" "), row: ""}, `[data-go="${button.dataset.go}"]`);
  }));
}
