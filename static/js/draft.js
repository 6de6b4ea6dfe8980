/**
 * A draft beside the chat: poll its preview and mark what changed.
 *
 * The interval is not an `hx-trigger` filter: htmx evaluates filters with eval, which our CSP and `allowEval` forbid.
 */

const LOOK_MS = 4_000;
const MARKED_MS = 2_500;
const PANEL_MS = 10_000; // how long the chat may take to load

const place = /** @type {HTMLElement} */ (document.getElementById("draft-place"));
const told = document.getElementById("draft-told");

/* --- Polling --- */

function look() {
  const isAsking = place.querySelector("details[open]"); // a swap would close the question
  if (document.visibilityState === "visible" && !isAsking) document.body.dispatchEvent(new CustomEvent("keel:look"));
}

setInterval(look, LOOK_MS);
document.addEventListener("visibilitychange", look);

// Report trouble once; polling goes on.
let isTroubled = false;
for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  place.addEventListener(name, (event) => {
    if (isTroubled) event.stopPropagation();
    isTroubled = true;
  });
}
place.addEventListener("htmx:afterRequest", (event) => {
  if (/** @type {CustomEvent} */ (event).detail.successful) isTroubled = false;
});

/* --- Marking changes --- */

/** @returns {Map<string, string>} the words of each card, by its title */
function read() {
  const cards = /** @type {NodeListOf<HTMLElement>} */ (place.querySelectorAll("[data-card]"));
  return new Map([...cards].map((card) => [card.dataset.card ?? "", card.textContent ?? ""]));
}

let before = read();

place.addEventListener("htmx:afterSwap", () => {
  const after = read();
  const changed = [...after.keys()].filter((title) => after.get(title) !== before.get(title));
  before = after;
  for (const title of changed) {
    const card = place.querySelector(`[data-card="${CSS.escape(title)}"]`);
    card?.classList.add("is-changed");
    setTimeout(() => card?.classList.remove("is-changed"), MARKED_MS);
  }
  if (told) told.textContent = changed.length ? `The draft has changed: ${changed.join(", ")}.` : "The draft has changed.";
});

/* --- Starting a conversation --- */

// A starter goes into the chat beside the page, to be sent or changed; without one, its link opens the chat's own page.
place.addEventListener("click", (event) => {
  const { ctrlKey, metaKey, shiftKey, target } = event;
  const starter = target instanceof Element ? target.closest("[data-say]") : null;
  const panel = document.getElementById("coach-panel");
  if (!(starter instanceof HTMLElement) || !panel || ctrlKey || metaKey || shiftKey) return;
  event.preventDefault();
  if (panel.hidden) /** @type {HTMLElement | null} */ (document.querySelector(".panel__open"))?.click();
  say(panel, starter.dataset.say ?? "");
});

/**
 * @param {HTMLElement} panel
 * @param {string} words
 * @param {number} until  when to give up
 */
function say(panel, words, until = Date.now() + PANEL_MS) {
  const box = panel.querySelector(".composer__input");
  if (!(box instanceof HTMLTextAreaElement)) {
    if (Date.now() < until) setTimeout(() => say(panel, words, until), 100);
    return;
  }
  if (!box.value.trim()) {
    box.value = words;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  box.focus();
}
