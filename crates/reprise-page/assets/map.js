// @ts-check
// The picture of what is alike and what is linked: springs along the ties, a push between all, a pull to
// the middle of each group, drawn on a canvas. A click walks on: to what is around a record, or to the
// record within its landscape.
import { load } from "./page.js";

/** @typedef {{ id: string, title: string, type: string, group: number | null, x: number, y: number, vx: number, vy: number }} Spot */
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
    ties = picture.ties;
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
      return { title, number, own, x, y, reach: Math.max(0, ...own.map((one) => Math.hypot(one.x - x, one.y - y))) };
    });
  }

  /** @param {string} name */
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  /** Where the drawing stands: its middle and how much it is stretched, so that it fills the canvas. */
  function view() {
    const all = [...spots.values()];
    const { clientWidth: width, clientHeight: height } = /** @type {HTMLCanvasElement} */ (canvas);
    const side = (/** @type {number[]} */ of, /** @type {number} */ room) => {
      const [low, high] = [Math.min(0, ...of), Math.max(0, ...of)];
      return { middle: (low + high) / 2, scale: room / Math.max(high - low, 1) };
    };
    const [across, down] = [side(all.map((one) => one.x), Math.max(width - 150, 60)), side(all.map((one) => one.y), Math.max(height - 110, 60))];
    const least = Math.min(across.scale, down.scale, 4);
    const [scaleX, scaleY] = [across, down].map(({ scale }) => Math.min(scale, 1.8 * least));
    /** @param {{ x: number, y: number }} one @returns {[number, number]} */
    const at = (one) => [width / 2 + panX + (one.x - across.middle) * scaleX, height / 2 + panY + (one.y - down.middle) * scaleY];
    return { width, height, scaleX, scaleY, at };
  }

  /**
   * A title, cut to a width.
   * @param {string} text @param {number} most
   */
  function cut(text, most) {
    let letters = [...text];
    if (pen && pen.measureText(text).width <= most) return text;
    while (letters.length > 1 && pen && pen.measureText(`${letters.join("")}\u2026`).width > most) letters = letters.slice(0, -Math.ceil(letters.length / 12));
    return `${letters.join("").trimEnd()}\u2026`;
  }

  function draw() {
    if (!canvas || !pen) return;
    const ratio = devicePixelRatio || 1;
    const { width, height, scaleX, scaleY, at } = view();
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const all = grounds().map((one) => ({ ...one, at: at(one), across: one.reach * scaleX + 18, down: one.reach * scaleY + 18 }));
    for (const { number, at: [x, y], across, down, own } of all) {
      if (own.length < 2) continue;
      pen.globalAlpha = 0.09;
      pen.fillStyle = colour(GROUPS[number % GROUPS.length]);
      pen.beginPath();
      pen.ellipse(x, y, across, down, 0, 0, 2 * Math.PI);
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1.5;
    /** @type {Map<string, number>} */
    const degree = new Map();
    for (const tie of ties) {
      const [one, other] = [spots.get(tie.from), spots.get(tie.to)];
      if (!one || !other) continue;
      for (const { id } of [one, other]) degree.set(id, (degree.get(id) ?? 0) + 1);
      pen.beginPath();
      pen.moveTo(...at(one));
      pen.lineTo(...at(other));
      pen.stroke();
    }
    for (const one of spots.values()) {
      const isMiddle = one.id === middle;
      const own = one.group === null ? (groups.length ? "faint" : one.type) : GROUPS[one.group % GROUPS.length];
      pen.fillStyle = colour(isMiddle ? "accent" : own) || colour("note");
      pen.beginPath();
      pen.arc(...at(one), isMiddle ? 9 : 6, 0, 2 * Math.PI);
      pen.fill();
    }
    const near = new Set(ties.flatMap((tie) => (tie.from === middle ? [tie.to] : tie.to === middle ? [tie.from] : [])));
    /** @param {Spot} one */
    const weight = (one) => (one.id === middle ? 2e6 : 0) + (near.has(one.id) ? 1e6 : 0) + (degree.get(one.id) ?? 0);
    const named = middle ? [] : all.filter(({ own }) => own.length > 2).sort((one, other) => other.own.length - one.own.length);
    label([
      ...named.map(({ title, at: [x, y], down }) => ({ title, ink: "text", places: /** @type {[number, number][]} */ ([[x, y - down - 4], [x, y + down + 14]]) })),
      ...[...spots.values()].sort((one, other) => weight(other) - weight(one)).map((one) => {
        const [x, y] = at(one);
        return { title: one.title, ink: "soft", places: /** @type {[number, number][]} */ ([[x, y + 22], [x, y - 13]]) };
      }),
    ], width, height, [...spots.values()].map(at));
  }

  /**
   * Titles, the first first, each where it covers neither another nor a record; one for which there is no room is left out.
   * @param {{ title: string, ink: string, places: [number, number][] }[]} all @param {number} width @param {number} height
   * @param {[number, number][]} dots
   */
  function label(all, width, height, dots) {
    if (!pen) return;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.lineWidth = 4;
    pen.strokeStyle = colour("panel");
    const taken = dots.map(([x, y]) => ({ left: x - 7, right: x + 7, top: y - 7, bottom: y + 7 }));
    for (const { title, ink, places } of all) {
      const text = cut(title, Math.min(220, width - 16));
      const half = pen.measureText(text).width / 2 + 3;
      for (const [over, y] of places) {
        const x = Math.min(Math.max(over, half + 4), width - half - 4);
        const box = { left: x - half, right: x + half, top: y - 12, bottom: y + 4 };
        const isFree = box.top >= 0 && box.bottom <= height && Math.abs(x - over) < half && taken.every((other) => box.right < other.left || box.left > other.right || box.bottom < other.top || box.top > other.bottom);
        if (!isFree) continue;
        taken.push(box);
        pen.strokeText(text, x, y);
        pen.fillStyle = colour(ink);
        pen.fillText(text, x, y);
        break;
      }
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
    const { at } = view();
    return [...spots.values()].find((one) => {
      const [x, y] = at(one);
      return Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top)) < 14;
    });
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
