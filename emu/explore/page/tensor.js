// tensor.js: what a recipe does to a tensor of a file that stays on this machine.
const TENSOR = {recipe: "nvfp4_modelopt", tensor: "", own: ""};
const HELD = {file: null, worker: null, tensors: null, figures: null, refused: "", asked: ""}; // the chosen file and what the worker said of it
const TAKES = "this room has recipes of blocks along one row that draw nothing, do not rotate and look at no whole row";
const isMeasured = id => { const {rows, draws} = programFacts(programOf(id)); return recipeOf(id).alone && !recipeOf(id).rotates && recipeOf(id).back && rows === 1 && !draws; };
const measured = () => recipesHere().filter(isMeasured);

/** 10 log10(top / bottom) of two positive whole numbers, its digits found one by one in BigInt, cut to four decimals. */
function decibels(top, bottom) {
  const one = 1n << 512n;
  let ratio = (top << 512n) / bottom, exp = 0n, digits = 0n;
  while (ratio >= 10n * one) { ratio = (top << 512n) / (bottom *= 10n); exp += 1n; }
  while (ratio < one) { ratio = ((top *= 10n) << 512n) / bottom; exp -= 1n; }
  for (let i = 0; i < 5; i++) { // the tenth power has the next digit before its point
    const square = ratio * ratio >> 512n, fifth = (square * square >> 512n) * ratio >> 512n;
    ratio = fifth * fifth >> 512n;
    let digit = 0n;
    while (ratio >= 10n * one) { ratio /= 10n; digit += 1n; }
    digits = digits * 10n + digit;
  }
  return fixed(exp * 100000n + digits, 4);
}
/** A whole number of 10^-places. */
function fixed(number, places) {
  const digits = (number < 0n ? -number : number).toString().padStart(places + 1, "0");
  return `${number < 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function saidOf(figures) {
  const {xx, xy, error, use, worst, recipe, tensor, shape, word: type, count} = figures;
  const sqnr = xx.n === 0n ? "none, there are zeros alone" : error.n === 0n ? "infinite, nothing is lost" : `${decibels(xx.n, error.n)} dB`;
  const shrunk = xx.n === 0n ? "none" : fixed((xy.n - xx.n) * 10n ** 9n / xx.n, 9), used = use.filter(item => item.count > 0n).length;
  const sentence = `${recipe} on ${tensor}, ${shape.join(" x ") || "one"} ${type} (${count} elements): the SQNR is ${sqnr}, <y,x>/<x,x> - 1 is ${shrunk}, ${used} of ${use.length} element codes are used` +
    (worst.length ? `, and the block from ${worst[0].at} loses most.` : ".");
  return {...figures, sqnr, shrunk, used, sentence};
}
function tensorOf(state) { // what is said without the page
  programOf(state.recipe);
  if (!measured().includes(state.recipe)) refuse(`recipe ${state.recipe}: ${TAKES}`);
  if (HELD.refused) refuse(HELD.refused);
  if (HELD.figures && HELD.asked === askedBy(state)) return saidOf(HELD.figures);
  const floats = HELD.tensors ? HELD.tensors.filter(item => item.format).length : 0;
  return {sentence: HELD.tensors ? `${HELD.file.name} holds ${HELD.tensors.length} tensors, ${floats} of them of floats${state.tensor ? "" : ": choose one"}.` : `Choose a .safetensors, .npy or .gguf file, or drop it here. Of a tensor in it that you then choose ${state.recipe} makes codes, block by block along the last axis, and values again; you see SQNR, shrinkage, how often each code is used, and the blocks that lose most. The file stays on this machine: a worker of this page reads it by slices, and sends nothing.`};
}

const askedBy = state => state.tensor && `${state.recipe}\n${state.tensor}\n${state.own}`;
/** Let a new worker, this page's own script, answer what is asked now; an older one ends. */
function ask(question) {
  HELD.worker?.terminate();
  Object.assign(HELD, {figures: null, refused: "", worker: new Worker(URL.createObjectURL(new Blob([OWN], {type: "text/javascript"})))});
  const end = () => { HELD.worker.terminate(); HELD.worker = null; if (now.name === "tensor") draw(); };
  HELD.worker.onmessage = ({data}) => {
    if ("part" in data) { const at = document.querySelector("#part"); if (at) at.textContent = `${data.part} % done`; return; }
    Object.assign(HELD, data);
    end();
  };
  HELD.worker.onerror = () => { HELD.refused = `${HELD.file.name}: the page failed on it`; end(); };
  HELD.worker.postMessage(question);
}
function takeFile(file) {
  if (!file) return;
  Object.assign(HELD, {file, tensors: null, asked: ""});
  ask({file});
  go({tensor: ""});
}

function useFigure({use}) { // a bar for each code, in the order of their values
  const number = item => item.value && isFinite_(item.value) ? dyadic(item.value) : null;
  const bars = [...use].sort((a, b) => number(a) && number(b) ? compare(number(a), number(b)) || (a.code > b.code ? -1 : 1) : number(a) ? -1 : number(b) ? 1 : a.code < b.code ? -1 : 1);
  const most = bars.reduce((top, item) => item.count > top ? item.count : top, 1n), wide = 680 / bars.length, few = bars.length <= 32;
  return `<svg id="use" viewBox="0 0 700 200" role="img" aria-label="use of the element codes, in the order of their values">${bars.map((item, i) => {
    const high = Number(item.count * 150000n / most) / 1000, x = 10 + i * wide, text = item.value ? shortText(item.value) : item.code;
    return `<rect x="${x}" y="${160 - high}" width="${wide * 0.9}" height="${high}" fill="var(--bin0)"><title>${item.code}, ${text}: ${item.count}</title></rect>` + (few ? `<text x="${x + wide * 0.45}" y="${i % 2 ? 190 : 176}" text-anchor="middle">${text}</text>` : "");
  }).join("")}</svg>`;
}
function drawTensor(state, page) {
  const floats = (HELD.tensors || []).filter(item => item.format).map(item => item.name), asked = askedBy(state);
  const put = html => { // the file stays chosen in its field
    const field_ = page.querySelector("[name=file]");
    page.innerHTML = html;
    if (field_) page.querySelector("[name=file]").replaceWith(field_);
  };
  const form = `<form class="fields"><label>file<input name="file" type="file" accept=".safetensors,.npy,.gguf"></label>${choose("recipe", "recipe", measured(), state)}` +
    `${HELD.tensors ? choose("tensor", "tensor", ["", ...floats], state) : ""}</form>`;
  put(form + ownForm(state));
  bindOwn(page, state);
  if (HELD.tensors && asked !== HELD.asked && measured().includes(state.recipe)) {
    Object.assign(HELD, {asked, refused: ""});
    if (asked) ask({file: HELD.file, tensor: state.tensor, recipe: state.recipe, own: state.own});
  }
  const shown = tensorOf(state);
  let html = `<p id="sentence" role="status">${escape_(shown.sentence)}</p><p class="small" id="part">${HELD.worker ? "0 % done" : ""}</p>`;
  if (shown.use) {
    const counted = shown.use.filter(item => item.count > 0n).map(item => `<tr><td>${item.code}</td><td>${item.value ? valueText(item.value) : ""}</td><td>${item.count}</td></tr>`);
    const worst = shown.worst.map(({at, error, x}) => `<tr><td>${at}</td><td>${dyadicText(error)}</td><td><a href="${escape_(hashOf("block", {...BLOCK, own: state.own, a: shown.recipe, b: shown.recipe, x: x.join(" "), amax: shown.amax}))}">open in Block</a></td></tr>`);
    html += `<h2>Use of the codes</h2>${useFigure(shown)}<div class="wide tall" tabindex="0"><table><thead><tr><th scope="col">code</th><th scope="col">element value</th><th scope="col">elements</th></tr></thead><tbody>${counted.join("")}</tbody></table></div>` +
      `<h2>Blocks that lose most</h2><div class="wide" tabindex="0"><table><thead><tr><th scope="col">first element</th><th scope="col">sum of squared errors</th><th scope="col">the block</th></tr></thead><tbody>${worst.join("")}</tbody></table></div>` +
      `<h2>Sums</h2><dl><dt>sum of x²</dt><dd>${dyadicText(shown.xx)}</dd><dt>sum of x y</dt><dd>${dyadicText(shown.xy)}</dd><dt>sum of (y - x)²</dt><dd>${dyadicText(shown.error)}</dd></dl>` +
      `<p class="small">x: the values of the file. y: what their codes mean, in binary32. The sums are exact; SQNR is 10 log10 of the first over the third, cut to four decimals, the other figure cut to nine.</p>`;
  }
  if (HELD.tensors) {
    html += `<h2>Tensors of the file</h2><div class="wide tall" tabindex="0"><table><thead><tr><th scope="col">tensor</th><th scope="col">elements</th><th scope="col">shape</th></tr></thead><tbody>${HELD.tensors.slice(0, 2000).map(item =>
      `<tr><td>${escape_(item.name)}</td><td>${escape_(item.word)}</td><td>${item.shape.join(" x ")}</td></tr>`).join("")}</tbody></table></div>`;
  }
  put(form + html + ownForm(state));
  bindOwn(page, state);
}
/** The blocks that lose most, as states of Block. */
function worstBlocks(state) {
  chosenTensor(state);
  if (!HELD.figures || HELD.asked !== askedBy(state)) refuse(HELD.refused || "the figures are not there yet: wait for them");
  return HELD.figures.worst.map(({x}) => ({...BLOCK, own: state.own, a: state.recipe, b: state.recipe, x: x.join(" "), amax: HELD.figures.amax}));
}
/** A command that says the figures; where emu has none for the file or the recipe, one that makes the rows of the blocks that lose most. */
function tensorShell(state) {
  const file = HELD.file?.name, isMine = isOwnRecipe(state.recipe);
  if (!isMine && !/\.gguf$/i.test(file)) return `emu analyze ${file ? quoted(file.replace(/^-/, "./-")) : "FILE"} --recipe ${state.recipe} --no-rht` + (state.tensor && !/\.npy$/i.test(file) ? ` --select ${quoted(state.tensor)}` : "");
  try { return worstBlocks(state).map(block => fillOfBlock(block, state.recipe)).join(" && "); } catch (error) { if (error instanceof Refusal) return ""; throw error; }
}
/** What a new descriptor changes: a recipe of it that the room takes is chosen. */
const changeOfTensor = ({recipe}) => { const here = measured(); return {recipe: here.find(isOwnRecipe) || (here.includes(recipe) ? recipe : TENSOR.recipe)}; };
/** Why Tensor has no use for a descriptor; "": it has. */
const missingTensor = () => missingRecipe() || (measured().some(isOwnRecipe) ? "" : `${own.recipes[0].id}: ${TAKES}`);
