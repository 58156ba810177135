// tv.js: rows of .tv files: the columns of a contract and whole rows are made by the files of the command emu_ref.
const ROLES = ["pad", "in", "r"]; // of tool.h, the first of them: what is given
/** The columns of a contract, in their order: name, whether it goes in, lanes, bits of a lane, hex digits. It is the one that rows are made of then. */
function contractColumns({what, source, result}) {
  if (C.ex_contract(own.at || library, word(what), source ? word(source) : 0, result ? word(result) : 0)) refuse(textAt(C.ex_row_says()));
  const columns = [];
  for (let name; (name = textAt(C.ex_column(columns.length, OUT))) !== null;) {
    const [role, lanes, bits, digits] = numbersAt(OUT, 4).map(Number);
    columns.push({name, isGiven: ["in", "r"].includes(ROLES[role]), lanes, bits, digits});
  }
  return columns;
}
/** What a room says as rows of its contract: {text, inputs} of each, the whole row and what goes in. rows: of each a function of the columns of the row before, null for the first, and of the bits of a column, that gives {column: lanes}. */
const rowsMade = contract => scratch(() => {
  if (contract.tile) refuseLarge(...contract.tile);
  const columns = contractColumns(contract), bitsOfColumn = name => columns.find(column => column.name === name)?.bits || 0;
  let before = null;
  return contract.rows.map(give => {
    const given = give(before, bitsOfColumn);
    columns.forEach((column, i) => {
      const lanes = given[column.name] || [];
      if (!column.isGiven) return;
      if (lanes.length !== column.lanes) refuse(`a row of ${contract.what} has ${column.lanes} codes in ${column.name}, and here are ${lanes.length}`);
      if (C.ex_put(i, word(wordOf(lanes, column)))) refuse(`a row of ${contract.what} has ${column.bits} bits for a code in ${column.name}`);
    });
    checked(C.ex_row());
    const text = textAt(C.ex_row_text()), words = text.trim().split(" ").slice(1);
    before = Object.fromEntries(columns.map((column, i) => [column.name, lanesIn(words[i], column)]));
    return {text, inputs: ["a", ...words.filter((_, i) => columns[i].isGiven)].join(" ")};
  });
});
/** What a room says as rows, by its name. */
const CONTRACTS = {
  block: state => ({what: `quantize/${state.a}`, source: takenOf(state).from, rows: blockRows(state, state.a, inputsOf).map(words => () => Object.fromEntries(words.map(({column, text}) => [column.name, lanesIn(text, column)])))}),
  number: state => ({what: `convert/${state.to}/${state.round}/${state.policy}`, source: state.from, rows: [() => ({x: [parseHex(state.code, factsOf(formatOf(state.from)).width, "code")], r: [drawnOf(state)?.integer ?? 0n]})]}),
  dot: contractOfDot,
  layout: contractOfLayout,
  dequantize: contractOfBack,
};
/** One chain of instructions after the other: of each the C that it begins with, or the register. */
function contractOfDot(state) {
  const machine = machineOf(state.m1), row = rowOf(state, machine), codes = {a: row.a, b: row.b, sa: row.sa, sb: row.sb};
  if (!machine.fused) { // the words that are not given are 0
    const given = wordsOf(state.words).map(text => BigInt("0x" + text.replace(/^0x/i, "")));
    checked(C.ex_draws(machine.at, row.a.length, OUT));
    const draws = Number(numbersAt(OUT, 1)[0]);
    const short_ = contractColumns({what: `dot/${state.m1}`}).find(({name}) => name === "a").lanes;
    return {what: `${short_ < row.a.length ? "accumulate" : "dot"}/${state.m1}`, rows: [(_, bits) => ({...codes, c: [row.c ?? 0n], r: Array.from({length: draws}, (__, i) => BigInt.asUintN(bits("r"), given[i] ?? 0n))})]};
  }
  const count = row.a.length / machine.k, isRegister = machine.bits && (count > 1 || row.held);
  const rows = chainsOf(state, machine, count).flatMap((chain, part) => chain.map((number, i) => before => {
    const {a, b, sa, sb} = taken(row, machine, count > 1 ? [number] : chain), begin = part ? 0n : row.c;
    return {a, b, sa, sb, first: [BigInt(i === 0 && !row.held)], last: [BigInt(i === chain.length - 1)], c: isRegister || !i ? [begin] : before.d, acc_in: i ? before.acc : [BigInt.asUintN(machine.bits, row.held)]};
  }));
  return {what: `${isRegister ? "accumulate" : "dot"}/${state.m1}`, rows};
}
function contractOfBack(state) {
  const back = backOf(state), {levels} = back, across = acrossOf(back.facts);
  const rows = tilesOf({facts: {...back.facts, columns: across}, levels}, givenBack(state, back)).map(({codes, sides}) => () => ({codes: filledUp(codes, back.facts), ...Object.fromEntries(levels.map(({name, rows: tall, columns: wide}, i) => [tall || wide ? name : "ts", sides[i]]))}));
  return {what: back.contract, result: state.to, rows, tile: [back.recipe.id, back.facts]};
}
/** Places of the suites: those of a tensor of so many rows and blocks. */
function contractOfLayout(state) {
  const {rows, codes, row, index, scales, tile} = layoutOf_(state), [tall, along] = META.laid;
  const block = rows === tall && objectsOfKind("blocks").find(({lines}) => {
    const [down, across] = lines.find(line => line.startsWith("tile ")).split(" ").slice(1).map(Number);
    return scales ? codes === along && down === tile[0] && across === tile[1] : codes === along * across;
  });
  if (!block) refuse(`rows of layouts are of tensors of ${tall} rows and ${along} blocks in a row: choose rows ${tall} and codes ${scales ? along : `${along} times the elements of a block`}`);
  return {what: `layout/${block.id}/${state.layout}`, rows: [() => ({row: [BigInt(row)], idx: [BigInt(index)]})]};
}
/** Rows of what a room says, as .tv files have them. */
function rowText(name, state) {
  const plain = name === "block" && !isOwnRecipe(state.a);
  try { return plain ? blockRows(state, state.a).map(words => `a ${words.map(({text}) => text).join(" ")}\n`).join("") : name === "tensor" ? worstBlocks(state).map(block => rowText("block", block)).join("") : scratch(() => rowsMade(CONTRACTS[name](state)).map(({text}) => text).join("")); } catch (error) { throw error instanceof Refusal ? new Refusal(`Copy .tv row: ${error.message.replace(/^Copy .tv row: /, "")}`) : error; }
}
/** A command that makes the rows again; "": there are none. */
function fillShell(name, state, isOfDescriptor) {
  return scratch(() => {
    const contract = CONTRACTS[name](state);
    try {
      const lines = rowsMade(contract).map(({inputs}) => inputs);
      return `printf '${lines.join("\\n")}\\n' | emu_ref fill ${contract.what}${contract.source ? ` --source ${contract.source}` : ""}${contract.result ? ` --result ${contract.result}` : ""}${isOfDescriptor ? " --descriptor mine.txt" : ""}`;
    } catch (error) { if (error instanceof Refusal) return ""; throw error; }
  });
}
