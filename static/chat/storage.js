/**
 * Small values in the browser's storage. Storage may be full, disabled or hold values of an older version: a read then
 * returns the fallback, and a write does nothing.
 */

/**
 * @template T
 * @param {Storage} area
 * @param {string} key
 * @param {T} fallback
 * @returns {T}
 */
export function read(area, key, fallback) {
  try {
    const text = area.getItem(key);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

/**
 * @param {Storage} area
 * @param {string} key
 * @param {unknown} value
 */
export function write(area, key, value) {
  try {
    area.setItem(key, JSON.stringify(value));
  } catch {
    // The page keeps its own value until the next load.
  }
}

/**
 * @param {Storage} area
 * @param {string} key
 */
export function drop(area, key) {
  try {
    area.removeItem(key);
  } catch {
    // As in write().
  }
}
