// dot_draw.js: the Dot room.
const cellOf = item => `${item.code} (${escape_(item.value)})`;
function termTable(step, run) {
  const rows = step.terms.filter(term => term.number.n !== 0n || term.live);
  if (!rows.length && !step.cLine) return "<p>Every product is 0.</p>";
  const cells = (head, list) => `<tr><th scope="row">${head}</th>${list.map(text => `<td>${text}</td>`).join("")}</tr>`;
  const line = term => cells(term.label, [escape_(term.made.slice(0, 4).join(" + ")) + (term.made.length > 4 ? ` + ${term.made.length - 4} more` : ""), term.value, term.exp + (term.live ? "" : ", not live"),
    term.aligned === null ? "joined below" : String(term.aligned), term.lost && term.lost !== "0" ? `<b class="lost">${term.lost}</b>` : term.lost || ""]);
  const c = step.cLine ? cells("C", ["", dyadicText(step.cLine.number), "", String(step.cLine.aligned), step.cLine.lost !== "0" ? `<b class="lost">${step.cLine.lost}</b>` : "0"]) : "";
  return `<div class="wide" tabindex="0" role="region" aria-label="terms of step ${step.number} of ${escape_(run.name)}"><table><thead><tr><th scope="col">element</th><th scope="col">products</th><th scope="col">term</th><th scope="col">exponent</th><th scope="col">aligned${step.lsb === null ? "" : `, in 2^${step.lsb}`}</th><th scope="col">shifted out</th></tr></thead><tbody>${rows.map(line).join("")}${c}</tbody></table></div>`;
}
function stepBody(step, run) {
  const says = [];
  if (step.c) says.push(["C", cellOf(step.c)]);
  if (step.special) says.push(["decided", `${step.special}, before anything is added`]);
  if (step.exp !== null) says.push(["largest exponent E", String(step.exp)]);
  if (step.total !== undefined) says.push([run.splits ? "sum" : "register", `${step.total} units of 2^${step.lsb} = ${step.totalText}`]);
  if (step.parts) says.push(["sums of the parts", step.parts.filter((_, i) => i < 2 || step.parts[i] !== "0").join(", ")]);
  step.notes.forEach(([name, item]) => says.push([name, cellOf(item)]));
  if (step.result) says.push(["rounded to D", cellOf(step.result) + (step.lost && step.lost !== "0" ? `: <b class="lost">${step.lost}</b> is lost` : step.lost ? ": exact" : "")]);
  return `<h4>Step ${step.number}: elements ${step.first} to ${step.last}</h4>${step.special || !step.terms.length ? "" : termTable(step, run)}${step.special ? "" : lanesOf(step, run.name)}<dl>${says.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join("")}</dl>`;
}
function levelBody(level) {
  const rows = level.nodes.filter(node => !node.zero || node.lots.some(lot => lot.running && lot.running !== "0")).flatMap(node => node.lots.filter(lot => lot.names.length || lot.running && lot.running !== "0" || lot.left && lot.left !== "0").map((lot, i) =>
    `<tr><th scope="row">${escape_(node.name)}${node.lots.length > 1 ? `, addition ${node.lots.indexOf(lot)}` : ""}</th><td>${lot.running}</td><td>${escape_(lot.names.slice(0, 4).join(" + "))}${lot.names.length > 4 ? ` + ${lot.names.length - 4} more` : ""}</td><td>${lot.exact || ""}</td><td>${lot.left || node.left}</td><td>${lot.lost && lot.lost !== "0" ? `<b class="lost">${lot.lost}</b>` : lot.lost}</td></tr>`));
  return `<h4>Level ${escape_(level.name)}: ${level.of} values to one${level.aligns ? ", aligned" : ""}</h4>` + (rows.length ? `<div class="wide" tabindex="0" role="region" aria-label="level ${escape_(level.name)}"><table><thead><tr>${["node", "running value", "terms", "exact sum", "what it leaves", "lost"].map(text => `<th scope="col">${text}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>` : "<p>Every value is 0.</p>");
}
function runBody(run) {
  const end = `<dl><dt>D</dt><dd><b>${run.d}</b> (${escape_(run.value)})</dd>${run.error ? `<dt>from the exact sum</dt><dd>${run.error}</dd>` : ""}${run.register ? `<dt>register after it</dt><dd>${run.register.code} (${escape_(run.register.value)})</dd>` : ""}${run.openWhy ? `<dt>why</dt><dd>${run.openWhy}</dd>` : ""}</dl>`;
  if (!run.fused) {
    const products = run.products.map((item, i) => item && !(item.number && item.number.n === 0n) ? `product_${i} = ${item.text}` : "").filter(Boolean);
    return `${end}<p>Products: ${escape_(products.slice(0, 16).join("; ")) || "all 0"}${products.length > 16 ? ` and ${products.length - 16} more` : ""}.</p>${run.levels.map(levelBody).join("")}${run.outPlusC ? `<p>C = ${run.outPlusC} is added to the last value.</p>` : ""}${run.draws ? `<p>It draws ${run.draws} random integers: those that you give, then 0.</p>` : ""}`;
  }
  const joins = run.joins.map(([x, y, sum]) => `<li>${cellOf(x)} + ${cellOf(y)} = ${cellOf(sum)}</li>`).join("");
  return end + run.chains.map((chain, i) => `${run.chains.length > 1 ? `<h4>Chain ${i}: instructions ${chain.chain.join(", ")}</h4>` : ""}${chain.steps.map(step => stepBody(step, run)).join("")}`).join("") + (joins ? `<h4>Chains joined</h4><ol>${joins}</ol>` : "");
}
const slide = (name, label, state, least, most) => `<label>${label}: ${escape_(state[name])}<input type="range" name="${name}" min="${least}" max="${Math.max(most, least)}" value="${escape_(state[name])}"></label>`;

/** Draw the room. */
function drawDot(state, page) {
  const like = machinesLike(state.m1), optional = ["none", ...like];
  const area = (name, label) => `<label class="whole">${label}<textarea name="${name}" rows="2" spellcheck="false">${escape_(state[name])}</textarea></label>`;
  const machine = scratch(() => machineOf(state.m1)), blocks = Boolean(machine.scale);
  const fields = most => `<form class="fields">${choose("m1", "machine 1", machineNames(), state)}${choose("m2", "machine 2", optional, state)}${choose("m3", "machine 3", optional, state)}` +
    area("a", `a: ${nameOf(machine.a)} codes as hex digits, element 0 first, or [numbers]`) + area("b", `b: ${nameOf(machine.b)}`) + (blocks ? field("sa", "scales of a (empty: 1)", state.sa, "hex") + field("sb", "scales of b (empty: 1)", state.sb, "hex") : "") +
    (machine.c ? field("c", `C: ${nameOf(machine.c)} (empty: 0)`, state.c, "hex") : "") + (machine.bits ? field("acc", `register before, ${machine.bits} bits (empty: 0)`, state.acc, "hex") : "") + (machine.fused ? "" : field("words", "random words (hex)", state.words, "hex")) +
    (most.splits ? slide("split", "split of K", state, 1, most.instructions) : "") + (most.instructions > 1 ? choose("direction", "order", ["ascending", "descending"], state) : "") +
    (most.splits && most.instructions > 1 ? choose("parts", "parts", ["consecutive", "interleaved"], state) + choose("combine", "joined", ["ascending", "pairwise"], state) : "") + slide("turn", `${blocks ? "blocks" : "elements"} turned round by`, state, 0, most.units - 1) +
    `<p><button type="button" id="part-them">Find a small row where machines 1 and 2 differ</button></p></form>`;
  let told = null, refused = null;
  try { told = dotOf(state); } catch (error) { if (!(error instanceof Refusal)) throw error; refused = error; }
  const count = scratch(() => { try { return codesOf(state.a, machine.a, "a").length; } catch { return machine.k; } });
  page.innerHTML = fields({splits: machine.fused && machine.cKind !== C_LAST, instructions: Math.max(Math.trunc(count / machine.k), 1), units: Math.max(Math.trunc(count / (machine.block || 1)), 1)}) + (told ?
    `<p id="sentence" role="status">${escape_(told.sentence)}</p><h2>Stage by stage</h2><div class="halves machines">${told.runs.map((run, i) => `<section class="half" aria-labelledby="run${i}"><h3 id="run${i}">${escape_(run.name)}</h3>${runBody(run)}</section>`).join("")}</div>` : "") + ownForm(state);
  bindOwn(page, state);
  page.querySelector("#part-them").addEventListener("click", () => guarded(partThem));
  if (refused) throw refused;
}
/** Put a small row where the first two machines differ into the page. */
function partThem() {
  const {m1, m2} = now.state;
  if (m2 === "none" || m1 === m2) refuse("choose another machine 2 first");
  const found = smallestDifference(m1, m2) || refuse(`no row was found where ${m1} and ${m2} differ: they may compute the same`);
  go(found.state, "#part-them");
}
/** What changes with the first machine: the others, and operands that have other codes. */
function otherMachine(state, m1) {
  const like = machinesLike(m1), changes = {m1, ...(scratch(() => machineOf(m1)).bits ? {} : {acc: ""})};
  if (like.includes(state.m1)) return changes;
  return {...otherOperands(m1), m2: like.find(name => name !== m1) || "none", m3: "none"};
}
/** A row of ones for a machine. */
const otherOperands = m1 => scratch(() => {
  const machine = machineOf(m1), ones = format => hex(codeNearOne(format), factsOf(format).width).slice(2).repeat(Math.max(machine.k, machine.block));
  return {m1, a: ones(machine.a), b: ones(machine.b), sa: "", sb: "", c: "", acc: "", words: "", split: "1", turn: "0"};
});
/** The code of 1, or of the smallest value where the format has no 1. */
const codeNearOne = format => codeOfValue(format, {n: 1n, e: 0}) ?? tellingCodes(format)[0];
