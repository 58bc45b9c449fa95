// SPDX-License-Identifier: Apache-2.0
// The daemon's page: connects the list, the dialogs and the daemon's events.
import { announce, byID, bytes, confirm, el, loadStrings, number, rate, t, toast, translate } from "/page/common.js";
import { call, countOf, Events, name, perform } from "/page/client.js";
import { addDialog, detailsDialog, helpDialog, limitsDialog } from "/page/dialogs.js";
import { TransferList } from "/page/list.js";

const states = ["waiting", "active", "paused", "finished", "failed", "removed"];
const ended = ["finished", "failed", "removed"];
const sorts = { queue: [], added: ["added", true], name: ["name", false], size: ["size", true] };
/** The actions: method, key, possible states, whether confirmed, whether it ends holds. */
const actions = [
	{ method: "pause", key: "p", states: ["waiting", "active"] },
	{ method: "resume", key: "r", states: ["paused"], endsHolds: true },
	{ method: "retry", key: "t", states: ["failed", "removed"] },
	{ method: "remove", key: "Delete", states: ["waiting", "active", "paused"], isConfirmed: true },
	{ method: "forget", key: "f", states: ended, isConfirmed: true },
];

let list;
let counts = {};
let running = [];
let hasProgress = false;

// The counts, the title and the plot.

function showCounts(found) {
	if (found) counts = found;
	for (const button of byID("states").children) {
		const state = button.dataset.state;
		const n = state ? countOf(counts, state) : states.reduce((sum, one) => sum + countOf(counts, one), 0);
		button.lastChild.textContent = ` ${number(n ?? 0)}`;
	}
	const n = list?.count() ?? 0;
	for (const button of byID("actions").querySelectorAll("button[data-needs]")) button.disabled = n === 0;
	byID("chosen").textContent = n ? t("selected", { n }) : "";
	const unfinished = countOf(counts, "waiting") + countOf(counts, "active");
	const held = counts.held > 0 ? t("held", { n: counts.held }) : "";
	byID("summary").textContent = t("summary", { active: counts.active ?? 0, waiting: counts.waiting ?? 0 }) + held;
	const total = running.reduce((sum, one) => sum + Math.max(0, one.total ?? 0), 0);
	const part = running.reduce((sum, one) => sum + (one.total > 0 ? one.bytes : 0), 0);
	const percent = total > 0 ? `${Math.floor((100 * part) / total)} % · ` : "";
	document.title = unfinished > 0 ? `${percent}${number(unfinished)} — Martlet` : "Martlet";
}

const seconds = 300;
const rates = [];

function plot() {
	if (!hasProgress) running = [];
	hasProgress = false;
	const now = running.reduce((sum, one) => sum + one.rate, 0);
	rates.push(now);
	if (rates.length > seconds) rates.shift();
	const most = Math.max(...rates, 1);
	const line = rates.map((value, index) => `${seconds - rates.length + index + 1} ${(33 - (value / most) * 31).toFixed(1)}`);
	const first = seconds - rates.length + 1;
	byID("plot").firstElementChild.setAttribute("d", `M${first} 34L${line.join("L")}L${seconds} 34Z`);
	byID("rate").textContent = rate(now);
	byID("plot").setAttribute("aria-label", t("plot", { now: rate(now), most: rate(most === 1 ? 0 : most) }));
}

// The events.

let refreshing;
/** Reads the list again soon: many changes at once cost one reading. */
function refreshSoon() {
	refreshing ??= setTimeout(() => {
		refreshing = undefined;
		list.refresh().catch(failed);
	}, Math.max(400, list.cost * 6));
}

const news = [];
let newsTimer;

function tellNews() {
	newsTimer = undefined;
	const found = news.splice(0);
	const text = found.length > 3 ? t("ended", { n: found.length }) : found.join("\n");
	announce(text);
	if (document.hidden && localStorage.notify && globalThis.Notification?.permission === "granted") {
		new Notification("Martlet", { body: text, icon: "/page/icon.svg", tag: "martlet" });
	}
}

