// own.js: a descriptor that somebody writes, edits or drops into a room; C reads it, and its objects come before those of the page.
const OWN_MOST = 65536, NONE_OWN = {text: "", at: 0, formats: [], roundings: [], policies: [], layouts: [], recipes: [], datapaths: []};
let own = NONE_OWN;
const libraryOf = isThere => isThere ? own.at : library; // an object of the descriptor comes before one of the page with its id

/** The text with its last line: `end` and the digest that C makes of the lines above. A text that has that line is left as it is. */
function sealed(text) {
  if (/^end /m.test(text)) return text;
  const lines = text.replace(/\n*$/, "\n");
  return scratch(() => {
    const bytes = encoder.encode(lines), hex_ = room(65);
    C.ex_digest(place(bytes), bytes.length, hex_);
    return `${lines}end ${textAt(hex_)}\n`;
  });
}
/** Let C read a descriptor in the place of the last one; "": none. What C refuses is said with its line. */
function useOwn(text) {
  if (text === own.text) return;
  if (own.at) C.ex_release(own.mark);
  own = NONE_OWN;
  [found, grids, answers].forEach(kept => Object.keys(kept).forEach(key => delete kept[key])); // what was looked up may be of it
  formatNames.clear();
  machines = null;
  if (!text.trim()) return;
  if (text.length > OWN_MOST) refuse(`a descriptor of ${text.length} characters: at most ${OWN_MOST} here`);
  const mark = C.ex_mark(), bytes = encoder.encode(sealed(text)), at = C.ex_load(place(bytes), bytes.length);
  if (!at) {
    const said = `descriptor line ${C.ex_fault_line()}: ${textAt(C.ex_fault())}`;
    C.ex_release(mark);
    refuse(said);
  }
  const all = objectsIn(text), ids = kind => all[kind].map(({id}) => id);
  own = {text, at, mark, formats: ids("formats"), roundings: ids("roundings"), policies: all.policies.map(({words}) => words.slice(1)), layouts: ids("layouts"), recipes: all.recipes, datapaths: all.datapaths};
  own.recipes = all.recipes.map(ownRecipe);
}

const SECTIONS = {formats: ["format"], roundings: ["rounding"], policies: ["policy"], transforms: ["transform"], blocks: ["block"], layouts: ["layout"], recipes: ["recipe"], datapaths: ["datapath", "levels"]};
/** The objects of a descriptor that C has read, by section: words of the first line, the id, all lines. Without remarks. */
function objectsIn(text) {
  const out = {}, left = Object.keys(SECTIONS);
  let section;
  for (const line of text.split("\n").slice(1)) {
    const words = line.split(" ");
    if (!line || line[0] === "#" || words[0] === "end") continue;
    if (words[0] === left[0]) out[section = left.shift()] = [];
    else if (SECTIONS[section].includes(words[0])) out[section].push({words, id: words[1], lines: [line]});
    else out[section].at(-1).lines.push(line);
  }
  return out;
}
let parsed = null; // the objects of the page
const objectsOfPage = kind => (parsed ??= objectsIn(DESCRIPTOR))[kind];
/** All objects of a section: of the descriptor, then of the page. */
const objectsOfKind = kind => [...(own.text ? objectsIn(own.text)[kind] : []), ...objectsOfPage(kind)];
const objectCalled = (kind, ...words) => objectsOfKind(kind).find(object => words.every((word_, i) => object.words[1 + i] === word_)) || refuse(`${words.join(" ")}: its facts are in no descriptor of this page`);
/** A descriptor of objects and of all that their lines name. more: objects beside it, {section: [lines]}.   from: where what is named is looked for.   name: of an object there. */
function gathered(section, objects, {more = {}, from = objectsOfKind, name = ({id}) => id}) {
  const words = new Set(), out = Object.fromEntries(Object.keys(SECTIONS).map(kind => [kind, []]));
  const take = ({lines}) => lines.forEach(line => line.split(" ").forEach(word_ => words.add(word_)));
  objects.forEach(take);
  for (const kind of ["blocks", "transforms", "roundings", "formats", "policies"]) { // what is named last comes first: formats name nothing
    const seen = new Set();
    for (const other of section === "formats" ? [] : from(kind)) {
      const key = other.words.slice(1).join(" ");
      if (objects.includes(other) || seen.has(key) || !other.words.slice(1).every(word_ => words.has(word_))) continue;
      seen.add(key);
      out[kind].push(other.lines);
      if (kind === "blocks" || kind === "transforms") take(other);
    }
  }
  for (const object of objects) out[section].push([[object.words[0], name(object), ...object.words.slice(2)].join(" "), ...object.lines.slice(1)]);
  for (const [kind, lines] of Object.entries(more)) out[kind].push(...lines);
  return `emu descriptor 1\n${Object.entries(out).map(([kind, all]) => [`${kind} ${all.length}`, ...all.flat()].join("\n") + "\n").join("")}`;
}
/** A descriptor of an object under the name mine: a beginning for somebody's own. */
const startOf = (section, object, more = {}) => gathered(section, [object], {more, name: () => "mine"});
/** A whole descriptor of objects of the page; "": of none. */
const descriptorOf = (section, ids) => ids.length ? sealed(gathered(section, ids.map(id => objectsOfPage(section).find(object => object.id === id)), {from: objectsOfPage})) : "";

