/* The live page: draws what the server tells of a run. The server's words are put into the page as
   text, never as markup. What is kept is bounded, however long the page stays open. */
"use strict";

const LIVE_POINTS = 1300;      // a little more than ten minutes of two points a second
const MOST_DECISIONS = 200;
const RETRY_MS = [500, 1000, 2000, 4000, 8000];
const SILENT_MS = 5000;

const byId = (id) => document.getElementById(id);
const words = { doing: {}, loud: new Set(), answers: null };
const page = {
  run: null,          // number of the run that is shown
  queue: "",          // one of several queues, or "" for all of them
  asks: null,         // the open proposal, the change that can be undone, what waits for "resume"
  sent: "",           // what was answered last and has not shown yet
  about: null,        // what the server says of it
  live: null,         // series of the last minutes, as they come
  decisions: [],
  settings: [],
  bands: [],
  each: [],           // of several queues, how each is now
  cursor: "",
  ended: false,
  newsAt: 0,          // when something came last, by this machine's clock
  stretch: null,      // a stretch of time asked for, in place of the live window
  windowS: 600,
  stream: null,
  failures: 0,
};

/* --- numbers ------------------------------------------------------------------------- */

function text(value, digits = 3, unit = "") {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 10 ? Math.max(0, digits - 2) : digits - 1;
  const shown = size !== 0 && size < 0.001 ? value.toExponential(1) : value.toFixed(decimals);
  return unit ? `${shown} ${unit}` : shown;
}

function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

function percentile(values, share) {
  const known = values.filter((value) => value !== null).sort((one, other) => one - other);
  return known.length ? known[Math.min(known.length - 1, Math.floor(share * known.length))] : null;
}

function clock(seconds) {
  if (page.about && !page.about.simulated) {
    const moment = new Date(Date.parse(page.about.zero_utc) + 1000 * seconds);
    return moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  }
  return `${seconds.toFixed(seconds < 100 ? 1 : 0)} s`;
}

/* --- what is kept -------------------------------------------------------------------- */

function keepSnapshot(told) {
  page.about = told.run;
  page.live = told.series;
  page.decisions = told.decisions;
  page.settings = told.settings;
  page.bands = told.bands;
  page.each = told.each;
  page.asks = told.asks;
  page.ended = told.run.ended;
}

function keepNews(told) {
  if (told.series) {
    const last = page.live.time_s.at(-1) ?? -1;
    told.series.time_s.forEach((time, index) => {
      if (time <= last) return;   // told twice after coming back
      for (const name of Object.keys(page.live)) page.live[name].push(told.series[name][index]);
    });
    const surplus = page.live.time_s.length - LIVE_POINTS;
    if (surplus > 0) for (const name of Object.keys(page.live)) page.live[name].splice(0, surplus);
  }
  const known = page.decisions.at(-1)?.id ?? 0;
  page.decisions.push(...(told.decisions ?? []).filter((decision) => decision.id > known));
  page.decisions.splice(0, page.decisions.length - MOST_DECISIONS);
  const set = page.settings.at(-1)?.id ?? 0;
  page.settings.push(...(told.settings ?? []).filter((setting) => setting.id > set));
  page.settings.splice(0, page.settings.length - MOST_DECISIONS);
  if (told.each) page.each = told.each;
  if (told.bands) page.bands = told.bands;
  if (told.asks) page.asks = told.asks;
  if (told.ended) page.ended = true;
}

/* --- the stream ---------------------------------------------------------------------- */

function listen() {
  if (page.stream) page.stream.close();
  const since = page.cursor ? `&since=${encodeURIComponent(page.cursor)}` : "";
  const stream = new EventSource(`/api/runs/${page.run}/news?queue=${encodeURIComponent(page.queue)}${since}`);
  page.stream = stream;
  const on = (name, keep) =>
    stream.addEventListener(name, (event) => {
      page.failures = 0;
      page.newsAt = Date.now();
      page.cursor = event.lastEventId;
      byId("trouble").hidden = true;
      keep(JSON.parse(event.data));
      show();
    });
  on("snapshot", keepSnapshot);
  on("news", keepNews);
  stream.addEventListener("trouble", (event) => {
    say(`The journal cannot be read now: ${JSON.parse(event.data).reason}`);
  });
  stream.onopen = () => { page.failures = 0; page.away = false; showState(); };
  stream.onerror = () => {
    // A browser gives up for good after some answers; so the next attempt is always ours.
    stream.close();
    if (page.stream !== stream) return;
    page.away = true;
    showState();
    const wait = RETRY_MS[Math.min(page.failures++, RETRY_MS.length - 1)];
    setTimeout(() => { if (page.stream === stream) listen(); }, wait * (0.75 + Math.random() / 2));
  };
}

