// SPDX-License-Identifier: Apache-2.0
// The daemon's page: connects the list, the dialogs and the daemon's events.
import { announce, byID, bytes, el, loadStrings, number, t, toast, translate } from "/page/common.js";
import { addDialog, pathIn, readLists } from "/page/add.js";
import { call, perform } from "/page/client.js";
import { detailsDialog } from "/page/details.js";
import { confirm, helpDialog, limitsDialog } from "/page/dialogs.js";
import { moveTogether } from "/page/drag.js";
import { Events } from "/page/events.js";
import { icon } from "/page/icons.js";
import { TransferList } from "/page/list.js";
import { Plot } from "/page/plot.js";
import { connection, ended, name, namesOf, states } from "/page/transfer.js";

/** The orders of the menu, and whether they are backward; that of the queue depends on the shown states. */
const sorts = { queue: undefined, added: true, name: false, size: true };
/** The actions: method, key, possible states, whether confirmed. */
const actions = [
	{ method: "pause", key: "p", states: ["waiting", "active", "retrying", "held"] },
	{ method: "resume", key: "r", states: ["paused"] },
	// A transfer that waits for its next attempt is tried at once.
	{ method: "retry", key: "t", states: ["retrying", "held", "failed", "removed"] },
	{ method: "remove", key: "Delete", states: ["waiting", "active", "retrying", "held", "paused"], isConfirmed: true },
	{ method: "forget", key: "f", states: ended, isConfirmed: true },
];

let list;
let plot;
let events;
let counts = {};
let running = [];

// The counts, the title and the actions.

function showCounts(found) {
	if (found) counts = found;
	const all = states.reduce((sum, one) => sum + (counts[one] ?? 0), 0);
	for (const button of byID("states").children) {
		const { state } = button.dataset;
		const n = state ? (counts[state] ?? 0) : all;
		button.lastChild.textContent = number(n);
		// Exceptional states have a button while there are such transfers.
		const isRare = ["retrying", "held", "removed"].includes(state);
		button.hidden = isRare && n === 0 && button.getAttribute("aria-pressed") !== "true";
	}
	const n = list?.count() ?? 0;
	byID("actions").hidden = n === 0;
	byID("app").classList.toggle("chosen", n > 0);
	if (n > 0) {
		byID("chosen").textContent = t("selected", { n });
		const chosen = list.selectedStates;
		for (const { method, states: possible } of actions) {
			byID(`do-${method}`).disabled = connection.isLost || (chosen && !possible.some((state) => chosen.has(state)));
		}
	}
	const unfinished = ["waiting", "active", "retrying", "held"].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
	const total = running.reduce((sum, one) => sum + Math.max(0, one.total ?? 0), 0);
	const part = running.reduce((sum, one) => sum + (one.total > 0 ? one.bytes : 0), 0);
	const percent = total > 0 ? `${Math.floor((100 * part) / total)} % · ` : "";
	const title = unfinished > 0 ? `${percent}${number(unfinished)} — Martlet` : "Martlet";
	document.title = connection.isLost ? "⚠ Martlet" : title;
}

// The events.

let refreshing;
/** Reads the list again soon: many changes at once cost one reading, and a hidden tab reads rarely. */
function refreshSoon() {
	refreshing ??= setTimeout(() => {
		refreshing = undefined;
		if (!connection.isLost) list.refresh().catch(failed);
	}, Math.max(document.hidden ? 5000 : 400, list.cost * 6));
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
		plot.progress(running);
		list.update(running);
		showCounts();
		return;
	}
	const { transfer } = event;
	if (transfer) {
		list.update([transfer]);
		if (transfer.state !== "active") running = running.filter((one) => one.id !== transfer.id);
		const { session } = transfer;
		if (session !== null && !list.programs.has(session)) {
			list.programs.set(session, null);
			showSessions().catch(failed);
		}
		if (event.kind === "finished" || event.kind === "failed") {
			news.push(t(`news.${event.kind}`, { name: name(transfer), size: bytes(transfer.bytes) }));
			newsTimer ??= setTimeout(tellNews, 1000);
		}
	}
	refreshSoon();
}