function handle(event) {
	if (event.kind === "progress") {
		running = event.transfers;
		hasProgress = true;
		list.update(running);
		showCounts();
		return;
	}
	if (event.transfer) {
		list.update([event.transfer]);
		const { session } = event.transfer;
		if (session !== null && !list.programs.has(session)) {
			list.programs.set(session, null);
			showSessions().catch(failed);
		}
		if (event.kind === "finished" || event.kind === "failed") {
			running = running.filter((one) => one.id !== event.transfer.id);
			news.push(t(`news.${event.kind}`, { name: name(event.transfer), size: bytes(event.transfer.bytes) }));
			newsTimer ??= setTimeout(tellNews, 1000);
		}
	}
	refreshSoon();
}

async function connected() {
	const wasLost = !byID("lost").hidden;
	byID("lost").hidden = true;
	byID("sign-in").hidden = true;
	byID("app").hidden = false;
	await showSessions();
	await list.refresh();
	if (wasLost) toast(t("connectedAgain"));
}

function lost() {
	byID("lost").textContent = t("lost");
	byID("lost").hidden = byID("app").hidden;
}

function signedOut() {
	byID("app").hidden = true;
	byID("sign-in").hidden = false;
	byID("token").focus();
}

function failed(error) {
	toast(error.message);
}

// The tools.

async function showSessions() {
	const sessions = await call("sessions");
	list.programs = new Map(sessions.map(({ identifier, program }) => [identifier, program]));
	const menu = byID("session");
	menu.hidden = sessions.length === 0;
	const chosen = menu.value;
	const option = (value, text) => el("option", { value, selected: value === chosen }, text);
	const names = sessions.map(({ identifier, program }) => {
		return option(`s${identifier}`, program ? `${identifier} (${program})` : identifier);
	});
	menu.replaceChildren(option("", t("everything")), option("q", t("queue")), ...names);
}

function chosenSession() {
	const value = byID("session").value;
	if (value === "") return undefined;
	return value === "q" ? null : value.slice(1);
}

async function act(action) {
	const n = list.count();
	if (n === 0) return;
	let more = {};
	if (action.isConfirmed) {
		const option = action.method === "remove" ? t("deletePartial") : undefined;
		const answer = await confirm(t(action.method), t(`${action.method}Question`, { n }), t(action.method), option);
		byID("list").focus();
		if (!answer) return;
		if (option) more = { deletePartial: answer.option };
	}
	const { states: wanted, search, session } = list.query;
	let changed = 0;
	if (list.isAllSelected && wanted.length === 0 && !search) {
		// Whole queues, without reading them.
		const everything = [null, ...(await call("sessions")).map(({ identifier }) => identifier)];
		for (const queue of session === undefined ? everything : [session]) {
			const selection = { all: true, ...(queue !== null && { session: queue }), ...more };
			changed += (await call(action.method, selection)).changed;
		}
	} else {
		const isPossible = ({ state, hold }) => !state || action.states.includes(state) || (action.endsHolds && hold);
		const records = (await list.selection()).filter(isPossible);
		changed = records.length ? await perform(action.method, records.map((one) => one.id), more) : 0;
	}
	toast(t("changed", { n: changed }));
	if (action.method === "forget") list.select([]);
	await list.refresh();
}

async function move(record, target, isAfter) {
	const [from, to] = await call("show", { ids: [record.id, target.id] });
	if (from.position === null || to.position === null || from.session !== to.session) return toast(t("notMoved"));
	const position = to.position + (isAfter ? 1 : 0) - (from.position < to.position ? 1 : 0);
	await call("move", { id: record.id, position, how: "POS_SET" });
	announce(t("moved", { name: name(record), place: position + 1 }));
	return list.refresh();
}

