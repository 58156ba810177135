// dequantize.js: element codes and levels back to values, by a recipe's profile, every step from C's trace.
const DEQUANTIZE = {recipe: "nvfp4_torchao", profile: "", codes: "0123456789ABCDEF", level0: "", level1: "", level2: "", level3: "", to: "fp32", rows: "1", element: "0", own: ""};
const RESULTS = SOURCES, BACK_MOST = 64; // what values may be rounded to; how many the figure shows
/** Recipe, profile, program and levels {name, rows, columns, format} that a state names. */
function backOf(state) {
  const recipe = recipeOf(state.recipe) || missingObject("recipe", state.recipe), names = Object.keys(recipe.profiles), profile = state.profile || names[0] || refuse(`${recipe.id}: no steps back to values: write some behind dequantize`);
  if (!RESULTS.includes(state.to)) refuse(`values in ${state.to}: one of ${RESULTS.join(", ")}`);
  if (recipe.levels.length > 4) refuse(`${recipe.id}: ${recipe.levels.length} levels: at most 4 are shown`);
  if (!names.includes(profile)) refuse(`profile ${profile}: ${recipe.id} has ${names.join(", ")}`);
  const program = named("profile", `${recipe.id}/${profile}`, () => C.ex_program(libraryOf(isOwnRecipe(recipe.id)), word(recipe.id), word(profile))), facts = programFacts(program);
  const levels = recipe.levels.map((name, i) => { C.ex_side(program, i, OUT); const [rows, columns, format] = numbersAt(OUT, 3).map(Number); return {name, rows, columns, format}; });
  return {recipe, profile, program, facts, levels, contract: `dequantize/${recipe.id}/${profile}`};
}
/** What a state says: rows, columns, codes, and the codes of each level, row by row; height and width: filled up with zeros, where the recipe cuts a tail off. */
function givenBack(state, {recipe, facts, levels}) {
  const codes = codesOf(state.codes, formatOf(recipe.element), "codes"), rows = whole(state.rows, "rows", 1, 512), columns = codes.length / rows;
  if (codes.length > 512) refuse(`${codes.length} codes: at most 512 are shown`);
  const [height, width] = tilesAround(facts, rows, columns), isWhole = height === rows && width === columns;
  if (!codes.length || codes.length % rows || !isWhole && facts.tail !== TAIL.drop) refuse(`${recipe.id}: ${codes.length} codes in ${rows} rows: give whole ${facts.rows > 1 ? "tiles" : "blocks"} of ${facts.rows} x ${facts.columns}`);
  const sides = levels.map(({name, rows: tall, columns: wide, format}, i) => {
    const count = (tall ? height / tall : 1) * (wide ? width / wide : 1), text = state[`level${i}`], found = text.trim() ? codesOf(text, format, name) : Array(count).fill(oneOf(format));
    return found.length === count ? found : refuse(`${name}: ${found.length} codes: ${count} go with ${codes.length} element codes`);
  });
  return {codes, rows, columns, height, width, sides};
}
/** Rows and columns of the whole tiles that hold so many. */
const tilesAround = (facts, rows, columns) => [Math.ceil(rows / facts.rows) * facts.rows, Math.ceil(columns / facts.columns) * facts.columns];
/** The tiles of what is given, each with its part of the codes and of each level. */
function tilesOf({facts, levels}, {codes, rows, columns, height, width, sides}) {
  const tiles = [];
  for (let top = 0; top < rows; top += facts.rows)
    for (let left = 0; left < columns; left += facts.columns) {
      const part = (items, tall, wide) => { const down = tall || height, across = wide || width; return blockIn(items, width / across, Math.trunc(top / down), Math.trunc(left / across), {rows: Math.max(1, facts.rows / down), columns: Math.max(1, facts.columns / across)}); };
      tiles.push({top, left, tall: Math.min(facts.rows, rows - top), wide: Math.min(facts.columns, columns - left), codes: blockIn(codes, columns, top, left, facts), sides: levels.map(({rows: tall, columns: wide}, i) => part(sides[i], tall, wide))});
    }
  return tiles;
}
/** Values of whole tiles as C makes them, and the cells of every register; null where the sources leave one open. */
function dequantized({program, facts}, to, codes, rows, columns, sides) {
  return scratch(() => {
    const [height, width] = tilesAround(facts, rows, columns), most = height * width * facts.registers, cells = room(8 * most), unknown = room(most), places = room(4 * (facts.registers + 1)), values = room(8 * codes.length);
    const error = C.ex_dequantize(program, to, placeCodes(codes), rows, columns, placeCodes(sides.flat()), values, cells, unknown, places);
    if (error && ERRORS[error] === "the sources leave the result open") return null;
    checked(error);
    const begin = new Uint32Array(C.memory.buffer, places, facts.registers + 1).slice(), count = begin[facts.registers];
    return {begin, values: [...new BigUint64Array(C.memory.buffer, values, codes.length)], cells: [...new BigUint64Array(C.memory.buffer, cells, count)], marks: [...new Uint8Array(C.memory.buffer, unknown, count)]};
  });
}
function dequantizeOf(state) {
  const back = backOf(state), given = givenBack(state, back), {recipe, program, facts, levels, contract} = back, {codes, rows, columns, height, width, sides} = given, to = formatOf(state.to), told = itemsOf();
  const made = dequantized(back, to, codes, rows, columns, sides), values = made ? made.values.map(code => told(to, code)) : Array(codes.length);
  if (!made) // each tile by itself: an open code of a level leaves the tiles that it belongs to open, no others
    for (const {top, left, tall, wide, codes: own_, sides: its} of tilesOf(back, given)) {
      const one = dequantized(back, to, own_, tall, wide, its);
      own_.forEach((_, i) => { values[(top + Math.trunc(i / wide)) * columns + left + i % wide] = told(to, one?.values[i], !one); });
    }
  const steps = made ? scratch(() => {
    const types = room(4 * facts.registers);
    checked(C.ex_types(program, types));
    const kinds = new Uint32Array(C.memory.buffer, types, facts.registers).slice();
    return recipe.profiles[back.profile].map(([name, text, extent], i) => {
      const register = C.ex_step_out(program, i), first = made.begin[register];
      C.ex_register(program, register, OUT);
      const [down, across] = numbersAt(OUT, 2).map((part, side) => part ? Number(part) : [height, width][side]);
      return {number: i + 1, name, text, extent, format: nameOf(kinds[register]) || "", down, across, items: made.cells.slice(first, made.begin[register + 1]).map((code, k) => told(kinds[register], code, made.marks[first + k]))};
    });
  }) : [];
  const element = elementOf({flip: state.element}, codes.length) ?? 0, format = formatOf(recipe.element), partOf = ({rows: tall, columns: wide}, i) => Math.trunc(Math.trunc(i / columns) / (tall || height)) * (wide ? width / wide : 1) + Math.trunc(i % columns / (wide || width));
  const items = codes.map(code => ({code: hex(code, factsOf(format).width), value: recipe.single ? valueText(decode(format, code)) : ""}));
  const sideItems = levels.map(({name, format: of}, i) => ({name, items: sides[i].map(code => ({code: hex(code, factsOf(of).width), value: valueText(decode(of, code))})), at: partOf(levels[i], element), parts: codes.map((_, k) => partOf(levels[i], k))}));
  const is = ({code, value}) => value && value !== code ? `${code}, which is ${value}` : code, {value, code} = values[element];
  const sentence = `${contract} makes ${codes.length} values in ${state.to} of ${codes.length} codes${sideItems.map(({name, items: all}, i) => `${i + 1 < sideItems.length ? "," : " and"} ${all.length} ${name} ${all.length > 1 ? "codes" : "code"}`).join("")}. Element ${element} has the code ${is(items[element])}` +
    sideItems.map(({name, items: all, at}) => `, ${name} ${is(all[at])}`).join("") + `; its value is ${code === "open" ? "open: the sources leave it so" : `${code}, which is ${value}`}.`;
  return {...given, codes: items, sides: sideItems, values, steps, element, sentence, contract};
}
/** The values around the chosen element as bars, and between lines what shares a code of the innermost level, with what that code is. */
function backFigure({values, sides, element}, to) {
  const first = element - element % BACK_MOST, some = values.slice(first, first + BACK_MOST), known = some.filter(({code}) => code !== "open").map(({code}) => BigInt(code)), parts = sides.at(-1)?.parts.slice(first, first + BACK_MOST);
  const {low, high} = endsOf(known, to), zero = {n: 0n, e: 0}, y = number => 180 - pixels(number, low, high, 140), wide = Math.max(10, 640 / some.length), x = i => 10 + i * wide, fits = (text, room_) => 7 * text.length <= room_;
  const bar = ({code, value}, i) => {
    const number = code === "open" ? null : decode(formatOf(to), BigInt(code)), isThere = number && isFinite_(number), end = isThere ? y(dyadic(number)) : y(zero), top = Math.min(end, y(zero)), text = number ? shortText(number) : "open";
    return `<g data-i="${first + i}"><title>element ${first + i}: ${value}</title><rect x="${x(i)}" width="${wide}" y="24" height="176" fill="${first + i === element ? "var(--part)" : "transparent"}"/><rect class="bar" x="${x(i) + 1}" width="${wide - 2}" y="${top - 1}" height="${Math.max(end, y(zero)) - top + 2}" fill="var(--bin0)"/>` +
      `${fits(text, wide) ? `<text x="${x(i + 0.5)}" y="${isThere && number.sign ? end + 14 : top - 4}" text-anchor="middle">${text}</text>` : ""}</g>`;
  };
  const starts = (parts || []).flatMap((part, i) => !i || part !== parts[i - 1] ? [i] : []), lines = starts.map((start, i) => {
    const {value} = sides.at(-1).items[parts[start]], text = short(value), end = starts[i + 1] ?? some.length;
    return (start ? `<line x1="${x(start)}" x2="${x(start)}" y1="2" y2="200" stroke="var(--line)"/>` : "") + (fits(text, (end - start) * wide) ? `<text class="level" x="${x((start + end) / 2)}" y="14" text-anchor="middle">${text}</text>` : "");
  });
  return `<svg id="back" viewBox="0 0 ${20 + wide * some.length} 204" role="img" aria-label="the values of elements ${first} to ${first + some.length - 1} as bars">${some.map(bar).join("")}${lines.join("")}</svg>` +
    `<p class="small">The values, element ${first} first${some.length < values.length ? ` (${some.length} of ${values.length})` : ""}: click a bar to choose it.${parts ? ` Above: ${escape_(sides.at(-1).name)}, where a line begins what has another code of it.` : ""}</p>`;
}
function drawDequantize(state, page) {
  const back = backOf(state), shown = dequantizeOf(state), {columns, width, element, steps} = shown, profiles = Object.keys(back.recipe.profiles);
  const row = (name, items, r) => `<tr><th scope="row">${shown.rows > 1 ? `row ${r}, ` : ""}${name}</th>${items.slice(r * columns, (r + 1) * columns).map((item, c) => `<td class="${r * columns + c === element ? "chosen" : ""}" data-i="${r * columns + c}" title="${item.value}">${item.code}<br>${short(item.value)}</td>`).join("")}</tr>`;
  const at = ({down, across, items}) => items[Math.trunc(Math.trunc(element / columns) / down) * (width / across) + Math.trunc(element % columns / across)];
  show(page, `<form class="fields">${choose("recipe", "recipe", recipesHere().filter(id => Object.keys(recipeOf(id).profiles).length), state)}${profiles.length > 1 ? choose("profile", "profile", profiles, {profile: back.profile}) : ""}${choose("to", "values in", RESULTS, state)}${field("rows", "rows", state.rows, "numeric")}${field("element", `element (0 to ${shown.codes.length - 1})`, state.element, "numeric")}` +
    `<label class="whole">${escape_(back.recipe.element)} codes: hex digits, element 0 first, or numbers in a list<textarea name="codes" rows="3" spellcheck="false">${escape_(state.codes)}</textarea></label>` +
    `${back.levels.map(({name, format}, i) => `<label class="whole">${escape_(name)}: codes of ${nameOf(format)} (empty: 1)<input name="level${i}" value="${escape_(state[`level${i}`])}" autocomplete="off" spellcheck="false"></label>`).join("")}</form>` +
    `<p id="sentence" role="status">${escape_(shown.sentence)}</p><div class="wide" id="cells" tabindex="0" role="group" aria-label="codes and values: arrows left and right choose an element"><table><tbody>${Array.from({length: shown.rows}, (_, r) => row("code", shown.codes, r) + row("value", shown.values, r)).join("")}</tbody></table></div>` +
    `<p class="small">With the focus on the table: arrows left and right, Home and End choose an element.</p>${backFigure(shown, state.to)}<dl>${shown.sides.map(({name, items, at: part}) => `<dt>${escape_(name)}</dt><dd>${items.map((item, i) => `<span class="${i === part ? "parts" : ""}">${item.code} is ${item.value}</span>`).join("; ")}</dd>`).join("")}</dl>` +
    `<div id="steps"><h2>Step by step</h2>${steps.length ? "" : "<p>Steps are shown where no code of a level is open.</p>"}<ol>${steps.map(step => `<li><b>${step.name}</b> = ${escape_(step.text)} <span class="small">[${step.extent}${step.format && `, ${step.format}`}]</span><br>${codesText(step.items)}<br><span class="small">element ${element}: ${at(step).code}${at(step).value ? `, ${at(step).value}` : ""}</span></li>`).join("")}</ol></div>${ownForm(state)}`);
  if (held) return;
  bindOwn(page, state);
  page.querySelector("#back").addEventListener("click", event => { const bar = event.target.closest("[data-i]"); if (bar) go({element: bar.dataset.i}, "#cells"); });
  const cells = page.querySelector("#cells"), last = shown.codes.length - 1;
  showChosen(cells);
  new ResizeObserver(() => showChosen(cells)).observe(cells); // at another width too
  cells.addEventListener("click", event => { const cell = event.target.closest("td"); if (cell) go({element: cell.dataset.i}, "#cells"); });
  cells.addEventListener("keydown", event => {
    const next = event.shiftKey || event.ctrlKey || event.altKey || event.metaKey ? undefined : {ArrowLeft: Math.max(0, element - 1), ArrowRight: Math.min(last, element + 1), Home: 0, End: last}[event.key];
    if (next === undefined) return;
    event.preventDefault();
    guarded(() => go({element: `${next}`}, "#cells"));
  });
}
/** What else changes with the recipe: it has other codes and levels. Those of this page begin anew where they do not fit. */
function changeOfBack(state, value) {
  const changes = {recipe: value, profile: "", level0: "", level1: "", level2: "", level3: "", element: "0"};
  try { const {rows, columns, height, width} = givenBack({...state, ...changes}, backOf({...state, ...changes})); if (rows === height && columns === width) return changes; } catch (error) { if (!(error instanceof Refusal)) throw error; }
  const {recipe, facts} = backOf({...state, ...changes}), {width} = factsOf(formatOf(recipe.element)), rows = facts.tail === TAIL.drop ? Math.max(1, Math.min(facts.rows, Math.trunc(512 / facts.columns))) : facts.rows;
  return {...changes, rows: `${rows}`, codes: Array.from({length: rows * facts.columns}, (_, i) => hex(BigInt(i) % (1n << BigInt(width)), width).slice(2)).join("")};
}
/** What a new descriptor changes: a recipe of it that goes back to values is chosen; codes and levels stay where they fit. */
function changeOfOwnBack(state) {
  const here = recipesHere().filter(id => Object.keys(recipeOf(id).profiles).length), mine = here.filter(isOwnRecipe), recipe = [...(mine.length ? mine : here)].find(id => id === state.recipe) || mine[0] || DEQUANTIZE.recipe;
  if (!mine.length && own.recipes.length) return {recipe: own.recipes[0].id}; // refused where the room is drawn
  try { givenBack({...state, recipe}, backOf({...state, recipe})); return {recipe}; } catch (error) { if (!(error instanceof Refusal)) throw error; }
  return changeOfBack(state, recipe);
}
/** Why Dequantize has no use for a descriptor; "": it has. */
const missingBack = () => missingRecipe() || (own.recipes.some(({profiles}) => Object.keys(profiles).length) ? "" : `${own.recipes[0].id}: no steps back to values: write some behind dequantize`);
function pythonOfBack(state) {
  const {recipe, profile, levels} = backOf(state), {codes, rows, columns, height, width, sides} = givenBack(state, backOf(state));
  if (isOwnRecipe(recipe.id)) return `${beginOfPython(sealed(state.own))}levels = [${levels.map(({rows: tall}, i) => matrixOfPython(sides[i], tall ? height / tall : 1)).join(", ")}]\nvalues = mine.dequantize(${matrixOfPython(codes, rows)}, levels, "${recipe.id}", "${profile}", "${state.to}")\nprint([hex(code) for code in values.ravel().tolist()])\n`;
  const made = levels.map(({name, format, rows: tall, columns: wide}, i) => `    emu.Level("${name}", np.array([${joinedCodes(sides[i])}], ${dtypeOf(format)}).reshape(${tall || wide ? `${tall ? height / tall : 1}, ${wide ? width / wide : 1}` : "()"}), "${nameOf(format)}", "${recipe.kept[i][0]}", "${recipe.kept[i][1]}"),\n`).join("");
  return `import numpy as np\nimport emu\nfrom emu.spec import get\n\ncodes = np.array([${joinedCodes(codes)}], np.uint8).reshape(${rows}, ${columns})\nlevels = (\n${made})\nmade = emu.Quantized(codes, levels, get("recipe", "${recipe.id}"), codes.shape)\n` +
    `values = made.dequantize(${state.to === "fp32" ? "np.float32" : state.to === "fp16" ? "np.float16" : '"bfloat16"'}, "${profile}")\nprint([hex(code) for code in values.ravel().view(np.uint${state.to === "fp32" ? 32 : 16}).tolist()])\n`;
}
