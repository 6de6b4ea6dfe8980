/** Menus that are details elements: Escape and a click beside one close it. Without this script they still open. */

document.addEventListener("keydown", (event) => {
  const menu = /** @type {Element} */ (event.target).closest?.("details[data-menu][open]");
  if (event.key !== "Escape" || event.isComposing || !menu) return;
  event.preventDefault();
  menu.removeAttribute("open");
  menu.querySelector("summary")?.focus();
});

// The event does not bubble, so that it is caught on its way down.
document.addEventListener(
  "toggle",
  ({ target }) => {
    if (!(target instanceof HTMLDetailsElement) || !target.matches("[data-menu][open]")) return;
    for (const menu of document.querySelectorAll("details[data-menu][open]")) if (menu !== target) menu.removeAttribute("open");
  },
  true,
);

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(/** @type {Node} */ (event.target))) menu.removeAttribute("open");
  }
});