function say(trouble) {
  byId("trouble").textContent = trouble;
  byId("trouble").hidden = false;
}

async function ask(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  return answer.json();
}

/* --- charts -------------------------------------------------------------------------- */

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const CHARTS = [
  { title: "Line and shaper", unit: "Mbit/s", names: ["rate_mbit_per_s", "capacity_mbit_per_s"],
    note: "light: what the line carries, as estimated" },
  { title: "Where packets wait", unit: "ms", names: ["wait_line_ms", "wait_here_ms"],
    note: "light: here, in the shaper; dark: in the line's own queue" },
  { title: "Queueing delay", unit: "ms", names: ["waiting_ms"] },
  { title: "Queue", unit: "packets", names: ["queue_packets", "queue_most_packets"], target: true,
    note: "light: the most within each point" },
  { title: "Forwarded", unit: "Mbit/s", names: ["throughput_mbit_per_s"] },
  { title: "Dropped", unit: "% of packets", names: ["drops_percent", "marks_percent"], note: "light: marked" },
  { title: "Flows", unit: "", names: ["flows"] },
  { title: "Fairness", unit: "Jain's index", names: ["fairness"], most: 1, note: "1: all flows get alike" },
];
let charts = [];

function options(chart, width) {
  const axis = { stroke: colour("--ink"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  const strokes = [colour("--measured"), colour("--most")];
  return {
    width,
    height: chart.target || chart.names[0] === "waiting_ms" ? 200 : 130,
    padding: [null, 36, null, null],   // room for the last label of the axis
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, (chart.most ?? Math.max(1e-9, high ?? 1)) * 1.08] } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map(clock), space: 90 },
      { ...axis, size: 56 },
    ],
    series: [
      {},
      ...chart.names.map((name, index) => ({ label: name, stroke: strokes[index % 2], width: index ? 1 : 2, points: { show: false } })),
    ],
    cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "all" } },
    hooks: {
      drawClear: [(plot) => drawBehind(plot, chart)],
      draw: [drawMarks],
      setSelect: [(plot) => {
        if (plot.select.width < 4) return;
        const from = plot.posToVal(plot.select.left, "x");
        const to = plot.posToVal(plot.select.left + plot.select.width, "x");
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        lookAt(Math.max(0, from), to);
      }],
    },
  };
}

/* The target of the whole; of one of several queues the journal has none. */
const targetPackets = () => (page.queue ? null : page.about?.target_packets);

function drawBehind(plot, chart) {
  if (!chart.target) return;
  const { ctx, bbox } = plot;
  const across = (value) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(value, "x", true)));
  const down = (value) => Math.min(bbox.top + bbox.height, Math.max(bbox.top, plot.valToPos(value, "y", true)));
  ctx.save();
  ctx.fillStyle = colour("--promise");
  for (const band of shownPart().bands) {
    const top = down(band.mean_packets + band.sd_packets);
    const bottom = down(Math.max(0, band.mean_packets - band.sd_packets));
    ctx.fillRect(across(band.start_s), top, across(band.end_s) - across(band.start_s), bottom - top);
  }
  const target = targetPackets();
  if (target) {
    ctx.strokeStyle = colour("--target");
    ctx.setLineDash([8, 6]);
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(bbox.left, down(target));
    ctx.lineTo(bbox.left + bbox.width, down(target));
    ctx.stroke();
  }
  ctx.restore();
}

