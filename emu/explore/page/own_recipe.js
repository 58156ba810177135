// own_recipe.js: a recipe of a descriptor, beside those of the page. What it gives comes from C; its lines say what a step is called.
const isOwnRecipe = id => own.recipes.some(recipe => recipe.id === id);
/** A recipe of a descriptor as META has one of the page; without what only a suite of the spec has. */
function ownRecipe({id, words, lines}) {
  const starts = lines.flatMap((line, i) => /^(quantize$|dequantize )/.test(line) ? [i] : []), parts = starts.map((start, i) => [lines[start].split(" ")[1] || "", lines.slice(start + 1, starts[i + 1])]);
  const {steps, all, program, facts} = ownProgram(id, "", parts.find(([profile]) => !profile)[1]); // that of quantize has no name
  const profiles = Object.fromEntries(parts.filter(([profile]) => profile).map(([profile, some]) => [profile, ownProgram(id, profile, some).steps]));
  const across = register => { C.ex_register(program, register, OUT); return Number(numbersAt(OUT, 2)[1]); }; // 0: it covers the row
  const gathers = all("step").some((_, i) => !across(C.ex_step_out(program, i)) && takesOf(program, i).some(across));
  const turned = all("step").filter(([, word_]) => word_ === "transform").map(turn => turn.at(-1)), turns = turned.map(turn => scratch(() => C.ex_transform(own.at, word(turn)))), isFixed = META.transforms.some(([name, free]) => !free && turned.includes(name));
  const [, element, ...others] = objectCalled("blocks", words[2]).lines.find(line => line.startsWith("elements ")).split(" ");
  return {id, title: "", steps, profiles, back: Object.keys(profiles)[0] || "", alone: !gathers && turns.every(turn => turn && facts.columns % transformFacts(turn).size === 0), rotates: turns.length > 0, signs: turns.length && !isFixed && turns.every(Boolean) ? Math.min(...turns.map(turn => transformFacts(turn).size)) : 0,
    levels: all("level").map(([, name]) => name), element, single: !others.length, columns: null, amax: null};
}
/** A program of a recipe of the descriptor: its steps in words, its lines by their first word, and what C says of it. */
function ownProgram(id, profile, lines) {
  const all = word_ => lines.map(line => line.split(" ")).filter(words => words[0] === word_), arithmetic = formatOf(all("arithmetic")[0][1]);
  const names = lines.map(line => line.split(" ")).filter(([word_]) => word_ === "register" || word_ === "constant")
    .map(([word_, name]) => word_ === "register" ? name : `${name} (${shortText(decode(arithmetic, BigInt(name)))})`);
  const program = scratch(() => C.ex_program(own.at, word(id), profile ? word(profile) : 0)), facts = programFacts(program);
  const steps = all("step").map(([, ...words], i) => {
    C.ex_step_args(program, i, OUT);
    const args = numbersAt(OUT, 4).map(Number).filter(register => register >= 0), out = C.ex_step_out(program, i), at = words.findIndex(word_ => /^\d+$/.test(word_));
    C.ex_register(program, out, OUT);
    return [names[out], [...words.slice(0, at), ...args.map(register => names[register]), ...words.slice(at + 1 + args.length)].join(" "), extentText(numbersAt(OUT, 2).map(Number), facts)];
  });
  return {steps, all, program, facts};
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
  return {a, b: [state.a, state.b, BLOCK.b, BLOCK.a].find(id => id !== a && here.includes(id)), row: "", signs: ""};
}
/** Why Block has no use for a descriptor; "": it has. */
const missingRecipe = () => own.recipes.length ? "" : "no recipe in it: write one with emu export descriptor recipe/ID";
