/* Drawings in space with three.js. */

function space(data, canvas, stage, repaint) {
  const T = window.chetaevThree;
  if (!T) throw new Error("three.js is missing from this page");
  const renderer = new T.WebGLRenderer({ canvas, antialias: true });
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = T.PCFShadowMap;
  const scene = new T.Scene(), camera = new T.PerspectiveCamera(data.fov, data.ratio, data.distance / 50, data.distance * 12);
  camera.up.set(0, 0, 1);
  scene.background = new T.Color(ink("#ffffff"));
  scene.fog = new T.Fog(ink("#ffffff"), data.distance * 1.4, data.distance * 3.4);
  scene.add(new T.HemisphereLight("#ffffff", "#c9d1d9", 2.3));
  const sun = new T.DirectionalLight("#ffffff", 1.5), lamp = new T.DirectionalLight("#ffffff", 0.9);
  lamp.castShadow = true;
  lamp.shadow.mapSize.set(2048, 2048);
  lamp.shadow.radius = 3;
  lamp.shadow.normalBias = data.distance * 0.002;
  const reach = data.distance * 0.75;
  Object.assign(lamp.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * reach, far: 7 * reach });
  scene.add(sun, sun.target, lamp, lamp.target);

  const geometries = data.meshes.map((mesh) => geometry(T, mesh, new T.BufferGeometry()));
  const moving = [], tracks = [];
  for (const item of data.items) {
    if (item.kind === "solid") moving.push(solid(T, scene, geometries[item.mesh], item));
    else if (item.kind === "track") tracks.push(tube(T, scene, item, data.distance));
  }
  const ground = data.floor ? field(T, scene, data.floor, data.distance) : null;
  const labels = data.items.filter((item) => item.kind === "words").map((item) => {
    const tag = element(stage, "span", "words");
    tag.style.color = ink(item.colour);
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
    const a = (eye.azimuth * Math.PI) / 180, e = (eye.elevation * Math.PI) / 180, d = (data.distance * (data.grown || 1)) / eye.zoom;
    camera.position.set(target.x + d * Math.cos(e) * Math.cos(a), target.y + d * Math.cos(e) * Math.sin(a), target.z + d * Math.sin(e));
    camera.lookAt(target);
    // the sun shades bodies, the lamp above casts shadows: a shadow is the vertical projection on the floor
    sun.target.position.copy(target);
    sun.position.set(target.x + 0.8 * reach, target.y - 1.2 * reach, target.z + 1.6 * reach);
    lamp.target.position.copy(target);
    lamp.position.set(target.x, target.y, target.z + 3 * reach);
    for (const move of moving) move(f);
    for (const track of tracks) track.draw(f);
    if (ground) ground.draw(target);
    renderer.render(scene, camera);
    for (const { item, tag } of labels) {
      spot.set(at(item.x, f), at(item.y, f), at(item.z, f)).project(camera);
      tag.textContent = item.text + (item.values ? number(at(item.values, f)) : "");
      tag.style.transform = `translate(${((spot.x + 1) / 2) * w + item.shift[0]}px, ${((1 - spot.y) / 2) * h - item.shift[1]}px) translateY(-50%)`;
    }
  }
  return {
    draw,
    /* Update the paths and the meshes with these indices after the arrays of data have changed. */
    changed(meshes) {
      for (const k of meshes) geometry(T, data.meshes[k], geometries[k]);
      for (const track of tracks) track.lay();
      const far = data.distance * (data.grown || 1);
      Object.assign(scene.fog, { near: far * 1.4, far: far * 3.4 });
      Object.assign(camera, { near: far / 50, far: far * 12 });
      camera.updateProjectionMatrix();
    },
    /* For slow machines: no shadows, and one pixel for each of the page. */
    simpler() {
      renderer.shadowMap.enabled = lamp.castShadow = false;
      renderer.setPixelRatio(1);
    },
    /* Update the colours after the page became dark or light. */
    recoloured() {
      scene.background.set(ink("#ffffff"));
      scene.fog.color.set(ink("#ffffff"));
      data.meshes.forEach((mesh, k) => geometry(T, mesh, geometries[k]));
      for (const track of tracks) track.paint();
      for (const { item, tag } of labels) tag.style.color = ink(item.colour);
      if (ground) ground.paint();
    },
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
function geometry(T, mesh, made) {
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
    return { face, n, colour: new T.Color(ink(mesh.p[mesh.c[k]])) };
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
  const a = new T.Quaternion(), b = new T.Quaternion();
  return (f) => {
    const q = item.q, count = q.length / 4;
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
  const way = new T.Vector3(), side = new T.Vector3(), up = new T.Vector3(), lean = new T.Vector3();
  const shape = new T.BufferGeometry(), tints = new Float32Array(3 * n * around);
  function lay() {
    way.set(0, 0, 0);
    side.set(1, 0, 0);
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
    if (shape.attributes.position) shape.attributes.position.needsUpdate = true;
  }
  lay();
  const index = [];
  for (let i = 0; i + 1 < n; i++)
    for (let j = 0; j < around; j++) {
      const a = i * around + j, b = i * around + ((j + 1) % around);
      index.push(a, b, b + around, a, b + around, a + around);
    }
  const colour = new T.Color(), white = new T.Color();
  function paint() {
    colour.set(ink(item.colour));
    white.set(ink("#ffffff"));
    for (let i = 0; i < n * around; i++) colour.toArray(tints, 3 * i);
    if (shape.attributes.color) shape.attributes.color.needsUpdate = true;
  }
  paint();
  shape.setAttribute("position", new T.BufferAttribute(place, 3));
  shape.setAttribute("color", new T.BufferAttribute(tints, 3));
  shape.setIndex(index);
  const mesh = new T.Mesh(shape, new T.MeshBasicMaterial({ vertexColors: true, side: T.DoubleSide }));
  mesh.frustumCulled = false;
  scene.add(mesh);
  const mixed = new T.Color();
  function draw(f) {
    const end = Math.floor(f * item.finer), first = item.steps ? Math.max(0, Math.floor((f - item.steps) * item.finer)) : 0;
    shape.setDrawRange(6 * around * first, 6 * around * (end - first));
    if (!item.steps) return;
    for (let i = first; i <= end && i < n; i++) {
      mixed.copy(white).lerp(colour, Math.max(0, 1 - (end - i) / (item.steps * item.finer)));
      for (let j = 0; j < around; j++) mixed.toArray(tints, 3 * (i * around + j));
    }
    shape.attributes.color.needsUpdate = true;
  }
  return { draw, lay, paint };
}

function field(T, scene, ground, distance) {
  const step = ground.spacing, count = Math.ceil((2.6 * distance) / step), far = count * step, lines = [];
  for (let k = -count; k <= count; k++) // in short pieces: not every renderer clips long lines that pass behind the eye
    for (let i = -count; i < count; i++) lines.push(k * step, i * step, 0, k * step, (i + 1) * step, 0, i * step, k * step, 0, (i + 1) * step, k * step, 0);
  const shape = new T.BufferGeometry();
  shape.setAttribute("position", new T.BufferAttribute(new Float32Array(lines), 3));
  const grid = new T.LineSegments(shape, new T.LineBasicMaterial({ color: ink(ground.pale) }));
  const shade = new T.Mesh(new T.PlaneGeometry(2 * far, 2 * far), new T.ShadowMaterial({ opacity: 0.2 }));
  shade.receiveShadow = true;
  scene.add(grid, shade);
  function draw(target) {
    grid.position.set(Math.round(target.x / step) * step, Math.round(target.y / step) * step, ground.height - 0.002 * distance);
    shade.position.set(target.x, target.y, ground.height - 0.002 * distance);
  }
  return { draw, paint: () => grid.material.color.set(ink(ground.pale)) };
}

/* Turn by dragging, zoom by pinching, or by the wheel after a click on the picture, so that the wheel still scrolls the page. */
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
