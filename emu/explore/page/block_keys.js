// block_keys.js: Block by keyboard: an element is chosen and changed, the two programs are stepped through; samples of a real model.
const NO_SAMPLE = "none: values of yours";
/** The sample whose values stand in the room. */
const sampleOf = ({x, from}) => SAMPLES.samples.find(({codes}) => from === SAMPLES.format && codes === x);
function sampleSays(state) {
  const sample = sampleOf(state);
  return sample ? `<p id="sample" class="small">${sample.codes.split(" ").length} weights of ${SAMPLES.model} (licence ${SAMPLES.licence}): ${sample.tensor}, row ${sample.row}, from element ${sample.first} on.</p>` : "";
}
const changeOfSample = name => ({...(name === NO_SAMPLE ? {x: BLOCK.x, from: BLOCK.from} : {x: SAMPLES.samples.find(sample => sample.name === name).codes, from: SAMPLES.format}), row: "", cell: "", flip: ""});

/** The element that the keys chose, and what is said of it. */
function cellSays(state, {codes, rotation}, a, b) {
  const given = rotation?.given || codes, element = elementOf({flip: state.cell}, given.length);
  if (element === null) return null;
  const format = formatOf(state.from), told = trace => { const {code, value} = trace.codes.items[element]; return code === value || !value ? code : `${code}, ${value}`; };
  return {element, sentence: `Element ${element} is ${hex(given[element], factsOf(format).width)}, ${valueText(decode(format, given[element]))}; its code is ${told(a)} by A and ${told(b)} by B.`};
}
function bindCells(page, state, codes) {
  page.querySelector("#cells").addEventListener("keydown", event => {
    const at = state.cell === "" ? -1 : Number(state.cell), {width} = factsOf(formatOf(state.from)), last = codes.length - 1;
    const next = event.shiftKey || event.ctrlKey || event.altKey || event.metaKey ? undefined : {ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last}[event.key];
    const up = event.shiftKey && at >= 0 ? {ArrowUp: true, ArrowDown: false}[event.key] : undefined;
    if (next === undefined && up === undefined) return;
    event.preventDefault();
    guarded(() => go(next !== undefined ? {cell: `${next}`} : {row: "", x: codes.map((code, i) => i === at ? nextCode({from: state.from, code: hex(code, width)}, up) : hex(code, width)).join(" ")}, "#cells"));
    page.querySelector("#cells .chosen")?.scrollIntoView({block: "nearest", inline: "nearest"});
  });
}

/** The number of the step that is looked at, 0 for none. */
function stepOf({step}, a, b) {
  const most = Math.max(a.steps.length, b.steps.length);
  if (!step.trim()) return 0;
  if (!/^[0-9]{1,3}$/.test(step.trim()) || Number(step) < 1 || Number(step) > most) refuse(`step ${step}: write a number from 1 to ${most}, or nothing`);
  return Number(step);
}
function stepper({a, b, parts, step}) {
  const most = Math.max(a.steps.length, b.steps.length), button = (to, text) => `<button type="button" data-step="${to}" aria-label="${text}">${text}</button>`;
  const side = trace => {
    const here = trace.steps[step - 1];
    if (!here) return `<section class="half"><h3>${trace.id}</h3><p>It has ${trace.steps.length} steps.</p></section>`;
    return `<section class="half"><h3>${trace.id}, step ${step}</h3><p><b>${here.name}</b> = ${escape_(here.text)}</p><dl>${trace.taken(here).map(({name, items}) => `<dt>before: ${escape_(name)}</dt><dd>${codesText(items)}</dd>`).join("")}<dt>after: ${escape_(here.name)}</dt><dd>${codesText(here.items)}</dd></dl></section>`;
  };
  const where = parts ? `They part at step ${parts.number} of A${step ? step < parts.number ? ", which is still to come" : step === parts.number ? ": this one" : ", which is behind" : ""}.` : "They part nowhere.";
  return `<div id="stepper" role="group" aria-label="step through the programs">${button(Math.max(1, step - 1), "Previous step")} ${button(Math.min(most, step + 1), "Next step")}${parts ? ` ${button(parts.number, "Where they part")}` : ""}` +
    `<p class="small" role="status">${step ? `Step ${step} of ${most}. ` : ""}${where} With the focus on a button, arrows left and right, Home and End step too.</p></div>${step ? `<div class="halves" id="stepped">${side(a)}${side(b)}</div>` : ""}`;
}
function bindSteps(page, {a, b, step}) {
  const most = Math.max(a.steps.length, b.steps.length), to = (number, focus) => guarded(() => go({step: `${number}`}, focus));
  page.querySelectorAll("[data-step]").forEach(button => button.addEventListener("click", () => to(button.dataset.step, `[aria-label="${button.getAttribute("aria-label")}"]`)));
  page.querySelector("#stepper").addEventListener("keydown", event => {
    const next = {ArrowLeft: Math.max(1, step - 1), ArrowRight: Math.min(most, step + 1), Home: 1, End: most}[event.key];
    if (next) { event.preventDefault(); to(next, `[aria-label="${event.target.getAttribute("aria-label")}"]`); }
  });
}