function drawMarks(plot) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = 1.5;
  for (const decision of shownPart().decisions) {
    const changed = ["applied", "recalled", "rolled-back", "fell-back", "restored"].includes(decision.kind);
    const loud = words.loud.has(decision.kind);
    if (!changed && !loud) continue;
    const x = plot.valToPos(decision.time_s, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = colour(loud ? "--warn" : "--change");
    ctx.setLineDash(loud ? [5, 4] : []);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/* What the charts show: a stretch that was asked for, or the last minutes. */
function shownPart() {
  if (page.stretch) return page.stretch;
  const end = page.live.time_s.at(-1) ?? 0;
  const start = Math.max(0, end - page.windowS);
  let first = page.live.time_s.findIndex((time) => time > start);
  if (first < 0) first = page.live.time_s.length;
  const series = {};
  for (const [name, values] of Object.entries(page.live)) series[name] = values.slice(first);
  return { start_s: start, end_s: end, series, decisions: page.decisions, bands: page.bands };
}

function build() {
  const room = byId("charts");
  for (const { plot } of charts) plot.destroy();
  room.textContent = "";
  charts = CHARTS.map((chart) => {
    const box = document.createElement("figure");
    box.className = "chart";
    const title = document.createElement("h3");
    title.textContent = chart.unit ? `${chart.title} (${chart.unit})` : chart.title;
    if (chart.note) {
      const note = document.createElement("small");
      note.textContent = ` ${chart.note}`;
      title.append(note);
    }
    const place = document.createElement("div");
    place.setAttribute("role", "img");
    box.append(title, place);
    room.append(box);
    const plot = new uPlot(options(chart, Math.max(280, room.clientWidth)), [[], ...chart.names.map(() => [])], place);
    return { chart, plot, place, box };
  });
}

function showCharts() {
  const part = shownPart();
  for (const { chart, plot, place, box } of charts) {
    const known = chart.names.some((name) => part.series[name].some((value) => value !== null));
    box.hidden = !known && part.series.time_s.length > 0;
    plot.batch(() => {
      plot.setData([part.series.time_s, ...chart.names.map((name) => part.series[name])], false);
      plot.setScale("x", { min: part.start_s, max: Math.max(part.end_s, part.start_s + 1) });
    });
    const values = part.series[chart.names[0]];
    place.setAttribute("aria-label",
      `${chart.title}: on average ${text(mean(values))} ${chart.unit}, at most ${text(percentile(values, 1))}, ` +
      `from ${clock(part.start_s)} to ${clock(part.end_s)}`);
  }
  byId("shown").textContent = `${clock(part.start_s)} to ${clock(part.end_s)}` +
    (page.stretch ? "" : page.ended ? "" : ", live");
  for (const button of byId("range").querySelectorAll("[data-window]")) {
    const pressed = page.stretch ? page.stretch.window === button.dataset.window
      : String(page.windowS) === button.dataset.window;
    button.setAttribute("aria-pressed", String(pressed));
  }
  byId("earlier").disabled = part.start_s <= 0;
  byId("later").disabled = !page.stretch;
}

let asking = 0;
async function lookAt(from, to, name = "") {
  const number = ++asking;
  try {
    const found = await ask(`/api/runs/${page.run}/history?from=${Math.max(0, from)}&to=${to}&queue=${encodeURIComponent(page.queue)}`);
    if (number !== asking) return;   // another stretch has been asked for meanwhile
    page.stretch = { ...found, window: name };
    showCharts();
  } catch (error) {
    say(`This stretch of time cannot be shown: ${error.message}`);
  }
}

function live(windowS) {
  asking += 1;
  page.stretch = null;
  page.windowS = windowS;
  showCharts();
}

function choose(name) {
  const end = page.live.time_s.at(-1) ?? 0;
  if (name === "all") return lookAt(0, Math.max(1, end), name);
  const seconds = Number(name);
  return seconds <= 600 ? live(seconds) : lookAt(Math.max(0, end - seconds), Math.max(1, end), name);
}

function move(direction) {
  const part = shownPart();
  const length = part.end_s - part.start_s;
  const end = page.live.time_s.at(-1) ?? 0;
  const from = Math.max(0, part.start_s + direction * length * 0.8);
  if (direction > 0 && from + length >= end) return live(Math.min(600, page.windowS));
  return lookAt(from, from + Math.max(1, length));
}

/* --- words --------------------------------------------------------------------------- */

function showState() {
  const last = page.decisions.at(-1);
  const silent = !page.about?.simulated && Date.now() - page.newsAt > SILENT_MS;
  const state = page.away ? "away" : page.ended ? "ended" : silent ? "silent" : "running";
  const said = {
    away: "not connected; trying again",
    ended: "ended",
    silent: "nothing new; is the controller running?",
    running: "running",
  }[state];
  const badge = byId("badge");
  if (badge.textContent !== said) badge.textContent = said;
  badge.className = `badge ${state}`;
  const doing = state === "ended" ? "" : last ? words.doing[last.kind] ?? last.kind : "starting";
  if (byId("doing").textContent !== doing) byId("doing").textContent = doing;
}

/* What Jain's index means for the single flow. */
function sharing(series) {
  const last = (name) => series[name].at(-1) ?? null;
  if (last("fairness") === null) return last("heard_flows") === null ? "nobody sees single flows" : "too few flows to compare";
  const worst = page.about.queues.length && !page.queue ? "at the least fair queue, " : "";
  return `${worst}${last("compared_flows")} flows got ${text(last("smallest_share_percent"), 2)} to ` +
    `${text(last("largest_share_percent"), 2)} % each; alike: ${text(100 / last("compared_flows"), 2)} %`;
}

function showTiles() {
  const series = page.live;
  const count = series.time_s.length;
  const step = count > 1 ? series.time_s[count - 1] - series.time_s[count - 2] : 0.5;
  const minute = (name) => series[name].slice(-Math.max(1, Math.round(60 / Math.max(step, 0.1))));
  const now = (name) => mean(series[name].slice(-4));
  const target = targetPackets();
  const tiles = [
    ["Queueing delay", text(now("waiting_ms"), 3, "ms"),
      `last minute: ${text(mean(minute("waiting_ms")))} on average, 95 % below ${text(percentile(minute("waiting_ms"), 0.95))}`],
    ["Queue", text(now("queue_packets"), 3, "packets"), target ? `to be held at ${text(target)}` : ""],
    ["Forwarded", text(now("throughput_mbit_per_s"), 3, "Mbit/s"), ""],
    ["Dropped", text(now("drops_percent"), 3, "%"), `last minute: ${text(mean(minute("drops_percent")))} %`],
    ["Marked", text(now("marks_percent"), 3, "%"), ""],
    ["Flows", now("flows") === null ? "–" : String(Math.round(now("flows"))),
      now("flows") === null ? "nobody counts them" : now("silent_flows") ? `nothing seen lately of ${Math.round(now("silent_flows"))} of them` : ""],
    ["Fairness", text(now("fairness")), sharing(series)],
    ...(now("rate_mbit_per_s") === null ? [] : [
      ["Line", text(now("capacity_mbit_per_s"), 3, "Mbit/s"), `the shaper: ${text(now("rate_mbit_per_s"), 3, "Mbit/s")}`],
      ["Wait on the line", text(now("wait_line_ms"), 3, "ms"), `here: ${text(now("wait_here_ms"), 3, "ms")}`],
    ]),
    ["Round trips", text(now("round_trip_ms"), 3, "ms"), now("round_trip_ms") === null ? "nobody measures them" : "with the queue"],
  ];
  const list = byId("tiles");
  if (list.children.length !== tiles.length) {
    list.textContent = "";
    for (const _ of tiles) {
      const box = document.createElement("div");
      const value = document.createElement("dd");
      value.append(document.createTextNode(""), document.createElement("small"));
      box.append(document.createElement("dt"), value);
      list.append(box);
    }
  }
  tiles.forEach(([name, value, besides], index) => {
    const [term, number] = list.children[index].children;
    term.textContent = name;
    number.firstChild.data = value;
    number.lastChild.textContent = besides;
  });
  byId("when").textContent = count ? `at ${clock(series.time_s[count - 1])}` : "";
}

/* --- a person's answer --------------------------------------------------------------- */

const shownValue = (value) =>
  value === undefined ? "–" : typeof value === "number" && !Number.isInteger(value)
    ? Number(value.toPrecision(5)).toString() : String(value);

function row(head, ...cells) {
  const line = document.createElement("tr");
  const first = document.createElement("th");
  first.scope = "row";
  first.textContent = head;
  line.append(first, ...cells.map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell;
  }));
  return line;
}

