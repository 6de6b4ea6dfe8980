import { addCopyButtons } from "../js/copy.js";

/**
 * Parse HTML that the server rendered and sanitised. No other text may be handed in here. Scripts in it
 * would not run.
 *
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/**
 * Activate inserted server HTML: its htmx forms and the copy buttons of its code.
 *
 * @param {Element} element
 */
export function enliven(element) {
  addCopyButtons(element);
  /** @type {{ htmx?: { process: (element: Element) => void } }} */ (window).htmx?.process(element);
}

/**
 * Put new server HTML in the place of an element, keeping open the tool details the reader opened.
 *
 * @param {Element} old
 * @param {Element} element
 */
export function swap(old, element) {
  const open = openTools(old);
  old.replaceWith(element);
  reopen(element, open);
}

/**
 * @param {Element} element
 * @returns {string[]} ids of the tool cards whose details are open
 */
export function openTools(element) {
  return Array.from(element.querySelectorAll(".tool:has(details[open])"), (tool) => tool.id);
}

/**
 * @param {Element} element
 * @param {string[]} ids
 */
export function reopen(element, ids) {
  for (const id of ids) element.querySelector(`#${CSS.escape(id)} details`)?.setAttribute("open", "");
}

/**
 * Make an element with a class and plain text.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} className
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, text = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}
