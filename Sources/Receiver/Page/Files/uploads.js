// SPDX-License-Identifier: Apache-2.0
// The queue of uploads and its panel: rows for what runs or needs an answer, counts for the rest.
import { announce, byID, bytes, duration, el, number, rate, t, toast } from "./common.js";
import { showLink } from "./links.js";
import { can, cancel, refresh, rename, rest, send, unfinished, watch } from "./tus.js";

const parallel = 3;
const mostRows = 50;
const title = document.title;
const waiting = [];
const running = new Set();
/** The files that failed or wait for an answer. */
const stopped = new Set();
const rows = new Map();
const links = el("ul", { className: "rows" });
const list = el("ul", { className: "rows" });
const total = el("progress", { max: 1, "aria-label": t("total") });
const text = el("p");
let sum, changed, timer, answer, samples;

function reset() {
	sum = { files: 0, bytes: 0, sent: 0, there: 0, done: 0 };
	samples = [];
	answer = undefined;
}

const isBusy = () => running.size + waiting.length > 0;

/** Adds files, each with its path below the directory. */
export function add(found) {
	if (!isBusy() && !stopped.size) reset();
	const visible = found.filter(({ path }) => !/(^|\/)\./.test(path));
	if (visible.length < found.length) toast(t("leftOut", { n: found.length - visible.length }));
	if (!visible.length) return;
	refresh();
	for (const { file, path } of visible) {
		sum.files += 1;
		sum.bytes += file.size;
		waiting.push({ file, path, sent: 0 });
	}
	byID("unfinished")?.remove();
	byID("uploads").hidden = false;
	timer ??= setInterval(tick, 500);
	pump();
	tick();
}

function pump() {
	while (running.size < parallel && waiting.length) run(waiting.shift());
}

async function run(item) {
	running.add(item);
	item.problem = undefined;
	try {
		sum[(await send(item)) ? "sent" : "there"] += 1;
		sum.done += item.file.size;
		if (item.link) sent(item);
		changed();
	} catch (error) {
		if (item.isCancelled) {
			sum.files -= 1;
			sum.bytes -= item.file.size;
		} else {
			item.problem = error;
			stopped.add(item);
			if (error.status === "conflict" && answer && !item.isForced) decide(item, answer);
			else announce(`${item.path}: ${error.message}`);
		}
	}
	running.delete(item);
	pump();
	if (!isBusy()) tick();
}

/** Continues with a stopped file: `retry`, `replace`, `both` or `skip`. */
async function decide(item, how) {
	stopped.delete(item);
	item.isForced = how === "replace";
	item.sent = 0;
	if (how === "skip") {
		sum.files -= 1;
		sum.bytes -= item.file.size;
		return cancel(item);
	}
	if (how === "both") await rename(item).catch(() => {});
	timer ??= setInterval(tick, 500);
	waiting.push(item);
	return pump();
}

function decideAll(how, isFor) {
	for (const item of [...stopped].filter(isFor)) decide(item, how);
	tick();
}

function sent({ path, link }) {
	const show = () => showLink(link, path);
	links.prepend(el("li", {}, el("p", {}, el("span", {}, path), el("button", { click: show }, t("link")))));
	while (links.children.length > mostRows) links.lastChild.remove();
}

// The panel.

function makeRow(item) {
	const bar = el("progress", { max: item.file.size || 1, "aria-label": item.path });
	const note = el("span", { className: "soft" });
	const end = el("button", { "aria-label": t("cancelOne", { name: item.path }), click: () => stop([item]) }, "✕");
	return { bar, note, element: el("li", {}, el("p", {}, el("span", {}, item.path), note, end), bar) };
}

function makeQuestion(item) {
	const isConflict = item.problem.status === "conflict";
	const all = el("input", { type: "checkbox" });
	const button = (how) => el("button", { click: () => {
		if (all.checked) answer = how;
		if (all.checked) decideAll(how, (other) => other.problem?.status === "conflict");
		else decideAll(how, (other) => other === item);
	} }, t(how));
	const choices = isConflict ? [can("overwrite") && "replace", "both", "skip"].filter(Boolean) : ["retry", "skip"];
	const more = isConflict && el("label", { className: "check" }, all, t("forAll"));
	const note = el("span", { className: "bad" }, item.problem.message);
	return { element: el("li", {}, el("p", {}, el("span", {}, item.path)), note, el("p", {}, choices.map(button), more)) };
}

function stop(items) {
	for (const item of items) {
		const isRunning = running.has(item);
		cancel(item);
		if (!isRunning) {
			stopped.delete(item);
			sum.files -= 1;
			sum.bytes -= item.file.size;
		}
	}
	tick();
}