/* Whether the controller changes nothing until a person says "resume": one has paused it, or it leaves
   the queue to somebody else. */
const waits = (asks) => Boolean(asks?.paused || asks?.hands_off);

let asksShown = "";
function showAsks() {
  const answers = words.answers;
  const { proposal, undo, hands_off: handsOff } = page.asks ?? {};
  const waiting = waits(page.asks);
  const may = (verb) => Boolean(answers) && !page.ended && answers.verbs.includes(verb);
  const open = !page.ended && proposal;
  const now = JSON.stringify([page.run, page.queue, open, undo, waiting, handsOff, page.ended, page.sent]);
  if (now === asksShown) return;
  asksShown = now;
  byId("asks").hidden = !open && !may("undo") && !may("pause");
  byId("asks").classList.toggle("open", Boolean(open));
  byId("proposal").hidden = !open;
  if (open) {
    byId("proposal-reason").textContent = proposal.reason;
    const stands = proposal.now;
    byId("proposal-setting").tBodies[0].replaceChildren(...Object.entries(proposal.setting).map(([name, value]) =>
      row(name, shownValue(stands[name]), shownValue(value))));
    const [accept, decline] = byId("proposal").querySelectorAll("button");
    accept.textContent = `Apply proposal ${proposal.number}`;
    decline.textContent = `Decline proposal ${proposal.number}`;
    byId("proposal").querySelector(".answers").hidden = !may("accept");
  }
  const can = !open && undo && may("undo");
  byId("change").hidden = !can;
  if (can) byId("change-said").textContent = `Changed at ${clock(undo.time_s)}: ${undo.reason}. `;
  byId("pausing").hidden = !may("pause");
  const [pause, resume] = byId("pausing").querySelectorAll("button");
  pause.hidden = waiting;
  resume.hidden = !waiting;
  const key = open ? `proposal ${proposal.number}` : undo ? `undo ${undo.number}` : "";
  const sent = page.sent && (page.sent === key || page.sent === `waiting ${!waiting}`);
  if (!sent) page.sent = "";
  for (const button of byId("asks").querySelectorAll("button")) button.disabled = Boolean(sent);
  byId("asks-said").textContent = sent ? "Sent. The controller will answer below."
    : open ? (may("accept") ? `Proposal ${proposal.number} waits for you.`
      : `Proposal ${proposal.number} waits for an answer at the controller's terminal.`)
    : handsOff ? `Hands off: ${handsOff}. The controller leaves the queue alone until you say resume.`
    : waiting ? "Paused: the controller changes nothing until you say resume." : "";
}

