// copy.js: what a room shows, as a command, as Python and as C.
const OWN_PYTHON = "Copy Python: for objects of the spec: Copy descriptor gives a file that emu_ref and C take";
const joinedCodes = codes => codes.map(code => "0x" + code.toString(16).toUpperCase()).join(", ");
/** The NumPy type of the codes of a format. */
function dtypeOf(format) {
  const {width} = factsOf(format);
  return `np.uint${[8, 16, 32].find(size => width <= size) || 64}`;
}
const arrayOf = (codes, format) => `np.array([${joinedCodes(codes)}], ${dtypeOf(format)})`;
/** The random integer of a Number state that C is given, or null where the rounding draws none. */
function drawnOf(state) {
  const bits = C.ex_random_bits(roundingOf(state.round));
  return bits ? BigInt.asUintN(bits, BigInt(state.r)) : null;
}
/** Python that gives what the page shows. */
function pythonOf(name, state) {
  const head = "import numpy as np\nimport emu\n\n";
  if (name === "number" && isOwn(state)) refuse(OWN_PYTHON);
  if (name === "number") {
    const source = formatOf(state.from), code = parseHex(state.code, factsOf(source).width, "code"), drawn = drawnOf(state);
    return `${head}codes = emu.convert(${arrayOf([code], source)}, "${state.to}", "${state.round}", "${state.policy}", source="${state.from}"${drawn === null ? "" : `, random=np.array([${drawn}], np.uint32)`})\nprint(hex(codes[0]))\n`;
  }
  if (name === "block" && [state.a, state.b].some(isOwnRecipe) || name === "dot" && [state.m1, state.m2, state.m3].some(isOwnMachine)) refuse(OWN_PYTHON);
  if (name === "block") {
    const x = valuesOf(state.x, state.from), {rotation, rows} = takenOf(state), shape = rows > 1 ? `.reshape(${rows}, ${x.length / rows})` : "", plain = state.from === "fp32" || rotation, given = amaxOf(state), amax = given === null ? "" : `, tensor_amax=np.array([${joinedCodes([given])}], np.uint32).view(np.float32)[0]`;
    const reads = id => programFacts(programOf(id)).amax;
    const random = id => { const drawn = blockDraws(id, state.random, x.length); return drawn ? `, random=np.array([${joinedCodes(drawn.words)}], np.uint${drawn.wordBits > 32 ? 64 : 32})` : ""; };
    return `${head}x = np.array([[${joinedCodes(x)}]], np.uint${state.from === "fp32" ? "32).view(np.float32)" : "16)"}${shape}\n` + (rotation ? `x = emu.transform(x, "${state.rotate}"${takesSigns(state.rotate) ? `, signs=${rotation.signs}` : ""}${state.from === "fp32" ? "" : `, source="${state.from}"`})\n` : "") + [state.a, state.b].map(id => `print(emu.quantize(x, "${id}"${plain ? "" : `, source="${state.from}"`}${reads(id) ? amax : ""}${random(id)}).codes.tolist())\n`).join("");
  }
  if (name === "dot") {
    if (state.split !== "1" || state.direction !== "ascending") refuse("Copy Python: for one ascending chain: see emu.Order for others");
    const [first] = scratch(() => { const machine = machineOf(state.m1), row = rowOf(state, machine); return [`a = ${arrayOf(row.a, machine.a)}\nb = ${arrayOf(row.b, machine.b)}\n`]; });
    return head + first + [state.m1, state.m2, state.m3].filter(id => id !== "none").map(id => scratch(() => pythonOfRun(id, state))).join("");
  }
  return name === "layout" ? pythonOfLayout(state) : name === "dequantize" ? pythonOfBack(state) : pythonOfTensor(state);
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
  const {name} = HELD.file || {name: ""}, {format} = chosenTensor(state);
  if (isOwnRecipe(state.recipe)) refuse(OWN_PYTHON);
  if (/\.gguf$/i.test(name)) refuse("Copy Python: emu reads .npy and .safetensors files: Copy C reads this one");
  return `import math\n\nimport numpy as np\nimport emu\nfrom emu.files import open_tensors\n\nwith open_tensors(${JSON.stringify(name)}) as tensors:\n` +
    `    x = np.asarray(tensors.read(${/\.npy$/i.test(name) ? "tensors.tensors[0].name" : JSON.stringify(state.tensor)}))\nmade = emu.quantize(x, "${state.recipe}")\n` +
    `a, b = (part.astype(np.float64).ravel() for part in (x, made.dequantize(np.float32)))\nerror = np.concatenate([a * a, -2 * a * b, b * b])  # products of binary32 are exact\n` +
    `print("sums of x², x y, (y - x)²:", *(math.fsum(part) for part in (a * a, a * b, error)))\nprint("use of the codes:", np.bincount(made.codes[..., : x.shape[-1]].ravel()).tolist())\n`;
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
  if (isOwn(state)) refuse("Copy C: for objects of the spec: Copy descriptor gives a file for emu_load_descriptor");
  const drawn = drawnOf(state) ?? 0n, code = parseHex(state.code, factsOf(formatOf(state.from)).width, "code");
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
const OWN_C = "Copy C: for objects of the spec: Copy descriptor gives a file for emu_load_descriptor";
/** How a C program begins; with the text of a descriptor it loads that first, into `library`. What follows finds `error` declared. */
const beginOfC = text => `#include <stdio.h>
#include <stdlib.h>
#include "emu_ref.h"
${text && `
static const char text[] =
${text.replace(/\n$/, "").split("\n").map(line => `    ${JSON.stringify(`${line}\n`)}`).join("\n")};
`}
int main(void)
{
${text && `    const emu_library *library = NULL;
    emu_fault fault;
    size_t bytes = 0;
`}    int32_t error = ${text ? "emu_measure_descriptor(text, sizeof text - 1, &bytes);" : "EMU_OK;"}
${text && `    void *room = malloc(bytes);
    if (!error)
        error = room ? emu_load_descriptor(text, sizeof text - 1, room, bytes, &library, &fault) : EMU_ERROR_SPACE;
`}`;
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
  const {codes, from, rows} = takenOf(state), columns = codes.length / rows, amax = amaxOf(state), ids = [...new Set([state.a, state.b])], isMine = ids.some(isOwnRecipe), isIn = isMine ? "_in(library, " : "(";
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
        error = emu_quantize(program${k}, emu_find_format${isIn}"${from}"), &x, ${amax !== null && facts.amax ? "&amax" : "NULL"}, ${drawn ? `&random${k}` : "NULL"}, NULL, &codes${k}, levels${k}, workspace${k}, words);
