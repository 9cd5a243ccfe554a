// Typesets every formula of the page with the KaTeX that stands next to it.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".math-inline, .math-display")) {
    katex.render(place.textContent, place, { displayMode: place.className === "math-display", throwOnError: false, strict: "ignore" });
  }
});