function makeTools() {
	for (const state of ["", ...states]) {
		const press = () => {
			for (const other of byID("states").children) other.setAttribute("aria-pressed", other === button);
			list.show({ states: state ? [state] : [], isBackward: isBackward(state) }).catch(failed);
		};
		const button = el("button", { "aria-pressed": state === "", click: press }, t(state ? `state.${state}` : "all"), el("span"));
		button.dataset.state = state;
		byID("states").append(button);
	}
	byID("sort").append(...Object.keys(sorts).map((value) => el("option", { value }, t(`sort.${value}`))));
	byID("sort").addEventListener("change", () => {
		list.show({ sort: byID("sort").value, isBackward: isBackward(list.query.states[0]) }).catch(failed);
	});
	byID("session").addEventListener("change", () => list.show({ session: chosenSession() }).catch(failed));
	let typing;
	byID("search").addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(() => list.show({ search: byID("search").value.trim() }).catch(failed), 250);
	});
	const button = (text, key, click) => {
		return el("button", { "data-needs": "", "aria-keyshortcuts": key, disabled: true, click }, text);
	};
	byID("actions").append(
		el("button", { click: () => list.selectAll() }, t("selectAll")),
		...actions.map((action) => button(t(action.method), action.key, () => act(action).catch(failed))),
		button(t("details"), "Enter", () => openChosen().catch(failed)),
		el("span", { id: "chosen", className: "soft" }),
	);
	byID("add").addEventListener("click", () => openAdd());
	byID("limits").addEventListener("click", () => limitsDialog({ failed, signOut }).catch(failed));
	byID("help").addEventListener("click", helpDialog);
}

/** Ended transfers begin with the last end, the queue with its first transfer. */
function isBackward(state) {
	const [, isDescending] = sorts[byID("sort").value];
	return isDescending ?? ended.includes(state);
}

async function openChosen() {
	const [record] = await list.selection();
	if (record) openDetails(record.id);
}

function openDetails(id) {
	detailsDialog(id, { failed, changed: refreshSoon }).catch(failed);
}

function openAdd(text = "") {
	addDialog(text, { added: (n) => toast(t("added", { n })) });
}

async function signOut() {
	await fetch("/page/session", { method: "DELETE" });
	location.reload();
}

// Keys and drops on the whole page.

function pressed(event) {
	if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
	if (document.querySelector("dialog") || event.target.matches?.("input, select, textarea") || byID("app").hidden) return;
	const action = event.target.closest("#list") && actions.find(({ key }) => key === event.key);
	if (action) act(action).catch(failed);
	else if (event.key === "n") openAdd();
	else if (event.key === "/") byID("search").focus();
	else if (event.key === "?") helpDialog();
	else return;
	event.preventDefault();
}

function pasted(event) {
	if (document.querySelector("dialog") || event.target.matches?.("input, textarea") || byID("app").hidden) return;
	const text = event.clipboardData.getData("text");
	if (/https?:\/\//i.test(text)) openAdd(text);
}

async function dropped(event) {
	document.body.classList.remove("drop");
	if (document.querySelector("dialog")) return;
	event.preventDefault();
	if (byID("app").hidden) return;
	const files = await Promise.all([...event.dataTransfer.files].map((file) => file.text()));
	const text = files.join("\n") || event.dataTransfer.getData("text/uri-list") || event.dataTransfer.getData("text");
	if (text) openAdd(text);
}

async function start() {
	await loadStrings(["en", "ja", "zh"]);
	translate();
	list = new TransferList({
		open: openDetails,
		changed: showCounts,
		move: (...all) => move(...all).catch(failed),
		failed,
	});
	makeTools();
	byID("expired").hidden = location.search !== "?expired";
	history.replaceState(null, "", "/");
	const events = new Events({ event: handle, connected: () => connected().catch(failed), lost, signedOut });
	byID("sign-in").addEventListener("submit", async (event) => {
		event.preventDefault();
		byID("wrong").textContent = "";
		const body = JSON.stringify({ token: byID("token").value });
		const response = await fetch("/page/session", { method: "POST", body }).catch(() => null);
		if (response?.ok) return events.start();
		byID("wrong").textContent = t(response ? "wrongToken" : "unreachable");
		return byID("token").select();
	});
	document.addEventListener("keydown", pressed);
	document.addEventListener("paste", pasted);
	document.addEventListener("dragover", (event) => {
		event.preventDefault();
		document.body.classList.add("drop");
	});
	document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("drop"));
	document.addEventListener("drop", (event) => dropped(event).catch(failed));
	plot();
	setInterval(plot, 1000);
	events.start();
}

start();