${printedInC(`${id} codes`, `codes${k}`)}${sides.map(({name}, i) => printedInC(`${id} ${name}`, `level${k}_${i}`)).join("")}`;
  });
  return `${beginOfC(isMine ? sealed(state.own) : "")}    size_t words = 0;
${amax === null ? "" : `    const uint32_t amax = ${hex(amax, 32)};\n    (void)amax;\n`}${matrixOfC("x", codes, rows, columns)}${each.join("")}    return error;
}
`;
}
/** C that prints D of each machine, of one ascending chain. */
function cOfDot(state) {
  if (state.split !== "1" || state.direction !== "ascending") refuse("Copy C: for one ascending chain: Copy .tv row has the instructions of others");
  const ids = [state.m1, state.m2, state.m3].filter(id => id !== "none"), isMine = ids.some(isOwnMachine), library_ = id => isOwnMachine(id) ? "library" : "NULL";
  return scratch(() => {
    const machines = ids.map(machineOf), row = rowOf(state, machines[0]), k = row.a.length, given = {a: row.a, b: row.b, sa: row.sa, sb: row.sb, c: row.c === null ? [] : [row.c]}, at = name => given[name].length ? `&${name}` : "NULL";
    const operands = `&a, &b, ${["sa", "sb", "c"].map(at).join(", ")}`, words = wordsOf(state.words).map(text => parseHex("0x" + text.replace(/^0x/i, ""), 32, "random words"));
    const each = machines.map((machine, i) => {
      if (machine.fused) return `    emu_datapath machine${i};
    if (!error)
        error = emu_find_datapath_in(${library_(ids[i])}, "${ids[i]}", &machine${i});
    if (!error)
        error = emu_dot(&machine${i}, ${operands}, &d, NULL);
`;
      if (!isOwnMachine(ids[i]) && !C.ex_levels(0, word(ids[i]))) refuse(`Copy C: emu_ref.h has no ${ids[i]}: Edit the facts makes it one of a descriptor, which C reads`);
      checked(C.ex_draws(machine.at, k, OUT));
      const draws = Number(numbersAt(OUT, 1)[0]);
      return `    emu_levels machine${i};
    emu_number *numbers${i} = NULL;
    static uint32_t order${i}[${Math.max(draws, 1)}];
    size_t draws${i} = 0, count${i} = 0, row${i} = 0;
