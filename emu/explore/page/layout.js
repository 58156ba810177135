// layout.js: where the code of a row and an index lies in memory, which elements a place scales, and the way back. All of it is asked of C.
const LAYOUT = {layout: "sf128x4", rows: "128", codes: "8", row: "33", index: "5", tile: "1x16", element: "", digits: "0123456789ABCDEF", own: ""};
const SIDE_MOST = 65536, CELLS_MOST = 8192, ACROSS_MOST = 256, PLACES_MOST = 16384; // of a matrix, a side; what is shown of a larger one: codes, indices of a row, places
const layoutsHere = () => [...new Set([...own.layouts, ...META.layouts])];
function whole(text, name, least, most) {
  if (!/^[0-9]{1,8}$/.test(text) || Number(text) < least || Number(text) > most) refuse(`${name} ${text}: write a number from ${least} to ${most}`);
  return Number(text);
}
function placeOf(layout, row, index, rows, codes) {
  checked(C.ex_layout_place(layout, BigInt(row), BigInt(index), BigInt(rows), BigInt(codes), OUT));
  return Number(numbersAt(OUT, 1)[0]);
}
/** The scale of element (row, column): its place and byte, its row and index. */
function scaleOf({layout, tile, rows, codes}, row, column) {
  checked(C.ex_layout_scale(layout, ...[...tile, row, column, rows, codes].map(BigInt), OUT));
  const [at, byte, scaleRow, index] = numbersAt(OUT, 4).map(Number);
  return {at, byte, row: scaleRow, index};
}
/** What lies at a place: row and index, and the elements that it scales, from first to last. */
function spanOf({layout, tile, rows, codes}, at) {
  checked(C.ex_layout_span(layout, ...[...tile, at, rows, codes].map(BigInt), OUT));
  const [byte, row, index, padding, bit, ...ends] = numbersAt(OUT, 9).map(Number);
  return {at, byte, row, index, padding: padding === 1, bit, first: ends.slice(0, 2), last: ends.slice(2)};
}
/** Whether a layout holds scales, the bits of a code, and its places. */
function sizesOf(layout, rows, codes) {
  checked(C.ex_layout_size(layout, BigInt(rows), BigInt(codes), OUT));
  const [size, scales, bits] = numbersAt(OUT, 3).map(Number);
  return {size, scales: scales === 1, bits};
}
function pairOf(text, name, sign) {
  const words = text.split(sign === "x" ? "x" : /[,\s]+/).map(word_ => word_.trim());
  if (words.length !== 2) refuse(`${name} ${text}: write two numbers, such as ${sign === "x" ? "1x16" : "33, 85"}`);
  return words;
}
const pairText = ([row, column]) => `(${row}, ${column})`;
const nibbleOf = ({bit}) => bit ? "high" : "low";
/** Elements from the first to the last of a scale, in words. */
const elementsText = ({first, last}) => `${first.join() === last.join() ? "element" : "elements"} ${pairText(first)}${first.join() === last.join() ? "" : ` to ${pairText(last)}`}`;
function layoutOf_(state) {
  const rows = whole(state.rows, "rows", 1, SIDE_MOST), codes = whole(state.codes, "codes", 1, SIDE_MOST), layout = layoutOf(state.layout);
  const sizes = sizesOf(layout, rows, codes), tile = sizes.scales ? pairOf(state.tile, "elements of a scale", "x").map(side => whole(side, "elements of a scale, a side", 1, 256)) : [1, 1];
  const about = {...sizes, state, layout, rows, codes, tile, element: null};
  if (state.element.trim()) {
    const given = pairOf(state.element.trim(), "element", ",");
    about.element = [whole(given[0], "row of an element", 0, rows * tile[0] - 1), whole(given[1], "column of an element", 0, codes * tile[1] - 1)];
  }
  const chosen = about.element ? scaleOf(about, ...about.element) : null;
  const row = chosen ? chosen.row : whole(state.row, "row", 0, rows - 1), index = chosen ? chosen.index : whole(state.index, "index", 0, codes - 1);
  const at = placeOf(layout, row, index, rows, codes), back = spanOf(about, at), {size, scales, bits} = sizes;
  const sentence = `In ${state.layout}, the ${scales ? "scale" : "element code"} of row ${row}, index ${index} of ${rows} x ${codes} lies at place ${at} of ${size} (${bits} bits each` +
    `${bits === 4 ? `, the low nibble of a byte first: the ${nibbleOf(back)} nibble of byte ${back.byte}` : ""}); place ${at} holds row ${back.row}, index ${back.index}.` +
    (scales ? ` It scales ${elementsText(back)}${about.element ? `, ${pairText(about.element)} among them` : ""}.` : "");
  return {...about, row, index, at, back, sentence, orders: bits === 4 && !scales ? ordersOf(state, about, row, index) : []};
}
/** The 16 bytes around the chosen code in every order of 4-bit elements. Code i of a row is digit i of those given, again and again. */
function ordersOf(state, {rows, codes}, row, index) {
  if (!/^[0-9a-f]{1,64}$/i.test(state.digits)) refuse(`codes ${state.digits}: write 1 to 64 hex digits, one for each element`);
  const digits = Uint8Array.from(state.digits, digit => Number(`0x${digit}`));
  return layoutsHere().flatMap(id => scratch(() => {
    const layout = layoutOf(id), {scales, bits} = sizesOf(layout, rows, codes);
    if (scales || bits !== 4) return [];
    const back = spanOf({layout, rows, codes, tile: [1, 1]}, placeOf(layout, row, index, rows, codes)), from = back.byte - back.byte % 16, out = room(16);
    checked(C.ex_layout_bytes(layout, place(digits), BigInt(digits.length), ...[rows, codes, from, 16].map(BigInt), out));
    return [{id, from, byte: back.byte, nibble: nibbleOf(back), bytes: [...new Uint8Array(C.memory.buffer, out, 16)].map(byte => hex(BigInt(byte), 8).slice(2))}];
  }));
}
const startOfWindow = (first, wide, all, most, chosen) => {
  const anchor = chosen < first + most ? first - Math.trunc((most - Math.min(wide, most)) / 2) : chosen;
  return Math.min(Math.max(anchor, 0), Math.max(all - most, 0));
};
/** Elements around the chosen scale, a button each, with the place of its scale. */
function elementsTable(shown) {
  const {rows, codes, tile, back, element} = shown, all = [rows * tile[0], codes * tile[1]], most = [8, 48], [down, across] = all.map((side, i) => Math.min(side, most[i]));
  const [top, left] = [0, 1].map(i => startOfWindow(back.first[i], tile[i], all[i], most[i], element ? element[i] : back.first[i]));
  return `<div class="wide" tabindex="0"><table class="dense" id="elements">${Array.from({length: down}, (_, r) => `<tr><th scope="row">${top + r}</th>${Array.from({length: across}, (_, c) => {
    const at = scaleOf(shown, top + r, left + c).at, isHere = element ? element[0] === top + r && element[1] === left + c : at === shown.at;
    return `<td class="${at === shown.at ? "other" : ""}"><button class="${isHere ? "chosen" : ""}" data-at="${at}" data-element="${top + r}, ${left + c}" aria-label="element ${top + r}, ${left + c}: its scale at place ${at}">${left + c}</button></td>`;
  }).join("")}</tr>`).join("")}</table></div>`;
}
/** Up to 32 rows and 16 indices around the chosen one, each with its place. */
function layoutFigure({rows, codes, row, index, layout, at, size}) {
  const down = Math.min(rows, 32), across = Math.min(codes, 16), top = Math.min(Math.max(row - 16, 0), rows - down), left = Math.min(Math.max(index - 8, 0), codes - across), cell = Math.max(40, 7 * `${size}`.length + 8);
  const text = (x, y, words, more = "") => `<text x="${x}" y="${y}" text-anchor="middle"${more}>${words}</text>`, cells = [];
  for (let i = 0; i < across; i++) cells.push(text(60 + cell * (i + 0.5), 12, left + i));
  for (let r = 0; r < down; r++) {
    cells.push(text(30, 30 + 18 * r, `row ${top + r}`));
    for (let i = 0; i < across; i++) {
      const chosen = top + r === row && left + i === index, here = chosen ? at : placeOf(layout, top + r, left + i, rows, codes);
      cells.push(`<rect data-at="${here}" x="${60 + cell * i}" y="${17 + 18 * r}" width="${cell}" height="18" fill="${chosen ? "var(--part)" : "none"}" stroke="var(--line)"/>` +
        text(60 + cell * (i + 0.5), 30 + 18 * r, here, chosen ? ' font-weight="bold"' : ""));
    }
  }
  return `<svg id="map" viewBox="0 0 ${64 + cell * across} ${20 + 18 * down}" role="img" aria-label="places of rows ${top} to ${top + down - 1}, indices ${left} to ${left + across - 1}">${cells.join("")}</svg>`;
}
/** About `most` numbers of 0 .. all - 1 around one of them, from an even one on; all of them where they are as few. */
function around(chosen, all, most) {
  const near = Math.min(Math.max(chosen - Math.trunc(most / 2), 0), Math.max(all - most, 0)), first = near - near % 2;
  return {first, count: Math.min(all - first, most + near % 2)};
}
/** The rows and indices that the table of places shows. */
function windowOf({rows, codes, row, index}) {
  const across = around(index, codes, codes <= CELLS_MOST && rows * codes <= CELLS_MOST ? codes : ACROSS_MOST), down = around(row, rows, Math.trunc(CELLS_MOST / across.count));
  return {across, down};
}
const partText = ({first, count}, all) => count === all ? "" : `${first} to ${first + count - 1} of ${all}`;
/** The places in their order, those around the chosen one of many; of codes of 4 bits two to a byte. */
function memoryText(shown, {first, count}) {
  const one = here => here.padding ? `<span class="small" data-at="${here.at}">${shown.bits === 4 ? nibbleOf(here) : here.at}: padding</span>`
    : `<button class="${here.at === shown.at ? "chosen" : ""}" data-at="${here.at}" data-row="${here.row}" data-index="${here.index}">${shown.bits === 4 ? nibbleOf(here) : here.at}: ${here.row}, ${here.index}</button>`;
  const all = Array.from({length: count}, (_, i) => spanOf(shown, first + i));
  return shown.bits === 4 ? all.map((here, i) => (here.bit ? "" : `<span class="byte">byte ${here.byte} `) + one(here) + (here.bit || i + 1 === all.length ? "</span>" : "")).join(" ") : all.map(one).join(" ");
}
/** What is pointed at, in words. */
function pointedText(shown, at, element) {
  const here = spanOf(shown, at), where = `place ${at}${shown.bits === 4 ? `, the ${nibbleOf(here)} nibble of byte ${here.byte}` : `, byte ${here.byte}`}`;
  if (element) return `Element (${element}): its scale, row ${here.row}, index ${here.index}, lies at ${where}.`;
  return here.padding ? `${where}: padding.` : `${where}: row ${here.row}, index ${here.index}${shown.scales ? `, which scales ${elementsText(here)}` : ""}.`;
}
function ordersTable(state, {orders}) {
  const row = ({id, from, byte, nibble, bytes}) => `<tr><th scope="row"><a href="${escape_(hashOf("layout", {...state, layout: id}))}">${escape_(id)}</a></th><td>${from}</td><td>${byte}, ${nibble}</td>` +
    `<td>${bytes.map((text, i) => from + i !== byte ? text : nibble === "high" ? `<b class="parts">${text[0]}</b>${text[1]}` : `${text[0]}<b class="parts">${text[1]}</b>`).join(" ")}</td></tr>`;
  return `<h2>The bytes in each nibble order</h2><div class="wide" tabindex="0"><table id="orders"><thead><tr><th scope="col">layout</th><th scope="col">from byte</th><th scope="col">the chosen code: byte, nibble</th><th scope="col">16 bytes, high digit first</th></tr></thead><tbody>${orders.map(row).join("")}</tbody></table></div>`;
}
function drawLayout(state, page) {
  const shown = layoutOf_(state), {rows, codes, layout} = shown;
  const {down, across} = windowOf(shown), places = around(shown.at, shown.size, PLACES_MOST), parts_ = [["rows", partText(down, rows)], ["indices", partText(across, codes)]].filter(([, text]) => text).map(([name, text]) => `, ${name} ${text}`).join("");
  const row = Array.from({length: down.count}, (_, j) => down.first + j).map(r => `<tr><th scope="row">${r}</th>${Array.from({length: across.count}, (_, j) => across.first + j).map(i => {
    const at = placeOf(layout, r, i, rows, codes);
    return `<td><button class="${r === shown.row && i === shown.index ? "chosen" : ""}" data-at="${at}" data-row="${r}" data-index="${i}" aria-label="row ${r}, index ${i}: place ${at}">${at}</button></td>`;
  }).join("")}</tr>`);
  const scaled = shown.scales ? field("tile", "elements of a scale", state.tile, "text") + field("element", "element: row, column", state.element, "text") : "";
  const about = {...state, row: String(shown.row), index: String(shown.index)};
  page.innerHTML = `<form class="fields">${choose("layout", "layout", layoutsHere(), state)}${["rows", "codes", "row", "index"].map(name => field(name, name, about[name], "numeric")).join("")}${scaled}` +
    `${shown.scales || shown.bits !== 4 ? "" : field("digits", "codes of a row, hex digits", state.digits, "text")}</form>` +
    `<p id="sentence" role="status">${escape_(shown.sentence)}</p><p id="pointed" class="small">Point at a place or an element, or go from one to the next with the arrow keys: all that belongs to it is marked.</p>` +
    `<div id="places">${shown.scales ? `<h2>Elements, by their columns</h2>${elementsTable(shown)}` : ""}${shown.orders.length ? ordersTable(state, shown) : ""}` +
    `<h2>The place of each row and index${parts_}</h2><div class="wide tall" tabindex="0"><table class="dense">${row.join("")}</table></div>` +
    `<h2>What lies at each ${shown.bits === 4 ? "byte" : "place"}: row, index${partText(places, shown.size) && `, places ${partText(places, shown.size)}`}</h2><div class="memory tall" tabindex="0">${memoryText(shown, places)}</div>` +
    `<h2>Around the chosen one</h2>${layoutFigure(shown)}</div>${ownForm(state)}`;
  bindOwn(page, state);
  bindPlaces(page.querySelector("#places"), shown);
  const parts = page.querySelectorAll("#places .wide, #places .tall");
  const show = () => parts.forEach(showChosen);
  show();
  new ResizeObserver(show).observe(page.querySelector("#places")); // at another width too
}
/** Scrolls a part of the page that scrolls by itself to what is chosen in it. */
function showChosen(part) {
  const chosen = part.querySelector(".chosen, .other");
  if (!chosen) return;
  const [inside, outside] = [chosen, part].map(item => item.getBoundingClientRect());
  part.scrollTop += (inside.top + inside.bottom - outside.top - outside.bottom) / 2;
  part.scrollLeft += (inside.left + inside.right - outside.left - outside.right) / 2;
}
/** A click chooses; what is pointed at or has the focus marks all that belongs to its place; arrow keys go on. */
function bindPlaces(places, shown) {
  const point = target => {
    const {at, element} = target.closest("[data-at]")?.dataset || {};
    if (at === undefined) return;
    places.querySelectorAll(".pointed").forEach(item => item.classList.remove("pointed"));
    places.querySelectorAll(`[data-at="${at}"]`).forEach(item => item.classList.add("pointed"));
    document.querySelector("#pointed").textContent = pointedText(shown, Number(at), element);
  };
  places.addEventListener("mouseover", event => point(event.target));
  places.addEventListener("focusin", event => point(event.target));
  places.addEventListener("click", event => {
    const {row, index, element} = event.target.closest("button")?.dataset || {};
    if (element !== undefined) go(changeOfPlace(shown.state, "element", element), `[data-element="${element}"]`);
    else if (row !== undefined) go({row, index, element: ""}, `${event.target.closest("table") ? "td" : ".memory"} [data-row="${row}"][data-index="${index}"]`);
  });
  places.addEventListener("keydown", event => {
    const cell = event.target.closest("td"), steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1};
    if (event.target.localName !== "button" || !(event.key in steps)) return;
    event.preventDefault();
    const list = cell ? [...cell.closest("table").querySelectorAll("button")] : [...places.querySelectorAll(".memory button")];
    const wide = cell && ["ArrowUp", "ArrowDown"].includes(event.key) ? cell.parentNode.querySelectorAll("button").length : 1;
    list[list.indexOf(event.target) + wide * steps[event.key]]?.focus();
  });
}
/** What else changes with a field: an element says row and index, and leaves when one of them is written. */
function changeOfPlace(state, name, value) {
  if (!["row", "index", "element"].includes(name) || !(name === "element" ? value : state.element).trim()) return {};
  try {
    const {row, index} = layoutOf_(name === "element" ? {...state, element: value} : state);
    return {row: String(row), index: String(index), element: "", [name]: value};
  } catch (error) { if (error instanceof Refusal) return {}; throw error; } // refused where the room is drawn
}
const startOfLayout = ({layout}) => startOf("layouts", objectCalled("layouts", layout));
const changeOfLayout = state => ({layout: own.layouts[0] || (META.layouts.includes(state.layout) ? state.layout : LAYOUT.layout)});
/** The name of the layout in a file for emu: one of the page keeps its own there. */
const layoutName = ({layout}) => own.layouts.includes(layout) && META.layouts.includes(layout) ? `own_${layout}` : layout;
/** The YAML file of a layout of a descriptor: what layoutText reads. */
function layoutYaml(state) {
  const {lines} = objectCalled("layouts", state.layout), fact = name => lines.find(line => line.startsWith(`${name} `)).split(" ")[1];
  const digits = lines.filter(line => line.startsWith("digit ")).map(line => {
    const [, axis, step, count] = line.split(" ");
    return `    - {axis: "${axis.startsWith("row") ? "row" : "idx"}", step: ${step}${count === "rest" ? "" : `, count: ${count}`}${axis.endsWith("_down") ? ', order: "down"' : ""}}\n`;
  });
  return `kind: "layout"\nid: "${layoutName(state)}"\ntitle: "${layoutName(state)}, of the explorer"\nstatus: "proposed"\nfacts:\n  holds: "${fact("holds")}"\n  code_bits: ${fact("code_bits")}\n  digits:\n${digits.join("")}sources: []\n`;
}
/** The YAML file of a layout as a descriptor; another text as it is. Whether its facts are right is for C to say. */
function layoutText(text) {
  if (/^emu descriptor/.test(text) || !/^\s*digits:/m.test(text)) return text;
  const lines = text.split("\n").map(line => line.replace(/(^|\s)#.*$/, "")), at = lines.findIndex(line => /^\s*digits:/.test(line)), indent = /^\s*/.exec(lines[at])[0].length;
  const fact = name => new RegExp(`^\\s*${name}:\\s*["']?([\\w.]+)["']?\\s*$`, "m").exec(lines.slice(0, at).join("\n") + "\n" + lines.slice(at + 1).join("\n"))?.[1] || refuse(`layout YAML: no ${name}: write it as in spec/layout`);
  const digits = [];
  for (let i = at + 1; i < lines.length && (!lines[i].trim() || /^\s*/.exec(lines[i])[0].length > indent || /^\s*- /.test(lines[i])); i++) {
    if (/^\s*- /.test(lines[i])) digits.push({});
    const words = lines[i].replace(/^\s*- /, "").replace(/[{}]/g, "").split(",").map(part => part.trim()).filter(Boolean);
    for (const part of words) {
      const [, name, value] = /^(\w+):\s*["']?(\w+)["']?$/.exec(part) || [];
      if (!digits.length || !["axis", "step", "count", "order"].includes(name) || name === "order" && value !== "down") refuse(`layout YAML line ${i + 1}: ${part}: a digit has axis, step, count and order: down`);
      digits.at(-1)[name] = value;
    }
  }
  const axes = {row: "row", idx: "index"}, digit = ({axis, step = "1", count = "rest", order}) => `digit ${axes[axis] || axis}${order ? "_down" : ""} ${step} ${count}\n`;
  return `emu descriptor 1\n${Object.keys(SECTIONS).map(kind => kind !== "layouts" ? `${kind} 0\n` : `layouts 1\nlayout ${fact("id")}\nholds ${fact("holds")}\ncode_bits ${fact("code_bits")}\ndigits ${digits.length}\n${digits.map(digit).join("")}`).join("")}`;
}
