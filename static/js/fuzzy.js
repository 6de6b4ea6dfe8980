/** Find names by some of their letters, in order: "bkt" finds "Backtests". */

const START = 8; // for a letter that begins a word
const NEXT = 4; // for a letter that follows the one before it
const WHOLE = 20; // for words that stand together

/**
 * @param {string} query
 * @param {string} name
 * @returns {number} how well a name fits, above 0; 0: it lacks a letter
 */
export function score(query, name) {
  const wanted = fold(query).replaceAll(" ", "");
  const text = fold(name);
  if (!wanted) return 1;
  let best = 0;
  // The first letter may stand at several places; the best beginning counts.
  for (let at = text.indexOf(wanted[0]); at !== -1; at = text.indexOf(wanted[0], at + 1)) {
    best = Math.max(best, scoreFrom(wanted, text, at));
  }
  return best && text.includes(fold(query).trim()) ? best + WHOLE : best;
}

/**
 * @template T
 * @param {string} query
 * @param {T[]} items
 * @param {(item: T) => string} nameOf
 * @returns {T[]} the items that fit, the best first, equal ones in their order
 */
export function rank(query, items, nameOf) {
  const scored = items.map((item) => ({ item, fit: score(query, nameOf(item)) })).filter(({ fit }) => fit > 0);
  return scored.sort((a, b) => b.fit - a.fit).map(({ item }) => item);
}

/**
 * @param {string} wanted
 * @param {string} text
 * @param {number} at  where its first letter is
 * @returns {number}
 */
function scoreFrom(wanted, text, at) {
  let total = 0;
  let last = at - 1;
  for (const letter of wanted) {
    const found = text.indexOf(letter, last + 1);
    if (found === -1) return 0;
    const isStart = found === 0 || !/[\p{L}\p{N}]/u.test(text[found - 1]);
    total += 1 + (isStart ? START : 0) + (found === last + 1 && total ? NEXT : 0);
    last = found;
  }
  return total;
}

/**
 * @param {string} text
 * @returns {string} without accents and capitals
 */
function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\s+/g, " ");
}
