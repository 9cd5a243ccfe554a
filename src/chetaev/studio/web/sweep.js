/* The view of a sweep: a quantity at the end of the motion over one parameter or initial value. */

const MEMBERS = 61;
const sweepFields = { name: find("sweep-name"), low: find("sweep-low"), high: find("sweep-high"), measure: find("sweep-measure") };
let sweepRanges = [], sweeps = 0;

/* Update the names that can be varied in the present text. A choice that is still possible stays, with the typed range. */
function offerSweeps(ranges, unknowns) {
  const { name, measure } = sweepFields, before = name.value, kept = ranges.some((range) => range.name === before);
  sweepRanges = ranges;
  name.replaceChildren();
  for (const range of ranges) make(name, "option", { value: range.name, text: range.name });
  const last = ranges.findLast((range) => range.kind === "parameters"); // what was declared last is what one plays with
  if (kept) name.value = before;
  else {
    if (last) name.value = last.name;
    suggestRange();
  }
  if (!measure.value.trim()) measure.value = unknowns[0] || "";
}

function suggestRange() {
  const range = sweepRanges.find((each) => each.name === sweepFields.name.value);
  sweepFields.low.value = range ? range.low : "";
  sweepFields.high.value = range ? range.high : "";
}

async function sweepNow() {
  if (!once("sweep")) return;
  const { name, low, high, measure } = sweepFields, target = find("sweep"), note = find("sweep-note");
  const trouble = !name.value ? "Nothing in this model can be varied: it has no parameters and no initial values."
    : !(low.valueAsNumber < high.valueAsNumber) ? "The range goes from a smaller to a larger number."
    : !measure.value.trim() ? "Name what is measured: a coordinate, a velocity or an expression." : "";
  note.textContent = trouble || "computing \u2026";
  if (trouble) return target.replaceChildren();
  const over = { name: name.value, low: low.valueAsNumber, high: high.valueAsNumber, count: MEMBERS };
  const own = { client: `${client}-sweep`, serial: ++sweeps }; // a new sweep ends the last one, and nothing else
  const answer = await ask("sweep", { over, measure: measure.value.trim(), ...own });
  if (!answer) return undefined;
  target.replaceChildren();
  note.textContent = "";
  if (!answer.ok) return (answer.errors || []).forEach((error) => listError(target, error, act));
  note.textContent = sweepWords(answer);
  const figure = make(target, "figure"), words = `${answer.measure} at the end over ${answer.name}`;
  make(figure, "figcaption", { text: words });
  const canvas = make(figure, "canvas", { role: "img", class: "wide", "aria-label": words });
  return keepDrawn(canvas, [{ t: answer.over, v: answer.values }]);
}

/* The number of motions, and the outcomes of those that did not finish. */
function sweepWords(answer) {
  const counts = new Map();
  for (const word of answer.outcomes) counts.set(word, (counts.get(word) || 0) + 1);
  const parts = [...counts].map(([word, n]) => `${n} ${word.replaceAll("_", " ")}`), known = answer.values.filter((v) => v !== null);
  const reach = known.length ? `; ${answer.measure} from ${written(Math.min(...known))} to ${written(Math.max(...known))}` : "";
  return `${answer.outcomes.length} motions: ${parts.join(", ")}${reach}`;
}

function sweepAgain() {
  delete now.done.sweep;
  sweepNow();
}

sweepFields.name.addEventListener("change", () => { suggestRange(); sweepAgain(); });
for (const field of [sweepFields.low, sweepFields.high, sweepFields.measure]) field.addEventListener("change", sweepAgain);