function showConnection(isLost) {
	connection.isLost = isLost;
	if (isLost) running = [];
	byID("app").classList.toggle("lost", isLost);
	byID("lost").textContent = isLost ? t("lost") : "";
	byID("lost").hidden = !isLost || byID("app").hidden;
	list.schedule();
	plot.showRate();
	showCounts();
}

async function connected() {
	const wasLost = !byID("lost").hidden;
	byID("sign-in").hidden = true;
	byID("app").hidden = false;
	showConnection(false);
	plot.load().catch(() => {});
	await showSessions();
	await list.refresh();
	if (wasLost) toast(t("connectedAgain"));
}

function signedOut() {
	byID("app").hidden = true;
	byID("sign-in").hidden = false;
	byID("token").focus();
}

function failed(error) {
	toast(error.message);
	if (error.reason === "unauthorized") events.check();
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
	if (n === 0 || byID(`do-${action.method}`).disabled) return;
	let more = {};
	if (action.isConfirmed) {
		const names = list.isAllSelected ? [] : namesOf(await list.selection());
		const option = action.method === "remove" ? t("deletePartial") : undefined;
		const question = { title: t(action.method), text: t(`${action.method}Question`, { n }), action: t(action.method) };
		const answer = await confirm({ ...question, names, option });
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
		const records = (await list.selection()).filter(({ state }) => !state || action.states.includes(state));
		changed = records.length ? await perform(action.method, records.map((one) => one.id), more) : 0;
	}
	toast(t("changed", { n: changed }));
	if (action.method === "forget") list.select([]);
	await list.refresh();
}

async function move(transfers, target, isAfter) {
	const place = await moveTogether(transfers, target, isAfter);
	if (place === null) return toast(t("notMoved"));
	announce(t("moved", { name: name(transfers[0]), place: place + 1 }));
	return list.refresh();
}

/** Shows an order in the menu, which has those of the columns only while they are chosen. */
function sort(key, isBackward) {
	const menu = byID("sort");
	menu.querySelector("[data-column]")?.remove();
	if (!(key in sorts) || (key !== "queue" && sorts[key] !== isBackward)) {
		menu.append(el("option", { value: key, "data-column": "" }, `${t(`column.${key}`)} ${isBackward ? "↓" : "↑"}`));
	}
	menu.selectedIndex = [...menu.options].findLastIndex(({ value }) => value === key);
	list.show({ sort: key, isBackward: isBackward ?? ended.includes(list.query.states[0]) }).catch(failed);
}

function showState(button) {
	for (const other of byID("states").children) other.setAttribute("aria-pressed", other === button);
	const { state } = button.dataset;
	const isBackward = list.query.sort === "queue" ? ended.includes(state) : list.query.isBackward;
	list.show({ states: state ? [state] : [], isBackward }).catch(failed);
}

/** Creates a button with an icon and a text, which narrow screens may hide. */
function iconButton(key, properties) {
	const button = el("button", { "aria-label": t(key), title: t(key), ...properties }, el("span", {}, t(key)));
	button.prepend(icon(key));
	return button;
}

function makeTools() {
	for (const state of ["", ...states]) {
		const button = el(
			"button",
			{ "aria-pressed": state === "", click: () => showState(button) },
			el("span", {}, t(state ? `state.${state}` : "all")),
			" ",
			el("span", { className: "count" }),
		);
		button.dataset.state = state;
		byID("states").append(button);
	}
	byID("sort").append(...Object.keys(sorts).map((value) => el("option", { value }, t(`sort.${value}`))));
	byID("sort").addEventListener("change", () => sort(byID("sort").value, sorts[byID("sort").value]));
	byID("session").addEventListener("change", () => list.show({ session: chosenSession() }).catch(failed));
	let typing;
	byID("search").addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(() => list.show({ search: byID("search").value.trim() }).catch(failed), 250);
	});
	const button = (key, shortcut, click) => {
		return iconButton(key, { id: `do-${key}`, "aria-keyshortcuts": shortcut, className: key, click });
	};
	byID("actions").append(
		button("close", "Escape", () => list.select([])),
		el("span", { id: "chosen" }),
		...actions.map((action) => button(action.method, action.key, () => act(action).catch(failed))),
		button("details", "Enter", () => openChosen().catch(failed)),
		button("selectAll", "Control+A", () => list.selectAll()),
	);
	byID("buttons").append(
		iconButton("add", { id: "add", className: "main", click: () => openAdd() }),
		iconButton("limits", { id: "limits", click: () => limitsDialog({ signOut }).catch(failed) }),
		iconButton("help", { id: "help", click: helpDialog }),
	);
}

