/** The steps of a long form: the one that the page shows is marked, for the eye and for a screen reader. */

const GROUPS = ".skill-form--steps .skill-form__group";

function markStep() {
  const groups = [...document.querySelectorAll(GROUPS)];
  const isWhole = !groups.length || document.getElementById("whole-form")?.matches(":target");
  const shown = isWhole ? "whole-form" : (groups.find((group) => group.matches(":target, :has(:target)")) ?? groups[0]).id;
  for (const link of document.querySelectorAll(".form-steps a")) {
    if (link.getAttribute("href") === `#${shown}`) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  }
}

markStep();
addEventListener("hashchange", markStep);
