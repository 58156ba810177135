// app.js: rooms, the state behind the # of the address, and what all rooms share.
const OWN = globalThis.document ? document.currentScript.textContent : "";
const ROOMS = {
  number: {title: "Number", start: NUMBER, compute: numberOf, draw: drawNumber},
  block: {title: "Block", start: BLOCK, compute: blockOf, draw: drawBlock},
  dot: {title: "Dot", start: DOT, compute: dotOf, draw: drawDot},
  layout: {title: "Layout", start: LAYOUT, compute: layoutOf_, draw: drawLayout},
  dequantize: {title: "Dequantize", start: DEQUANTIZE, compute: dequantizeOf, draw: drawDequantize},
  tensor: {title: "Tensor", start: TENSOR, compute: tensorOf, draw: drawTensor},
};
const escape_ = text => text.replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`);
function choose(name, label, ids, state) {
  const all = ids.includes(state[name]) ? ids : [state[name], ...ids];
  return `<label>${label}<select name="${name}">${all.map(id => `<option${id === state[name] ? " selected" : ""}>${escape_(id)}</option>`).join("")}</select></label>`;
}
const field = (name, label, text, mode) =>
  `<label>${label}<input name="${name}" value="${escape_(text)}" inputmode="${mode === "hex" ? "text" : mode}" autocomplete="off" spellcheck="false"></label>`;

function stateOf(hash) { // the room, its state, and the digest of the spec that the link was made with
  const [name, words = ""] = hash.replace(/^#/, "").split("?"), room_ = name in ROOMS ? name : "block", given = new URLSearchParams(words), state = {...ROOMS[room_].start};
  for (const key of Object.keys(state)) if (given.has(key)) state[key] = given.get(key);
  return {name: room_, state, digest: given.get("spec"), named: [...given.keys()]};
}
/** The objects of the spec that fields of a room name, in the order of META.objects: [id, first digits of the digest of its facts]. */
function objectsOf(name, state, fields) {
  return Object.entries(META.objects[name] || {}).filter(([field_]) => fields.includes(field_) && state[field_] !== "none")
    .map(([field_, kind]) => { const id = state[field_].split("/")[0]; return [id, META.digests[kind][id] || "-".repeat(8)]; });
}
const hashOf = (name, state) => `#${name}?${new URLSearchParams({...state, spec: objectsOf(name, state, Object.keys(state)).map(([, digest]) => digest).join("")})}`;
/** What a link made with other facts says; empty where all that it names has the facts of this page. */
function olderFacts({name, state, digest, named}) {
  if (!digest) return "";
  const objects = objectsOf(name, state, named), size = objects.length ? objects[0][1].length : 0;
  const changed = objects.filter(([, here], i) => digest.slice(i * size, (i + 1) * size) !== here).map(([id]) => id);
  return changed.length || digest.length !== objects.length * size ? `This link was made with other facts of ${[...new Set(changed)].join(", ") || "the spec"}: numbers may differ.` : "";
}
const HIDDEN = new RegExp(`[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029${UNSEEN}]`, "gu"); // letters that move a cursor, or that nobody sees
const hidden = letter => { const [big, digits] = letter.length > 1 ? ["U", 8] : ["u", 4]; return `\\${big}${letter.codePointAt(0).toString(16).padStart(digits, "0")}`; };
/** A text as one word of a shell, of Python, as a string of C. */
const quoted = text => text.search(HIDDEN) < 0 ? `'${text.replace(/'/g, `'\\''`)}'` : `$'${text.replace(/[\\']/g, "\\$&").replace(HIDDEN, hidden)}'`;
const inPython = text => JSON.stringify(text).replace(HIDDEN, hidden);
const inC = text => `"${[...encoder.encode(text)].map(byte => byte === 10 ? "\\n" : byte < 32 || byte > 126 || [34, 63, 92].includes(byte) ? "\\" + byte.toString(8).padStart(3, "0") : String.fromCharCode(byte)).join("")}"`;
const NAMED = ["from", "to", "round", "policy", "rotate", "recipe", "profile", "m1", "m2", "m3", "split", "direction", "layout"]; // stand in what is copied as they are
/** Refuse a state, out of an address that somebody sent, whose names would be more than names in what is copied. */
function refuseSigns(state) {
  const more = now.name === "block" ? ["a", "b"] : now.name === "number" ? ["code"] : [], bad = [...NAMED, ...more].find(field_ => /[^\w./:+ -]/.test(state[field_] ?? ""));
  if (bad) refuse(`${bad}: ${state[bad]}: no name`);
}
function shellOf(name, state) {
  if (name === "number" && isOwn(state)) return fillShell(name, state, true);
  if (name === "number") { // the answer of the page is the last one
    const drawn = drawnOf(state), codes = Array((drawn?.lane ?? 0) + 1).fill(state.code).join(" ");
    return `emu convert ${state.to} ${codes} --source ${state.from} --rounding ${state.round} --policy ${state.policy}` + (drawn ? ` --random ${drawn.wordBits ? hex(drawn.word, drawn.wordBits) : drawn.integer}` : "");
  }
  if (name === "block") return blockShell(state);
  if (name === "dot") return dotShell(state);
  if (name === "dequantize") return fillShell(name, state, isOwnRecipe(state.recipe)) || shellOfPython(name, state);
  if (name === "tensor") return tensorShell(state);
  return `emu layout show ${layoutName(state)}${own.layouts.includes(state.layout) ? " --spec mine" : ""} --shape ${state.rows}x${state.codes} --at ${layoutOf_(state).at}`;
}

