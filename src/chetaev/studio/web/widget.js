/* The studio as a widget: its page in a frame with a separate origin, whose requests are messages of the notebook. */

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "chetaev studio";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
  frame.style.cssText = "width: 100%; height: 80vh; border: 1px solid #8884";
  const ask = (event) => {
    const asked = event.source === frame.contentWindow && event.data;
    if (asked && asked.chetaev === "ask") model.send({ id: asked.id, method: asked.method, path: asked.path, body: asked.body });
  };
  const tell = ({ id, answer }) => { if (frame.contentWindow) frame.contentWindow.postMessage({ chetaev: "answer", id, answer }, "*"); };
  window.addEventListener("message", ask);
  model.on("msg:custom", tell);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", ask);
    model.off("msg:custom", tell);
  };
}

export default { render };