async function answer(verb) {
  const { proposal, undo } = page.asks;
  const number = verb === "undo" ? undo.number : verb === "accept" || verb === "decline" ? proposal.number : 0;
  page.sent = verb === "undo" ? `undo ${number}` : number ? `proposal ${number}` : `waiting ${!waits(page.asks)}`;
  asksShown = "";
  showAsks();
  try {
    const told = await fetch(`/api/runs/${page.run}/answer`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Vermilion-Answer": words.answers.word },
      body: JSON.stringify({ verb, number }),
    });
    if (!told.ok) throw new Error((await told.text()).trim());
  } catch (error) {
    say(`Your answer was not taken: ${error.message}`);
    page.sent = "";
    asksShown = "";
    showAsks();
  }
}

let listed = "";
function showDecisions() {
  const now = `${page.run}:${page.queue}:${page.decisions.length}:${page.decisions.at(-1)?.id ?? 0}`;
  if (now === listed) return;
  listed = now;
  const log = byId("log");
  const items = [...page.decisions].reverse().map((decision) => {
    const item = document.createElement("li");
    if (words.loud.has(decision.kind)) item.className = "loud";
    const time = document.createElement("time");
    time.textContent = clock(decision.time_s);
    const kind = document.createElement("span");
    kind.className = "kind";
    kind.textContent = decision.kind;
    const reason = document.createElement("span");
    reason.className = "reason";
    reason.textContent = decision.reason;
    item.append(time, kind, reason);
    return item;
  });
  log.replaceChildren(...items);
  byId("none").hidden = items.length > 0;
  byId("count").textContent = items.length >= MOST_DECISIONS ? `the last ${MOST_DECISIONS}` : "";
}

/* Several queues side by side; a name leads to the view of that queue. */
function showEach() {
  const shown = page.each.length > 0 && !page.queue;
  byId("each-queue").hidden = !shown;
  if (!shown) return;
  const body = byId("each").tBodies[0];
  if (body.rows.length !== page.each.length) {
    body.replaceChildren(...page.each.map(({ queue }) => {
      const line = row("", "", "", "", "", "", "");
      const choose = document.createElement("button");
      choose.type = "button";
      choose.dataset.queue = queue;
      choose.textContent = queue;
      line.cells[0].replaceChildren(choose);
      return line;
    }));
  }
  page.each.forEach((each, index) => {
    const values = [text(each.waiting_ms), text(each.queue_packets), text(each.throughput_mbit_per_s),
      text(each.drops_percent), each.flows === null ? "–" : String(each.flows), text(each.fairness)];
    values.forEach((value, column) => { body.rows[index].cells[column + 1].textContent = value; });
  });
}

