// random.js: the random words of Block: written one by one, or those of a key; C draws them and takes them apart.
const drawingOf = id => scratch(() => {
  C.ex_drawing(libraryOf(isOwnRecipe(id)), word(id), OUT);
  const [bits, lanes, wordBits] = numbersAt(OUT, 3).map(Number);
  return {bits, lanes, wordBits};
});
/** The key that is written; null: words are. */
function keyOf(text) {
  const match = /^\s*key\s+(\d{1,20}|0x[0-9a-f]{1,16})\s*$/i.exec(text);
  if (!match) return null;
  if (BigInt(match[1]) >> 64n) refuse(`random ${text}: a key has at most 64 bits`);
  return BigInt(match[1]);
}
/** What a recipe draws for so many values, row after row: words, and the integer of each value; null: it draws nothing. Words that are not given are 0. */
function blockDraws(id, text, values) {
  const {bits, lanes, wordBits} = drawingOf(id), count = Math.ceil(values / lanes), key = bits ? keyOf(text) : null;
  if (!bits) return null;
  const given = key === null ? wordsOf(text).map(word_ => /^(0x)?[0-9a-f]{1,16}$/i.test(word_) ? BigInt.asUintN(wordBits, BigInt(`0x${word_.replace(/^0x/i, "")}`)) : refuse(`random ${word_}: write hex words, or a key such as key 1`)) : [];
  return scratch(() => {
    const at = key === null ? place(new Uint8Array(new BigUint64Array(Array.from({length: count}, (_, i) => given[i] ?? 0n)).buffer)) : room(8 * count), out = room(4 * values);
    if (key !== null) C.ex_words(key, wordBits, count, at);
    checked(C.ex_integers(libraryOf(isOwnRecipe(id)), word(id), at, values, out));
    return {bits, lanes, wordBits, key, short: key === null && given.length < count, words: numbersAt(at, count).map(unsigned), integers: [...new Uint32Array(C.memory.buffer, out, values)]};
  });
}
const drawnAt = integers => integers ? place(new Uint8Array(new Uint32Array(integers).buffer)) : 0;
const wordsText = ({words, wordBits}) => words.map(word_ => hex(word_, wordBits)).join(" ");
/** What the sentence says of them. */
function drawnSays(id, drawn) {
  const {words, wordBits, lanes, key, short: isShort} = drawn, first = wordsText({words: words.slice(0, 16), wordBits});
  return `${id} draws ${words.length} random words of ${wordBits} bits, one for ${lanes > 1 ? `${lanes} values` : "each value"}${key === null ? "" : `, of key ${key} of Philox4x32-10`}: ${first}${words.length > 16 ? " …" : ""}${isShort ? "; those that you do not give are 0" : ""}.`;
}
const randomField = state => field("random", "random: hex words, value 0 first, or a key", state.random, "text") + (keyOf(state.random) === null ? "" : '<button type="button" id="write-words">Write the words</button>');
function bindRandom(page, {draws}) {
  const most = draws.filter(Boolean).sort((one, two) => two.words.length - one.words.length)[0];
  page.querySelector("#write-words")?.addEventListener("click", () => go({random: wordsText(most), row: ""}, "[name=random]"));
}