function showRows() {
	const shown = [...running, ...[...stopped].slice(0, mostRows)];
	for (const [item, row] of rows) {
		if (shown.includes(item) && row.problem === item.problem) continue;
		row.element.remove();
		rows.delete(item);
	}
	for (const item of shown) {
		let row = rows.get(item);
		if (!row) {
			row = item.problem ? makeQuestion(item) : makeRow(item);
			row.problem = item.problem;
			rows.set(item, row);
			list.append(row.element);
		}
		if (item.problem) continue;
		row.bar.value = item.sent;
		const state = item.isWaiting ? t("again") : item.isCompared && !item.url ? t("comparing") : "";
		row.note.textContent = state || t("of", { part: bytes(item.sent), total: bytes(item.file.size) });
		watch(item);
	}
}

function tick() {
	showRows();
	const part = sum.done + [...running].reduce((all, item) => all + item.sent, 0);
	samples.push([Date.now(), part]);
	if (samples.length > 20) samples.shift();
	const perSecond = Math.max(0, (1000 * (part - samples[0][1])) / Math.max(1, Date.now() - samples[0][0]));
	total.value = sum.bytes ? part / sum.bytes : 1;
	const left = running.size + waiting.length;
	rest(left);
	byID("cancel").hidden = !left;
	byID("retry").hidden = !stopped.size;
	const counts = { sent: sum.sent, there: sum.there, failed: stopped.size };
	const parts = [t("progress", { n: sum.files - left, files: sum.files }), t("of", { part: bytes(part), total: bytes(sum.bytes) })];
	if (left) {
		parts.push(rate(perSecond));
		if (perSecond > 0) parts.push(duration((sum.bytes - part) / perSecond));
		document.title = `${Math.floor(100 * total.value)} % · ${number(left)} — ${title}`;
	} else {
		parts.splice(0, 2, t("ended", counts));
		document.title = title;
	}
	text.textContent = parts.join(" · ");
	if (left || !timer) return;
	timer = clearInterval(timer);
	announce(text.textContent);
	changed(true);
}

/** All files below entries of the file system; those that cannot be read are left out. */
async function walk(entries, found) {
	for (const entry of entries) {
		const get = (method, of) => new Promise((resolve, reject) => of[method](resolve, reject));
		if (entry.isFile) {
			const file = await get("file", entry).catch(() => toast(entry.name));
			if (file) found.push({ file, path: entry.fullPath.slice(1) });
		} else {
			const reader = entry.createReader();
			for (let part = []; (part = await get("readEntries", reader).catch(() => [])).length; ) await walk(part, found);
		}
	}
	return found;
}

function showUnfinished() {
	const found = unfinished();
	const count = Math.max(rest(), found.length);
	if (!count) return;
	const discard = () => {
		for (const { url, forget } of found) {
			cancel({ url, path: "", file: {} });
			forget();
		}
		rest(0);
		byID("unfinished").remove();
	};
	const names = found.slice(0, 5).map(({ path }) => el("li", {}, path));
	byID("send").append(
		el("div", { id: "unfinished", role: "alert" }, el("p", {}, t("unfinished", { n: count })), el("ul", {}, names), el("button", { click: discard }, t("discard"))),
	);
}

/** Makes the form of the page send files one by one. */
export function start(whenChanged) {
	changed = whenChanged;
	reset();
	const form = byID("send").querySelector("form");
	form.addEventListener("submit", (event) => event.preventDefault());
	form.querySelector("button").remove();
	document.body.classList.add("js");
	for (const id of ["files", "folder"]) {
		const input = byID(id);
		input.parentNode.hidden = id === "folder" && !("webkitdirectory" in input);
		input.addEventListener("change", () => {
			add([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
			input.value = "";
		});
	}
	byID("drop").hidden = !matchMedia("(hover: hover)").matches;
	const buttons = el(
		"div",
		{ className: "foot" },
		el("button", { id: "retry", click: () => decideAll("retry", ({ problem }) => problem.status !== "conflict") }, t("retryAll")),
		el("button", { id: "cancel", click: () => stop([...waiting.splice(0), ...running]) }, t("cancel")),
	);
	byID("send").append(el("div", { id: "uploads", hidden: true }, text, total, list, buttons, links));
	showUnfinished();
	for (const kind of ["dragover", "dragleave", "drop"]) {
		document.addEventListener(kind, async (event) => {
			if (kind !== "dragleave") event.preventDefault();
			document.body.classList.toggle("drop", kind === "dragover");
			if (kind === "drop") add(await walk([...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean), []));
		});
	}
	addEventListener("beforeunload", (event) => isBusy() && event.preventDefault());
}
