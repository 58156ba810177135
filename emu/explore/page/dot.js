// dot.js: one dot product through up to three machines, stage by stage; what they lose, where they part, the smallest row that parts them.
const DOT = {m1: "hopper_fp8/e4m3xe4m3", m2: "ada_fp8/e4m3xe4m3", m3: "blackwell_f8f6f4/e4m3xe4m3",
  a: "7E380838" + "00".repeat(60), b: "38380138" + "00".repeat(60), sa: "", sb: "", c: "", acc: "", words: "",
  split: "1", parts: "consecutive", direction: "ascending", combine: "ascending", turn: "0", own: ""};
const C_OVERFLOW = 14; // EMU_ERROR_OVERFLOW
const SPECIAL = ["", "", "", "infinity", "NaN"]; // by EMU_INFINITE, EMU_NAN
const [C_ALIGNED, C_ADDED, C_REALIGNED, C_LAST] = [0, 1, 2, 3], PROMOTE = 3, START_C = 2;
const machineNames = () => machinesHere().flatMap(([, names]) => names);
/** The machines that take the same operands as one: codes of the same formats, scales and C. */
const machinesLike = name => (machinesHere().find(([, names]) => names.includes(name)) || refuse(`datapath ${name}: no such machine in this page`))[1];

/**
 * A machine and what C says of it. It lies in memory that is taken back: ask inside of scratch().
 * @param {string} name id and choices, as emu writes them: hopper_fp8/e4m3xe4m3
 */
function machineOf(name) {
  const text = word(name), mine = own.datapaths.find(({id}) => id === name.split("/")[0]), from = libraryOf(mine), fused = mine?.words[0] === "levels" ? 0 : C.ex_fused(from, text), at = fused || C.ex_levels(from, text) || refuse(`datapath ${name}: no such machine in this page`);
  if (fused) checked(C.ex_fused_facts(at, OUT)); else C.ex_levels_facts(at, OUT);
  const [a, b, scale, c, d, k, block, levels, ...more] = numbersAt(OUT, 18).map(Number);
  const facts = fused ? {step: more[0], group: more[1], cKind: more[2], apply: more[3], frac: more[4], integer: more[5], floor: more[6] ? more[7] : null, bits: more[2] === C_LAST ? more[8] : 0, unit: more[9]}
    : {scalesProducts: more[0], outPlusC: more[1], flags: more[2]};
  return {name, at, fused: Boolean(fused), a, b, scale, c, d, k, block, levels, ...facts};
}

