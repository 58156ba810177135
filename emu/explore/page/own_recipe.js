// own_recipe.js: a recipe of a descriptor in Block, beside those of the page. What it gives comes from C; its lines say what a step is called.
const isOwnRecipe = id => own.recipes.some(recipe => recipe.id === id);
/** A recipe of a descriptor as META has one of the page; without what only a suite of the spec has. */
function ownRecipe({id, lines}) {
  const body = lines.slice(lines.indexOf("quantize") + 1), end = body.findIndex(line => line.startsWith("dequantize ")), quantize = end < 0 ? body : body.slice(0, end);
  const all = word_ => quantize.map(line => line.split(" ")).filter(words => words[0] === word_), arithmetic = formatOf(all("arithmetic")[0][1]);
  const names = quantize.map(line => line.split(" ")).filter(([word_]) => word_ === "register" || word_ === "constant")
    .map(([word_, name]) => word_ === "register" ? name : `${name} (${shortText(decode(arithmetic, BigInt(name)))})`);
  const program = scratch(() => C.ex_program(own.at, word(id), 0)), facts = programFacts(program);
  const steps = all("step").map(([, ...words], i) => {
    C.ex_step_args(program, i, OUT);
    const args = numbersAt(OUT, 4).map(Number).filter(register => register >= 0), out = C.ex_step_out(program, i), at = words.findIndex(word_ => /^\d+$/.test(word_));
    C.ex_register(program, out, OUT);
    return [names[out], [...words.slice(0, at), ...args.map(register => names[register]), ...words.slice(at + 1 + args.length)].join(" "), extentText(numbersAt(OUT, 2).map(Number), facts)];
  });
  const across = register => { C.ex_register(program, register, OUT); return Number(numbersAt(OUT, 2)[1]); }; // 0: it covers the row
  const gathers = all("step").some((_, i) => !across(C.ex_step_out(program, i)) && takesOf(program, i).some(across));
  const turns = all("step").filter(([, word_]) => word_ === "transform").map(words => scratch(() => C.ex_transform(own.at, word(words.at(-1))))), rotates = turns.length > 0, back = body.slice(Math.max(end, 0)).find(line => line.startsWith("dequantize "))?.split(" ")[1] || "";
  return {id, title: "", steps, back, alone: !gathers && turns.every(turn => turn && facts.columns % transformFacts(turn).size === 0), rotates, levels: all("level").map(([, name]) => name), columns: null, amax: null};
}
/** A part of the tensor in words. */
function extentText([rows, columns], facts) {
  const known = {"0 0": "tensor", "1 0": "row", "1 1": "element", [`${facts.rows} ${facts.columns}`]: facts.rows === 1 ? "block" : "tile"};
  return known[`${rows} ${columns}`] || (rows === 1 ? `${columns} elements` : `${rows}x${columns}`);
}
const startOfRecipe = ({a}) => startOf("recipes", objectCalled("recipes", a));
/** What a new descriptor changes: A is a recipe of it, and what was A is B. */
function changeOfRecipe(state) {
  const here = recipesHere(), mine = here.filter(isOwnRecipe), a = mine.includes(state.a) ? state.a : mine[0] || (here.includes(state.a) ? state.a : here.includes(state.b) ? state.b : BLOCK.a);
  return {a, b: [state.a, state.b, BLOCK.b, BLOCK.a].find(id => id !== a && here.includes(id)), row: ""};
}
/** Why Block has no use for a descriptor; "": it has. */
const missingRecipe = () => own.recipes.length ? "" : "no recipe in it: write one with emu export descriptor recipe/ID";
