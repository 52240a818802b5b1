// @ts-check
// The picture of what is alike and what is linked: springs along the ties, a push between all, a pull to
// the middle of each group, drawn on a canvas. A click walks on: to what is around a record, or to the
// record within its landscape.
import { load } from "./page.js";

/** @typedef {{ id: string, title: string, kind: string, group: number | null, x: number, y: number, vx: number, vy: number }} Spot */
/** @typedef {{ from: string, to: string, relation: string }} Tie */

const STEPS = 220;
/** The colours of groups, as page.css has them for the list. */
const GROUPS = ["prompt", "lesson", "note", "decision", "document", "run", "good", "bad"];

export function map() {
  const place = document.querySelector("[data-map]");
  const canvas = place?.querySelector("canvas");
  const pen = canvas?.getContext("2d");
  if (!(place instanceof HTMLElement) || !canvas || !pen) return;
  /** @type {Map<string, Spot>} */
  const spots = new Map();
  /** @type {Tie[]} */
  let ties = [];
  let asked = place.dataset.map ?? "";
  let middle = "";
  /** @type {{ title: string }[]} */
  let groups = [];
  let [panX, panY, left] = [0, 0, 0];

  /** @param {string} id */
  async function around(id) {
    const answer = await fetch(`/map/around?${asked}`, { credentials: "same-origin" });
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
    groups = picture.groups;
    middle = asked.startsWith("around=") ? (picture.records[0]?.id ?? id) : "";
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
    for (const { x, y, own } of grounds()) for (const one of own) [one.vx, one.vy] = [one.vx + (x - one.x) * 0.012, one.vy + (y - one.y) * 0.012];
    const centre = asked.startsWith("around=") && spots.get(middle);
    if (centre) for (const one of all) if (one !== centre) [one.x, one.y] = [one.x - centre.x * 0.1, one.y - centre.y * 0.1];
    if (centre) [centre.x, centre.y] = [centre.x * 0.9, centre.y * 0.9];
  }

  /** The groups with their middle, their reach and their records. */
  function grounds() {
    return groups.map(({ title }, number) => {
      const own = [...spots.values()].filter((one) => one.group === number);
      const count = Math.max(own.length, 1);
      const x = own.reduce((sum, one) => sum + one.x, 0) / count;
      const y = own.reduce((sum, one) => sum + one.y, 0) / count;
      return { title, number, own, x, y, reach: Math.max(0, ...own.map((one) => Math.hypot(one.x - x, one.y - y))) + 18 };
    });
  }

  /** @param {string} name */
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /**
   * A title over all that lies below it.
   * @param {string} text @param {number} x @param {number} y @param {string} ink
   */
  function said(text, x, y, ink) {
    if (!pen) return;
    const title = text.length > 30 ? `${text.slice(0, 29)}\u2026` : text;
    pen.lineWidth = 4;
    pen.strokeStyle = colour("panel");
    pen.strokeText(title, x, y);
    pen.fillStyle = colour(ink);
    pen.fillText(title, x, y);
  }

  function draw() {
    if (!canvas || !pen) return;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== width * ratio) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    pen.setTransform(ratio, 0, 0, ratio, (width / 2 + panX) * ratio, (height / 2 + panY) * ratio);
    pen.clearRect(-width / 2 - panX, -height / 2 - panY, width, height);
    const all = grounds();
    for (const { number, x, y, reach, own } of all) {
      if (own.length < 2) continue;
      pen.globalAlpha = 0.09;
      pen.fillStyle = colour(GROUPS[number % GROUPS.length]);
      pen.beginPath();
      pen.arc(x, y, reach, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
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
      const own = one.group === null ? (groups.length ? "faint" : one.kind) : GROUPS[one.group % GROUPS.length];
      pen.fillStyle = colour(isMiddle ? "accent" : own) || colour("note");
      pen.beginPath();
      pen.arc(one.x, one.y, isMiddle ? 9 : 6, 0, 2 * Math.PI);
      pen.fill();
      if (isMiddle || near.has(one.id) || spots.size <= 24) said(one.title, one.x, one.y + 22, "soft");
    }
    if (!middle) for (const { title, x, y, reach, own } of all) if (own.length > 2) said(title, x, y - reach - 4, "text");
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
    const isAround = asked.startsWith("around=");
    if (isAround) asked = `around=${spot.id}`;
    const address = isAround ? `/map?${asked}` : `/map?${asked}${asked && "&"}at=${spot.id}`;
    history.replaceState(null, "", address);
    if (isAround) await around(spot.id);
    else [middle, left] = [spot.id, 0];
    draw();
    const said = document.getElementById("map-list");
    if (said) await load(said, `${address}&part=1`);
  });
  addEventListener("resize", draw);
  around("").then(() => {
    middle ||= new URLSearchParams(location.search).get("at") ?? "";
    draw();
  });
}
