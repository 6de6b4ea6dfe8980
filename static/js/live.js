/**
 * Parts of a page that follow what happens elsewhere: each `[data-live]` names the address of its newest state.
 *
 * A visible page asks every one and a half seconds; 204 says that nothing changed. A hidden page does not ask. What the
 * user is about to confirm stays as it is until the confirmation is closed.
 */

const EVERY_MS = 1_500;
const SLOWEST_MS = 30_000;
const MARKED_MS = 1_000;

let wait = EVERY_MS;
let timer = 0;

/** @param {HTMLElement} part */
async function refresh(part) {
  if (part.querySelector(".confirm[open]")) return;
  const answer = await fetch(part.dataset.live ?? "", { headers: { Accept: "text/html" }, redirect: "error" });
  if (answer.status === 204) return;
  if (!answer.ok) throw new Error(String(answer.status));
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
  // The user may have opened a confirmation while the answer was under way.
  if (!next || !part.isConnected || part.querySelector(".confirm[open]")) return;
  for (const details of part.querySelectorAll("details[id]")) {
    const same = /** @type {HTMLDetailsElement | null} */ (next.querySelector(`#${details.id}`));
    if (same && /** @type {HTMLDetailsElement} */ (details).open) same.open = true;
  }
  const before = [...part.querySelectorAll("[data-figure]")].map((figure) => figure.textContent);
  const focused = part.contains(document.activeElement) ? document.activeElement?.textContent?.trim() : "";
  part.replaceWith(document.adoptNode(next));
  [...next.querySelectorAll("[data-figure]")].forEach((figure, place) => {
    if (before[place] === figure.textContent) return;
    figure.classList.add("is-new");
    setTimeout(() => figure.classList.remove("is-new"), MARKED_MS);
  });
  if (focused) {
    const stops = /** @type {NodeListOf<HTMLElement>} */ (next.querySelectorAll("a, button, summary"));
    [...stops].find((stop) => stop.textContent?.trim() === focused)?.focus();
  }
}

async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  const parts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-live]")]);
  if (!parts.length) return;
  try {
    await Promise.all(parts.map(refresh));
    wait = EVERY_MS;
  } catch {
    wait = Math.min(wait * 2, SLOWEST_MS); // the server is away, or the user signed out
  }
  clearTimeout(timer);
  timer = setTimeout(look, wait);
}

/** Follow the live parts of the page. */
export function followLiveParts() {
  timer = setTimeout(look, wait);
  document.addEventListener("visibilitychange", look);
}
