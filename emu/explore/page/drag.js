// drag.js: the number follows the pointer along the number line, which stays where it is until the pointer is let go.
const DRAG_PARTS = 16; // a place of the line is a whole number of 2^-16 of it
let held = null; // the first of the line's values while the number is dragged
/** The code of the source's value nearest to a place of the line, 0 at its first value, 2^16 at its last. */
function codeAt(state, {some}, part) {
  const format = formatOf(state.from), low = some[0].number, gap = minus(some.at(-1).number, low), number = plus(low, {n: gap.n * BigInt(part), e: gap.e - DRAG_PARTS});
  const sign = number.n < 0n ? 1 : 0, {magnitude} = round(format, roundingOf("rne"), {sign, exp: number.e, significand: sign ? -number.n : number.n}, 0);
  const most = maxMagnitude(format, sign);
  return hex(encode(format, sign, magnitude < most ? magnitude : most), factsOf(format).width);
}
/** The place of the line that lies under the pointer; the picture has 700 units, the line 660 of them. */
function partUnder(figure, event) {
  const {left, width} = figure.getBoundingClientRect(), whole = 1 << DRAG_PARTS;
  return Math.max(0, Math.min(whole, Math.trunc(((event.clientX - left) / width * 700 - 20) / 660 * whole)));
}
function dragTo(event) {
  const figure = document.querySelector("#line"), line = lineOf(now.state, decode(formatOf(now.state.from), BigInt(now.state.code)));
  if (figure && line) go({code: codeAt(now.state, line, partUnder(figure, event))});
}
function beginDrags() {
  addEventListener("pointerdown", event => {
    if (now.name !== "number" || event.button || !event.target.closest?.("#line")) return;
    event.preventDefault();
    held = lineOf(now.state, decode(formatOf(now.state.from), BigInt(now.state.code))).from;
    guarded(() => dragTo(event));
  });
  addEventListener("pointermove", event => { if (held !== null) guarded(() => dragTo(event)); });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { if (held !== null) { held = null; draw(); } });
}