async function openChosen() {
	const [record] = await list.selection();
	if (record) openDetails(record.id);
}

function openDetails(id) {
	detailsDialog(id, { changed: refreshSoon }).catch(failed);
}

function openAdd(what = {}) {
	addDialog(what, { added: (n) => toast(t("added", { n })) });
}

async function signOut() {
	await fetch("/page/session", { method: "DELETE", signal: AbortSignal.timeout(10000) }).catch(() => {});
	events.check();
	location.reload();
}

// Keys and drops on the whole page.

function pressed(event) {
	if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
	if (document.querySelector("dialog") || event.target.matches?.("input, select, textarea") || byID("app").hidden) return;
	const action = event.target.closest("#list") && actions.find(({ key }) => key === event.key);
	if (action) act(action).catch(failed);
	else if (event.key === "n") openAdd();
	else if (event.key === "/") search();
	else if (event.key === "?") helpDialog();
	else return;
	event.preventDefault();
}

/** Goes to the search, in whose place a selection shows its actions. */
function search() {
	list.select([]);
	byID("search").focus();
}

function pasted(event) {
	if (document.querySelector("dialog") || event.target.matches?.("input, textarea") || byID("app").hidden) return;
	const text = event.clipboardData.getData("text");
	if (/https?:\/\//i.test(text)) openAdd({ text });
	else if (pathIn(text)) openAdd({ path: pathIn(text) });
}

async function dropped(event) {
	document.body.classList.remove("drop");
	if (document.querySelector("dialog")) return;
	event.preventDefault();
	if (byID("app").hidden) return;
	const { dataTransfer } = event;
	const links = dataTransfer.getData("text/uri-list") || dataTransfer.getData("text");
	const { text, others } = await readLists(dataTransfer.files);
	// A browser reveals the name of a file, and some its path; the daemon reads it on its own machine.
	const path = pathIn(links) || others[0]?.name;
	if (text) openAdd({ text });
	else if (others.length && path) openAdd({ path, hint: t("pathHelp") });
	else if (pathIn(links)) openAdd({ path });
	else if (links) openAdd({ text: links });
}

async function start() {
	await loadStrings(["en", "ja", "zh"]);
	translate();
	list = new TransferList({
		open: openDetails,
		changed: showCounts,
		move: (...all) => move(...all).catch(failed),
		sorted: sort,
		failed,
	});
	makeTools();
	plot = new Plot();
	byID("expired").hidden = location.search !== "?expired";
	history.replaceState(null, "", "/");
	const lost = () => showConnection(true);
	events = new Events({ event: handle, connected: () => connected().catch(failed), lost, signedOut });
	byID("sign-in").addEventListener("submit", async (event) => {
		event.preventDefault();
		byID("wrong").textContent = "";
		const body = JSON.stringify({ token: byID("token").value });
		const request = fetch("/page/session", { method: "POST", body, signal: AbortSignal.timeout(10000) });
		const response = await request.catch(() => null);
		if (response?.ok) return events.start();
		byID("wrong").textContent = t(response ? "wrongToken" : "refusal.unreachable");
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
	document.addEventListener("visibilitychange", () => document.hidden || refreshSoon());
	setInterval(() => {
		if (connection.isLost || document.hidden) return;
		running = plot.current > 0 ? running : [];
		if (list.isDoubtful) refreshSoon();
	}, 2000);
	events.start();
}

start();