/** Numbers: the facts of a format and of its policy; what a new descriptor changes: the format that it brings is chosen, and a policy that covers it. */
const startOfFormat = ({to, policy}) => startOf("formats", objectCalled("formats", to), {policies: [[`policy ${policy} mine`, ...objectCalled("policies", policy, to).lines.slice(1)]]});
function changeOfNumber(state) {
  const to = own.formats.find(id => policiesOf(id).length) || (targets().includes(state.to) ? state.to : NUMBER.to), round_ = roundings().includes(state.round) ? state.round : NUMBER.round;
  const given = sources().includes(state.from) ? {} : {from: NUMBER.from, code: NUMBER.code}; // it was of the descriptor that is gone
  return {...given, to, round: round_, policy: policiesOf(to).includes(state.policy) ? state.policy : policiesOf(to)[0]};
}
const isOwn = ({from, to, round: round_, policy}) => own.formats.includes(from) || own.formats.includes(to) || own.roundings.includes(round_) || own.policies.some(([id, of]) => id === policy && of === to);

const OWN_ROOMS = {
  number: {title: "A format of your own", what: "formats, roundings and policies, a fact a line", start: startOfFormat, change: changeOfNumber, subject: ({to}) => `the facts of ${to}`, isMine: ({to}) => own.formats.includes(to), isUsed: isOwn, missing: () => ""},
  block: {title: "A recipe of your own", what: "a recipe and what it names, a fact or a step a line", start: startOfRecipe, change: changeOfRecipe, subject: ({a}) => `the steps of ${a}`, isMine: ({a}) => isOwnRecipe(a), isUsed: ({a, b}) => isOwnRecipe(a) || isOwnRecipe(b), missing: missingRecipe},
  dot: {title: "A datapath of your own", what: "a datapath and what it names, a fact a line", start: startOfMachine, change: changeOfMachine, subject: ({m1}) => `the facts of ${m1.split("/")[0]}`, isMine: ({m1}) => isOwnMachine(m1), isUsed: ({m1, m2, m3}) => [m1, m2, m3].some(isOwnMachine), missing: missingMachine},
  dequantize: {title: "A recipe of your own", what: "a recipe and what it names, a fact or a step a line", start: ({recipe}) => startOfRecipe({a: recipe}), change: changeOfOwnBack, subject: ({recipe}) => `the steps of ${recipe}`, isMine: ({recipe}) => isOwnRecipe(recipe), missing: missingBack},
  tensor: {title: "A recipe of your own", what: "a recipe and what it names, a fact or a step a line", start: ({recipe}) => startOfRecipe({a: recipe}), change: changeOfTensor, subject: ({recipe}) => `the steps of ${recipe}`, isMine: ({recipe}) => isOwnRecipe(recipe), missing: missingTensor},
  layout: {title: "A layout of your own", what: "layouts, a digit of the place a line, or the YAML file of a layout", read: layoutText, start: startOfLayout, change: changeOfLayout, subject: ({layout}) => `the digits of ${layout}`, isMine: ({layout}) => own.layouts.includes(layout), missing: () => own.layouts.length ? "" : "no layout in it: write one with emu export descriptor layout/ID"},
};
/** The changes of a room's state that a new descriptor brings; one that C refuses is kept as text alone, and refused where the room is drawn. */
function changeOfOwn(state, given) {
  const {change, read = text => text} = OWN_ROOMS[now.name], text = read(given), before = change.before?.(state);
  try { useOwn(text); } catch (error) { if (error instanceof Refusal) return {own: text}; throw error; }
  return {own: text, ...change(state, before)};
}
/** A file that was chosen or dropped: read as it is, its digest too; then its last line goes, so that the rest can be edited. */
function takeOwn(file) {
  if (!file) return;
  if (file.size > OWN_MOST) refuse(`${file.name}: ${file.size} bytes: a descriptor has at most ${OWN_MOST} here`);
  file.text().then(given => guarded(() => {
    if (!given.trim()) refuse(`${file.name} is empty: write one with emu export descriptor`);
    const last = now.state.own || "", {read = text_ => text_} = OWN_ROOMS[now.name];
    let text = given;
    try {
      text = read(given);
      useOwn(text);
      const missing = OWN_ROOMS[now.name].missing();
      if (missing) refuse(missing);
    } catch (error) {
      try { useOwn(last); } catch (older) { if (!(older instanceof Refusal)) throw older; } // the page stays as it was
      if (error instanceof Refusal) refuse(`${file.name}: ${error.message}`);
      throw error;
    }
    useOwn(last);
    go(changeOfOwn(now.state, text.replace(/^end [^\n]*\n?/m, "")), "[name=own]");
  }));
}
function ownForm(state) {
  const {title, what, subject, isMine} = OWN_ROOMS[now.name];
  return `<h2>${title}</h2><form class="fields"><label>a descriptor file, chosen here or dropped on the page<input type="file" name="own-file"></label>${isMine(state) ? "" : `<button type="button" id="edit">Edit ${escape_(subject(state))}</button>`}${state.own ? '<button type="button" id="copy-own">Copy descriptor</button> <button type="button" id="leave">Leave it</button>' : ""}` +
    `${now.name === "block" && isMine(state) && isMeasured(state.a) ? `<p><a id="to-tensor" href="${escape_(hashOf("tensor", {...TENSOR, recipe: state.a, own: state.own}))}">Use ${escape_(state.a)} on a tensor</a></p>` : ""}${state.own ? `<label class="whole">descriptor: ${what}<textarea name="own" rows="18" spellcheck="false">${escape_(state.own)}</textarea></label>` : ""}</form>`;
}
function bindOwn(page, state) {
  const click = (id, work) => page.querySelector(id)?.addEventListener("click", () => guarded(work));
  click("#edit", () => go(changeOfOwn(state, OWN_ROOMS[now.name].start(state)), "[name=own]"));
  click("#leave", () => go(changeOfOwn(state, ""), "#edit"));
  click("#copy-own", () => copyText(() => sealed(now.state.own)));
}
