// own.js: a descriptor that somebody writes, edits or drops into Number; C reads it, and its formats, roundings and policies come before those of the page.
const OWN_MOST = 65536, NONE_OWN = {text: "", at: 0, formats: [], roundings: [], policies: []};
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
  [found, grids].forEach(kept => Object.keys(kept).forEach(key => delete kept[key])); // what was looked up may be of it
  if (!text.trim()) return;
  if (text.length > OWN_MOST) refuse(`a descriptor of ${text.length} characters: write at most ${OWN_MOST}: formats, roundings and policies`);
  const mark = C.ex_mark(), bytes = encoder.encode(sealed(text)), at = C.ex_load(place(bytes), bytes.length);
  if (!at) {
    const said = `descriptor line ${C.ex_fault_line()}: ${textAt(C.ex_fault())}`;
    C.ex_release(mark);
    refuse(said);
  }
  const above = text.split(/^transforms /m)[0], named_ = kind => [...above.matchAll(new RegExp(`^${kind} (\\S+)(?: (\\S+))?$`, "gm"))].map(([, id, of]) => of ? [id, of] : id);
  own = {text, at, mark, formats: named_("format"), roundings: named_("rounding"), policies: named_("policy")};
}
const isOwn = ({to, round, policy}) => own.formats.includes(to) || own.roundings.includes(round) || own.policies.some(([id, of]) => id === policy && of === to);

/** Lines of an object in the page's descriptor: its head and what follows up to the next object or section. */
function linesOf(head) {
  const [, first, rest] = new RegExp(`^(${head}\n)((?:(?!format |rounding |policy |transform |roundings |policies |transforms )[^\n]*\n)*)`, "m").exec(own.text && own.text.endsWith("\n") ? own.text + DESCRIPTOR : `${own.text}\n${DESCRIPTOR}`) || refuse(`${head}: its facts are in no descriptor of this page`);
  return first + rest;
}
/** A descriptor of one format with the facts of another, and of its policy: a beginning for somebody's own. */
function startOf({to, policy}) {
  const facts = linesOf(`format ${to}`).replace(/^.*/, "format mine"), rule = linesOf(`policy ${policy} ${to}`).replace(/^.*/, `policy ${policy} mine`);
  return `emu descriptor 1\nformats 1\n${facts}roundings 0\npolicies 1\n${rule}${["transforms", "blocks", "layouts", "recipes", "datapaths"].map(kind => `${kind} 0\n`).join("")}`;
}
/** What a new descriptor changes: the format that it brings is chosen, and a policy that covers it. */
function changeOfOwn(state, text) {
  try { useOwn(text); } catch (error) { if (error instanceof Refusal) return {own: text}; throw error; }
  const to = own.formats.find(id => policiesOf(id).length) || (targets().includes(state.to) ? state.to : NUMBER.to), round = roundings().includes(state.round) ? state.round : NUMBER.round;
  return {own: text, to, round, policy: policiesOf(to).includes(state.policy) ? state.policy : policiesOf(to)[0]};
}
/** A file that was chosen or dropped: read as it is, its digest too; then its last line goes, so that the rest can be edited. */
function takeOwn(file) {
  if (!file) return;
  if (file.size > OWN_MOST) refuse(`${file.name}: ${file.size} bytes: a descriptor of formats, roundings and policies has at most ${OWN_MOST}`);
  file.text().then(text => guarded(() => {
    if (!text.trim()) refuse(`${file.name} is empty: write one with emu export descriptor`);
    try { useOwn(text); } catch (error) { if (error instanceof Refusal) refuse(`${file.name}: ${error.message}`); throw error; }
    go(changeOfOwn(now.state, text.replace(/^end [^\n]*\n?/m, "")), "[name=own]");
  }));
}
function ownForm(state) {
  return `<h2>A format of your own</h2><form class="fields"><label>a descriptor file, chosen here or dropped on the page<input type="file" name="own-file"></label>${own.formats.includes(state.to) ? "" : `<button type="button" id="edit">Edit the facts of ${escape_(state.to)}</button>`}${state.own ? '<button type="button" id="copy-own">Copy descriptor</button> <button type="button" id="leave">Leave it</button>' : ""}` +
    `${state.own ? `<label class="whole">descriptor: formats, roundings and policies, a fact a line<textarea name="own" rows="18" spellcheck="false">${escape_(state.own)}</textarea></label>` : ""}</form>`;
}
function bindOwn(page, state) {
  const click = (id, work) => page.querySelector(id)?.addEventListener("click", () => guarded(work));
  click("#edit", () => go(changeOfOwn(state, startOf(state)), "[name=own]"));
  click("#leave", () => go(changeOfOwn(state, ""), "#edit"));
  click("#copy-own", () => copyText(() => sealed(now.state.own)));
}