/** What the copied Python says, from a shell. */
const shellOfPython = (name, state) => `python3 - <<'PYTHON'\n${pythonOf(name, state)}PYTHON`;
/** Rows of the values by a recipe, as emu_ref fills them. */
const fillOfBlock = (state, id) => `printf '${blockRows(state, id, inputsOf).map(words => ["a", ...words.map(({text}) => text)].join(" ")).join("\\n")}\\n' | emu_ref fill quantize/${id} --source ${takenOf(state).from}${isOwnRecipe(id) ? " --descriptor mine.txt" : ""}`;
/** The rows of each recipe; where rows of a suite do not hold what the room has, the copied Python. */
function blockShell(state) {
  const ids = [...new Set([state.a, state.b])];
  return ids.every(id => isInRows(state, id)) ? ids.map(id => fillOfBlock(state, id)).join(" && ") : shellOfPython("block", state);
}
/** What "Copy command" copies: of an object of your own the file that the command reads comes first. */
function commandOf(name, state) {
  const line = shellOf(name, state), {isMine, isUsed = isMine} = OWN_ROOMS[name];
  if (!line) { if (name === "tensor") worstBlocks(state); refuse("emu_ref has no such rows"); }
  if (!isUsed(state)) return line;
  if (name === "layout") return `mkdir -p mine && cat > mine/${layoutName(state)}.yaml <<'YAML'\n${layoutYaml(state)}YAML\n${line}\n`;
  return `# writes mine.txt here; emu_ref is made by: make -C c_ref\ncat > mine.txt <<'DESCRIPTOR'\n${sealed(state.own)}DESCRIPTOR\n${line}\n`;
}

