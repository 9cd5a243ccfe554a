/* Requests: over HTTP to the server of the studio, or, inside a widget of a notebook, through messages of the page around this one. */

const token = new URLSearchParams(location.search).get("token") || "";
const client = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
const framed = !token && window.parent !== window;
const unanswered = new Map();
let requests = 0;

async function call(path, body) {
  return framed ? throughFrame(path, body) : overHttp(path, body);
}

async function overHttp(path, body) {
  const options = { headers: { "X-Chetaev-Token": token }, credentials: "omit", cache: "no-store" };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  try {
    const answer = await fetch(`/api/${path}`, options);
    return await answer.json();
  } catch (error) {
    const message = "The studio does not answer. Was it stopped? Start it again with: chetaev studio";
    return { ok: false, errors: [{ kind: "Offline", message, hint: "", where: "", line: 1, column: 1, length: 1, fixes: [] }] };
  }
}

function throughFrame(path, body) {
  return new Promise((resolve) => {
    const id = `${client}-${++requests}`;
    unanswered.set(id, resolve);
    window.parent.postMessage({ chetaev: "ask", id, method: body === undefined ? "GET" : "POST", path, body: body === undefined ? null : body }, "*");
  });
}

window.addEventListener("message", (event) => {
  if (!framed || event.source !== window.parent || !event.data || event.data.chetaev !== "answer") return;
  const resolve = unanswered.get(event.data.id);
  unanswered.delete(event.data.id);
  if (resolve) resolve(event.data.answer);
});

/* Show the page of an answer in a frame: the server keeps it at an address, a notebook sends it along. */
function showPage(frame, answer) {
  if (answer.page) frame.src = answer.page; else frame.srcdoc = answer.html;
}

const pageText = async (answer) => (answer.page ? (await fetch(answer.page)).text() : answer.html);
