/** Dialogs are in the top layer anyway; users must be able to hear and dismiss toasts. */
const EXEMPT = "dialog, script, template, .toasts";

/**
 * Make everything on the page but `element` unreachable, for an element that covers it.
 *
 * @param {Element} element
 * @returns {() => void} undoes it
 */
export function isolate(element) {
  /** @type {HTMLElement[]} */
  const hidden = [];
  for (let inner = element; inner !== document.body && inner.parentElement; inner = inner.parentElement) {
    for (const other of inner.parentElement.children) {
      if (other === inner || !(other instanceof HTMLElement) || other.inert || other.matches(EXEMPT)) continue;
      other.inert = true;
      hidden.push(other);
    }
  }
  return () => hidden.forEach((other) => (other.inert = false));
}
