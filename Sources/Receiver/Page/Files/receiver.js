// SPDX-License-Identifier: Apache-2.0
// The receiver's page: sorts, filters and selects what the server has listed; starts the uploads.
import { byID, el, language, loadStrings, t, translate } from "./common.js";

await loadStrings(["en", "ja", "zh"]);
// The page itself is English.
if (language !== "en") translate();
const { can, root } = await import("./tus.js");
const { makeLink } = await import("./links.js");
const { start } = await import("./uploads.js");
const table = document.querySelector("table");
let order = { key: "name", isDown: false };
let session = {};

const link = (row) => row.querySelector("a");
const keys = {
	name: (row) => link(row).textContent,
	size: (row) => Number(row.dataset.size ?? -1),
	changed: (row) => row.querySelector("time").dateTime,
};

/** Shows the times of rows, which the server gives in UTC, as those of this browser's clock. */
function localize(rows) {
	const two = (value) => String(value).padStart(2, "0");
	for (const row of rows) {
		const time = row.querySelector("time");
		const at = new Date(time.dateTime);
		const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
		time.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
	}
	return rows;
}

const rowsOf = (root) => [...root.querySelectorAll("tbody tr")];

/** Shows rows in order, in groups: the browser lays out only visible groups. */
function arrange(rows = rowsOf(table)) {
	const { compare } = new Intl.Collator(undefined, { numeric: true });
	const sign = order.isDown ? -1 : 1;
	const compared = order.key === "name" ? compare : (one, other) => (one < other ? -1 : one > other ? 1 : 0);
	const wanted = byID("filter").value.trim().toLowerCase();
	const found = [];
	const others = [];
	for (const row of rows) {
		const isFound = !wanted || link(row).textContent.toLowerCase().includes(wanted);
		(isFound ? found : others).push({ row, isFile: "size" in row.dataset, key: keys[order.key](row) });
	}
	found.sort((one, other) => one.isFile - other.isFile || sign * compared(one.key, other.key));
	const bodies = [];
	const group = (some, hidden) => {
		const body = el("tbody", { role: "rowgroup", hidden });
		body.style.containIntrinsicHeight = `auto ${some.length * 41}px`;
		body.append(...some.map(({ row }) => row));
		bodies.push(body);
	};
	for (let at = 0; at < found.length; at += 200) group(found.slice(at, at + 200));
	for (let at = 0; at < others.length; at += 200) group(others.slice(at, at + 200), true);
	for (const body of [...table.tBodies]) body.remove();
	table.append(...bodies);
	table.caption.textContent = t("entries", { n: found.length });
	for (const head of table.querySelectorAll("[data-t]")) {
		head.setAttribute("aria-sort", head.dataset.t === order.key ? (order.isDown ? "descending" : "ascending") : "none");
	}
}

const chosen = () => [...table.querySelectorAll("tbody :checked")];

function showChoice() {
	const boxes = chosen();
	byID("zip").hidden = !boxes.length;
	byID("link").hidden = !session.mayMakeLinks || boxes.length !== 1 || boxes[0].value.endsWith("/");
}

/** Reads the listing again; the place, the order and the selection remain. */
async function reload() {
	const response = await fetch(location, { headers: { Accept: "text/html" } });
	if (!response.ok) return;
	const names = new Set(chosen().map((box) => box.value));
	const page = new DOMParser().parseFromString(await response.text(), "text/html");
	for (const box of page.querySelectorAll("tbody input")) box.checked = names.has(box.value);
	arrange(localize(rowsOf(page)));
	showChoice();
}

let timer;
let cost = 0;
function changed(isLast) {
	if (!table) return;
	if (isLast) timer = clearTimeout(timer);
	timer ??= setTimeout(async () => {
		const begun = performance.now();
		await reload().catch(() => {});
		cost = performance.now() - begun;
		timer = undefined;
	}, isLast ? 0 : Math.max(3000, cost * 10));
}

function makeTable() {
	localize(rowsOf(table));
	table.querySelector("[data-t=changed]").textContent = t("changed");
	for (const head of table.querySelectorAll("[data-t]")) {
		const press = () => {
			order = { key: head.dataset.t, isDown: head.dataset.t === order.key && !order.isDown };
			arrange();
		};
		head.replaceChildren(el("button", { click: press }, ...head.childNodes));
	}
	table.addEventListener("change", ({ target }) => {
		if (target.id === "all") {
			for (const box of table.querySelectorAll("tbody:not([hidden]) input")) box.checked = target.checked;
		}
		showChoice();
	});
	byID("filter").hidden = false;
	let typing;
	byID("filter").addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(arrange, 150);
	});
	arrange();
	if (!byID("zip")) return;
	byID("all").hidden = false;
	byID("all").setAttribute("aria-label", t("selectAll"));
	byID("zip").addEventListener("submit", (event) => {
		if (chosen().length < rowsOf(table).length) return;
		event.preventDefault();
		location = "?zip";
	});
	byID("link").addEventListener("click", () => {
		const [box] = chosen();
		makeLink(document.body.dataset.path + encodeURIComponent(box.value), box.value);
	});
	showChoice();
}

async function showSession() {
	session = await fetch(new URL(".martlet-session", root)).then((response) => response.json());
	const to = encodeURIComponent(document.body.dataset.path);
	if (session.signedIn) {
		const form = el("form", { method: "post", action: new URL(".martlet-sign-out", root) }, el("button", {}, t("signOut")));
		byID("session").append(form);
	} else if (session.takesSignIn) {
		byID("session").append(el("a", { className: "button", href: new URL(`.martlet-sign-in?to=${to}`, root) }, t("signIn")));
	}
	if (table && byID("zip")) showChoice();
}

if (table) makeTable();
if (can("write")) start(changed);
showSession().catch(() => {});