${draws ? matrixOfC(`random${i}`, Array.from({length: draws}, (_, j) => words[j] ?? 0n), 1, draws) : ""}    if (!error)
        error = emu_find_levels_in(${library_(ids[i])}, "${ids[i]}", &machine${i});
    if (!error)
        error = emu_count_dot_levels(&machine${i}, ${k}, &draws${i}, &count${i});
    if (!error && !(numbers${i} = malloc(count${i} * sizeof *numbers${i})))
        error = EMU_ERROR_SPACE;
    if (!error)
        error = emu_dot_levels(&machine${i}, ${operands}, ${draws ? `&random${i}` : "NULL"}, &d, order${i}, numbers${i}, count${i}, &row${i});
    d_open[0] = error == EMU_ERROR_OPEN || error == EMU_ERROR_REFUSED || error == EMU_ERROR_OVERFLOW;
    error = d_open[0] ? EMU_OK : error;
`;
    });
    const names = Object.keys(given).filter(name => given[name].length);
    return `${beginOfC(isMine ? sealed(state.own) : "")}${names.map(name => matrixOfC(name, given[name], 1, given[name].length)).join("")}${resultOfC("d", 1, 1)}${each.map((text, i) => text + printedInC(ids[i], "d")).join("")}    return error;
}
`;
  });
}
/** C that makes the values of the room and prints their codes, or the error where one of them is open. */
function cOfBack(state) {
  const back = backOf(state), {codes, rows, columns, sides} = givenBack(state, back), {recipe, profile, levels} = back, isMine = isOwnRecipe(recipe.id), isIn = isMine ? "_in(library, " : "(";
  const sizes = levels.map(({rows: tall, columns: wide}) => [tall ? rows / tall : 1, wide ? columns / wide : 1]), all = levels.map((_, i) => `{level${i}, 8, ${sizes[i].join(", ")}, NULL}`);
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
  const {at, bytes, shape, count, format, swap} = chosenTensor(state), columns = shape.at(-1) ?? 1;
  if (isOwnRecipe(state.recipe)) refuse(OWN_C);
  if (swap) refuse("Copy C: the file has high bytes first: save it with low bytes first");
  return `#include <stdio.h>
#include <stdlib.h>
#include "emu_ref.h"

static emu_matrix matrix_of(size_t bytes, size_t rows, size_t columns)
{
    emu_matrix made = {calloc(rows * columns, bytes), (int32_t)bytes, rows, columns, NULL};
    if (!made.codes)
        exit(EMU_ERROR_SPACE);
    return made;
}

int main(void) /* the elements of ${state.tensor.replace(/[^\w.\-]/g, "_")}, from byte ${at} of the file on, low byte first */
{
    const emu_program *program = emu_find_program("${state.recipe}", NULL);
    const size_t rows = ${count / columns}, columns = ${columns}, tile = (size_t)program->tile_columns, padded = (columns + tile - 1) / tile * tile;
    emu_matrix x = matrix_of(${bytes}, rows, columns), codes = matrix_of(1, rows, program->tail == EMU_TAIL_DROP ? columns : padded), levels[16];
    uint64_t counts[256] = {0}, *workspace;
    size_t words = 0;
    FILE *file = fopen(${JSON.stringify(HELD.file.name)}, "rb");
    if (!file || fseek(file, ${at}, SEEK_SET) || fread(x.codes, ${bytes}, rows * columns, file) != rows * columns)
        return EMU_ERROR_NULL;
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        levels[i] = matrix_of(8, level->rows ? rows / (size_t)level->rows : 1, level->columns ? padded / (size_t)level->columns : 1);
    }
    int32_t error = emu_count_workspace(program, columns, &words);
    if (error || !(workspace = malloc(words * 8)))
        return error ? error : EMU_ERROR_SPACE;
    error = emu_quantize(program, emu_find_format("${format}"), &x, NULL, NULL, NULL, &codes, levels, workspace, words);
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
  guarded(() => { const text = make(now.name, now.state); copied = text; navigator.clipboard?.writeText(text); });
}
let copied = ""; // what was copied last
