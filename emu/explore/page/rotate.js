// rotate.js: the values of Block rotated, by C, before both recipes take them.
const transformOf = id => named("transform", id, () => C.ex_transform(library, word(id)));
function transformFacts(transform) {
  C.ex_transform_facts(transform, OUT);
  const [size, result, ...signs] = numbersAt(OUT, 6);
  return {size: Number(size), result: nameOf(Number(result)), signs: signs.reduceRight((mask, part) => mask << 64n | unsigned(part), 0n)};
}
const takesSigns = id => META.transforms.some(([name, free]) => name === id && free);

/** The recipes of Block that rotate by signs which may be given, each once. */
const signedRecipes = ({a, b}) => [...new Set([a, b])].filter(id => recipeOf(id)?.signs);
/** How many signs a mask has: of the rotation before both, without one of those that the recipes have; 0: none can be given. */
function signBits(state) {
  if (state.rotate !== "none") return takesSigns(state.rotate) ? transformFacts(transformOf(state.rotate)).size : 0;
  const sizes = signedRecipes(state).map(id => recipeOf(id).signs);
  return sizes.length ? Math.min(...sizes) : 0;
}
/** The signs that a rotation flips first, bit i for element i of a group; null: its own. */
function signsOf(state) {
  const text = state.signs.trim(), size = signBits(state);
  if (!text) return null;
  if (!size) refuse(`${state.rotate === "none" ? `${state.a} and ${state.b} rotate by no signs that may be given` : `${state.rotate} has fixed signs`}: leave signs out`);
  if (!/^0x[0-9a-f]{1,64}$/i.test(text) || BigInt(text) >> BigInt(size)) refuse(`signs ${text}: write a mask of ${size} bits as hex digits behind 0x`);
  return BigInt(text);
}
/** A mask as C takes it: four words, and their place, 0 for null. */
const signWords = signs => [0n, 64n, 128n, 192n].map(bit => unsigned(signs >> bit));
const signsAt = signs => signs === null ? 0 : place(new Uint8Array(new BigUint64Array(signWords(signs)).buffer));
/** What the sentence says of signs that the recipes' own rotations take. */
const signsSay = (state, signs) => signs === null ? "" : ` ${signedRecipes(state).join(" and ")} rotate${signedRecipes(state).length > 1 ? "" : "s"} with the signs ${hex(signs, signBits(state))} that you give.`;
/** What the recipes of Block take: codes and their format, the rotation that made them, null without one, and then the signs of their own, null for those they state. */
function takenOf(state) {
  const given = valuesOf(state.x, state.from), rows = whole(state.rows, "rows", 1, 512);
  if (given.length % rows) refuse(`rows ${rows}: ${given.length} values: give as many in each row`);
  if (state.rotate === "none") return {codes: given, from: state.from, rows, rotation: null, signs: signsOf(state)};
  const transform = transformOf(state.rotate), facts = transformFacts(transform), signs = signsOf(state);
  const own = [state.a, state.b].find(id => recipeOf(id)?.rotates);
  if (own) refuse(`${own} has a rotation of its own: choose the rotation none, or another recipe`);
  if (given.length / rows % facts.size) refuse(`${state.rotate}: ${given.length / rows} values: give a multiple of ${facts.size}`);
  const codes = scratch(() => {
    const from = place(new Uint8Array(new BigUint64Array(given).buffer)), to = room(8 * given.length);
    checked(C.ex_rotate(formatOf(state.from), transform, signsAt(signs), from, to, given.length));
    return Array.from(new BigUint64Array(C.memory.buffer, to, given.length));
  });
  return {codes, from: facts.result, rows, signs: null, rotation: {given, size: facts.size, signs: hex(signs ?? facts.signs, facts.size)}};
}

/** The largest magnitude of codes; the first that is not finite, where there is one. */
function largest(codes, id) {
  const values = codes.map(code => decode(formatOf(id), code)), wild = values.find(value => !isFinite_(value));
  if (wild) return valueText(wild);
  const sizes = values.map(value => ({...value, sign: 0}));
  return shortText(sizes.reduce((most, value) => compare(dyadic(most), dyadic(value)) < 0 ? value : most));
}
/** One sentence: what the rotation did to the values and to the scales of A. trace: of A, behind the rotation. */
function rotationSays(state, {codes, from, rows, rotation}, trace, amax, drawn) {
  const plain = traceOf(state.a, rotation.given, amax, state.from, rows, drawn?.integers).levels.at(-1), level = trace.levels.at(-1);
  const other = level ? level.items.filter((item, i) => item.code !== plain.items[i].code).length : 0;
  return `Both recipes take what ${state.rotate} makes of each ${rotation.size} values, with the signs ${rotation.signs}, in ${from}: the largest magnitude is ${largest(codes, from)}, where it was ${largest(rotation.given, state.from)}` +
    (level ? `; scales of ${state.a} that are not those without it: ${other} of ${level.items.length}.` : ".");
}