function showSetting() {
  const setting = page.settings.at(-1);
  const values = setting?.parameters ?? {};
  const queues = page.queue ? [] : page.about.queues;
  byId("setting").tHead.hidden = queues.length === 0;
  byId("setting").tHead.rows[0].replaceChildren(...["parameter", ...queues].map((name) => {
    const head = document.createElement("th");
    head.scope = "col";
    head.textContent = name;
    return head;
  }));
  const rows = queues.length ? ofEachQueue(values, queues)
    : Object.entries(values).map(([name, value]) => row(name, shownValue(value)));
  byId("setting").tBodies[0].replaceChildren(...rows);
  byId("since").textContent = setting ? `since ${clock(setting.time_s)}` : "as it stood at the beginning";
}

/* A line for each parameter, with a column for each queue: "wan.limit" is the limit of wan. */
function ofEachQueue(values, queues) {
  const names = new Set();
  for (const name of Object.keys(values)) {
    const queue = queues.find((each) => name.startsWith(`${each}.`));
    names.add(queue === undefined ? name : name.slice(queue.length + 1));
  }
  return [...names].map((name) => row(name, ...queues.map((queue) => shownValue(values[`${queue}.${name}`]))));
}

function show() {
  const { about } = page;
  byId("title").textContent = about.title;
  byId("about").textContent = `${about.discipline} on ${about.link}, ` +
    (about.simulated ? "simulated" : `since ${new Date(about.begun_utc).toLocaleString()}`) +
    `, run ${about.id} of the journal, Vermilion ${about.version}`;
  const hidden = document.querySelector("main").hidden;
  document.querySelector("main").hidden = false;
  if (hidden) build();
  document.title = `${page.asks?.proposal && !page.ended ? "(1) " : ""}${about.title} – Vermilion`;
  showQueues();
  showState();
  showAsks();
  showTiles();
  showEach();
  showCharts();
  showDecisions();
  showSetting();
}

function showQueues() {
  const names = page.about.queues;
  const select = byId("queue");
  byId("of-queue").hidden = names.length === 0;
  if (select.options.length === names.length + 1) return;
  select.replaceChildren(...["", ...names].map((name) => {
    const option = document.createElement("option");
    option.value = name;
    option.textContent = name || "all together";
    return option;
  }));
  select.value = page.queue;
}

/* --- beginning ----------------------------------------------------------------------- */

function watch(run, queue = "") {
  if (run !== page.run) {
    byId("queue").replaceChildren();
    byId("each").tBodies[0].replaceChildren();
  }
  Object.assign(page, { run, queue, sent: "", cursor: "", stretch: null, away: false, ended: false, failures: 0, newsAt: Date.now() });
  listen();
}

async function begin() {
  try {
    const told = await ask("/api/runs");
    words.doing = told.doing;
    words.loud = new Set(told.loud);
    words.answers = told.answers ?? null;
    if (words.answers) {
      byId("powers").textContent = "Read from the journal. What you answer here is done by the controller.";
    }
    if (!told.runs.length) {
      byId("title").textContent = "No controller has run yet";
      byId("badge").textContent = "waiting";
      setTimeout(begin, 2000);
      return;
    }
    const select = byId("run");
    select.replaceChildren(...told.runs.map((run) => {
      const option = document.createElement("option");
      option.value = run.id;
      option.textContent = `${run.id}: ${run.title}, ${run.link}${run.ended ? "" : " (not ended)"}`;
      return option;
    }));
    byId("of-run").hidden = told.runs.length < 2;
    watch(told.runs[0].id);
  } catch (error) {
    say(`The page cannot be filled: ${error.message}`);
    setTimeout(begin, 3000);
  }
}

byId("run").addEventListener("change", (event) => watch(Number(event.target.value)));
byId("queue").addEventListener("change", (event) => watch(page.run, event.target.value));
byId("each").addEventListener("click", (event) => {
  const { queue } = event.target.dataset;
  if (!queue) return;
  byId("queue").value = queue;
  watch(page.run, queue);
  byId("queue").focus();   // the row that was chosen is gone
});
byId("asks").addEventListener("click", (event) => {
  if (event.target.dataset.verb && !event.target.disabled) answer(event.target.dataset.verb);
});
byId("range").addEventListener("click", (event) => {
  if (!page.live) return;
  if (event.target.dataset.window) choose(event.target.dataset.window);
  else if (event.target.id === "earlier") move(-1);
  else if (event.target.id === "later") move(1);
});
let resizing = 0;
new ResizeObserver(() => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    const width = Math.max(280, byId("charts").clientWidth);
    for (const { plot } of charts) if (plot.width !== width) plot.setSize({ width, height: plot.height });
  }, 100);
}).observe(byId("charts"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (page.live) { build(); showCharts(); } });
setInterval(() => { if (page.about) showState(); }, 1000);
begin();
