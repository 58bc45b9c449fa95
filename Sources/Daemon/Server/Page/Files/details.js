// SPDX-License-Identifier: Apache-2.0
// The details of a transfer, which are read again every second.
import { announce, byID, bytes, clock, dialog, duration, el, field, moment, t, toast } from "/page/common.js";
import { parseList } from "/page/add.js";
import { call } from "/page/client.js";
import { form, input } from "/page/dialogs.js";
import { icon } from "/page/icons.js";
import { connection, ended, name, note, percent, quantities } from "/page/transfer.js";

/** Copies a text; without the clipboard of secure pages, by a selection inside the dialog. */
async function copy(text, button) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const holder = el("textarea", { className: "hidden-text", value: text });
		button.after(holder);
		holder.select();
		document.execCommand("copy");
		holder.remove();
		button.focus();
	}
	announce(t("copied"));
	button.replaceChildren(icon("check"));
	setTimeout(() => button.replaceChildren(icon("copy")), 1500);
}

/** A button that copies what a function returns. */
function copier(label, text) {
	const button = el("button", { type: "button", className: "plain copy", "aria-label": t("copy", { label }) });
	button.append(icon("copy"));
	button.addEventListener("click", (event) => {
		event.preventDefault();
		copy(text(), button);
	});
	return button;
}

/** Whether the reader is selecting a part of an element. */
function isBeingSelected(element) {
	const selection = getSelection();
	return !selection.isCollapsed && selection.containsNode(element, true);
}

const time = (at) => at && moment(at);
const listed = (values) => values.join("\n");

/** The facts of a transfer: key of the label, and text; rows without a text are hidden. */
function facts(record) {
	const [reason] = note(record);
	const options = Object.entries(record.options).map(([key, value]) => `${key}=${[].concat(value).join("; ")}`);
	const { error, retry, hold } = record;
	return [
		["column.state", [t(`state.${record.state}`), percent(record)].filter(Boolean).join(" · ")],
		["reason", reason],
		["message", error?.message ?? (record.state === "retrying" ? retry?.message : hold?.message)],
		["attempt", record.state === "retrying" && retry?.attempt ? String(retry.attempt) : ""],
		["column.progress", quantities(record)],
		["connections", record.state === "active" && !connection.isLost ? String(record.connections) : ""],
		[record.upload ? "sends" : "file", record.upload?.file ?? record.path ?? record.dir],
		["sessionLabel", record.session],
		["place", record.position === null ? "" : String(record.position + 1)],
		["addedAt", time(record.added)],
		["startedAt", time(record.details.started)],
		["endedAt", time(record.ended)],
		["identifier", record.id],
		["links", listed(record.urls)],
		["options", listed(options)],
	];
}

/** The attempts, the last response and the log of a transfer, as texts. */
function histories({ attempts, response, log }) {
	const line = (at, ...parts) => [moment(at), ...parts.filter(Boolean)].join(" · ");
	const lines = attempts.map((one) => {
		const took = one.ended ? duration(one.ended - one.started) : "…";
		const next = one.nextTry && `→ ${clock(one.nextTry)}`;
		return line(one.started, one.url, one.status, one.ended && bytes(one.bytes), one.outcome, took, one.message, next);
	});
	const fields = (response?.fields ?? []).map(([key, value]) => `${key}: ${value ?? "•••"}`);
	return {
		attempts: lines,
		response: response ? [line(response.at, response.status), ...fields] : [],
		log: log.map(({ at, text }) => line(at, text)),
	};
}

/** Shows values that change in elements that remain: a part of them may be being selected. */
class Values {
	constructor() {
		this.list = el("dl");
		this.values = new Map();
		this.facets = new Map();
	}

	show(record) {
		for (const [key, text] of facts(record)) {
			if (!this.values.has(key)) this.values.set(key, this.row(key));
			const { term, value, holder } = this.values.get(key);
			term.hidden = holder.hidden = !text;
			this.put(value, text ?? "");
			if (key === "reason") value.classList.toggle("bad", record.state === "failed");
		}
		for (const [key, lines] of Object.entries(histories(record.details))) {
			const { holder, value } = this.facets.get(key) ?? this.facet(key);
			holder.hidden = !lines.length;
			this.put(value, lines.join("\n"));
		}
	}

	put(value, text) {
		if (value.textContent !== text && !isBeingSelected(value)) value.textContent = text;
	}

	row(key) {
		const value = el("span", { className: "value" });
		const parts = { term: el("dt", {}, t(key)), value };
		parts.holder = el("dd", {}, value, copier(t(key), () => value.textContent));
		this.list.append(parts.term, parts.holder);
		return parts;
	}

	facet(key) {
		const value = el("pre");
		const holder = el("details", {}, el("summary", {}, t(key)), copier(t(key), () => value.textContent), value);
		this.facets.set(key, { holder, value });
		return { holder, value };
	}
}

/** Opens the details of a transfer. */
export async function detailsDialog(id, { changed }) {
	const read = async () => {
		const [record] = await call("show", { ids: [id], details: true });
		return Object.assign(record, { seen: Date.now() });
	};
	const record = await read();
	const values = new Values();
	values.show(record);
	const content = [values.list, ...[...values.facets.values()].map(({ holder }) => holder)];
	if (!record.upload && record.state !== "finished") content.push(...newLink());
	if (!ended.includes(record.state)) content.push(...settings());
	const shown = dialog(name(record), content, "details");
	const timer = setInterval(() => {
		// The transfer has left the history, or the page says that it is disconnected.
		if (!connection.isLost && !document.hidden) read().then((one) => values.show(one), () => {});
	}, 1000);
	shown.addEventListener("close", () => {
		clearInterval(timer);
		byID("list").focus();
	});

	function newLink() {
		const value = record.urls.join("\n");
		const links = el("textarea", { id: "links", rows: 2, spellcheck: false, required: true, value });
		const replace = async (problem) => {
			const { entries, refused } = parseList(links.value);
			if (refused || !entries.length) return (problem.textContent = t("refused", { n: Math.max(refused, 1) }));
			await call("replaceURI", { id, urls: entries.flat() });
			if (["failed", "removed"].includes(record.state)) await call("retry", { ids: [id] });
			return done(t("replaced"));
		};
		return [el("h3", {}, t("newLink")), form([field(t("urls"), links, t("newLinkHelp"))], t("replace"), replace)];
	}

	function settings() {
		const priority = input("number", { value: record.priority, step: 1, required: true });
		const limitName = record.upload ? "max-upload-limit" : "max-download-limit";
		const limit = input("text", { value: record.options[limitName] ?? "", placeholder: "500K, 2M" });
		const change = async () => {
			await call("setPriority", { ids: [id], priority: Number(priority.value) });
			if (limit.value.trim() !== (record.options[limitName] ?? "")) {
				await call("setOptions", { id, options: { [limitName]: limit.value.trim() || "0" } });
			}
			done(t("saved"));
		};
		const place = (how) => async () => {
			await call("move", { id, position: 0, how }).then(() => done(t("saved")), ({ message }) => toast(message));
		};
		const button = (text, how) => el("button", { type: "button", click: place(how) }, text);
		const pair = el(
			"div",
			{ className: "pair" },
			field(t("option.priority"), priority),
			field(t("option.max-download-limit"), limit),
		);
		const places = [button(t("first"), "POS_SET"), " ", button(t("last"), "POS_END")];
		return [el("h3", {}, t("change")), form([pair, ...places], t("save"), change)];
	}

	function done(text) {
		shown.close();
		toast(text);
		changed();
	}
}
