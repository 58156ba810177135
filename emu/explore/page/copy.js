// copy.js: what a room shows, as a command, as Python and as C.
/** A text of lines as a string of Python. */
const longInPython = text => `"""${text.replace(/[\\"]/g, "\\$&")}"""`;
/** How Python begins that computes with the C reference itself: with the descriptor of your own, or with the shipped spec alone. */
const beginOfPython = text => `import numpy as np\nfrom emu.engines.c_ref.library import Library\n\nmine = Library(${text && longInPython(text)})\n`;
const matrixOfPython = (codes, rows) => `np.array([${joinedCodes(codes)}], np.uint64).reshape(${rows}, -1)`;
const joinedCodes = codes => codes.map(code => "0x" + code.toString(16).toUpperCase()).join(", ");
/** The NumPy type of the codes of a format. */
function dtypeOf(format) {
  const {width} = factsOf(format);
  return `np.uint${[8, 16, 32].find(size => width <= size) || 64}`;
}
const arrayOf = (codes, format) => `np.array([${joinedCodes(codes)}], ${dtypeOf(format)})`;
/** Python that gives what the page shows. */
function pythonOf(name, state) {
  const head = "import numpy as np\nimport emu\n\n";
  if (name === "number") {
    const source = formatOf(state.from), code = parseHex(state.code, factsOf(source).width, "code"), drawn = drawnOf(state);
    if (isOwn(state)) return `${beginOfPython(sealed(state.own))}made = mine.convert([${joinedCodes([code])}], "${state.to}", "${state.round}", "${state.policy}", "${state.from}"${drawn ? `, [${drawn.integer}]` : ""})\nprint(*made.words())\n`;
    const lane = drawn?.lane ?? 0, given = drawn && (drawn.wordBits ? hex(drawn.word, drawn.wordBits) : drawn.integer);
    return `${head}codes = emu.convert(${arrayOf(Array(lane + 1).fill(code), source)}, "${state.to}", "${state.round}", "${state.policy}", source="${state.from}"${drawn ? `, random=np.array([${given}], np.uint${drawn.wordBits > 32 ? 64 : 32})` : ""})\nprint(hex(codes[${lane}]))\n`;
  }
  if (name === "block" && ([state.a, state.b].some(isOwnRecipe) || isOpenIn(state))) return pythonOfOwnBlock(state);
  if (name === "block") {
    const x = valuesOf(state.x, state.from), {rotation, rows, signs} = takenOf(state), shape = rows > 1 ? `.reshape(${rows}, ${x.length / rows})` : "", plain = state.from === "fp32" || rotation, given = amaxOf(state), amax = given === null ? "" : `, tensor_amax=np.array([${joinedCodes([given])}], np.uint32).view(np.float32)[0]`;
    const reads = id => programFacts(programOf(id)).amax;
    const random = id => { const drawn = blockDraws(id, state.random, x.length); return drawn ? `, random=np.array([${joinedCodes(drawn.words)}], np.uint${drawn.wordBits > 32 ? 64 : 32})` : ""; };
    return `${head}x = np.array([[${joinedCodes(x)}]], np.uint${state.from === "fp32" ? "32).view(np.float32)" : "16)"}${shape}\n` + (rotation ? `x = emu.transform(x, "${state.rotate}"${takesSigns(state.rotate) ? `, signs=${rotation.signs}` : ""}${state.from === "fp32" ? "" : `, source="${state.from}"`})\n` : "") + [state.a, state.b].map(id => `print(emu.quantize(x, "${id}"${plain ? "" : `, source="${state.from}"`}${reads(id) ? amax : ""}${random(id)}${signsIn(id, signs)}).codes.tolist())\n`).join("");
  }
  if (name === "dot") refuseHeld(state, "Python");
  if (name === "dot" && ([state.m1, state.m2, state.m3].some(isOwnMachine) || state.split !== "1" || state.direction !== "ascending")) return scratch(() => pythonOfChains(state));
  if (name === "dot") {
    const [first] = scratch(() => { const machine = machineOf(state.m1), row = rowOf(state, machine); return [`a = ${arrayOf(row.a, machine.a)}\nb = ${arrayOf(row.b, machine.b)}\n`]; });
    return head + first + [state.m1, state.m2, state.m3].filter(id => id !== "none").map(id => scratch(() => pythonOfRun(id, state))).join("");
  }
  return name === "layout" ? pythonOfLayout(state) : name === "dequantize" ? pythonOfBack(state) : pythonOfTensor(state);
}
/** The operand of signs that a recipe's own rotation takes, in Python; "" where it takes none. */
const signsIn = (id, signs) => signs !== null && recipeOf(id).signs ? `, signs=${hex(signs, 4)}` : "";
/** Whether the sources leave a code of the room open: emu.quantize refuses those, and the C reference marks them. */
const isOpenIn = state => { const {a, b} = blockOf(state); return [a, b].some(({filled}) => filled.items.some(({code}) => code === "open")); };
/** Python that prints the codes and levels of the two recipes by the C reference. */
function pythonOfOwnBlock(state) {
  const {codes, from, rows, signs} = takenOf(state), amax = amaxOf(state);
  return `${beginOfPython([state.a, state.b].some(isOwnRecipe) ? sealed(state.own) : "")}x = ${matrixOfPython(codes, rows)}\n` + [...new Set([state.a, state.b])].map(id => {
    const drawn = blockDraws(id, state.random, codes.length), given = amax !== null && programFacts(programOf(id)).amax ? `, tensor_amax=${hex(amax, 32)}` : "";
    return `made, levels = mine.quantize(x, "${id}", "${from}"${given}${drawn ? `, random=${matrixOfPython(drawn.integers.map(BigInt), rows)}` : ""}${signsIn(id, signs)})\nprint("${id} codes:", *made.words())\n` + recipeOf(id).levels.map((name, i) => `print("${id} ${name}:", *levels[${i}].words())\n`).join("");
  }).join("");
}
/** The machines of a state with their chains: {id, machine, row, chains: the row of each}. Ask inside of scratch(). */
const chainedRows = state => [state.m1, state.m2, state.m3].filter(id => id !== "none").map(id => {
  const machine = machineOf(id), row = rowOf(state, machine);
  return {id, machine, chains: chainsOf(state, machine, row.a.length / machine.k).map((chain, i) => ({...taken(row, machine, chain), c: i && row.c !== null ? 0n : row.c}))};
});
/** How the results of chains join: [into, left, right] of each addition, results by their numbers, what is new after them. */
function joinsOf(state, count) {
  const joins = [], join = (x, y) => { joins.push([count + joins.length, x, y]); return count + joins.length - 1; };
  let left = Array.from({length: count}, (_, i) => i);
  while (left.length > 1) left = state.combine === "pairwise" ? Array.from({length: Math.ceil(left.length / 2)}, (_, i) => 2 * i + 1 < left.length ? join(left[2 * i], left[2 * i + 1]) : left[2 * i]) : [join(left[0], left[1]), ...left.slice(2)];
  return {joins, last: left[0]};
}
/** The random words of a datapath of levels; what is not given is 0. */
function wordsDrawn(state, machine, products) {
  if (machine.fused) return [];
  checked(C.ex_draws(machine.at, products, OUT));
  const given = wordsOf(state.words).map(text => parseHex("0x" + text.replace(/^0x/i, ""), 32, "random words"));
  return Array.from({length: Number(numbersAt(OUT, 1)[0])}, (_, i) => given[i] ?? 0n);
}
/** Python that prints D of each machine by the C reference, chain by chain. */
function pythonOfChains(state) {
  const shipped = descriptorOf("datapaths", levelsShipped(state)), isMine = [state.m1, state.m2, state.m3].some(isOwnMachine), list = codes => `[${joinedCodes(codes)}]`;
  return beginOfPython(isMine ? sealed(state.own) : "") + (shipped && `shipped = Library("""${shipped}""")\n`) + chainedRows(state).map(({id, machine, chains}) => {
    const at = machine.fused || isOwnMachine(id) ? "mine" : "shipped", {joins, last} = joinsOf(state, chains.length);
    return `d = [\n${chains.map(({a, b, sa, sb, c}) => {
      const drawn = wordsDrawn(state, machine, a.length);
      return `    ${at}.dot(${list(a)}, ${list(b)}, "${id}"${machine.scale ? `, ${list(sa)}, ${list(sb)}` : ""}${c === null ? "" : `, c=${hex(c, 4)}`}${drawn.length ? `, random=${list(drawn)}` : ""}),\n`;
    }).join("")}]\n${joins.map(([, x, y]) => `d.append(mine.add(d[${x}], d[${y}], "${id}"))\n`).join("")}print("${id}:", *d[${last}].words())\n`;
  }).join("");
}
/** Python that puts a 1 at the chosen row and index, and prints its place. */
function pythonOfLayout(state) {
  const {rows, codes, row, index, bits} = layoutOf_(state), isMine = OWN_ROOMS.layout.isMine(state);
  const file = `Path("mine").mkdir(exist_ok=True)\nPath("mine/${layoutName(state)}.yaml").write_text("""${layoutYaml(state)}""")\nemu.load_spec("mine")\n`;
  return `${isMine ? "from pathlib import Path\n\n" : ""}import numpy as np\nimport emu\n\n${isMine ? file : ""}codes = np.zeros((${rows}, ${codes}), np.uint8)\ncodes[${row}, ${index}] = 1\n` +
    `places = emu.to_layout(codes, "${layoutName(state)}").reshape(-1).view(np.uint8)\n${bits === 4 ? "places = np.stack([places & 15, places >> 4], -1).reshape(-1)\n" : ""}print(int(places.argmax()), "of", places.size)\n`;
}
/** The file and the tensor that figures are of. */
function chosenTensor({tensor}) {
  return HELD.tensors?.find(({name, format}) => name === tensor && format) || refuse("choose a file and a tensor of it first");
}
/** Python that prints the three sums of the room, each rounded once to binary64, and the use of the codes. */
function pythonOfTensor(state) {
  const {format, at, bytes, count, shape, swap} = chosenTensor(state), {name} = HELD.file, isMine = isOwnRecipe(state.recipe), isPlain = !isMine && !/\.gguf$/i.test(name), columns = shape.at(-1) ?? 1;
  const dtype = `"${swap ? ">" : "<"}${format === "bf16" ? "u2" : `f${bytes}`}"`, raw = `np.fromfile(${inPython(name)}, ${dtype}, ${count}, offset=${at}).reshape(-1, ${columns})`; // of bfloat16 the upper half of binary32
  const read = isPlain ? `with open_tensors(${inPython(name)}) as tensors:\n    x = np.asarray(tensors.read(${/\.npy$/i.test(name) ? "tensors.tensors[0].name" : inPython(state.tensor)}))\n`
    : `x = ${format === "bf16" ? `(${raw}.astype(np.uint32) << 16).view(np.float32)` : `${raw}.astype(np.float32)`}\n`;
  const amax = programFacts(programOf(state.recipe)).amax ? ", tensor_amax=int(np.abs(x).max().view(np.uint32))" : "";
  const made = isMine ? `mine = Library(${longInPython(sealed(state.own))})\nmade, levels = mine.quantize(x.view(np.uint32), "${state.recipe}"${amax})\ncodes = made.codes.astype(np.int64)\n` +
    `y = mine.dequantize(made.codes, [level.codes for level in levels], "${state.recipe}", "${recipeOf(state.recipe).back}")[:, : x.shape[1]].astype(np.uint32).view(np.float32)\n`
    : `made = emu.quantize(x, "${state.recipe}")\ncodes, y = made.codes, made.dequantize(np.float32)\n`;
  return `import math\n\nimport numpy as np\n${isMine ? "from emu.engines.c_ref.library import Library\n" : "import emu\n"}${isPlain ? "from emu.files import open_tensors\n" : ""}\n${read}${made}` +
    `a, b = (part.astype(np.float64).ravel() for part in (x, y))\nerror = np.concatenate([a * a, -2 * a * b, b * b])  # products of binary32 are exact\n` +
    `print("sums of x², x y, (y - x)²:", *(math.fsum(part) for part in (a * a, a * b, error)))\nprint("use of the codes:", np.bincount(codes[..., : x.shape[-1]].ravel(), minlength=${1 << factsOf(formatOf(recipeOf(state.recipe).element)).width}).tolist())\n`;
}
/** The line of one machine on a and b. */
function pythonOfRun(id, state) {
  const machine = machineOf(id), row = rowOf(state, machine), given = wordsOf(state.words).map(text => BigInt("0x" + text.replace(/^0x/i, "")));
  const scales = machine.scale ? `, a_scales=${arrayOf(row.sa, machine.scale)}, b_scales=${arrayOf(row.sb, machine.scale)}, scale_format="${nameOf(machine.scale)}"` : "";
  const c = row.c === null ? "" : `, c=${arrayOf([row.c], machine.c)}[0]`;
  checked(machine.fused ? 0 : C.ex_draws(machine.at, row.a.length, OUT));
  const draws = machine.fused ? 0 : Number(numbersAt(OUT, 1)[0]);
  const random = draws ? `, random=np.array([${joinedCodes(Array.from({length: draws}, (_, i) => given[i] || 0n))}], np.uint32)` : "";
  return `print(hex(emu.dot(a, b, "${id.split("/")[0]}"${scales}${c}, a_format="${nameOf(machine.a)}", b_format="${nameOf(machine.b)}"${random})))\n`;
}
/** C that gives what the Number room shows. */
function cOf(name, state) {
  if (name !== "number") return {block: cOfBlock, dot: cOfDot, layout: cOfLayout, tensor: cOfTensor, dequantize: cOfBack}[name](state);
  const drawn = drawnOf(state)?.integer ?? 0n, code = parseHex(state.code, factsOf(formatOf(state.from)).width, "code");
  if (isOwn(state)) return `${beginOfC(sealed(state.own))}    uint64_t code = 0;
    uint8_t open = 0;
    if (!error)
        error = emu_convert_code(emu_find_format_in(library, "${state.from}"), emu_find_format_in(library, "${state.to}"), emu_find_rounding_in(library, "${state.round}"),
                                 emu_find_policy_in(library, "${state.policy}", "${state.to}"), 0x${code.toString(16).toUpperCase()}u, ${drawn}u, &code, &open);
    printf("error %d, open %d, code 0x%llX\\n", (int)error, open, (unsigned long long)code);
    return error;
}
`;
  return `#include <stdio.h>
#include "emu_ref.h"

int main(void)
{
    uint64_t code = 0;
    uint8_t open = 0;
    int32_t error = emu_convert_code(emu_find_format("${state.from}"), emu_find_format("${state.to}"), emu_find_rounding("${state.round}"),
                                     emu_find_policy("${state.policy}", "${state.to}"), 0x${code.toString(16).toUpperCase()}u, ${drawn}u, &code, &open);
    printf("error %d, open %d, code 0x%llX\\n", (int)error, open, (unsigned long long)code);
    return error;
}
`;
}
/** How a C program begins; texts of descriptors it loads first, into `library` and `shipped`. What follows finds `error` declared. */
function beginOfC(text, shipped = "") {
  const all = [["library", text], ["shipped", shipped]].filter(([, given]) => given);
  const lines = given => given.replace(/\n$/, "").split("\n").map(line => `    ${inC(`${line}\n`)}`).join("\n");
  return `#include <stdio.h>
#include <stdlib.h>
#include "emu_ref.h"
${all.map(([name, given]) => `
static const char text_of_${name}[] =
${lines(given)};
`).join("")}
int main(void)
{
    int32_t error = EMU_OK;
${all.length ? `    emu_fault fault;
    size_t bytes = 0;
` : ""}${all.map(([name]) => `    const emu_library *${name} = NULL;
    if (!error)
        error = emu_measure_descriptor(text_of_${name}, sizeof text_of_${name} - 1, &bytes);
    void *room_of_${name} = malloc(bytes);
    if (!error)
        error = room_of_${name} ? emu_load_descriptor(text_of_${name}, sizeof text_of_${name} - 1, room_of_${name}, bytes, &${name}, &fault) : EMU_ERROR_SPACE;
`).join("")}`;
}
/** A matrix of a C program with its codes; `open` where it is a result. */
const matrixOfC = (name, codes, rows, columns) => `    static uint64_t ${name}_codes[] = {${joinedCodes(codes)}};\n    const emu_matrix ${name} = {${name}_codes, 8, ${rows}, ${columns}, NULL};\n`;
const resultOfC = (name, rows, columns) => `    static uint64_t ${name}_codes[${rows * columns}];\n    static uint8_t ${name}_open[${rows * columns}];\n    const emu_matrix ${name} = {${name}_codes, 8, ${rows}, ${columns}, ${name}_open};\n`;
const printedInC = (what, name) => `    printf("${what}:");
    for (size_t i = 0; !error && i < ${name}.rows * ${name}.columns; i++)
        printf(${name}_open[i] ? " open" : " 0x%llX", (unsigned long long)${name}_codes[i]);
    printf("\\n");
`;
/** C that prints the codes and levels of the two recipes; of rotated values from those on. */
function cOfBlock(state) {
  const {codes, from, rows, signs} = takenOf(state), columns = codes.length / rows, amax = amaxOf(state), ids = [...new Set([state.a, state.b])], isMine = ids.some(isOwnRecipe), isIn = isMine ? "_in(library, " : "(";
  const each = ids.map((id, k) => {
    const program = programOf(id), facts = programFacts(program), height = Math.ceil(rows / facts.rows) * facts.rows, width = Math.ceil(columns / facts.columns) * facts.columns, drawn = blockDraws(id, state.random, codes.length);
    const sides = recipeOf(id).levels.map((name, i) => { C.ex_side(program, i, OUT); const [tall, wide] = numbersAt(OUT, 2).map(Number); return {name, rows: tall ? height / tall : 1, columns: wide ? width / wide : 1}; });
    return `    const emu_program *program${k} = error ? NULL : emu_find_program${isIn}"${id}", NULL);
    uint64_t *workspace${k} = NULL;
${drawn ? matrixOfC(`random${k}`, drawn.integers, rows, columns) : ""}${facts.tail === TAIL.drop ? resultOfC(`codes${k}`, rows, columns) : resultOfC(`codes${k}`, height, width)}${sides.map((side, i) => resultOfC(`level${k}_${i}`, side.rows, side.columns)).join("")}    const emu_matrix levels${k}[] = {${sides.map((_, i) => `level${k}_${i}`).join(", ") || `codes${k}`}};
    if (!error)
        error = emu_count_workspace(program${k}, ${columns}, &words);
    if (!error && !(workspace${k} = malloc(words * 8)))
        error = EMU_ERROR_SPACE;
    if (!error)
        error = emu_quantize(program${k}, emu_find_format${isIn}"${from}"), &x, ${amax !== null && facts.amax ? "&amax" : "NULL"}, ${drawn ? `&random${k}` : "NULL"}, ${signs !== null && recipeOf(id).signs ? "signs" : "NULL"}, &codes${k}, levels${k}, workspace${k}, words);
${printedInC(`${id} codes`, `codes${k}`)}${sides.map(({name}, i) => printedInC(`${id} ${name}`, `level${k}_${i}`)).join("")}`;
  });
  return `${beginOfC(isMine ? sealed(state.own) : "")}    size_t words = 0;
${amax === null ? "" : `    const uint32_t amax = ${hex(amax, 32)};\n    (void)amax;\n`}${signs === null ? "" : `    static const uint64_t signs[4] = {${joinedCodes(signWords(signs))}};\n`}${matrixOfC("x", codes, rows, columns)}${each.join("")}    return error;
}
`;
}
/** C that prints D of each machine, chain by chain. */
function cOfDot(state) {
  refuseHeld(state, "C");
  return scratch(() => {
    const machines = chainedRows(state), isMine = machines.some(({id}) => isOwnMachine(id)), parts = ["a", "b", "sa", "sb", "c"], made = new Map();
    const each = machines.map(({id, machine, chains}, i) => {
      const library_ = isOwnMachine(id) ? "library" : machine.fused ? "NULL" : "shipped", {joins, last} = joinsOf(state, chains.length), d = j => `d${i}_${j}`;
      const run = (chain, j) => {
        const given = {...chain, c: chain.c === null ? [] : [chain.c]}, at = name => {
          const codes = given[name], key = `${name} ${codes.join()}`; // machines on the same codes share a matrix
          if (!codes.length) return "NULL";
          if (!made.has(key)) made.set(key, [made.size ? `${name}${made.size}` : name, codes]);
          return `&${made.get(key)[0]}`;
        }, operands = parts.map(at).join(", "), drawn = wordsDrawn(state, machine, chain.a.length);
        return resultOfC(d(j), 1, 1) + (machine.fused ? `    if (!error)
        error = emu_dot(&machine${i}, ${operands}, &${d(j)}, NULL);
` : `    emu_number *numbers${i} = NULL;
    static uint32_t order${i}[${Math.max(drawn.length, 1)}];
    size_t draws${i} = 0, count${i} = 0, row${i} = 0;
${drawn.length ? matrixOfC(`random${i}`, drawn, 1, drawn.length) : ""}    if (!error)
        error = emu_count_dot_levels(&machine${i}, ${chain.a.length}, &draws${i}, &count${i});
    if (!error && !(numbers${i} = malloc(count${i} * sizeof *numbers${i})))
        error = EMU_ERROR_SPACE;
    if (!error)
        error = emu_dot_levels(&machine${i}, ${operands}, ${drawn.length ? `&random${i}` : "NULL"}, &${d(j)}, order${i}, numbers${i}, count${i}, &row${i});
    ${d(j)}_open[0] = error == EMU_ERROR_OPEN || error == EMU_ERROR_REFUSED || error == EMU_ERROR_OVERFLOW;
    error = ${d(j)}_open[0] ? EMU_OK : error;
`);
      };
      return `    ${machine.fused ? "emu_datapath" : "emu_levels"} machine${i};
    if (!error)
        error = emu_find_${machine.fused ? "datapath" : "levels"}_in(${library_}, "${id}", &machine${i});
${chains.map(run).join("")}${joins.map(([into, x, y]) => `${resultOfC(d(into), 1, 1)}    if (!error)
        error = emu_add_results(&machine${i}, &${d(x)}, &${d(y)}, &${d(into)});
    ${d(into)}_open[0] = ${d(x)}_open[0] | ${d(y)}_open[0];
`).join("")}${printedInC(id, d(last))}`;
    });
    const operands = [...made.values()].map(([name, codes]) => matrixOfC(name, codes, 1, codes.length)).join("");
    return `${beginOfC(isMine ? sealed(state.own) : "", descriptorOf("datapaths", levelsShipped(state)))}${operands}${each.join("")}    return error;
}
`;
  });
}
/** C that makes the values of the room and prints their codes, or the error where one of them is open. */
function cOfBack(state) {
  const back = backOf(state), {codes, rows, columns, height, width, sides} = givenBack(state, back), {recipe, profile, levels} = back, isMine = isOwnRecipe(recipe.id), isIn = isMine ? "_in(library, " : "(";
  const sizes = levels.map(({rows: tall, columns: wide}) => [tall ? height / tall : 1, wide ? width / wide : 1]), all = levels.map((_, i) => `{level${i}, 8, ${sizes[i].join(", ")}, NULL}`);
  return `${beginOfC(isMine ? sealed(state.own) : "")}    static uint64_t codes[] = {${joinedCodes(codes)}}, values[${codes.length}];
${sides.map((side, i) => `    static uint64_t level${i}[] = {${joinedCodes(side)}};\n`).join("")}    const emu_matrix given = {codes, 8, ${rows}, ${columns}, NULL}, made = {values, 8, ${rows}, ${columns}, NULL}, levels[] = {${all.join(", ") || "{NULL, 8, 0, 0, NULL}"}};
    const emu_program *program = error ? NULL : emu_find_program${isIn}"${recipe.id}", "${profile}");
    size_t words = 0;
    uint64_t *workspace;
    if (!error)
        error = emu_count_workspace(program, ${columns}, &words);
    if (error || !(workspace = malloc(words * 8)))
        return error ? error : EMU_ERROR_SPACE;
    error = emu_dequantize(program, &given, levels, emu_find_format${isIn}"${state.to}"), &made, workspace, words);
    if (error)
        printf("error %d\\n", (int)error);
    for (int i = 0; !error && i < ${codes.length}; i++)
        printf("0x%llX\\n", (unsigned long long)values[i]);
    return error;
}
`;
}
/** C that loads the layout as a descriptor, and prints the place of the chosen row and index. */
function cOfLayout(state) {
  const {rows, codes, row, index} = layoutOf_(state), isMine = OWN_ROOMS.layout.isMine(state), text = sealed(isMine ? state.own : startOfLayout(state));
  return `${beginOfC(text)}    uint64_t place = 0, size = 0;
    const emu_layout *layout = error ? NULL : emu_find_layout_in(library, "${isMine ? state.layout : "mine"}");
    if (!error)
        error = emu_layout_size(layout, ${rows}, ${codes}, &size);
    if (!error)
        error = emu_layout_place(layout, ${row}, ${index}, ${rows}, ${codes}, &place);
    printf("%llu of %llu\\n", (unsigned long long)place, (unsigned long long)size);
    return error;
}
`;
}
/** C that reads the chosen tensor out of its file and prints the use of the codes. */
function cOfTensor(state) {
  const {at, bytes, shape, count, format, swap} = chosenTensor(state), columns = shape.at(-1) ?? 1, isMine = isOwnRecipe(state.recipe), isIn = isMine ? "_in(library, " : "(";
  const [head, start] = beginOfC(isMine ? sealed(state.own) : "").split("int main(void)\n{\n");
  return `${head}static emu_matrix matrix_of(size_t bytes, size_t rows, size_t columns)
{
    emu_matrix made = {calloc(rows * columns, bytes), (int32_t)bytes, rows, columns, NULL};
    if (!made.codes)
        exit(EMU_ERROR_SPACE);
    return made;
}

int main(void) /* the elements of ${state.tensor.replace(/[^\w.\-]/g, "_")}, from byte ${at} of the file on, ${swap ? "high" : "low"} byte first */
{
${start}    if (error)
        return error;
    const emu_program *program = emu_find_program${isIn}"${state.recipe}", NULL);
    const size_t rows = ${count / columns}, columns = ${columns}, tile = (size_t)program->tile_columns, padded = (columns + tile - 1) / tile * tile;
    emu_matrix x = matrix_of(${bytes}, rows, columns), codes = matrix_of(1, rows, program->tail == EMU_TAIL_DROP ? columns : padded), levels[16];
    uint64_t counts[256] = {0}, *workspace;
    size_t words = 0;
    FILE *file = fopen(${inC(HELD.file.name)}, "rb");
    if (!file || fseek(file, ${at}, SEEK_SET) || fread(x.codes, ${bytes}, rows * columns, file) != rows * columns)
        return EMU_ERROR_NULL;
${swap ? `    for (size_t i = 0; i < rows * columns * ${bytes}; i += ${bytes})
        for (size_t j = 0; j < ${bytes} / 2; j++) { /* low bytes first */
            uint8_t *element = (uint8_t *)x.codes + i, kept = element[j];
            element[j] = element[${bytes} - 1 - j];
            element[${bytes} - 1 - j] = kept;
        }
` : ""}    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        levels[i] = matrix_of(8, level->rows ? rows / (size_t)level->rows : 1, level->columns ? padded / (size_t)level->columns : 1);
    }
    error = emu_count_workspace(program, columns, &words);
    if (error || !(workspace = malloc(words * 8)))
        return error ? error : EMU_ERROR_SPACE;
    error = emu_quantize(program, emu_find_format${isIn}"${format}"), &x, NULL, NULL, NULL, &codes, levels, workspace, words);
    for (size_t i = 0; !error && i < rows * columns; i++)
        counts[((uint8_t *)codes.codes)[i / columns * codes.columns + i % columns]]++;
    for (int i = 0; !error && i < 256; i++)
        if (counts[i])
            printf("0x%X %llu\\n", (unsigned)i, (unsigned long long)counts[i]);
    return error;
}
`;
}
/** Put a text into the clipboard; what cannot be made is said. */
function copyText(make) {
  const fault = document.querySelector("#fault");
  if (/^(Copy|no figure) /.test(fault.textContent)) fault.textContent = ""; // of the last button
  guarded(() => { ROOMS[now.name].compute(now.state); refuseSigns(now.state); const text = make(now.name, now.state); copied = text; navigator.clipboard?.writeText(text); });
}
let copied = ""; // what was copied last
