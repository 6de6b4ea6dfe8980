/**
 * Small values kept by the browser. Storage may be full, switched off or hold something old: then the
 * value is simply not there, and the chat goes on without it.
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
    // Nothing to be done: the value lives on in the page.
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
    // As above.
  }
}
