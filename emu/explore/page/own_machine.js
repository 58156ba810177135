// own_machine.js: a datapath of a descriptor in Dot, beside those of the page that take the same operands.
const isOwnMachine = name => own.datapaths.some(({id}) => id === name.split("/")[0]);
/** The names of a datapath of a descriptor with its operands chosen: a choice is named where there are several. */
function namesOf({id, lines}) {
  const chosen = lines.slice(lines.findIndex(line => line.startsWith("pairs "))).map(line => line.split(" "));
  const all = (kind, text) => { const some = chosen.filter(words => words[0] === kind).map(text); return some.length > 1 ? some.map(item => `/${item}`) : [""]; };
  return all("pair", ([, a, b]) => `${a}x${b}`).flatMap(pair => all("scale", ([, scale]) => scale).flatMap(scale => all("block", ([, size]) => size).map(block => id + pair + scale + block)));
}
/** What a machine takes, in the words of META.machines. */
const kindOf = name => scratch(() => {
  const {a, b, c, scale, block} = machineOf(name);
  return `${nameOf(a)} x ${nameOf(b)}${scale ? `, ${nameOf(scale)} scales per ${block}` : ""}, ${c ? `C ${nameOf(c)}` : "no C"}`;
});
/** The datapaths of levels of the page that a state names: of those C has no tables, and reads a descriptor. Ask inside of scratch(). */
const levelsShipped = ({m1, m2, m3}) => [...new Set([m1, m2, m3].filter(name => name !== "none" && !isOwnMachine(name) && !machineOf(name).fused).map(name => name.split("/")[0]))];
let machines = null;
/** The machines of the descriptor and of the page: [what they take, names], those of the descriptor first. */
const machinesHere = () => machines ??= (() => {
  const groups = new Map(META.machines.map(([kind, names]) => [kind, own.datapaths.length ? names.filter(name => !isOwnMachine(name)) : names]));
  for (const name of own.datapaths.flatMap(namesOf).reverse()) groups.set(kindOf(name), [name, ...(groups.get(kindOf(name)) || [])]);
  return [...groups].sort(([, x], [, y]) => Number(isOwnMachine(y[0] || "")) - Number(isOwnMachine(x[0] || "")));
})();
const startOfMachine = ({m1}) => startOf("datapaths", objectCalled("datapaths", m1.split("/")[0]));
/** What a new descriptor changes: machine 1 is of it, what was machine 1 is machine 2 where it takes the same; other operands only where they must be. */
function changeOfMachine(state, before) {
  const mine = own.datapaths.flatMap(namesOf), known = machineNames();
  const m1 = mine.includes(state.m1) ? state.m1 : mine.find(name => kindOf(name) === before) || mine[0] || [state.m1, state.m2].find(name => known.includes(name) && !mine.length) || DOT.m1;
  if (before ? kindOf(m1) !== before : m1 !== state.m1) return {...otherOperands(m1), m2: machinesLike(m1).find(name => name !== m1) || "none", m3: "none"};
  const like = machinesLike(m1), fits = name => name !== m1 && like.includes(name);
  return {m1, m2: [state.m1, state.m2, ...like].find(fits) || "none", m3: fits(state.m3) && state.m3 !== state.m1 ? state.m3 : "none"};
}
changeOfMachine.before = ({m1}) => { try { return kindOf(m1); } catch (error) { if (error instanceof Refusal) return ""; throw error; } };
/** Why Dot has no use for a descriptor; "": it has. */
const missingMachine = () => own.datapaths.length ? "" : "no datapath in it: write one with emu export descriptor datapath/ID";
