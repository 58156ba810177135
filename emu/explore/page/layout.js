// layout.js: where the code of a row and an index lies in memory, and the way back.
const LAYOUT = {layout: "sf128x4", rows: "128", codes: "8", row: "33", index: "5"};
function whole(text, name, least, most) {
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) < least || Number(text) > most) refuse(`${name} ${text}: write a number from ${least} to ${most}`);
  return Number(text);
}
function placeOf(layout, row, index, rows, codes) {
  checked(C.ex_layout_place(layout, BigInt(row), BigInt(index), BigInt(rows), BigInt(codes), OUT));
  return Number(numbersAt(OUT, 1)[0]);
}
function locate(layout, at, rows, codes) {
  checked(C.ex_layout_locate(layout, BigInt(at), BigInt(rows), BigInt(codes), OUT));
  const [row, index] = numbersAt(OUT, 2).map(Number);
  return {row, index, padding: row >= rows || index >= codes};
}
function layoutOf_(state) {
  const rows = whole(state.rows, "rows", 1, 1024), codes = whole(state.codes, "codes", 1, 1024), layout = layoutOf(state.layout);
  if (rows * codes > 8192) refuse(`${rows} x ${codes}: at most 8192 codes are shown`);
  const row = whole(state.row, "row", 0, rows - 1), index = whole(state.index, "index", 0, codes - 1), at = placeOf(layout, row, index, rows, codes);
  checked(C.ex_layout_size(layout, BigInt(rows), BigInt(codes), OUT));
  const [size, scales, bits] = numbersAt(OUT, 3).map(Number), back = locate(layout, at, rows, codes);
  const sentence = `In ${state.layout}, the ${scales ? "scale" : "element code"} of row ${row}, index ${index} of ${rows} x ${codes} lies at place ${at} of ${size} (${bits} bits each` +
    `${bits === 4 ? ", the low nibble of a byte first" : ""}); place ${at} holds row ${back.row}, index ${back.index}.`;
  return {rows, codes, row, index, at, size, layout, sentence};
}
/** Up to 32 rows and 16 indices around the chosen one, each with its place. */
function layoutFigure({rows, codes, row, index, layout, at}) {
  const down = Math.min(rows, 32), across = Math.min(codes, 16), top = Math.min(Math.max(row - 16, 0), rows - down), left = Math.min(Math.max(index - 8, 0), codes - across);
  const text = (x, y, words, more = "") => `<text x="${x}" y="${y}" text-anchor="middle"${more}>${words}</text>`, cells = [];
  for (let i = 0; i < across; i++) cells.push(text(80 + 40 * i, 12, left + i));
  for (let r = 0; r < down; r++) {
    cells.push(text(30, 30 + 18 * r, `row ${top + r}`));
    for (let i = 0; i < across; i++) {
      const chosen = top + r === row && left + i === index;
      cells.push(`<rect x="${60 + 40 * i}" y="${17 + 18 * r}" width="40" height="18" fill="${chosen ? "var(--part)" : "none"}" stroke="var(--line)"/>` +
        text(80 + 40 * i, 30 + 18 * r, chosen ? at : placeOf(layout, top + r, left + i, rows, codes), chosen ? ' font-weight="bold"' : ""));
    }
  }
  return `<svg id="map" viewBox="0 0 ${64 + 40 * across} ${20 + 18 * down}" role="img" aria-label="places of rows ${top} to ${top + down - 1}, indices ${left} to ${left + across - 1}">${cells.join("")}</svg>`;
}
function drawLayout(state, page) {
  const shown = layoutOf_(state), {rows, codes, layout} = shown;
  const row = Array.from({length: rows}, (_, r) => `<tr><th scope="row">${r}</th>${Array.from({length: codes}, (_, i) =>
    `<td><button class="${r === shown.row && i === shown.index ? "chosen" : ""}" data-row="${r}" data-index="${i}" aria-label="row ${r}, index ${i}">${placeOf(layout, r, i, rows, codes)}</button></td>`).join("")}</tr>`);
  const memory = Array.from({length: Math.min(shown.size, 16384)}, (_, at) => {
    const here = locate(layout, at, rows, codes);
    return here.padding ? `<span class="small">${at}: padding</span>` : `<button class="${at === shown.at ? "chosen" : ""}" data-row="${here.row}" data-index="${here.index}">${at}: ${here.row}, ${here.index}</button>`;
  });
  page.innerHTML = `<form class="fields">${choose("layout", "layout", META.layouts, state)}${["rows", "codes", "row", "index"].map(name => field(name, name, state[name], "numeric")).join("")}</form>` +
    `<p id="sentence" role="status">${shown.sentence}</p><h2>The place of each row and index</h2><div class="wide tall" tabindex="0"><table class="dense">${row.join("")}</table></div>` +
    `<h2>What lies at each place: row, index</h2><div class="memory tall" tabindex="0">${memory.join(" ")}</div>` +
    `<h2>Around the chosen one</h2>${layoutFigure(shown)}`;
  page.querySelectorAll("[data-row]").forEach(button => button.addEventListener("click", () =>
    go({row: button.dataset.row, index: button.dataset.index}, `td [data-row="${button.dataset.row}"][data-index="${button.dataset.index}"]`)));
}
