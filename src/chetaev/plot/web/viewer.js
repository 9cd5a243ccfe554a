/* Plays animations of chetaev: drawings in the plane on a canvas, drawings in space with three.js. One global name, chetaevAnimations. */
(function () {
  "use strict";
  const waiting = window.chetaevAnimations || [];
  if (waiting.ready) return;

  const STYLE = `
    :host { display: block; }
    .box { font: 14px/1.3 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #2b333c; background: #fff; border: 1px solid #d7dce1;
      border-radius: 8px; overflow: hidden; margin: 0 auto; outline: none; }
    .box:focus-visible { border-color: #0b6bb8; }
    .head { display: flex; gap: 1em; align-items: baseline; padding: 7px 12px 5px; }
    .name { font-weight: 600; flex: 1; }
    .time { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
    .stage { position: relative; overflow: hidden; }
    .stage canvas { display: block; width: 100%; height: 100%; }
    .space canvas { touch-action: none; cursor: grab; }
    .space canvas:active { cursor: grabbing; }
    .words { position: absolute; left: 0; top: 0; white-space: pre; pointer-events: none; }
    .hint { position: absolute; right: 10px; top: 2px; font-size: 12px; color: #7f8b97; pointer-events: none; }
    .legend { position: absolute; left: 12px; top: 4px; font-size: 13px; pointer-events: none; }
    .caption { position: absolute; left: 0; right: 0; bottom: 4px; text-align: center; font-size: 12px; color: #7f8b97; pointer-events: none; }
    .bar { display: flex; align-items: center; gap: 10px; padding: 6px 12px; border-top: 1px solid #e8ebee; }
    .bar input { flex: 1; min-width: 60px; accent-color: #0b6bb8; margin: 0; height: 20px; }
    .bar button { font: inherit; border: 1px solid #d7dce1; background: #f6f8fa; color: inherit; border-radius: 6px; height: 28px; padding: 0 9px;
      cursor: pointer; display: inline-flex; align-items: center; justify-content: center; }
    .bar button:hover { background: #e9eef3; }
    .play { width: 36px; }
    .pace { min-width: 48px; font-variant-numeric: tabular-nums; }
    svg { width: 14px; height: 14px; fill: currentColor; }
    @media print { .bar, .hint { display: none; } }`;
  const PLAY = '<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M3 1l10 6-10 6z"/></svg>';
  const PAUSE = '<svg viewBox="0 0 14 14" aria-hidden="true"><path d="M2 1h4v12H2zM8 1h4v12H8z"/></svg>';
  const PACES = [1, 2, 0.25, 0.5];

  /* A value between two samples; arrays of one sample stand still. */
  function at(list, f) {
    if (list.length === 1) return list[0];
    const i = Math.min(Math.floor(f), list.length - 2), w = f - i;
    return list[i] * (1 - w) + list[i + 1] * w;
  }

  function number(v) {
    const text = Number(v.toPrecision(3));
    return (Math.abs(text) >= 1e5 || (text !== 0 && Math.abs(text) < 1e-4) ? text.toExponential() : String(text)).replace(/-/g, "\u2212");
  }

  function element(parent, tag, name, html) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (html) made.innerHTML = html;
    parent.appendChild(made);
    return made;
  }

  function show(id, data) {
    const host = document.getElementById(id);
    if (!host || host.shadowRoot) return;
    const root = host.attachShadow({ mode: "open" });
    element(root, "style").textContent = STYLE;
    const box = element(root, "div", "box");
    box.tabIndex = 0;
    const head = element(box, "div", "head");
    element(head, "span", "name").textContent = data.title;
    const time = element(head, "span", "time");
    const stage = element(box, "div", "stage" + (data.space ? " space" : ""));
    const canvas = element(stage, "canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "animation: " + data.title);
    if (data.legend.length) {
      const legend = element(stage, "div", "legend");
      for (const [name, colour] of data.legend) {
        const entry = element(legend, "div");
        entry.textContent = "\u25cf " + name;
        entry.style.color = colour;
      }
    }
    if (data.caption) element(stage, "div", "caption").textContent = data.caption;
    const bar = element(box, "div", "bar");
    const play = element(bar, "button", "play", PLAY);
    const slide = element(bar, "input");
    Object.assign(slide, { type: "range", min: 0, max: data.n - 1, step: "any", value: 0 });
    slide.setAttribute("aria-label", "time");
    const pace = element(bar, "button", "pace");
    pace.title = "speed";

    let f = 0, playing = false, visible = true, before = 0, rest = 0, chosen = 0, painter = null, wide = 0, tall = 0;

    function paint() {
      if (!painter) return;
      painter.draw(f);
      time.textContent = "t = " + (data.t[0] + ((data.t[1] - data.t[0]) * f) / (data.n - 1)).toFixed(data.digits) + data.clock;
      slide.value = f;
    }
    function step(now) {
      if (!playing || !visible) { before = 0; return; }
      const passed = before ? Math.min(0.5, (now - before) / 1000) : 0;
      before = now;
      if (f >= data.n - 1) {
        rest += passed;
        if (rest > 1) { f = 0; rest = 0; }
      } else {
        f = Math.min(data.n - 1, f + (passed * PACES[chosen] * (data.n - 1)) / data.seconds);
      }
      paint();
      requestAnimationFrame(step);
    }
    function set(on) {
      if (on && !playing && f >= data.n - 1) f = 0;
      const started = on && !playing;
      playing = on;
      play.innerHTML = on ? PAUSE : PLAY;
      play.setAttribute("aria-label", on ? "pause" : "play");
      if (started && visible) { before = 0; requestAnimationFrame(step); }
    }
    function fit() {
      const most = Math.max(220, window.innerHeight - 96);
      let w = host.clientWidth - 2;
      if (w <= 0) return;
      let h = w / data.ratio;
      if (h > most) { h = most; w = h * data.ratio; }
      if (Math.abs(w - wide) < 0.5 && Math.abs(h - tall) < 0.5) return;
      wide = w;
      tall = h;
      box.style.width = w + "px";
      stage.style.height = h + "px";
      if (!painter) {
        try {
          painter = data.space ? space(data, canvas, stage, paint) : plane(data, canvas);
        } catch (fault) {
          stage.style.height = "auto";
          element(stage, "p").textContent = "This picture in space needs WebGL, which this browser does not offer: " + fault.message;
          throw fault;
        }
      }
      painter.size(w, h);
      paint();
    }

    play.onclick = () => set(!playing);
    pace.onclick = () => { chosen = (chosen + 1) % PACES.length; label(); };
    function label() { pace.textContent = PACES[chosen] + "\u00d7"; }
    slide.oninput = () => { set(false); f = Number(slide.value); paint(); };
    box.onkeydown = (event) => {
      const moves = { ArrowRight: 1, ArrowLeft: -1 };
      if (event.key === " " && event.composedPath()[0] !== play) { set(!playing); event.preventDefault(); }
      else if (event.key in moves && event.composedPath()[0] !== slide) {
        set(false);
        f = Math.min(data.n - 1, Math.max(0, Math.round(f) + moves[event.key]));
        paint();
        event.preventDefault();
      }
    };
    label();
    set(false);
    new ResizeObserver(fit).observe(host);
    window.addEventListener("resize", fit);
    fit();
    const calm = window.matchMedia && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    let begun = false;
    new IntersectionObserver((entries) => {
      visible = entries[entries.length - 1].isIntersecting;
      if (visible && !begun && data.autoplay && !calm) { begun = true; set(true); }
      else if (visible && playing) { before = 0; requestAnimationFrame(step); }
    }).observe(host);
    host.chetaev = { seek(fraction) { begun = true; set(false); f = fraction * (data.n - 1); paint(); } };
  }

  /* ---- the plane ---- */

  function plane(data, canvas) {
    const ctx = canvas.getContext("2d");
    const room = data.axes ? { left: 58, right: 16, top: 8, bottom: 42 } : { left: 0, right: 0, top: 0, bottom: 0 };
    let w = 0, h = 0, density = 1;

    function draw(f) {
      const inner = { w: w - room.left - room.right, h: h - room.top - room.bottom };
      const scale = Math.min(inner.w / (2 * data.half[0]), inner.h / (2 * data.half[1]));
      const mid = [at(data.cx, f), at(data.cy, f)], hx = inner.w / 2 / scale, hy = inner.h / 2 / scale;
      const X = (x) => room.left + inner.w / 2 + (x - mid[0]) * scale, Y = (y) => room.top + inner.h / 2 - (y - mid[1]) * scale;
      const view = { X, Y, w, h, left: mid[0] - hx, right: mid[0] + hx, bottom: mid[1] - hy, top: mid[1] + hy };
      ctx.setTransform(density, 0, 0, density, 0, 0);
      ctx.fillStyle = "#fff";
      ctx.fillRect(0, 0, w, h);
      ctx.lineCap = ctx.lineJoin = "round";
      if (data.floor) floor(ctx, data.floor, view);
      if (data.axes) graph(ctx, data.axes, view, room, inner);
      const size = Math.max(0.6, Math.min(1, w / 640));
      for (const item of data.items) ({ piece, dot, track, words: () => {} })[item.kind](ctx, item, f, view, size);
      for (const item of data.items) if (item.kind === "words") words(ctx, item, f, view, size);
    }
    return {
      draw,
      size(width, height) {
        density = window.devicePixelRatio || 1;
        w = width;
        h = height;
        canvas.width = Math.round(w * density);
        canvas.height = Math.round(h * density);
      },
    };
  }

  function piece(ctx, item, f, view, size) {
    const x = at(item.x, f), y = at(item.y, f), a = at(item.a, f), l = at(item.l, f), c = Math.cos(a), s = Math.sin(a);
    for (const stroke of item.strokes) {
      const p = stroke.p;
      ctx.beginPath();
      for (let i = 0; i < p.length; i += 3) {
        const along = p[i] * l + p[i + 1], across = p[i + 2];
        const X = view.X(x + c * along - s * across), Y = view.Y(y + s * along + c * across);
        if (i) ctx.lineTo(X, Y); else ctx.moveTo(X, Y);
      }
      if (stroke.closed) ctx.closePath();
      if (stroke.fill) { ctx.fillStyle = stroke.fill; ctx.fill(); }
      if (stroke.edge) { ctx.strokeStyle = stroke.edge; ctx.lineWidth = stroke.width * size; ctx.stroke(); }
    }
  }

  function dot(ctx, item, f, view, size) {
    ctx.beginPath();
    ctx.arc(view.X(at(item.x, f)), view.Y(at(item.y, f)), item.r * size, 0, 2 * Math.PI);
    ctx.fillStyle = item.fill;
    ctx.fill();
    ctx.strokeStyle = item.edge;
    ctx.lineWidth = 1.8;
    ctx.stroke();
  }

  function track(ctx, item, f, view, size) {
    const end = Math.floor(f * item.finer), first = item.steps ? Math.max(0, Math.floor((f - item.steps) * item.finer)) : 0;
    const chunks = item.steps ? 24 : 1;
    ctx.strokeStyle = item.colour;
    ctx.lineWidth = item.width * size;
    const g = f * item.finer, tip = [view.X(at(item.x, Math.min(g, item.x.length - 1))), view.Y(at(item.y, Math.min(g, item.y.length - 1)))];
    for (let k = 0; k < chunks; k++) {
      const a = first + Math.floor(((end - first) * k) / chunks), b = first + Math.floor(((end - first) * (k + 1)) / chunks);
      ctx.globalAlpha = item.steps ? 0.85 * Math.max(0, 1 - (end - (a + b) / 2) / (item.steps * item.finer)) : 0.75;
      ctx.beginPath();
      ctx.moveTo(view.X(item.x[a]), view.Y(item.y[a]));
      for (let i = a + 1; i <= b; i++) ctx.lineTo(view.X(item.x[i]), view.Y(item.y[i]));
      if (k === chunks - 1) ctx.lineTo(tip[0], tip[1]);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  function words(ctx, item, f, view, size) {
    ctx.font = item.size * Math.max(0.8, size) + 'px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
    ctx.fillStyle = item.colour;
    ctx.textAlign = item.align;
    ctx.textBaseline = "middle";
    const text = item.text + (item.values ? number(at(item.values, f)) : "");
    ctx.fillText(text, view.X(at(item.x, f)) + item.shift[0] * size, view.Y(at(item.y, f)) - item.shift[1] * size);
  }

  function floor(ctx, ground, view) {
    if (ground.height !== null) {
      const y = view.Y(ground.height);
      ctx.fillStyle = ground.pale;
      ctx.fillRect(0, y, view.w, view.h - y);
      line(ctx, 0, y, view.w, y, ground.colour, 2);
      return;
    }
    for (let k = Math.ceil(view.left / ground.spacing); k * ground.spacing < view.right; k++)
      line(ctx, view.X(k * ground.spacing), 0, view.X(k * ground.spacing), view.h, ground.pale, 1);
    for (let k = Math.ceil(view.bottom / ground.spacing); k * ground.spacing < view.top; k++)
      line(ctx, 0, view.Y(k * ground.spacing), view.w, view.Y(k * ground.spacing), ground.pale, 1);
  }

  function graph(ctx, axes, view, room, inner) {
    ctx.font = '12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
    ctx.fillStyle = "#7f8b97";
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const foot = room.top + inner.h;
    for (const tick of axes.x) {
      const x = view.X(tick);
      if (x < room.left || x > room.left + inner.w) continue;
      line(ctx, x, room.top, x, foot, "#e8ebee", 1);
      ctx.fillText(number(tick), x, foot + 5);
    }
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const tick of axes.y) {
      const y = view.Y(tick);
      if (y < room.top || y > foot) continue;
      line(ctx, room.left, y, room.left + inner.w, y, "#e8ebee", 1);
      ctx.fillText(number(tick), room.left - 6, y);
    }
    ctx.strokeStyle = "#c3cad1";
    ctx.lineWidth = 1;
    ctx.strokeRect(room.left, room.top, inner.w, inner.h);
    ctx.fillStyle = "#2b333c";
    ctx.font = '14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif';
    ctx.textAlign = "center";
    ctx.textBaseline = "bottom";
    ctx.fillText(axes.names[0], room.left + inner.w / 2, foot + 40);
    ctx.save();
    ctx.translate(14, room.top + inner.h / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.textBaseline = "middle";
    ctx.fillText(axes.names[1], 0, 0);
    ctx.restore();
  }

  function line(ctx, x1, y1, x2, y2, colour, width) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  }

  /* ---- space ---- */

  function space(data, canvas, stage, repaint) {
    const T = window.chetaevThree;
    if (!T) throw new Error("three.js is missing from this page");
    const renderer = new T.WebGLRenderer({ canvas, antialias: true });
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = T.PCFShadowMap;
    const scene = new T.Scene(), camera = new T.PerspectiveCamera(data.fov, data.ratio, data.distance / 50, data.distance * 12);
    camera.up.set(0, 0, 1);
    scene.background = new T.Color("#ffffff");
    scene.fog = new T.Fog("#ffffff", data.distance * 1.4, data.distance * 3.4);
    scene.add(new T.HemisphereLight("#ffffff", "#c9d1d9", 2.3));
    const sun = new T.DirectionalLight("#ffffff", 1.5), lamp = new T.DirectionalLight("#ffffff", 0.9);
    lamp.castShadow = true;
    lamp.shadow.mapSize.set(2048, 2048);
    lamp.shadow.radius = 3;
    lamp.shadow.normalBias = data.distance * 0.002;
    const reach = data.distance * 0.75;
    Object.assign(lamp.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * reach, far: 7 * reach });
    scene.add(sun, sun.target, lamp, lamp.target);

    const geometries = data.meshes.map((mesh) => geometry(T, mesh));
    const moving = [];
    for (const item of data.items) {
      if (item.kind === "solid") moving.push(solid(T, scene, geometries[item.mesh], item));
      else if (item.kind === "track") moving.push(tube(T, scene, item, data.distance));
    }
    const ground = data.floor ? field(T, scene, data.floor, data.distance) : null;
    const labels = data.items.filter((item) => item.kind === "words").map((item) => {
      const tag = element(stage, "span", "words");
      tag.style.color = item.colour;
      tag.style.fontSize = item.size + "px";
      return { item, tag };
    });
    const hint = element(stage, "div", "hint");
    hint.textContent = "drag to turn, scroll or pinch to zoom, double-click to reset";

    const home = { azimuth: data.azimuth, elevation: data.elevation, zoom: 1 };
    const eye = { ...home };
    orbit(canvas, eye, home, repaint, () => { hint.style.display = "none"; });

    let w = 1, h = 1;
    const target = new T.Vector3(), spot = new T.Vector3();
    function draw(f) {
      target.set(at(data.tx, f), at(data.ty, f), at(data.tz, f));
      const a = (eye.azimuth * Math.PI) / 180, e = (eye.elevation * Math.PI) / 180, d = data.distance / eye.zoom;
      camera.position.set(target.x + d * Math.cos(e) * Math.cos(a), target.y + d * Math.cos(e) * Math.sin(a), target.z + d * Math.sin(e));
      camera.lookAt(target);
      // the sun shades, the lamp straight above throws shadows: a shadow is the projection on the floor
      sun.target.position.copy(target);
      sun.position.set(target.x + 0.8 * reach, target.y - 1.2 * reach, target.z + 1.6 * reach);
      lamp.target.position.copy(target);
      lamp.position.set(target.x, target.y, target.z + 3 * reach);
      for (const move of moving) move(f);
      if (ground) ground(target);
      renderer.render(scene, camera);
      for (const { item, tag } of labels) {
        spot.set(at(item.x, f), at(item.y, f), at(item.z, f)).project(camera);
        tag.textContent = item.text + (item.values ? number(at(item.values, f)) : "");
        tag.style.transform = `translate(${((spot.x + 1) / 2) * w + item.shift[0]}px, ${((1 - spot.y) / 2) * h - item.shift[1]}px) translateY(-50%)`;
      }
    }
    return {
      draw,
      size(width, height) {
        w = width;
        h = height;
        renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
        renderer.setSize(w, h, false);
        camera.aspect = w / h;
        camera.updateProjectionMatrix();
      },
    };
  }

  /* Faces with their own colours; normals are smooth across edges that are not sharp. */
  function geometry(T, mesh) {
    const v = mesh.v, corners = [], normals = [], sums = new Map();
    const vertex = (i) => new T.Vector3(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
    const faces = mesh.f.map((face, k) => {
      const n = new T.Vector3(), points = face.map(vertex);
      for (let i = 1; i + 1 < points.length; i++)
        n.add(points[i].clone().sub(points[0]).cross(points[i + 1].clone().sub(points[0])));
      const weighted = n.clone();
      n.normalize();
      for (const i of face) {
        if (!sums.has(i)) sums.set(i, []);
        sums.get(i).push([n, weighted]);
      }
      return { face, n, colour: new T.Color(mesh.p[mesh.c[k]]) };
    });
    const place = [], tints = [];
    for (const { face, n, colour } of faces) {
      const smooth = face.map((i) => {
        const sum = new T.Vector3();
        for (const [other, weighted] of sums.get(i)) if (other.dot(n) > 0.7) sum.add(weighted);
        return sum.normalize();
      });
      for (let i = 1; i + 1 < face.length; i++)
        for (const j of [0, i, i + 1]) {
          place.push(v[3 * face[j]], v[3 * face[j] + 1], v[3 * face[j] + 2]);
          normals.push(smooth[j].x, smooth[j].y, smooth[j].z);
          tints.push(colour.r, colour.g, colour.b);
        }
    }
    const made = new T.BufferGeometry();
    made.setAttribute("position", new T.BufferAttribute(new Float32Array(place), 3));
    made.setAttribute("normal", new T.BufferAttribute(new Float32Array(normals), 3));
    made.setAttribute("color", new T.BufferAttribute(new Float32Array(tints), 3));
    return made;
  }

  function solid(T, scene, shape, item) {
    const mesh = new T.Mesh(shape, new T.MeshLambertMaterial({ vertexColors: true, side: T.DoubleSide }));
    mesh.castShadow = true;
    mesh.receiveShadow = true;
    mesh.frustumCulled = false;
    scene.add(mesh);
    const a = new T.Quaternion(), b = new T.Quaternion(), q = item.q, count = q.length / 4;
    return (f) => {
      mesh.position.set(at(item.x, f), at(item.y, f), at(item.z, f));
      const i = Math.min(Math.floor(f), Math.max(0, count - 2));
      a.fromArray(q, 4 * Math.min(i, count - 1));
      if (count > 1) a.slerp(b.fromArray(q, 4 * (i + 1)), f - i);
      mesh.quaternion.copy(a.normalize());
      mesh.scale.set(1, 1, Math.max(1e-9, at(item.l, f)));
    };
  }

  function tube(T, scene, item, distance) {
    const n = item.x.length, around = 5, radius = 0.0011 * distance * item.width, place = new Float32Array(3 * n * around);
    const way = new T.Vector3(), side = new T.Vector3(1, 0, 0), up = new T.Vector3(), lean = new T.Vector3();
    for (let i = 0; i < n; i++) {
      const a = Math.max(0, i - 1), b = Math.min(n - 1, i + 1);
      lean.set(item.x[b] - item.x[a], item.y[b] - item.y[a], item.z[b] - item.z[a]);
      if (lean.lengthSq() > 0) way.copy(lean).normalize();
      side.addScaledVector(way, -side.dot(way));
      if (side.lengthSq() < 1e-6) side.set(-way.y, way.x, 0).addScaledVector(way, 0);
      if (side.lengthSq() < 1e-6) side.set(1, 0, 0);
      side.normalize();
      up.crossVectors(way, side);
      for (let j = 0; j < around; j++) {
        const c = radius * Math.cos((2 * Math.PI * j) / around), s = radius * Math.sin((2 * Math.PI * j) / around), k = 3 * (i * around + j);
        place[k] = item.x[i] + c * side.x + s * up.x;
        place[k + 1] = item.y[i] + c * side.y + s * up.y;
        place[k + 2] = item.z[i] + c * side.z + s * up.z;
      }
    }
    const index = [];
    for (let i = 0; i + 1 < n; i++)
      for (let j = 0; j < around; j++) {
        const a = i * around + j, b = i * around + ((j + 1) % around);
        index.push(a, b, b + around, a, b + around, a + around);
      }
    const shape = new T.BufferGeometry(), tints = new Float32Array(3 * n * around), colour = new T.Color(item.colour), white = new T.Color("#ffffff");
    for (let i = 0; i < n * around; i++) colour.toArray(tints, 3 * i);
    shape.setAttribute("position", new T.BufferAttribute(place, 3));
    shape.setAttribute("color", new T.BufferAttribute(tints, 3));
    shape.setIndex(index);
    const mesh = new T.Mesh(shape, new T.MeshBasicMaterial({ vertexColors: true, side: T.DoubleSide }));
    mesh.frustumCulled = false;
    scene.add(mesh);
    const mixed = new T.Color();
    return (f) => {
      const end = Math.floor(f * item.finer), first = item.steps ? Math.max(0, Math.floor((f - item.steps) * item.finer)) : 0;
      shape.setDrawRange(6 * around * first, 6 * around * (end - first));
      if (!item.steps) return;
      for (let i = first; i <= end && i < n; i++) {
        mixed.copy(white).lerp(colour, Math.max(0, 1 - (end - i) / (item.steps * item.finer)));
        for (let j = 0; j < around; j++) mixed.toArray(tints, 3 * (i * around + j));
      }
      shape.attributes.color.needsUpdate = true;
    };
  }

  function field(T, scene, ground, distance) {
    const step = ground.spacing, count = Math.ceil((2.6 * distance) / step), far = count * step, lines = [];
    for (let k = -count; k <= count; k++) // in short pieces: not every renderer clips long lines that pass behind the eye
      for (let i = -count; i < count; i++) lines.push(k * step, i * step, 0, k * step, (i + 1) * step, 0, i * step, k * step, 0, (i + 1) * step, k * step, 0);
    const shape = new T.BufferGeometry();
    shape.setAttribute("position", new T.BufferAttribute(new Float32Array(lines), 3));
    const grid = new T.LineSegments(shape, new T.LineBasicMaterial({ color: ground.pale }));
    const shade = new T.Mesh(new T.PlaneGeometry(2 * far, 2 * far), new T.ShadowMaterial({ opacity: 0.2 }));
    shade.receiveShadow = true;
    scene.add(grid, shade);
    return (target) => {
      grid.position.set(Math.round(target.x / step) * step, Math.round(target.y / step) * step, ground.height - 0.002 * distance);
      shade.position.set(target.x, target.y, ground.height - 0.002 * distance);
    };
  }

  /* Turn by dragging, zoom by pinching or by the wheel once the picture was touched, so that a page still scrolls past it. */
  function orbit(canvas, eye, home, repaint, touched) {
    const fingers = new Map();
    let active = false;
    const spread = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      canvas.setPointerCapture(event.pointerId);
      active = true;
      touched();
    });
    canvas.addEventListener("pointermove", (event) => {
      const old = fingers.get(event.pointerId);
      if (!old) return;
      const apart = fingers.size === 2 ? spread() : 0, dx = event.clientX - old.x, dy = event.clientY - old.y;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 2) zoom(spread() / Math.max(1, apart));
      else if (fingers.size === 1) {
        eye.azimuth -= 0.4 * dx;
        eye.elevation = Math.min(89, Math.max(-25, eye.elevation + 0.4 * dy));
      }
      repaint();
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => { if (!fingers.size) active = false; });
    canvas.addEventListener("wheel", (event) => {
      if (!active && !event.ctrlKey) return;
      event.preventDefault();
      zoom(Math.exp(-0.0012 * event.deltaY));
      repaint();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { Object.assign(eye, home); repaint(); });
    function zoom(factor) { eye.zoom = Math.min(12, Math.max(0.3, eye.zoom * factor)); }
  }

  window.chetaevAnimations = { ready: true, push: (entry) => show(entry[0], entry[1]) };
  for (const entry of waiting) show(entry[0], entry[1]);
})();