let now = null;
function go(changes, focus) { // a change of the state: the address first, then the page
  now.state = {...now.state, ...changes};
  if (!held) history.replaceState(null, "", hashOf(now.name, now.state)); // browsers take few changes of an address a second: after a drag, one
  draw(focus);
}
function draw(focus) {
  const page = document.querySelector("#room"), fault = document.querySelector("#fault");
  document.querySelectorAll("nav a").forEach(link => link.toggleAttribute("aria-current", link.dataset.room === now.name));
  document.querySelector("#digest").textContent = olderFacts(now);
  try {
    fault.textContent = "";
    useOwn(now.state.own || "");
    refuseSigns(now.state);
    ROOMS[now.name].draw(now.state, page);
    if (!held) { // nothing is copied meanwhile
      document.querySelector("#shell").textContent = shellOf(now.name, now.state);
      markCopies();
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    fault.textContent = error.message; // what was typed stays, what it said before goes
    drawn = null;
    document.querySelector("#shell").textContent = document.querySelector("#copy-why").textContent = "";
    page.querySelectorAll("#sentence, #formulas, #row, #rotation, #flips, #places, #pointed, #steps, svg, dl, table, .halves, .memory").forEach(item => item.remove());
    if (!page.querySelector("form")) page.innerHTML = `<p><a href="${hashOf(now.name, ROOMS[now.name].start)}">Begin again</a></p>`;
  }
  if (focus) page.querySelector(focus)?.focus();
}
const COPIES = {"copy-link": (name, state) => location.href.split("#")[0] + hashOf(name, state), "copy-shell": commandOf, "copy-python": pythonOf, "copy-c": cOf, "copy-row": rowText};
/** Mark the buttons that have nothing to copy, and say why. */
function markCopies() {
  const why = [];
  for (const [id, make] of Object.entries(COPIES)) {
    const button = document.querySelector(`#${id}`);
    let said = "";
    try { refuseSigns(now.state); make(now.name, now.state); } catch (error) { if (!(error instanceof Refusal)) throw error; said = error.message; }
    button.setAttribute("aria-disabled", Boolean(said));
    if (said) why.push(`${button.textContent}: ${said.replace(/^Copy [^:]*: /, "")}.`);
  }
  document.querySelector("#copy-why").textContent = why.join(" ");
}
function open_() { now = stateOf(location.hash); draw(); }
function guarded(work) { // what cannot be done is said, and the page stays as it was
  try { work(); } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    document.querySelector("#fault").textContent = error.message;
  }
}
function changed({name, value, files}) {
  if (name === "file") return takeFile(files[0]);
  if (name === "own-file") return takeOwn(files[0]);
  if (name === "own") return go(changeOfOwn(now.state, value), "[name=own]");
  if (name === "m1") return go(otherMachine(now.state, value), "[name=m1]");
  const changes = {[name]: value}, state = now.state, width = id => factsOf(formatOf(id)).width;
  if (name === "typed") return go({code: hex(codeOfDecimal(value.trim(), state.from), width(state.from))}, "[name=typed]");
  if (now.name === "dequantize") return go(name === "recipe" ? changeOfBack(state, value) : changes, `[name=${name}]`);
  if (name === "to" && !policiesOf(value).includes(state.policy)) changes.policy = policiesOf(value)[0];
  if (now.name === "layout") Object.assign(changes, changeOfPlace(state, name, value));
  if (now.name === "block") return go(changeOfBlock(state, name, value), `[name=${name}]`);
  if (name === "from") { // the same value, where the other format has it, else its nearest
    const given = decode(formatOf(state.from), parseHex(state.code, width(state.from), "code"));
    changes.code = hex(codeAmong(value, given), width(value));
  }
  return go(changes, `[name=${name}]`);
}
/** A file that is dropped on the page: a descriptor, in Layout YAML too, in Tensor a tensor file or a descriptor, told by its first bytes; else what is said where it belongs. */
function takeDropped(file) {
  if (!file) return;
  const isTensor = /\.(safetensors|npy|gguf)$/i.test(file.name);
  if (now.name === "tensor") { file.slice(0, 14).text().then(text => guarded(() => text === "emu descriptor" ? takeOwn(file) : takeFile(file))); return; }
  if (isTensor) refuse(`${file.name}: ${ROOMS[now.name].title} does not take it: drop a tensor file on Tensor`);
  takeOwn(file);
}
function begin() {
  document.querySelector("nav").innerHTML = Object.entries(ROOMS).map(([name, {title, start}]) => `<a data-room="${name}" href="${hashOf(name, start)}">${title}</a>`).join("");
  document.querySelector("#about").textContent = `Spec ${META.digest}. Every number is computed here, by the C reference; nothing is sent anywhere.`;
  const page = document.querySelector("#room");
  page.addEventListener("change", event => guarded(() => changed(event.target)));
  page.addEventListener("submit", event => event.preventDefault());
  addEventListener("dragover", event => event.preventDefault());
  addEventListener("drop", event => { event.preventDefault(); guarded(() => takeDropped(event.dataTransfer.files[0])); });
  page.addEventListener("keydown", event => {
    if (now.name !== "number" || !["typed", "code"].includes(event.target.name) || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    guarded(() => go({code: nextCode(now.state, event.key === "ArrowUp")}, `[name=${event.target.name}]`));
  });
  for (const [id, make] of Object.entries(COPIES)) document.querySelector(`#${id}`).addEventListener("click", () => copyText(make));
  document.querySelector("#save").addEventListener("click", () => {
    const figure = document.querySelector("#room svg");
    if (!figure) { document.querySelector("#fault").textContent = "no figure here: Number has one for formats of up to 8 bits, Block where codes differ in value, Dot for each step that aligns, Dequantize of its values, Tensor of each tensor"; return; }
    const link = document.createElement("a"), copy = figure.cloneNode(true), style = getComputedStyle(document.body);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const words = document.createElementNS("http://www.w3.org/2000/svg", "style"); // the figure stands alone: its letters and colours go with it
    words.textContent = "text { font-family: ui-monospace, monospace; font-size: 11px; fill: var(--ink); } .lost { fill: var(--accent); }";
    copy.prepend(words);
    const text = copy.outerHTML.replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
    link.href = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
    link.download = `emu-${now.name}.svg`;
    link.click();
  });
  beginDrags();
  addEventListener("hashchange", open_);
  open_();
}
globalThis.explorer = {dragged: (hash, part) => { const {state} = stateOf(hash); return codeAt(state, workOut(state).line, part); }, smallestDifference, paste: pasted, formula: formulaText, formats: META.formats, kinds: () => META.machines.map(([kind, names]) => [kind, [...new Set(names.map(kindOf))]]), copied: () => copied, text(hash) { // what a link says, through the functions that draw it
  const {name, state} = stateOf(hash);
  try { useOwn(state.own || ""); return ROOMS[name].compute(state); } catch (error) { if (error instanceof Refusal) return {refused: error.message}; throw error; }
}};
if (globalThis.document) begin(); else work(); // the worker of the Tensor room is this script too
