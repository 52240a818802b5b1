// @ts-check
// The picture of what records are linked with: springs along the links, a push between all, drawn on a
// canvas. A click walks on to what is around a record.
import { load } from "./page.js";

/** @typedef {{ id: string, title: string, kind: string, x: number, y: number, vx: number, vy: number }} Spot */
/** @typedef {{ from: string, to: string, relation: string }} Tie */

const STEPS = 220;

export function map() {
  const place = document.querySelector("[data-map]");
  const canvas = place?.querySelector("canvas");
  const pen = canvas?.getContext("2d");
  if (!(place instanceof HTMLElement) || !canvas || !pen) return;
  /** @type {Map<string, Spot>} */
  const spots = new Map();
  /** @type {Tie[]} */
  let ties = [];
  let middle = place.dataset.map ?? "";
  let [panX, panY, left] = [0, 0, 0];

  /** @param {string} id */
  async function around(id) {
    const answer = await fetch(`/map/around?id=${encodeURIComponent(id)}`, { credentials: "same-origin" });
    if (!answer.ok) return;
    const picture = await answer.json();
    const from = spots.get(id) ?? { x: 0, y: 0 };
    const wanted = new Set(picture.records.map((/** @type {Spot} */ one) => one.id));
    for (const own of [...spots.keys()]) if (!wanted.has(own)) spots.delete(own);
    picture.records.forEach((/** @type {Spot} */ one, /** @type {number} */ at) => {
      const angle = at * 2.399963;
      const known = spots.get(one.id);
      spots.set(one.id, known ?? { ...one, x: from.x + 30 * Math.sqrt(at) * Math.cos(angle), y: from.y + 30 * Math.sqrt(at) * Math.sin(angle), vx: 0, vy: 0 });
    });
    ties = picture.links;
    middle = picture.records[0]?.id ?? id;
    left = STEPS;
    tick();
  }

  function step() {
    const all = [...spots.values()];
    for (const one of all) {
      for (const other of all) {
        if (one === other) continue;
        const [dx, dy] = [one.x - other.x, one.y - other.y];
        const far = Math.max(dx * dx + dy * dy, 60);
        one.vx += (2600 * dx) / far / Math.sqrt(far);
        one.vy += (2600 * dy) / far / Math.sqrt(far);
      }
      one.vx -= one.x * 0.006;
      one.vy -= one.y * 0.006;
    }
    for (const tie of ties) {
      const [one, other] = [spots.get(tie.from), spots.get(tie.to)];
      if (!one || !other) continue;
      const [dx, dy] = [other.x - one.x, other.y - one.y];
      const pull = 0.02 * (1 - 110 / Math.max(Math.hypot(dx, dy), 1));
      one.vx += dx * pull;
      one.vy += dy * pull;
      other.vx -= dx * pull;
      other.vy -= dy * pull;
    }
    for (const one of all) {
      one.vx *= 0.82;
      one.vy *= 0.82;
      one.x += one.vx;
      one.y += one.vy;
    }
    const centre = spots.get(middle);
    if (centre) for (const one of all) if (one !== centre) [one.x, one.y] = [one.x - centre.x * 0.1, one.y - centre.y * 0.1];
    if (centre) [centre.x, centre.y] = [centre.x * 0.9, centre.y * 0.9];
  }

  /** @param {string} name */
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function draw() {
    if (!canvas || !pen) return;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== width * ratio) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    pen.setTransform(ratio, 0, 0, ratio, (width / 2 + panX) * ratio, (height / 2 + panY) * ratio);
    pen.clearRect(-width / 2 - panX, -height / 2 - panY, width, height);
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1.5;
    for (const tie of ties) {
      const [one, other] = [spots.get(tie.from), spots.get(tie.to)];
      if (!one || !other) continue;
      pen.beginPath();
      pen.moveTo(one.x, one.y);
      pen.lineTo(other.x, other.y);
      pen.stroke();
    }
    const near = new Set(ties.flatMap((tie) => (tie.from === middle ? [tie.to] : tie.to === middle ? [tie.from] : [])));
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    for (const one of spots.values()) {
      const isMiddle = one.id === middle;
      pen.fillStyle = colour(isMiddle ? "accent" : one.kind) || colour("note");
      pen.beginPath();
      pen.arc(one.x, one.y, isMiddle ? 9 : 6, 0, 2 * Math.PI);
      pen.fill();
      if (!isMiddle && !near.has(one.id) && spots.size > 24) continue;
      const title = one.title.length > 26 ? `${one.title.slice(0, 25)}\u2026` : one.title;
      pen.lineWidth = 4;
      pen.strokeStyle = colour("panel");
      pen.strokeText(title, one.x, one.y + 22);
      pen.fillStyle = colour("soft");
      pen.fillText(title, one.x, one.y + 22);
    }
  }

  function tick() {
    // Who wants no motion gets the picture at rest.
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    do step();
    while ((left -= 1) > 0 && (still || left % 3));
    draw();
    if (left > 0) requestAnimationFrame(tick);
  }

  /** @param {MouseEvent} event */
  function under(event) {
    const box = canvas?.getBoundingClientRect();
    if (!box) return undefined;
    const [x, y] = [event.clientX - box.left - box.width / 2 - panX, event.clientY - box.top - box.height / 2 - panY];
    return [...spots.values()].find((one) => Math.hypot(one.x - x, one.y - y) < 14);
  }

  let moved = 0;
  canvas.addEventListener("pointermove", (event) => {
    const spot = under(event);
    canvas.style.cursor = spot ? "pointer" : "grab";
    canvas.title = spot?.title ?? "";
    if (event.buttons !== 1) return;
    [panX, panY, moved] = [panX + event.movementX, panY + event.movementY, moved + Math.abs(event.movementX) + Math.abs(event.movementY)];
    draw();
  });
  canvas.addEventListener("pointerdown", () => (moved = 0));
  canvas.addEventListener("click", async (event) => {
    const spot = under(event);
    if (!spot || moved > 4) return;
    history.replaceState(null, "", `/map?around=${spot.id}`);
    await around(spot.id);
    const said = document.getElementById("map-list");
    if (said) await load(said, `/map?around=${spot.id}&part=1`);
  });
  addEventListener("resize", draw);
  around(middle);
}
