// copy.js: what a room shows, as a command, as Python and as C.
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
  if (name === "number" && isOwn(state)) refuse("Copy Python: for objects of the spec: Copy descriptor gives a file that emu_ref and C take");
  if (name === "number") {
    const source = formatOf(state.from), code = parseHex(state.code, factsOf(source).width, "code"), drawn = drawnOf(state);
    return `${head}codes = emu.convert(${arrayOf([code], source)}, "${state.to}", "${state.round}", "${state.policy}", source="${state.from}"${drawn === null ? "" : `, random=np.array([${drawn}], np.uint32)`})\nprint(hex(codes[0]))\n`;
  }
  if (name === "block" && [state.a, state.b].some(isOwnRecipe) || name === "dot" && [state.m1, state.m2, state.m3].some(isOwnMachine)) refuse("Copy Python: for objects of the spec: Copy descriptor gives a file that emu_ref and C take");
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
  return refuse("Copy Python: for numbers, blocks and dot products");
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
  if (name !== "number") refuse("Copy C: for numbers");
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
/** Put a text into the clipboard; what cannot be made is said. */
function copyText(make) {
  guarded(() => { const text = make(now.name, now.state); copied = text; navigator.clipboard?.writeText(text); });
}
let copied = ""; // what was copied last