/** Codes of a format, out of hex digits in one string (element 0 first, as emu prints them) or of numbers in a list. */
function codesOf(text, format, name) {
  const id = nameOf(format), {width} = factsOf(format), digits = Math.ceil(width / 4), words = wordsOf(text);
  const packed = words.map(item => item.replace(/^0x/i, "")).join("").replace(/_/g, "");
  if (!words.some(item => /[.+-]/.test(item)) && !/[[(,]/.test(text) && /^[0-9a-f]*$/i.test(packed)) {
    if (packed.length % digits) refuse(`${name}: ${packed.length} hex digits: each ${id} code takes ${digits}, element 0 first`);
    return (packed.match(new RegExp(`.{${digits}}`, "g")) || []).map(item => parseHex("0x" + item, width, name));
  }
  return words.map(item => /^0x/i.test(item) ? parseHex(item, width, name) : codeOfDecimal(item, id));
}

/** The row that a state says, for one machine: codes of A, B, scales, C and random integers. */
function rowOf(state, machine) {
  const a = codesOf(state.a, machine.a, "a"), b = codesOf(state.b, machine.b, "b");
  if (a.length !== b.length) refuse(`a has ${a.length} elements and b ${b.length}: give as many`);
  if (!a.length || a.length % machine.k) refuse(`${machine.name}: ${a.length} elements: give a multiple of ${machine.k}`);
  if (a.length > 512) refuse(`${a.length} elements: at most 512 are shown`);
  if (machine.block && a.length % machine.block) refuse(`${machine.name}: ${a.length} elements: give a multiple of ${machine.block}, which share a scale`);
  const blocks = machine.block ? a.length / machine.block : 0, scales = (text, name) => {
    if (!machine.scale) return [];
    const found = text.trim() ? codesOf(text, machine.scale, name) : Array(blocks).fill(oneOf(machine.scale));
    return found.length === blocks ? found : refuse(`${name}: ${found.length} scales: ${machine.name} takes ${blocks}, one for ${machine.block} elements`);
  };
  const sa = scales(state.sa, "scales of a"), sb = scales(state.sb, "scales of b"), c = machine.c ? state.c.trim() ? codesOf(state.c, machine.c, "c") : [0n] : [];
  if (machine.c && c.length !== 1) refuse(`c: ${c.length} codes: give one`);
  return turned({a, b, sa, sb, c: machine.c ? c[0] : null, held: registerOf(state, machine)}, state, machine);
}
/** What the register of a machine holds before the row, in its units; 0n: it is empty, or there is none. */
function registerOf({acc}, {name, bits}) {
  const text = acc.trim();
  if (!text) return 0n;
  if (!bits) refuse(`${name} has no register that goes on from row to row: leave the register out`);
  if (!/^(0x)?[0-9a-f]+$/i.test(text) || BigInt(`0x${text.replace(/^0x/i, "")}`) >> BigInt(bits)) refuse(`register ${text}: write ${bits} bits as hex digits, two's complement`);
  return BigInt.asIntN(bits, BigInt(`0x${text.replace(/^0x/i, "")}`));
}
/** Refuse to copy what nothing else takes: a chain whose register is not empty. */
const refuseHeld = ({acc}, what) => { if (/[1-9a-f]/i.test(acc.replace(/^0x/i, ""))) refuse(`Copy ${what}: a register that is not empty goes into rows: copy the row or the command`); };
/** The code of 1 in a format of scales. */
function oneOf(format) {
  const {width} = factsOf(format);
  for (let code = 0n; width <= 8 && code < 1n << BigInt(width); code++) {
    const value = decode(format, code);
    if (isFinite_(value) && compare(dyadic(value), {n: 1n, e: 0}) === 0) return code;
  }
  return codeOfDecimal("1", nameOf(format));
}
/** The row with its elements (its blocks, where there are scales) turned round: the same products in another order. */
function turned(row, state, machine) {
  const unit = machine.block || 1, turn = whole(state.turn, "turn", 0, 511) % (row.a.length / unit), round_ = (codes, by) => [...codes.slice(by), ...codes.slice(0, by)];
  return {...row, a: round_(row.a, turn * unit), b: round_(row.b, turn * unit), sa: round_(row.sa, turn), sb: round_(row.sb, turn)};
}
const placeCodes = codes => codes.length ? place(new Uint8Array(new BigUint64Array(codes).buffer)) : 0;
const placeWide = number => place(new Uint8Array(new BigUint64Array(Array.from({length: 20}, (_, i) => unsigned(number >> BigInt(64 * i)))).buffer));
const limbsAt = at => new BigUint64Array(C.memory.buffer, at, 20).reduce((sum, limb, i) => sum | limb << BigInt(64 * i), 0n);
const wideAt = at => BigInt.asIntN(1280, limbsAt(at));

/** Products of a row, exactly, with their scales; null where an operand is no finite number. */
function productsOf(row, machine) {
  const value = (format, code) => { const found = decode(format, code); return isFinite_(found) ? dyadic(found) : null; };
  return row.a.map((code, i) => {
    const block = machine.block ? Math.trunc(i / machine.block) : 0, scales = machine.scale ? [value(machine.scale, row.sa[block]), value(machine.scale, row.sb[block])] : [];
    const all = [value(machine.a, code), value(machine.b, row.b[i]), ...scales];
    return all.includes(null) ? null : {plain: times(all[0], all[1]), scaled: all.reduce(times)};
  });
}
/** A code as what is shown of it. */
const codeIn = (format, code) => { const value = decode(format, code); return {code: hex(code, factsOf(format).width), value: shortText(value)}; };

/** One chain of a fused machine, traced. */
function runFused(machine, row) {
  const at = placeCodes([...row.a]), given = [at, placeCodes(row.b), placeCodes(row.sa), placeCodes(row.sb), placeCodes([row.c])];
  checked(C.ex_dot(machine.at, ...given, row.a.length, 1, OUT));
  const [code, open, stages] = numbersAt(OUT, 3), products = productsOf(row, machine), steps = [];
  let before = row.c;
  for (let i = 0; i < row.a.length / machine.step && !open; i++) {
    steps.push(fusedStep(machine, Number(stages), i, before, row, products));
    before = steps.at(-1).raw;
  }
  if (!machine.bits || open || steps[0].special) return {code: unsigned(code), open: Boolean(open), steps};
  const ends = steps.filter(({last}) => (last + 1) % machine.k === 0).map(({total}) => { // of each instruction, as if the chain ended there
    const error = C.ex_read_out(machine.at, placeWide(total), row.c, OUT);
    return error === C_OVERFLOW ? null : (checked(error), unsigned(numbersAt(OUT, 1)[0]));
  }), holds = ends.every(end => end !== null), after = steps.at(-1).total;
  return {code: holds ? ends.at(-1) : 0n, open: !holds, steps, register: holds ? {code: hex(BigInt.asUintN(machine.bits, after), machine.bits), value: dyadicText({n: after, e: machine.unit})} : null};
}
/** One fused step, as C's stages say it. before: the code that takes the place of C. */
function fusedStep(machine, stages, number, before, row, products) {
  C.ex_stage(stages, number, OUT);
  const [count, special, exp, lsb, part, scale, term, raw, ...rest] = numbersAt(OUT, 18), first = number * machine.step, last = machine.cKind === C_LAST;
  const step = {number, first, last: first + machine.step - 1, special: SPECIAL[Number(special)], raw: unsigned(raw), terms: [], lsb: null, exp: null, notes: []};
  if (!last) step.c = codeIn(machine.c, before);
  const say = (name, code) => step.notes.push([name, codeIn(machine.d, unsigned(code))]);
  if (machine.apply === PROMOTE) { say("sum of the products", part); say("product of the scales", scale); say("the one times the other", term); }
  if (!special && machine.apply !== PROMOTE) {
    step.lsb = Number(lsb);
    if (!last && machine.frac >= 0) step.exp = Number(exp);
    step.terms = Array.from({length: Number(count)}, (_, i) => fusedTerm(machine, stages, step, i, row, products));
    step.total = wideAt(Number(rest[9])) + (machine.bits ? row.held : 0n);
    step.totalText = dyadicText({n: step.total, e: step.lsb});
    if (machine.cKind === C_ALIGNED || machine.cKind === C_REALIGNED) {
      const value = decode(machine.c, before), aligned = wideAt(Number(rest[8]));
      step.alignedC = aligned;
      if (isFinite_(value)) step.cLine = {label: "C", number: dyadic(value), aligned, lost: dyadicText(minus(dyadic(value), {n: aligned, e: step.lsb}))};
    }
    if (machine.cKind === C_REALIGNED) step.parts = rest.slice(0, 8).map(String);
    if (machine.cKind === C_ADDED) say("sum of the products", part);
  }
  if (!last) { step.result = codeIn(machine.d, step.raw); step.lost = lostBy(step, machine); }
  return step;
}
/** What rounding to D loses of the sum; empty where the sum is not what is rounded. */
function lostBy(step, machine) {
  const value = decode(machine.d, step.raw);
  if (step.total === undefined || machine.cKind === C_ADDED || !isFinite_(value)) return "";
  return dyadicText(minus({n: step.total, e: step.lsb}, dyadic(value)));
}
function fusedTerm(machine, stages, step, i, row, products) {
  C.ex_term(stages, step.number, i, OUT);
  const [significand, sum, exp, lsb, live, at] = numbersAt(OUT, 6), size = machine.group, first = step.first + i * size;
  const number = {n: significand, e: Number(lsb)}, whole_ = machine.cKind === C_REALIGNED;
  const aligned = whole_ ? null : wideAt(Number(at)), from = products.slice(first, first + size);
  const made = from.map((one, k) => one && one.plain.n ? `${dyadicText(dyadic(decode(machine.a, row.a[first + k])))} × ${dyadicText(dyadic(decode(machine.b, row.b[first + k])))}` : "").filter(Boolean);
  return {label: size > 1 ? `${first}–${first + size - 1}` : `${first}`, number, value: dyadicText(number), made, sum: String(sum), exp: Number(exp), live: Boolean(live), aligned,
    lost: aligned === null ? "" : dyadicText(minus(number, {n: aligned, e: step.lsb}))};
}

/** Chains of instructions along K, as emu.Order makes them. */
function chainsOf(state, machine, count) {
  const split = whole(state.split, "split", 1, 512), all = Array.from({length: count}, (_, i) => i);
  if (split > 1 && (!machine.fused || machine.cKind === C_LAST)) refuse(`${machine.name} runs through the whole of K: split must be 1`);
  if (split > count) refuse(`split ${split}: ${machine.name} has ${count} instruction${count > 1 ? "s" : ""} along K`);
  const edge = part => Math.trunc(part * count / split);
  const chains = Array.from({length: split}, (_, part) => state.parts === "interleaved" ? all.filter(i => i % split === part) : all.slice(edge(part), edge(part + 1)));
  return state.direction === "descending" ? chains.map(chain => chain.reverse()) : chains;
}
/** The instructions of one chain, as a row. */
function taken(row, machine, chain) {
  const {k, block} = machine, all = chain.every((item, i) => item === i) && chain.length === row.a.length / k;
  if (!all && block > k) refuse(`${machine.name}: a block of ${block} reaches over instructions of ${k}: only one ascending chain can take it`);
  const some = (codes, size) => all ? codes : chain.flatMap(i => codes.slice(i * size, (i + 1) * size));
  return {...row, a: some(row.a, k), b: some(row.b, k), sa: some(row.sa, k / block), sb: some(row.sb, k / block)};
}
/** A machine on the row of a state: every chain, and the sums that join them. */
function runMachine(name, state) {
  const machine = machineOf(name), row = rowOf(state, machine), chains = chainsOf(state, machine, row.a.length / machine.k), joins = [];
  const out = {name, k: machine.k, instructions: row.a.length / machine.k, fused: machine.fused, splits: machine.fused && machine.cKind !== C_LAST, row, machine, exact: exactOf(row, machine)};
  if (!machine.fused) return finished({...out, ...runLevels(machine, taken(row, machine, chains[0]), state)}, machine);
  const runs = chains.map((chain, i) => ({chain, ...runFused(machine, {...taken(row, machine, chain), c: i ? 0n : row.c})}));
  let left = runs.map(run => run.code), open = runs.some(run => run.open);
  const join = (x, y) => {
    checked(C.ex_join(machine.at, x, y, OUT));
    const sum = unsigned(numbersAt(OUT, 1)[0]);
    joins.push([codeIn(machine.d, x), codeIn(machine.d, y), codeIn(machine.d, sum)]);
    return sum;
  };
  while (left.length > 1 && !open) left = state.combine === "pairwise"
    ? Array.from({length: Math.ceil(left.length / 2)}, (_, i) => 2 * i + 1 < left.length ? join(left[2 * i], left[2 * i + 1]) : left[2 * i])
    : [join(left[0], left[1]), ...left.slice(2)];
  return finished({...out, chains: runs, joins, raw: left[0], open}, machine);
}
/** What every machine says at the end: D, its value, how far it is from the exact sum. */
function finished(run, machine) {
  const value = run.open ? null : decode(machine.d, run.raw);
  run.d = run.open ? "open" : hex(run.raw, factsOf(machine.d).width);
  run.value = run.open ? "open" : shortText(value);
  run.register = run.chains?.[0].register || null;
  run.error = run.exact && value && isFinite_(value) ? dyadicText(minus(dyadic(value), run.exact)) : "";
  return run;
}
/** The sum of all products and C, with nothing lost; null where an operand is no finite number. */
function exactOf(row, machine) {
  const products = productsOf(row, machine), c = row.c === null ? null : decode(machine.c, row.c);
  if (products.includes(null) || c && !isFinite_(c)) return null;
  return products.reduce((sum, item) => plus(sum, item.scaled), plus(c ? dyadic(c) : {n: 0n, e: 0}, {n: row.held, e: row.held ? machine.unit : 0}));
}

/** A number of a stage of levels. */
function stageNumber(stages, place_) {
  C.ex_number(stages, place_, OUT);
  const [special, sign, negative, live, exp, lsb, at] = numbersAt(OUT, 7).map(Number);
  if (special) return {text: SPECIAL[special] === "NaN" ? "NaN" : sign ? "-infinity" : "infinity", number: null};
  const magnitude = limbsAt(at), number = {n: sign ? -magnitude : magnitude, e: lsb};
  return {number, exp, live: Boolean(live), text: !magnitude && negative ? "-0" : dyadicText(number)};
}
/** A machine of levels on a row: every stage that C keeps. */
function runLevels(machine, row, state) {
  const k = row.a.length;
  checked(C.ex_draws(machine.at, k, OUT));
  const draws = Number(numbersAt(OUT, 1)[0]), random = Array(draws).fill(0);
  wordsOf(state.words).slice(0, draws).forEach((text, i) => { random[i] = Number(parseHex("0x" + text.replace(/^0x/i, ""), 32, "random words")); });
  const words = draws ? place(new Uint8Array(new Uint32Array(random).buffer)) : 0, c = row.c === null ? 0 : placeCodes([row.c]);
  const error = C.ex_dot_levels(machine.at, placeCodes(row.a), placeCodes(row.b), placeCodes(row.sa), placeCodes(row.sb), c, words, k, 1, OUT);
  const [code, flags, stages, known] = numbersAt(OUT, 4);
  if (![8, 9, 14].includes(error)) checked(error);
  const stage = (level, node, addition = -1) => {
    checked(C.ex_find_stage(machine.at, k, level, node, addition, OUT));
    const at = Number(numbersAt(OUT, 1)[0]);
    return new Uint8Array(C.memory.buffer)[Number(known) + at] ? stageNumber(Number(stages), at) : null;
  };
  const addend = machine.c ? decode(machine.c, row.c) : null, out = {raw: unsigned(code), open: Boolean(error), flags: Number(flags), draws, levels: [], products: []};
  out.products = row.a.map((_, i) => stage(0, i));
  for (let level = 1; level <= machine.levels; level++) out.levels.push(levelOf(machine, row, level, stage, addend));
  if (!error && machine.outPlusC) out.outPlusC = shortText(addend);
  if (error) out.openWhy = ERRORS[error];
  return out;
}
/** One level: what came into each addition, what it left. */
function levelOf(machine, row, level, stage, addend) {
  const k = row.a.length, name = textAt(C.ex_level(machine.at, k, level, OUT)), [of, nodes, additions, by, start, plusC, aligns, scales] = numbersAt(OUT, 8).map(Number);
  const below = level === 1 ? "product" : textAt(C.ex_level(machine.at, k, level - 1, OUT)), out = {name, of, aligns: Boolean(aligns), nodes: []};
  for (let node = 0; node < nodes; node++) {
    const children = Array.from({length: of}, (_, i) => C.ex_child(machine.at, k, level, node, i)), inside = children.map(child => stage(level - 1, child)), left = stage(level, node), lots = [];
    const c = addend && isFinite_(addend) ? {number: dyadic(addend), text: shortText(addend)} : addend && {number: null, text: shortText(addend)};
    for (let turn = 0; turn < Math.max(additions, 1); turn++) {
      const some = additions ? inside.slice(turn * by, (turn + 1) * by) : inside, running = additions ? turn ? stage(level, node, turn - 1) : start === START_C ? c : null : plusC ? c : null;
      const came = [...(running ? [running] : []), ...some.filter(Boolean)], known = some.every(Boolean) && came.every(item => item.number);
      const exact = known ? came.reduce((sum, item) => plus(sum, item.number), {n: 0n, e: 0}) : null, made = additions ? stage(level, node, turn) : scales ? null : left;
      const names = children.slice(additions ? turn * by : 0, additions ? (turn + 1) * by : of).filter((_, i) => some[i] && !(some[i].number && !some[i].number.n)).map(child => `${below}_${child}`);
      lots.push({running: running ? running.text : "", names, exact: exact && dyadicText(exact), left: made ? made.text : "", lost: exact && made && made.number ? dyadicText(minus(exact, made.number)) : ""});
    }
    out.nodes.push({name: `${name}_${node}`, lots, left: left ? left.text : "", zero: inside.every(item => item && item.number && !item.number.n)});
  }
  return out;
}

/** What is said of a dot product: text(), the page and the links show this. */
function dotOf(state) {
  const names = [state.m1, state.m2, state.m3].filter(name => name && name !== "none"), like = machinesLike(state.m1);
  names.forEach(name => { if (!like.includes(name)) { machinesLike(name); refuse(`${name} takes other operands than ${state.m1}: choose one of its kind`); } });
  if (state.acc.trim() && new Set(names.map(name => scratch(() => { const {bits, unit} = machineOf(name); return `${bits} ${unit}`; }))).size > 1) refuse("register: the machines have other ones: choose one machine, or leave the register out");
  const runs = names.map(name => scratch(() => { const run = runMachine(name, state); delete run.row; delete run.machine; return run; }));
  const exact = runs[0].exact ? dyadicText(runs[0].exact) : "", same = runs.every(run => run.d === runs[0].d);
  const says = runs.map(run => `${run.name} gives ${run.open ? "a result that nobody knows" : `${run.d}, which is ${run.value}`}${run.error ? run.error === "0" ? ": exact" : `: an error of ${run.error}` : ""}`);
  const parted = same || runs.length < 2 ? "" : ` ${whereTheyPart(runs[0], runs.find(run => run.d !== runs[0].d))}`;
  const held = runs[0].register ? ` The register holds ${runs[0].register.code} after it${state.acc.trim() ? `, and held ${state.acc.trim()} before` : ""}.` : "";
  const sentence = (exact ? `The exact sum is ${exact}. ` : "An operand is no finite number. ") + `${says.join("; ")}.` + (runs.length < 2 ? "" : same ? " They agree." : parted) + held;
  return {runs, exact, same, sentence, instructions: Math.min(...runs.map(run => run.instructions)), splits: runs.every(run => run.splits)};
}
/** The first loss that a sentence names, of a machine: its words and how large it is. */
function firstLoss(run) {
  if (!run.fused) {
    for (const level of run.levels) for (const node of level.nodes) for (const lot of node.lots) {
      if (lot.lost && lot.lost !== "0") return `${node.name} loses ${lot.lost} of ${lot.exact}`;
    }
    return "";
  }
  for (const chain of run.chains) for (const step of chain.steps) {
    const term = [...step.terms, ...(step.cLine ? [step.cLine] : [])].find(item => item.lost && item.lost !== "0");
    if (term) return `step ${step.number} shifts ${term.lost} out of ${term.label === "C" ? "C" : `term ${term.label}`}`;
    if (step.lost && step.lost !== "0") return `step ${step.number} rounds ${step.lost} away`;
  }
  return run.joins.length ? "it joins parts of K" : "";
}
function whereTheyPart(a, b) {
  const [x, y] = [firstLoss(a), firstLoss(b)];
  return `${a.name}: ${x || "nothing is lost before D"}; ${b.name}: ${y || "nothing is lost before D"}.`;
}

/** Commands that say the same in a terminal, of each machine: of one of the descriptor, and of one descending chain, the rows that emu_ref fills; of several chains the copied Python. */
function dotShell(state) {
  if (state.split !== "1") return shellOfPython("dot", state);
  return [state.m1, state.m2, state.m3].filter(id => id !== "none").map(id => scratch(() => {
    if (isOwnMachine(id) || state.direction !== "ascending" || state.acc.trim()) return (isOwnMachine(id) || machineOf(id).fused) && fillShell("dot", {...state, m1: id}, isOwnMachine(id)) || shellOfPython("dot", {...state, m1: id, m2: "none", m3: "none"}) + "\n:";
    const machine = machineOf(id), row = rowOf(state, machine), text = stateOfRow(row, machine);
    const given = [["a", text.a], ["b", text.b], ["sa", text.sa], ["sb", text.sb], ["c", text.c], ["words", wordsDrawn(state, machine, row.a.length).map(word_ => word_.toString(16)).join(",")]].filter(([, value]) => value);
    return `emu explain dot ${id} ${given.map(([name, value]) => `--${name} ${value}`).join(" ")}`;
  })).join(" && ");
}
